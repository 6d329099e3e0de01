#include "npzoo/models/applications/tables/columns/gap_marks.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/fill_rows.h"
#include "tests/testing.h"

using namespace npzoo;

namespace {

constexpr double kHole = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kRows = 100;
using Names = std::vector<std::string>;

bool in_gap(std::size_t row) { return row >= 40 && row < 50; }

/// A value with a gap of ten rows, and a helper.
CellTable with_helper(const std::function<double(std::size_t row)>& helper) {
  CellTable cells(kRows, 2);
  for (std::size_t i = 0; i < kRows; ++i) {
    cells(i, 0) = in_gap(i) ? kHole : std::sin(0.3 * static_cast<double>(i));
    cells(i, 1) = helper(i);
  }
  return cells;
}

GapMarks forget(CellTable& cells, const Names& names, std::size_t values = 1) {
  return forget_gap_marks(cells, values, names, [](std::size_t, std::size_t) { return true; });
}

double wave(std::size_t row) { return 12.6 + 0.1 * std::sin(1.1 * static_cast<double>(row)); }

}  // namespace

TEST_CASE("gap marks: a helper that is constant beside known values is left out") {
  for (const double known : {1.0, 0.0}) {
    CellTable cells = with_helper([&](std::size_t row) { return in_gap(row) ? 3 : known; });
    const GapMarks marks = forget(cells, {"pm10", "status"});
    CHECK(marks.left_out == std::vector<std::size_t>{1});
    CHECK(marks.texts == Names{"status is not used: it is the same wherever pm10 is known"});
    CHECK(cells.columns == 1);
    CHECK(cells(99, 0) == std::sin(0.3 * 99));
    Names names{"pm10", "status"};
    marks.erase_from(names);
    CHECK(names == Names{"pm10"});
  }
}

TEST_CASE("gap marks: far from its other values, or a third one of two") {
  const Names expected{"h is not used: where flow is missing it is unlike all its values elsewhere"};
  CellTable battery = with_helper([](std::size_t row) { return wave(row) - (in_gap(row) ? 1.7 : 0); });
  CHECK(forget(battery, {"flow", "h"}).texts == expected);
  CellTable count = with_helper([](std::size_t row) -> double { return in_gap(row) ? 22 : row % 7 == 0 ? 23 : 24; });
  CHECK(forget(count, {"flow", "h"}).texts == expected);
  CHECK(count.columns == 1);
}

TEST_CASE("gap marks: helpers that go on as they were are used") {
  const std::function<double(std::size_t)> all[] = {
      wave,                                                                  // the same everywhere
      [](std::size_t row) { return wave(row) + (in_gap(row) ? 0.15 : 0); },  // beyond the range by less than its width
      [](std::size_t row) { return row == 45 ? 20 : wave(row); },            // one row may be chance
      [](std::size_t row) { return static_cast<double>(row % 2); },          // two values that both have
      [](std::size_t row) { return row % 3 == 0 && in_gap(row) ? kHole : 7.0; },  // constant, and missing
  };
  for (const auto& helper : all) {
    CellTable cells = with_helper(helper);
    CHECK(forget(cells, {"a", "b"}).texts.empty());
    CHECK(cells.columns == 2);
    for (std::size_t i = 0; i < kRows; ++i) CHECK((cells(i, 1) == helper(i) || std::isnan(helper(i))));
  }
}

TEST_CASE("gap marks: rows of few known values are unlike by chance, and rows that nobody asks do not count") {
  CellTable cells(kRows, 2);
  for (std::size_t i = 0; i < kRows; ++i) {
    if (i % 20 == 3) cells(i, 0) = wave(i);
    cells(i, 1) = i % 10 == 5 ? 100 : wave(i);
  }
  CHECK(forget(cells, {"a", "b"}).texts.empty());
  CellTable status = with_helper([&](std::size_t row) { return in_gap(row) ? 3 : 1; });
  CHECK(forget_gap_marks(status, 1, Names{"a", "b"}, [](std::size_t, std::size_t) { return false; }).texts.empty());
  CHECK(status.columns == 2);
}

TEST_CASE("gap marks: of two values with gaps, the helper of one stays in the rows of the other") {
  CellTable cells(kRows, 3);
  for (std::size_t i = 0; i < kRows; ++i) {
    if (!in_gap(i)) cells(i, 0) = wave(i);
    if (i % 4 != 1) cells(i, 1) = wave(i + 7);
    cells(i, 2) = in_gap(i) ? 5 : wave(i);
  }
  const GapMarks marks = forget(cells, {"a", "b", "h"}, 2);
  CHECK(marks.left_out.empty());
  CHECK(marks.texts == Names{"h is not used in 10 rows: where a is missing it is unlike all its values elsewhere"});
  for (std::size_t i = 0; i < kRows; ++i) CHECK(cells.known(i, 2) == !in_gap(i));
}

