#include "tools/reproduce/papers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"

using namespace npzoo;
using namespace npzoo::tools;

namespace {

using Names = std::set<std::string>;

/// Protocols and models of each paper by the transcription of the papers' tables.
std::map<std::string, std::pair<Names, Names>> transcribed() {
  const char* root = std::getenv("NPZOO_SOURCE_ROOT");
  check(root != nullptr, "[testing] NPZOO_SOURCE_ROOT must name the directory of the sources");
  std::istringstream lines(read_text(std::filesystem::path(root) / "tests/datasets/published_rows.csv"));
  std::map<std::string, std::pair<Names, Names>> found;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#' || line.starts_with("paper,")) continue;
    std::vector<std::string> cells;
    std::istringstream row(line + ",");
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    REQUIRE(cells.size() == 12);
    std::istringstream protocols(cells[8]);
    for (std::string protocol; protocols >> protocol;) {
      if (protocol.starts_with("npzoo/")) continue;  // a recipe of our own for a paper's tasks
      found[cells[0]].first.insert(protocol);
      found[cells[0]].second.insert(cells[11]);
    }
  }
  found.erase("tnp");  // none of the five
  return found;
}

}  // namespace

TEST_CASE("papers: protocols and models are those of the transcribed tables") {
  const auto expected = transcribed();
  CHECK(expected.size() == 4);
  for (const Paper& paper : papers()) {
    CAPTURE(paper.name);
    for (const char* name : paper.protocols) {
      const Protocol protocol = load_protocol(name);
      CHECK_FALSE(models_of(paper, protocol, {}).empty());
    }
    if (std::string(paper.name) == "anp") continue;  // has no table
    const auto& [protocols, models] = expected.at(paper.name);
    CHECK(Names(paper.protocols.begin(), paper.protocols.end()) == protocols);
    CHECK(Names(paper.models.begin(), paper.models.end()) == models);
  }
}

TEST_CASE("papers: another name is an error that lists the papers") {
  CHECK_THROWS_WITH(static_cast<void>(find_paper("bert")),
                    "[reproduce] there is no paper 'bert', expected tnp-kr, anp, eqtnp, cmanp, taylorformer");
}
