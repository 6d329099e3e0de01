#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/io/file.h"

using namespace npzoo;

namespace {

std::filesystem::path beside_this(const std::string& name) {
  const char* root = std::getenv("NPZOO_SOURCE_ROOT");
  check(root != nullptr, "[testing] NPZOO_SOURCE_ROOT must name the directory of the sources");
  return std::filesystem::path(root) / "tests/datasets" / name;
}

/// Lines of a file as cells; comments and empty lines are left out.
std::vector<std::vector<std::string>> lines_of(const std::string& name, char separator) {
  std::vector<std::vector<std::string>> lines;
  std::string cell, text = read_text(beside_this(name));
  std::vector<std::string> cells;
  for (const char c : text) {
    if (c != separator && c != '\n') {
      cell += c;
      continue;
    }
    cells.push_back(std::exchange(cell, ""));
    if (c != '\n') continue;
    if (!cells[0].empty() && cells[0][0] != '#') lines.push_back(cells);
    cells.clear();
  }
  return lines;
}

/// A number of a paper's table.
struct PublishedCell {
  std::string paper, table, row, column, value, second, spread, runs;
  std::vector<std::string> protocols;  // that have it; none: no protocol can compare with it
  std::string test, figure, model;     // where they have it; no figure: the headline
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

std::vector<PublishedCell> published_cells() {
  std::vector<PublishedCell> cells;
  const auto lines = lines_of("published_rows.csv", ',');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto& c = lines[i];
    REQUIRE(c.size() == 12);
    cells.push_back({c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], words_of(c[8]), c[9], c[10], c[11]});
  }
  return cells;
}

std::string key_of_row(const std::string& protocol, const PublishedCell& cell) {
  return fmt::format("{} {} {} {}", protocol, cell.test, cell.figure, cell.model);
}

}  // namespace

TEST_CASE("[published] rows of protocols are those of the papers' tables") {
  std::map<std::string, std::string> found;
  for (const std::string& name : protocol_names())
    for (const TestConfig& test : load_protocol(name).evaluation.tests) {
      const auto add = [&](const std::string& figure, const std::map<std::string, Published>& rows) {
        for (const auto& [model, row] : rows)
          found[fmt::format("{} {} {} {}", name, test.name, figure, model)] =
              fmt::format("{} {}", row.value, row.error.value_or(-1));
      };
      add("", test.published);
      for (const auto& [figure, rows] : test.published_figures) add(figure, rows);
    }
  std::set<std::string> printed;
  for (const PublishedCell& cell : published_cells())
    for (const std::string& protocol : cell.protocols) {
      CAPTURE(cell.paper);
      CAPTURE(cell.table);
      CAPTURE(key_of_row(protocol, cell));
      printed.insert(key_of_row(protocol, cell));
      CHECK(found[key_of_row(protocol, cell)] ==
            fmt::format("{} {}", std::stod(cell.value), cell.second.empty() ? -1 : std::stod(cell.second)));
    }
  CHECK(found.size() == printed.size());
}

TEST_CASE("[published] protocols state the meaning of the second number, and whether the paper does") {
  for (const PublishedCell& cell : published_cells()) {
    if (cell.second.empty()) continue;
    for (const std::string& protocol : cell.protocols) {
      CAPTURE(key_of_row(protocol, cell));
      const Spread spread = load_protocol(protocol).evaluation.spread;
      CHECK(spread.assumed == (cell.spread == "not said"));
      CHECK(spread.kind == (cell.spread == "error" ? SpreadKind::error : SpreadKind::deviation));
      CHECK(spread.seeds + spread.tasks == std::stoll(cell.runs));
      // Bayesian optimisation and bandits: of one training, on many functions or in many orders.
      CHECK((spread.tasks > 0) == (cell.figure == "simple_regret" || cell.figure == "cumulative_regret"));
    }
  }
}

TEST_CASE("[published] the transcription has every number of the papers' tables") {
  std::map<std::string, int> cells;
  for (const PublishedCell& cell : published_cells()) {
    CAPTURE(fmt::format("{} {} {} {}", cell.paper, cell.table, cell.row, cell.column));
    ++cells[cell.paper + " " + cell.table];
    CHECK((cell.spread == "none") == cell.second.empty());
    CHECK((cell.spread == "none") == cell.runs.empty());
    CHECK((!cell.value.empty() && !cell.row.empty() && !cell.column.empty()));
    if (cell.protocols.empty()) CHECK((cell.test.empty() && cell.figure.empty() && cell.model.empty()));
  }
  const std::map<std::string, int> expected{
      {"tnp-kr 1", 21}, {"tnp-kr 2", 21},       {"tnp-kr 3", 30},       {"tnp-kr 4", 30},      {"tnp-kr 5", 7},
      {"tnp-kr 6", 7},  {"tnp-kr 7", 7},        {"tnp-kr 8", 7},        {"eqtnp 2", 16},       {"eqtnp 3", 24},
      {"cmanp 3", 60},  {"cmanp 4", 24},        {"cmanp 5", 6},         {"cmanp 6", 12},       {"cmanp 7", 50},
      {"tnp 1", 2},     {"taylorformer 1", 24}, {"taylorformer 2", 48}, {"taylorformer 4", 48}};
  CHECK(cells == expected);
}

TEST_CASE("[published] one run has one published row") {
  for (const std::string& name : protocol_names()) {
    if (!name.starts_with("taylorformer/")) continue;
    CAPTURE(name);
    for (const TestConfig& test : load_protocol(name).evaluation.tests) CHECK_FALSE(test.published.contains("tnp-a"));
  }
}

TEST_CASE("[protocol version] rules and presets of every protocol are as they are recorded") {
  // All that figures are measured under, also presets and rules that no size and no error shows. If a change is meant,
  // write the new digest into the file: what was measured before then leaves the tables.
  std::map<std::string, std::string> expected;
  for (const auto& cells : lines_of("protocol_versions.txt", ' ')) expected[cells[0]] = cells[1];
  const std::vector<std::string> names = protocol_names();
  CHECK(expected.size() == names.size());
  for (const std::string& name : names) {
    const Protocol protocol = load_protocol(name);
    ByteHash hash;
    for (const TestConfig& test : protocol.evaluation.tests)
      for (const auto& [model, preset] : protocol.models) {
        hash.add(test.name + " " + model);
        hash.add(protocol_version(protocol, test.name, model));
      }
    CHECK(fmt::format("{} {}", name, hash.digest()) == fmt::format("{} {}", name, expected[name]));
  }
}
