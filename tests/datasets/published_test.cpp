#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
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

}  // namespace

TEST_CASE("[published] rows of protocols are those of the papers' tables") {
  // Copied from the papers, and not from the protocols: protocol, test, figure (none: the headline), model, value, ±.
  std::map<std::string, std::string> expected, found;
  const auto lines = lines_of("published_rows.csv", ',');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto& cells = lines[i];
    REQUIRE(cells.size() == 6);
    expected[fmt::format("{} {} {} {}", cells[0], cells[1], cells[2], cells[3])] =
        fmt::format("{} {}", std::stod(cells[4]), cells[5].empty() ? -1 : std::stod(cells[5]));
  }
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
  CHECK(found.size() == expected.size());
  for (const auto& row : expected) {
    CAPTURE(row.first);
    CHECK(found[row.first] == row.second);
  }
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
