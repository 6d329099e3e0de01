#include "datasets/scores.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "engine/random.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("scores: a running mean and its standard error") {
  RunningMean mean;
  CHECK(mean.count() == 0);
  mean.add(1e9 + 1);
  CHECK(std::isnan(mean.standard_error()));
  for (double value : {2.0, 3.0, 6.0}) mean.add(1e9 + value);
  CHECK(mean.count() == 4);
  CHECK(mean.mean() == 1e9 + 3);
  CHECK(mean.standard_error() == doctest::Approx(std::sqrt(14.0 / 3 / 4)).epsilon(1e-12));
}

TEST_CASE("scores: log-likelihoods are per point, and batches count equally") {
  GaussianScores scores;
  const std::vector<double> mean{0, 0, 1, 1}, std{1, 1, 2, 2}, y{0, 0, 1, 1};
  const double at_zero = -0.5 * std::log(2 * std::acos(-1.0));
  CHECK(scores.add(mean, std, y, 2) == doctest::Approx(2 * at_zero - std::log(2.0)));
  CHECK(scores.add(std::vector{0.0}, std::vector{1.0}, std::vector{1.0}, 1) == doctest::Approx(at_zero - 0.5));
  CHECK(scores.log_likelihood().mean() == doctest::Approx((3 * at_zero - std::log(2.0) - 0.5) / 2));
  CHECK(error_of([&] { scores.add(mean, std, std::vector{1.0}, 1); }) == "[scores] 4 means, 4 deviations and 1 values");
}

TEST_CASE("scores: coverage counts what lies inside, borders included") {
  GaussianScores scores;
  const double z50 = 0.674489750196082, z95 = 1.959963984540054;
  const std::vector<double> y{0, z50 - 1e-9, -(z50 + 1e-9), z95 - 1e-9, z95 + 1e-9, 40, -40, 0};
  scores.add(std::vector<double>(8, 0.0), std::vector<double>(8, 1.0), y, 8);
  CHECK(scores.coverage(5) == 2 / 8.0);
  CHECK(scores.coverage(50) == 3 / 8.0);
  CHECK(scores.coverage(55) == 4 / 8.0);
  CHECK(scores.coverage(90) == 4 / 8.0);
  CHECK(scores.coverage(95) == 5 / 8.0);
  for (int percent : {0, 52, 100, -5})
    CHECK(error_of([&] { scores.coverage(percent); }).starts_with("[scores] interval of "));
}

TEST_CASE("scores: the calibration error is 0 for the truth and known for a wrong width") {
  constexpr std::int64_t kValues = 200'000;
  Random random(3, 0);
  std::vector<double> y(kValues);
  random.fill_normal(y);
  const auto error_of_width = [&](double width) {
    GaussianScores scores;
    scores.add(std::vector<double>(kValues, 0.0), std::vector<double>(kValues, width), y, kValues);
    return scores.calibration_error();
  };
  CHECK(error_of_width(1) < 3 * 0.5 / std::sqrt(kValues));
  CHECK(error_of_width(1e9) == doctest::Approx(0.5));   // all are inside: 1 − p, which is 0.5 on average
  CHECK(error_of_width(1e-9) == doctest::Approx(0.5));  // none is
}
