#include "npzoo/datasets/scores.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "npzoo/engine/random.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("scores: a running mean and its standard error") {
  RunningMean mean;
  CHECK(mean.estimate().value == 0);
  mean.add(1e9 + 1);
  CHECK(std::isnan(mean.estimate().standard_error));
  for (double value : {2.0, 3.0, 6.0}) mean.add(1e9 + value);
  CHECK(mean.count() == 4);
  CHECK(mean.estimate().value == 1e9 + 3);
  CHECK(mean.estimate().standard_error == doctest::Approx(std::sqrt(14.0 / 3 / 4)).epsilon(1e-12));
}

TEST_CASE("scores: quantiles of Student's distribution") {
  const std::pair<std::int64_t, double> tabled[] = {{1, 12.7062}, {2, 4.3027},  {3, 3.1824},   {4, 2.7764},
                                                    {9, 2.2622},  {30, 2.0423}, {1000, 1.9623}};
  for (const auto& [degrees, quantile] : tabled)
    CHECK(student_quantile(degrees) == doctest::Approx(quantile).epsilon(1e-4));
  CHECK(error_of([] { student_quantile(0); }) ==
        "[scores] Student's distribution of 0 degrees of freedom, expected 1 or more");
}

TEST_CASE("scores: log density of a normal distribution") {
  CHECK(log_normal_density(0, 0, 1) == doctest::Approx(-0.5 * std::log(2 * std::numbers::pi)));
  CHECK(log_normal_density(5, 1, 4) == doctest::Approx(-0.5 * std::log(8 * std::numbers::pi) - 2));
}

TEST_CASE("scores: coverage counts the values inside") {
  MarginalFit fit;
  const double z50 = 0.674489750196082, z95 = 1.959963984540054;
  for (double y : {0.0, z50 - 1e-9, -(z50 + 1e-9), z95 - 1e-9, z95 + 1e-9, 40.0, -40.0, 0.0}) fit.add(0, 1, y);
  CHECK(fit.coverage(5) == 2 / 8.0);
  CHECK(fit.coverage(50) == 3 / 8.0);
  CHECK(fit.coverage(55) == 4 / 8.0);
  CHECK(fit.coverage(90) == 4 / 8.0);
  CHECK(fit.coverage(95) == 5 / 8.0);
  CHECK(fit.coverage().size() == 4);
  CHECK(fit.coverage().at(95) == fit.coverage(95));
  for (int percent : {0, 52, 100, -5})
    CHECK(error_of([&] { fit.coverage(percent); }).starts_with("[scores] interval of "));
}

TEST_CASE("scores: the truth is calibrated, and a wrong width is not") {
  constexpr int kValues = 40'000;
  std::vector<double> z(kValues);
  Random(3).fill_normal(z);
  const auto of_width = [&](double width) {
    MarginalFit fit;
    for (double value : z) fit.add(2, 3 * width, 2 + 3 * value);
    return fit;
  };
  const MarginalFit truth = of_width(1);
  CHECK(truth.calibration_error() < 4 * 0.5 / std::sqrt(kValues));
  for (const auto& [percent, share] : truth.coverage()) {
    const double p = percent / 100.0;
    CHECK(std::abs(share - p) < 4 * std::sqrt(p * (1 - p) / kValues));
  }
  CHECK(truth.crps() == doctest::Approx(3 / std::sqrt(std::numbers::pi)).epsilon(0.01));
  CHECK(of_width(1e9).calibration_error() == doctest::Approx(0.5));   // all are inside: 1 − p, on average 0.5
  CHECK(of_width(1e-9).calibration_error() == doctest::Approx(0.5));  // none is
}

TEST_CASE("scores: CRPS is the distance where a prediction is sure") {
  MarginalFit fit;
  fit.add(1, 1e-9, 4);
  fit.add(1, 1e-9, 0);
  CHECK(fit.crps() == doctest::Approx(2));
  CHECK(fit.coverage(95) == 0);
}

TEST_CASE("scores: a prediction that is not a number covers nothing") {
  MarginalFit fit;
  fit.add(std::nan(""), 1, 0);
  fit.add(0, 1, 0);
  CHECK(fit.coverage(95) == 0.5);
  CHECK(std::isnan(fit.crps()));
}
