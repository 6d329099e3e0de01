#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "npzoo/models/applications/tables/covariate_check.h"
#include "npzoo/models/applications/tables/dependent_columns.h"
#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/training/named_weights.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// A table of times and covariates by their names, with the rows to predict behind the observed ones.
struct CovariateTable {
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;
  std::vector<std::size_t> groups;  // of the columns
  std::vector<double> y, x{};
  std::vector<std::string> x_names{"t"};

  /// The covariates in this order.
  FillData data(const std::vector<std::size_t>& order) {
    x.clear();
    x_names.resize(1);
    FillData d{.dim_x = static_cast<std::int64_t>(1 + order.size()),
               .x = {},
               .covariates = static_cast<std::int64_t>(order.size()),
               .x_groups = {0}};
    for (const std::size_t c : order) {
      x_names.push_back(names[c]);
      d.x_groups.push_back(1 + groups[c]);
    }
    for (std::size_t i = 0; i < y.size(); ++i) {
      x.push_back(static_cast<double>(i));
      for (const std::size_t c : order) x.push_back(columns[c][i]);
    }
    d.x = x;
    d.values = {y};
    d.x_names = x_names;
    return d;
  }
  FillData data() {
    std::vector<std::size_t> order(names.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    return data(order);
  }
};

/// `count` columns of normal numbers; y is 10 times the last one, with little noise.
CovariateTable numbers(std::size_t count, std::size_t rows, std::size_t asked) {
  Random random(41);
  CovariateTable t;
  for (std::size_t c = 0; c < count; ++c) {
    t.names.push_back(std::string(1, static_cast<char>('a' + c)));
    t.columns.emplace_back(rows + asked);
    t.groups.push_back(c);
    random.fill_normal(t.columns.back());
  }
  for (std::size_t i = 0; i < rows + asked; ++i)
    t.y.push_back(i < rows ? 10 * t.columns[count - 1][i] + 0.1 * random.normal() : kNaN);
  return t;
}

/// A covariate of words, as columns of zeros and ones: row i has category i mod `count`, and the value 7 for each step.
CovariateTable categories(std::size_t count, std::size_t rows, std::size_t asked) {
  Random random(42);
  CovariateTable t;
  for (std::size_t c = 0; c < count; ++c) {
    t.names.push_back(std::string("shop = ") + static_cast<char>('a' + c));
    t.groups.push_back(0);
    std::vector<double>& column = t.columns.emplace_back();
    for (std::size_t i = 0; i < rows + asked; ++i) column.push_back(i % count == c);
  }
  for (std::size_t i = 0; i < rows + asked; ++i)
    t.y.push_back(i < rows ? 7 * static_cast<double>(i % count) + 0.1 * random.normal() : kNaN);
  return t;
}

const Warning* warning_about(const std::vector<Warning>& all, const std::string& kind) {
  const auto at = std::ranges::find_if(all, [&](const Warning& w) { return w.about.starts_with(kind); });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("covariates: more of them than a third of the rows are all used, in any order") {
  CovariateTable table = numbers(5, 10, 4);
  for (const char* weights : {"", "gp"}) {
    std::vector<std::size_t> order{0, 1, 2, 3, 4};
    const FillResult first = fill(weights, table.data(order), {.quantiles = {0.1}, .samples = 2});
    for (std::size_t i = 10; i < 14; ++i)
      CHECK(first.columns[0].mean[i] == doctest::Approx(10 * table.columns[4][i]).epsilon(0.03));
    for (int turn = 0; turn < 6; ++turn) {
      std::ranges::next_permutation(order);
      std::rotate(order.begin(), order.begin() + turn % 5, order.end());
      const FillResult other = fill(weights, table.data(order), {.quantiles = {0.1}, .samples = 2});
      CHECK(other.columns[0].mean == first.columns[0].mean);
      CHECK(other.columns[0].std == first.columns[0].std);
      CHECK(other.columns[0].quantiles == first.columns[0].quantiles);
      CHECK(other.columns[0].samples == first.columns[0].samples);
    }
  }
}

TEST_CASE("covariates: each of many categories has an effect, and a new one their spread") {
  CovariateTable table = categories(9, 18, 9);
  for (const char* weights : {"", "gp"}) {
    const FillResult found = fill(weights, table.data());
    for (std::size_t i = 18; i < 27; ++i) {
      CHECK(std::abs(found.columns[0].mean[i] - 7 * static_cast<double>(i % 9)) < 0.5);
      CHECK(found.columns[0].std[i] < 1.5);
    }
    CHECK(warning_about(found.warnings, "unknown") == nullptr);
  }
  table.names.emplace_back("shop = new");
  table.groups.push_back(0);
  for (std::size_t c = 0; c < 9; ++c) table.columns[c][20] = 0;
  table.columns.emplace_back(27);
  table.columns[9][20] = 1;
  const FillResult found = fill("", table.data());
  CHECK(found.columns[0].std[20] > 8);
  CHECK(found.columns[0].std[20] < 40);
  REQUIRE(warning_about(found.warnings, "unknown category"));
  CHECK(warning_about(found.warnings, "unknown category")->text ==
        "shop = new is in no observed row and in a row to predict: its effect is unknown, predicted as the mean of the "
        "categories with their spread");
  std::string lines;
  for (const std::string& line : found.report.notes) lines += line + "\n";
  CHECK(lines.find(" where shop = a, from the mean of all categories") != std::string::npos);
  CHECK(lines.find("shop = new") == std::string::npos);
}

TEST_CASE("covariates: the uncertainty of slopes is part of std, quantiles, samples and scores") {
  CovariateTable table = numbers(1, 30, 3);
  table.columns[0][31] = 60;
  table.columns[0][32] = -40;
  double square = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    table.y[i] += 0.9 * std::cos(9.0 * static_cast<double>(i));
    square += table.columns[0][i] * table.columns[0][i];
  }
  const double expected = 60 * 0.65 / std::sqrt(square);  // of least squares
  FillData data = table.data();
  std::vector<double> truth(33, kNaN);
  truth[31] = 600;
  data.truth = {truth};
  for (const char* weights : {"", "gp"}) {
    const FillResult found = fill(weights, data, {.quantiles = {0.025}, .samples = 400});
    const PredictedColumn& c = found.columns[0];
    CHECK(c.std[31] > 0.6 * expected);
    CHECK(c.std[31] < 3 * expected);
    CHECK(c.quantiles[31] == doctest::Approx(c.mean[31] - 1.96 * c.std[31]).epsilon(0.02));
    CHECK(c.central_mass[31] ==
          doctest::Approx(std::erf(std::abs(600 - c.mean[31]) / c.std[31] / std::sqrt(2.0))).epsilon(0.05));
    double variance = 0, product = 0;
    for (std::size_t s = 0; s < 400; ++s) {
      const double high = c.samples[31 * 400 + s] - c.mean[31], low = c.samples[32 * 400 + s] - c.mean[32];
      variance += high * high / 400;
      product += high * low / 400;
    }
    CHECK(std::sqrt(variance) == doctest::Approx(c.std[31]).epsilon(0.12));
    CHECK(product / (c.std[31] * c.std[32]) < -0.7);  // one slope for both rows
    REQUIRE(warning_about(found.warnings, "covariate range"));
    CHECK(warning_about(found.warnings, "covariate range")
              ->text.starts_with("a is up to 60 in 2 rows to predict, observed from "));
  }
  const FillResult more = fill("", data, {.samples = 400}), few = fill("", data, {.samples = 5});
  for (std::size_t s = 0; s < 5; ++s)
    CHECK(few.columns[0].samples[31 * 5 + s] == more.columns[0].samples[31 * 400 + s]);
}

TEST_CASE("covariates: bands of 95 % hold the values ten times beyond the observed range") {
  Random random(43);
  int inside = 0, all = 0;
  for (int task = 0; task < 24; ++task) {
    CovariateTable table = numbers(2, 24, 5);
    std::vector<double> truth(29, kNaN);
    const double slope = 2 * random.normal();
    for (std::size_t i = 0; i < 29; ++i) {
      for (std::vector<double>& column : table.columns) column[i] = (i < 24 ? 1 : 10) * random.normal();
      (i < 24 ? table.y : truth)[i] = slope * table.columns[0][i] + random.normal();
    }
    FillData data = table.data();
    data.truth = {truth};
    const FillResult found = fill("", data);
    for (std::size_t i = 24; i < 29; ++i, ++all) inside += found.columns[0].central_mass[i] < 0.95;
  }
  CHECK(inside >= 0.88 * all);
  CHECK(inside < all);
}

TEST_CASE("covariates: columns that the observed rows cannot tell apart are named, and make std wider") {
  CovariateTable table = numbers(3, 20, 3);
  table.names = {"b", "q", "p"};
  for (std::size_t i = 0; i < 23; ++i) table.columns[1][i] = 2 * table.columns[2][i] - 1;
  const FillResult alike = fill("", table.data());
  CHECK(warning_about(alike.warnings, "covariates alike") == nullptr);
  CHECK(std::ranges::count(alike.report.notes, "the observed rows cannot tell p and q apart") == 1);
  CHECK(alike.columns[0].std[21] < 1);
  table.columns[1][21] += 3;
  table.columns[1][22] -= 3;
  for (const char* weights : {"", "gp"}) {
    const FillResult found = fill(weights, table.data());
    CHECK(found.columns[0].std[21] > 3);
    REQUIRE(warning_about(found.warnings, "covariates alike"));
    CHECK(warning_about(found.warnings, "covariates alike")->text ==
          "the observed rows cannot tell p and q apart, but they differ in 2 rows to predict: the effect is shared "
          "between them, which makes std wider there");
  }
}

TEST_CASE("covariates: values that never change are named, and few rows tell no covariates apart") {
  CovariateTable table = numbers(2, 12, 2);
  std::ranges::fill(table.columns[0], 3.0);
  CHECK(check_covariate_values(table.data()).warnings.empty());
  table.columns[0][13] = 4;
  const CovariateCheck constant = check_covariate_values(table.data());
  REQUIRE(warning_about(constant.warnings, "unknown effect"));
  CHECK(warning_about(constant.warnings, "unknown effect")->text ==
        "a has one value in all observed rows of a series and another one in a row to predict: its effect is unknown "
        "and taken to be 0");
  CovariateTable few = numbers(8, 5, 2);
  const CovariateCheck none = check_covariate_values(few.data());
  REQUIRE(warning_about(none.warnings, "covariates alike"));
  CHECK(warning_about(none.warnings, "covariates alike")
            ->text.starts_with("the observed rows cannot tell a, b, c, d, e and 3 others apart"));
  for (const char* weights : {"", "gp"})
    for (const std::size_t rows : {0, 1, 2, 3}) {
      CovariateTable little = numbers(3, rows, 2);
      const FillResult found = fill(weights, little.data());
      CHECK(found.unanswered == 0);
      CHECK(std::isfinite(found.columns[0].std[rows]));
    }
}

TEST_CASE("dependent columns: functions of others are found with their weights, whatever the order") {
  Random random(7);
  std::vector<double> rows;
  for (int i = 0; i < 40; ++i) {
    const double a = random.normal(), b = 1e6 + 1e3 * random.normal(), c = random.normal();
    rows.insert(rows.end(), {a, b, c, 5, 3 * a - b, 2 * c + 1});
  }
  const ColumnDependence found = find_dependence(rows, 6);
  CHECK(found.dependent.size() == 2);
  CHECK(found.deviation[3] == 0);
  const std::vector<std::size_t> component = found.components();
  CHECK(component[0] == component[1]);
  CHECK(component[0] == component[4]);
  CHECK(component[2] == component[5]);
  CHECK(component[0] != component[2]);
  CHECK(component[3] == 3);
  for (const DependentColumn& d : found.dependent) {
    const std::vector<double> same{1, 1e6, 2, 9, 3 - 1e6, 5}, other{1, 1e6, 2, 9, 2.5e3 - 1e6, 5.5};
    CHECK(found.difference(d, same.data()) == 0);
    CHECK(found.difference(d, other.data()) != 0);
  }
  CHECK(find_dependence({}, 2).dependent.empty());
}

namespace {

/// y is 3 for each unit of the covariate, with little noise; every fourth value of y and every fifth covariate are
/// missing.
struct GapsInCovariates {
  std::vector<double> x, y, truth;
  std::vector<bool> unknown;  // covariates

