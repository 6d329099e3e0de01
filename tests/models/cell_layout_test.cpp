#include "npzoo/models/applications/tables/cell_layout.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/table.h"
#include "npzoo/models/applications/tables/word_indicators.h"

using namespace npzoo;

namespace {

constexpr double kHole = std::numeric_limits<double>::quiet_NaN();

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

TEST_CASE("cell layout: rows stand in the order of their input, values before helpers") {
  const std::vector<double> x{3, 1, 2}, a{30, 10, kHole}, b{kHole, 1, 2}, help{7, 8, 9};
  const FillData data{.x = x, .values = {a, b}, .value_names = {"a", "b"}, .helpers = {help}, .helper_names = {"h"}};
  CellLayout layout(data);
  CHECK(layout.refusal().empty());
  CHECK(layout.names() == std::vector<std::string>{"a", "b", "h"});
  CHECK((layout.rows() == 3 && layout.columns() == 3 && layout.values() == 2));
  const CellTable cells = layout.cells();
  const std::vector<double> expected{10, 1, 8, kHole, 2, 9, 30, kHole, 7};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(same(cells.cells[i], expected[i]));
  CHECK(layout.data_row(0, 1) == 1);
  layout.leave_out(std::vector<std::size_t>{2});
  CHECK(layout.names() == std::vector<std::string>{"a", "b"});
  CHECK((layout.columns() == 2 && layout.values() == 2 && layout.cells().cells.size() == 6));
}

TEST_CASE("cell layout: groups are columns of the places that they share") {
  const std::vector<double> x{5, 5, 4, 6, 6}, y{1, 2, 3, kHole, 5}, z{10, 20, 30, 40, 50};
  const std::vector<std::uint32_t> groups{0, 1, 1, 0, 1};
  const FillData data{.x = x,
                      .values = {y, z},
                      .groups = groups,
                      .value_names = {"y", "z"},
                      .group_name = "site",
                      .group_labels = {"north", "south"}};
  const CellLayout layout(data);
  CHECK(layout.refusal().empty());
  CHECK((layout.rows() == 3 && layout.columns() == 4 && layout.values() == 4));
  CHECK(layout.names() == std::vector<std::string>{"y of north", "y of south", "z of north", "z of south"});
  const CellTable cells = layout.cells();
  const std::vector<double> expected{kHole, 3, kHole, 30, 1, 2, 10, 20, kHole, 5, 40, 50};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(same(cells.cells[i], expected[i]));
  CHECK(layout.data_row(0, 0) == CellLayout::kNoRow);
  CHECK(layout.data_row(2, 0) == 3);
  const std::vector<std::vector<double>> back = layout.values_of(cells);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK((same(back[0][i], y[i]) && same(back[1][i], z[i])));
  FillResult result;
  for (const auto& column : {y, z}) {
    PredictedColumn& made = result.columns.emplace_back();
    made.mean = column;
    made.std.assign(column.size(), 0.5);
  }
  const CellFigures figures = layout.figures(result, cells);
  CHECK((figures.mean(1, 3) == 20 && figures.std(1, 3) == 0.5));
  CHECK((figures.mean(0, 2) == 25 && figures.std(0, 2) == 15));  // no row: mean and deviation of 10 and 40
}

TEST_CASE("cell layout: two rows of a group at one place, and tables that are too large") {
  const std::vector<double> x{1, 1, 2}, y{1, 2, 3};
  const std::vector<std::uint32_t> groups{0, 0, 0};
  const FillData twice{.x = x, .values = {y}, .groups = groups, .value_names = {"y"}};
  CHECK(CellLayout(twice).refusal() == "a group has several rows of one place");
  std::vector<double> many(600), values(600, 1);
  std::vector<std::uint32_t> each(600);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<double>(i % 7);
    each[i] = static_cast<std::uint32_t>(i);
  }
  const FillData wide{.x = many, .values = {values}, .groups = each, .value_names = {"y"}};
  CHECK(CellLayout(wide).refusal() == "groups have more than 500 columns");
}

TEST_CASE("word indicators: a column for each word of five rows or more") {
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = 0; i < 30; ++i) words.push_back(i < 6 ? 0 : i < 20 ? 4 : i < 28 ? 2 : 9);
  words.push_back(Table::kNoWord);
  const std::vector<std::vector<double>> columns = word_indicators(words);
  REQUIRE(columns.size() == 3);  // the most frequent word first; word 9 has two rows
  for (std::size_t row = 0; row < 30; ++row) {
    CHECK(columns[0][row] == (words[row] == 4));
    CHECK(columns[1][row] == (words[row] == 2));
    CHECK(columns[2][row] == (words[row] == 0));
  }
  for (const std::vector<double>& column : columns) CHECK(std::isnan(column[30]));
}

TEST_CASE("word indicators: one column for two words, none for one word or for names") {
  std::vector<std::uint32_t> words(12, 3);
  CHECK(word_indicators(words).empty());
  for (std::size_t i = 0; i < 5; ++i) words[i] = 8;
  const std::vector<std::vector<double>> columns = word_indicators(words);
  REQUIRE(columns.size() == 1);
  for (std::size_t i = 0; i < words.size(); ++i) CHECK(columns[0][i] == (words[i] == 3));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(i);
  CHECK(word_indicators(words).empty());
  CHECK(word_indicators({}).empty());
}
