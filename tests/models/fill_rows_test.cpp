#include "npzoo/models/applications/tables/fill_rows.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "npzoo/engine/error.h"
#include "tests/testing.h"

using namespace npzoo;

namespace {

/// Two columns, the second twice the first but for a little, with holes in turn, and a complete one.
struct RowsAlone {
  std::vector<double> first, second, other;

  explicit RowsAlone(int rows) {
    const double hole = std::numeric_limits<double>::quiet_NaN();
    for (int i = 0; i < rows; ++i) {
      const double x = std::sin(1.7 * i) + 0.3 * std::cos(2.9 * i);
      first.push_back(i % 6 == 1 ? hole : x);
      second.push_back(i % 6 == 4 ? hole : 2 * x + 0.1 * std::sin(5.3 * i));
      other.push_back(std::cos(11.0 * i));
    }
  }

  FillData data() const {
    return {.dim_x = 0,
            .x = {},
            .values = {first, second},
            .value_names = {"a", "b"},
            .helpers = {other},
            .helper_names = {"c"}};
  }
};

}  // namespace

TEST_CASE("rows alone: missing values from the other columns, known ones as they are") {
  const RowsAlone rows(60);
  const FillResult result = fill_rows_alone(rows.data(), {.quantiles = {0.5, 0.9}, .samples = 3, .seed = 1});
  for (std::size_t i = 0; i < 60; ++i) {
    const bool hole = i % 6 == 1;
    const PredictedColumn& a = result.columns[0];
    CHECK(result.answered[i]);
    if (hole)
      CHECK(std::abs(a.mean[i] - rows.second[i] / 2) < 0.3);
    else
      CHECK(a.mean[i] == rows.first[i]);
    CHECK((a.std[i] > 0) == hole);
    CHECK(a.quantiles[2 * i] == doctest::Approx(a.mean[i]));
    CHECK(a.quantiles[2 * i + 1] == doctest::Approx(a.mean[i] + 1.2815515655 * a.std[i]));
    if (!hole) CHECK(a.samples[3 * i + 2] == rows.first[i]);
  }
  CHECK(result.warnings.empty());
  CHECK(result.weights.name() == "columns");
  CHECK(result.report.help->together());
  CHECK(result.report.help->names == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("rows alone: a warning says that columns have no order in time") {
  const RowsAlone rows(60);
  FillData d = rows.data();
  d.value_names = {"2019", "2020"};
  d.helper_names = {"2018"};
  const FillResult result = fill_rows_alone(d, {});
  REQUIRE(result.warnings.size() == 1);
  CHECK(result.warnings[0].text.starts_with(R"("2019", "2020" and "2018" name times: put them into a column)"));
  CHECK(result.warnings[0].text.ends_with("; here no column comes before another"));
}

TEST_CASE("rows alone: samples of a row depend on each other as the columns do") {
  RowsAlone rows(60);
  rows.first[40] = rows.second[40] = std::numeric_limits<double>::quiet_NaN();
  constexpr std::size_t kSamples = 400;
  const FillResult result = fill_rows_alone(rows.data(), {.samples = kSamples});
  double products = 0, squares = 0;
  for (std::size_t s = 0; s < kSamples; ++s) {
    double errors[2] = {};
    for (std::size_t v = 0; v < 2; ++v) {
      const PredictedColumn& c = result.columns[v];
      errors[v] = (c.samples[40 * kSamples + s] - c.mean[40]) / c.std[40];
    }
    products += errors[0] * errors[1] / kSamples;
    squares += errors[0] * errors[0] / kSamples;
  }
  CHECK(products > 0.8);
  CHECK(squares == doctest::Approx(1).epsilon(0.15));
}

TEST_CASE("rows alone: errors") {
  const RowsAlone rows(60), few(4);
  const auto message = [](const FillData& d, const FillOptions& options = {}) {
    try {
      fill_rows_alone(d, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  FillData d = rows.data();
  d.dim_x = 1;
  CHECK(message(d) == "[predict] 1 inputs of 0 numbers found, expected none for rows alone");
  d = rows.data();
  d.helper_names.clear();
  CHECK(message(d) == "[predict] 2 columns of values and 1 helpers with 2 and 0 names found, expected a name for each");
  d = rows.data();
  d.truth = {rows.first, rows.second};
  CHECK(message(d) == "[predict] groups, targets or a truth found, expected none for rows without an input");
  d = rows.data();
  d.values[1] = few.second;
  CHECK(message(d) == "[predict] 4 values of b found, expected 60, one for each row");
  RowsAlone infinite(60);
  infinite.other[3] = std::numeric_limits<double>::infinity();
  CHECK(message(infinite.data()) ==
        "[predict] row 3 of values of c is inf, expected a finite number, or NaN if it is missing");
  CHECK(message(few.data()) ==
        "[predict] 4 rows with two known values found, expected 5 or more for columns that predict each other");
  d = rows.data();
  d.values.pop_back();
  d.value_names.pop_back();
  d.helpers.clear();
  d.helper_names.clear();
  CHECK(message(d) == "[predict] one column without an input found, expected --inputs, or more columns");
  d = rows.data();
  d.values.assign(501, rows.first);
  d.value_names.assign(501, "a");
  CHECK(message(d) ==
        "[predict] 60 rows of 502 columns without an input found, expected at most 500 columns and 20000000 cells");
  CHECK(message(rows.data(), {.transform = {.low = 0}}) ==
        "[predict] --bounds, --counts or --transform found for rows without an input, expected --inputs");
}