TEST_CASE("gap marks: a value with a blank of its own does not help in the gaps that it marks") {
  CellTable cells(kRows, 3);
  for (std::size_t i = 0; i < kRows; ++i) {
    if (!in_gap(i)) cells(i, 0) = wave(i + 5);
    if (i != 20) cells(i, 1) = wave(i) - (in_gap(i) ? 1.7 : 0);
    cells(i, 2) = wave(i + 3);
  }
  const GapMarks marks = forget(cells, {"flow", "battery", "level"}, 2);
  CHECK(marks.left_out.empty());
  CHECK(marks.texts == Names{"battery is not used for other columns in 10 rows: where flow is missing it is unlike all "
                             "its values elsewhere"});
  CHECK(marks.values.size() == 10);
  const CellTable known = marks.with_values(cells);
  for (std::size_t i = 0; i < kRows; ++i) {
    CHECK(cells.known(i, 1) == !(in_gap(i) || i == 20));
    CHECK(known.known(i, 1) == (i != 20));
  }
  CHECK(known(45, 1) == wave(45) - 1.7);
}

TEST_CASE("gap marks: rows alone keep known values that mark gaps of others") {
  std::vector<double> flow, battery, level;
  for (std::size_t i = 0; i < kRows; ++i) {
    const double x = std::sin(1.7 * static_cast<double>(i)) + 0.3 * std::cos(2.9 * static_cast<double>(i));
    flow.push_back(in_gap(i) ? kHole : 30 + 5 * x);
    battery.push_back(i == 20 ? kHole : 12.6 + 0.1 * x - (in_gap(i) ? 3 : 0));
    level.push_back(2 + x + 0.1 * std::sin(7.3 * static_cast<double>(i)));
  }
  const FillData d{.dim_x = 0,
                   .x = {},
                   .values = {flow, battery},
                   .value_names = {"flow", "battery"},
                   .helpers = {level},
                   .helper_names = {"level"}};
  const FillResult result = fill_rows_alone(d);
  for (std::size_t i = 40; i < 50; ++i) {
    const double x = std::sin(1.7 * static_cast<double>(i)) + 0.3 * std::cos(2.9 * static_cast<double>(i));
    CHECK(std::abs(result.columns[0].mean[i] - (30 + 5 * x)) < 2);
    CHECK(result.columns[1].mean[i] == battery[i]);
    CHECK(result.columns[1].std[i] == 0);
  }
  CHECK(std::isfinite(result.columns[1].mean[20]));
}

TEST_CASE("gap marks: words that only gaps have are left out, other words stay") {
  CellTable cells(kRows, 5);  // a value with two gaps, and the indicators of three words; some rows have a fourth one
  const auto kind = [](std::size_t row) { return in_gap(row) ? 2 : row % 13 == 0 ? 3 : row % 2; };
  for (std::size_t i = 0; i < kRows; ++i) {
    cells(i, 0) = in_gap(i) || i % 4 == 2 ? kHole : wave(i);
    for (std::size_t word = 0; word < 3; ++word) cells(i, 1 + word) = kind(i) == word ? 1 : 0;
    cells(i, 4) = wave(i + 3);
  }
  const GapMarks marks = forget(cells, {"a", "state", "state", "state", "other"});
  CHECK(marks.left_out == std::vector<std::size_t>{3});
  CHECK(marks.texts == Names{"state is not used in 10 rows: where a is missing it is unlike all its values elsewhere"});
  CHECK(cells.columns == 4);
  for (std::size_t i = 0; i < kRows; ++i) {
    CHECK((cells.known(i, 1) == !in_gap(i) && cells.known(i, 2) == !in_gap(i)));
    CHECK(cells(i, 3) == wave(i + 3));
  }
}

TEST_CASE("gap marks: rows alone are filled as without the helper") {
  std::vector<double> calcium, magnesium, diluted;
  for (std::size_t i = 0; i < kRows; ++i) {
    const double x = std::sin(1.7 * static_cast<double>(i)) + 0.3 * std::cos(2.9 * static_cast<double>(i));
    calcium.push_back(i % 12 == 5 ? kHole : 50 + 10 * x + std::sin(7.3 * static_cast<double>(i)));
    magnesium.push_back(12 + 3 * x);
    diluted.push_back(i % 12 == 5 ? 1 : 0);
  }
  FillData d{.dim_x = 0,
             .x = {},
             .values = {calcium},
             .value_names = {"Ca"},
             .helpers = {magnesium, diluted},
             .helper_names = {"Mg", "state"}};
  const FillResult marked = fill_rows_alone(d);
  CHECK(marked.report.help->helpers() == "Mg");
  CHECK(marked.report.help->summary().ends_with("state is not used: it is the same wherever Ca is known"));
  CHECK(marked.report.help->text().ends_with("state is not used: it is the same wherever Ca is known"));
  d.helpers.pop_back();
  d.helper_names.pop_back();
  const FillResult plain = fill_rows_alone(d);
  CHECK(plain.report.help->unused.empty());
  d.helpers[0] = diluted;
  d.helper_names[0] = "state";
  CHECK(testing::error_of([&] {
          fill_rows_alone(d);
        }).ends_with("; state is not used: it is the same wherever Ca is known"));
  CHECK((marked.columns[0].mean == plain.columns[0].mean && marked.columns[0].std == plain.columns[0].std));
}
