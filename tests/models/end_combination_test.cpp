#include "npzoo/models/applications/forecasts/end_combination.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "npzoo/engine/random.h"

using namespace npzoo;

namespace {

constexpr std::array kMethods{EndMethod::smoothing, EndMethod::theta, EndMethod::drift, EndMethod::remainder};
constexpr std::int64_t kHidden = 6;

/// Errors of each of `kMethods`, in deviations of 1.
using Errors = std::array<double, kMethods.size()>;

EndPart part_of(const Errors& errors, std::vector<double> periods, bool held_out) {
  EndPart part{.y = std::vector<double>(60, 1.0), .truth = {}, .horizon = kHidden, .periods = std::move(periods)};
  if (held_out) part.truth.assign(kHidden, 0);
  for (std::size_t m = 0; m < kMethods.size(); ++m)
    part.methods[index_of(kMethods[m])].gaussian = {std::vector<double>(kHidden, errors[m]),
                                                    std::vector<double>(kHidden, 1)};
  return part;
}

/// A series, and two parts of it whose methods have these errors; `scored`: parts are held out.
std::vector<EndPart> series_of(const Errors& errors, bool scored = true, const std::vector<double>& periods = {}) {
  std::vector<EndPart> parts{part_of(errors, periods, false)};
  for (int part = 0; scored && part < 2; ++part) parts.push_back(part_of(errors, periods, true));
  return parts;
}

/// The combination of the first of these series.
EndCombination first_of(std::vector<EndPart> first, const std::vector<std::vector<EndPart>>& others) {
  std::vector<std::vector<EndPart>> all{std::move(first)};
  all.insert(all.end(), others.begin(), others.end());
  return choose_combinations(all).front();
}

double share(const EndCombination& c, EndMethod method) { return c.shares[index_of(method)]; }

constexpr Errors kLike{1, 1, 1, 1}, kGoodDrift{2, 2, 0.2, 2};

}  // namespace

TEST_CASE("choose_combinations: a good method has a larger share, and shares add up to 1") {
  const EndCombination alike = first_of(series_of(kLike), {}), drift = first_of(series_of(kGoodDrift), {});
  CHECK(share(drift, EndMethod::drift) > share(alike, EndMethod::drift));
  CHECK(std::accumulate(drift.shares.begin(), drift.shares.end(), 0.0) == doctest::Approx(1));
  CHECK(share(drift, EndMethod::level_profile) == 0);  // without a forecast
}

TEST_CASE("choose_combinations: a series learns from others with the same season, the more of them the more") {
  const std::vector<std::vector<EndPart>> few(3, series_of(kGoodDrift)), many(60, series_of(kGoodDrift)),
      seasonal(60, series_of(kGoodDrift, true, {12}));
  for (const bool scored : {true, false}) {
    CAPTURE(scored);
    const std::vector<EndPart> one = series_of(kLike, scored);
    const double alone = share(first_of(one, {}), EndMethod::drift), some = share(first_of(one, few), EndMethod::drift),
                 most = share(first_of(one, many), EndMethod::drift);
    CHECK(some > alone);
    CHECK(most > some);
    CHECK(share(first_of(one, seasonal), EndMethod::drift) == doctest::Approx(alone).epsilon(1e-12));
  }
}

TEST_CASE("choose_combinations: a series that is clear about its methods keeps them beside others") {
  const Errors bad_drift{0.2, 2, 3, 2};
  const EndCombination c = first_of(series_of(bad_drift), std::vector(60, series_of(kGoodDrift)));
  CHECK(share(c, EndMethod::smoothing) == std::ranges::max(c.shares));
}

TEST_CASE("choose_combinations: errors of other series change the width, less than their own size") {
  const std::vector<EndPart> one = series_of(kLike);
  const double alone = first_of(one, {}).width;
  const double wide = first_of(one, std::vector(60, series_of({2.5, 2.5, 2.5, 2.5}))).width,
               narrow = first_of(one, std::vector(60, series_of({0.4, 0.4, 0.4, 0.4}))).width;
  CHECK(wide > alone);
  CHECK(wide < 2.5 * alone);
  CHECK(narrow < alone);
  CHECK(narrow > 0.4 * alone);
  // A part whose values are all missing says nothing.
  std::vector<EndPart> blank = one;
  for (std::size_t part = 1; part < blank.size(); ++part) blank[part].truth.assign(kHidden, std::nan(""));
  CHECK(first_of(blank, {}).width == doctest::Approx(1.1));
  // Too short to hold a part out: a factor of its own.
  CHECK(first_of(series_of(kLike, false), std::vector(60, series_of({0.4, 0.4, 0.4, 0.4}))).width ==
        first_of(series_of(kLike, false), {}).width);
}

TEST_CASE("choose_combinations: the order of series makes no difference but rounding") {
  Random random(4);
  std::vector<std::vector<EndPart>> series;
  for (int i = 0; i < 12; ++i) {
    Errors errors{};
    for (double& e : errors) e = 2 * random.uniform();
    series.push_back(series_of(errors, i % 4 != 3, i % 3 == 0 ? std::vector<double>{4} : std::vector<double>()));
  }
  const std::vector<EndCombination> there = choose_combinations(series);
  std::ranges::reverse(series);
  const std::vector<EndCombination> back = choose_combinations(series);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const EndCombination &a = there[i], &b = back[series.size() - 1 - i];
    CHECK(a.width == doctest::Approx(b.width).epsilon(1e-12));
    for (std::size_t m = 0; m < kEndMethods; ++m) CHECK(a.shares[m] == doctest::Approx(b.shares[m]).epsilon(1e-12));
  }
}