  explicit GapsInCovariates(std::size_t rows, bool with_gaps = true) {
    Random random(43);
    for (std::size_t i = 0; i < rows; ++i) {
      const double covariate = random.normal(), value = 3 * covariate + 0.1 * random.normal();
      unknown.push_back(with_gaps && i % 5 == 2);
      x.insert(x.end(), {static_cast<double>(i), unknown[i] ? kNaN : covariate});
      y.push_back(i % 4 == 3 ? kNaN : value);
      truth.push_back(value);
    }
  }

  FillData data() const {
    return {.dim_x = 2,
            .x = x,
            .values = {y},
            .truth = {truth},
            .x_names = {"t", "c"},
            .value_names = {"y"},
            .covariates = 1};
  }
};

}  // namespace

TEST_CASE("covariates: missing ones are predicted, and their uncertainty is part of the answer") {
  const GapsInCovariates all(160, false), gaps(160);
  for (const std::string weights : {"", "gp"}) {
    CAPTURE(weights);
    const FillOptions options{.quantiles = {0.1}, .samples = 400, .seed = 3};
    const FillResult full = fill(weights, all.data(), options), some = fill(weights, gaps.data(), options);
    const PredictedColumn &known = full.columns[0], &found = some.columns[0];
    std::int64_t beside = 0;
    for (std::size_t i = 0; i < gaps.y.size(); ++i) {
      CAPTURE(i);
      const bool asked = std::isnan(gaps.y[i]);
      if (!gaps.unknown[i]) {
        CHECK(found.mean[i] == doctest::Approx(known.mean[i]).epsilon(0.1).scale(1));
        CHECK(found.std[i] < 1.3 * known.std[i]);
        continue;
      }
      beside += !asked;
      CHECK((found.std[i] > 2 && found.std[i] < 4));  // 3 times the deviation of the covariate, which is 1
      CHECK(found.quantiles[i] == doctest::Approx(found.mean[i] - 1.2816 * found.std[i]).epsilon(0.02));
      double mean = 0, squares = 0;
      for (std::size_t k = 0; k < 400; ++k) {
        mean += found.samples[i * 400 + k] / 400;
        squares += found.samples[i * 400 + k] * found.samples[i * 400 + k] / 400;
      }
      CHECK(std::sqrt(squares - mean * mean) == doctest::Approx(found.std[i]).epsilon(0.15));
    }
    REQUIRE(some.warnings.size() >= 2);
    CHECK(some.warnings[0].text ==
          "32 values of c, a covariate, were missing and predicted, and their uncertainty is part of the answer");
    CHECK(some.warnings[1].text ==
          fmt::format("{} known values were not used, since a covariate of the row was predicted and stays uncertain",
                      beside));
    CHECK(some.scores[0].rows == 40);  // of the values that were missing, not of those that were left out
    CHECK(some.scores[0].coverage_95 > 0.85);
  }
}

TEST_CASE("covariates: those that their neighbours tell keep the values beside them") {
  std::vector<double> x, y;
  Random random(44);
  for (int i = 0; i < 120; ++i) {
    const double covariate = std::sin(i / 9.0);
    x.insert(x.end(), {static_cast<double>(i), i % 6 == 2 ? kNaN : covariate});
    y.push_back(i % 8 == 5 ? kNaN : 2 * covariate + 0.1 * random.normal());
  }
  const FillResult result =
      fill("", {.dim_x = 2, .x = x, .values = {y}, .x_names = {"t", "c"}, .value_names = {"y"}, .covariates = 1}, {});
  REQUIRE(!result.warnings.empty());
  CHECK(result.warnings[0].about == "covariates");
  for (const Warning& warning : result.warnings) CHECK(warning.text.find("not used") == std::string::npos);
  for (std::size_t i = 0; i < y.size(); ++i)
    CHECK(result.columns[0].mean[i] ==
          doctest::Approx(2 * std::sin(static_cast<double>(i) / 9)).scale(1).epsilon(0.25));
}

TEST_CASE("covariates: missing ones of the rows to predict, without any value, and arrays that do not fit") {
  GapsInCovariates gaps(80);
  FillData d = gaps.data();
  const std::vector<double> targets{80, kNaN, 81, 1.5}, truth{0, 4.5};
  d.targets = targets;
  d.truth = {truth};
  const FillResult result = fill("", d, {});
  CHECK((result.columns[0].std[0] > 2 && result.columns[0].std[0] < 5));
  CHECK(result.columns[0].mean[1] == doctest::Approx(4.5).epsilon(0.1));
  CHECK(result.columns[0].std[1] < 0.5);
  std::vector<double> unknown = gaps.x;
  for (std::size_t i = 1; i < unknown.size(); i += 2) unknown[i] = kNaN;
  FillData none = gaps.data();
  none.x = unknown;
  CHECK(error_of([&] { fill("", none, {}); }) == "[predict] the covariate c has no value, expected some");
  FillData short_values = gaps.data();
  short_values.values = {std::span<const double>(gaps.y).first(10)};
  CHECK(error_of([&] { fill("", short_values, {}); }).find("expected a finite number") != std::string::npos);
}
