#include "npzoo/models/applications/tables/hidden_thirds.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace npzoo;

namespace {

const double kMissing = std::numeric_limits<double>::quiet_NaN();

/// Three inputs and two columns of values; of every seventh row both are missing, of every fifth the second.
struct TwoColumns {
  std::vector<double> x;
  std::vector<std::vector<double>> y{{}, {}};

  explicit TwoColumns(int count, bool reversed = false) {
    for (int i = 0; i < count; ++i) {
      const int row = reversed ? count - 1 - i : i;
      for (const double at : {0.1 * row, std::sin(row), 1.0}) x.push_back(at);
      y[0].push_back(row % 7 == 0 ? kMissing : row);
      y[1].push_back(row % 7 == 0 || row % 5 == 0 ? kMissing : -row);
    }
  }

  FillData data() const { return {.dim_x = 3, .x = x, .values = {y[0], y[1]}}; }
};

/// A method with these mean CRPS of the columns, which notes how often each value was hidden.
FillMethod method(double first, double second, std::map<double, int>& hidden) {
  return [=, &hidden](const FillData& d) {
    FillResult result;
    const double crps[] = {first, second};
    for (std::size_t v = 0; v < 2; ++v) {
      std::int64_t rows = 0;
      for (std::size_t i = 0; i < d.values[v].size(); ++i)
        if (std::isnan(d.values[v][i]) && !std::isnan(d.truth[v][i])) ++hidden[d.truth[v][i]], ++rows;
      result.scores.push_back({.rows = rows, .crps = crps[v]});
    }
    return result;
  };
}

}  // namespace

TEST_CASE("hidden thirds: every observed value is hidden once, and CRPS are compared column by column") {
  std::map<double, int> of_a, of_b;
  const TwoColumns rows(60);
  const std::optional<double> ratio = compare_on_hidden_thirds(rows.data(), method(1, 8, of_a), method(2, 4, of_b));
  REQUIRE(ratio);
  CHECK(*ratio == doctest::Approx(1));  // half in one column, double in the other
  CHECK(of_a == of_b);
  std::size_t observed = 0;
  for (const std::vector<double>& column : rows.y)
    for (const double y : column) {
      if (std::isnan(y)) continue;
      ++observed;
      CHECK(of_a[y] == 1);
    }
  CHECK(of_a.size() == observed);
  CHECK(*compare_on_hidden_thirds(rows.data(), method(1, 1, of_a), method(2, 2, of_b)) == doctest::Approx(0.5));
}

TEST_CASE("hidden thirds: the same rows are hidden whatever their order") {
  std::vector<std::vector<double>> parts[2];
  for (const bool reversed : {false, true}) {
    const auto note = [&](const FillData& d) {
      std::vector<double> hidden;
      for (std::size_t i = 0; i < d.values[0].size(); ++i)
        if (std::isnan(d.values[0][i]) && !std::isnan(d.truth[0][i])) hidden.push_back(d.truth[0][i]);
      std::ranges::sort(hidden);
      parts[reversed].push_back(hidden);
      FillResult result;
      result.scores = {{.rows = 1, .crps = 1}, {.rows = 1, .crps = 1}};
      return result;
    };
    CHECK(compare_on_hidden_thirds(TwoColumns(60, reversed).data(), note, note));
  }
  CHECK(parts[0].size() == 6);
  CHECK(parts[0] == parts[1]);
}

TEST_CASE("hidden thirds: nothing is compared with few rows, many series, or scores that say nothing") {
  std::map<double, int> hidden;
  const auto compare = [&](const FillData& data, double crps = 1) {
    return compare_on_hidden_thirds(data, method(crps, 1, hidden), method(1, 1, hidden));
  };
  CHECK_FALSE(compare(TwoColumns(24).data()));  // fewer than 20 of the second column
  CHECK_FALSE(compare(TwoColumns(0).data()));
  const TwoColumns rows(200);
  CHECK(compare(rows.data()));
  CHECK_FALSE(compare(rows.data(), kMissing));
  FillData grouped = rows.data();
  std::vector<std::uint32_t> groups;
  for (std::uint32_t i = 0; i < 200; ++i) groups.push_back(i % 2);
  grouped.groups = groups;
  CHECK(compare(grouped));
  for (std::uint32_t i = 0; i < 200; ++i) groups[i] = i % 5;
  CHECK_FALSE(compare(grouped));
}
