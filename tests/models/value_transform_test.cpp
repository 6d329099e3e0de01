#include "npzoo/models/applications/tables/value_transform.h"

#include <cmath>

#include "npzoo/datasets/normal_distribution.h"
#include "npzoo/models/applications/tables/fill.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using Kind = ValueTransform::Kind;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

const std::vector<double> kMeans{0.3, -1.2}, kStds{0.5, 0.9}, kWeights{0.7, 0.3};
const GaussianMixture kMixture{kMeans, kStds, kWeights};

/// The transforms of these tests; limits that cut off much of the probability.
std::vector<ValueTransform> all_transforms() {
  return {{.kind = Kind::none, .low = 0},
          {.kind = Kind::none, .low = -0.5, .high = 0.4},
          {.kind = Kind::log, .low = 0},
          {.kind = Kind::log, .low = 1, .high = 3},
          {.kind = Kind::sqrt, .low = 0},
          {.kind = Kind::sqrt, .low = -2, .high = -1.5},
          {.kind = Kind::logit, .low = 0, .high = 100},
          {.kind = Kind::none, .low = 0, .counts = true},
          {.kind = Kind::sqrt, .low = 0, .counts = true},
          {.kind = Kind::log, .low = 0, .high = 4, .counts = true}};
}

/// Values with equal probabilities.
std::vector<double> values_of(const ValueTransform& t, const GaussianMixture& z) {
  constexpr int kCount = 20'000;
  std::vector<double> all;
  for (int i = 0; i < kCount; ++i) all.push_back(t.inverse(quantile(z, (i + 0.5) / kCount)));
  return all;
}

}  // namespace

TEST_CASE("value transform: figures are those of the values of many quantiles") {
  for (const ValueTransform& t : all_transforms()) {
    CAPTURE(transform_name(t.kind));
    CAPTURE(t.low);
    const std::vector<double> values = values_of(t, kMixture);
    const auto n = static_cast<double>(values.size());
    double mean = 0, square = 0;
    for (const double y : values) mean += y / n;
    for (const double y : values) square += (y - mean) * (y - mean) / n;
    const ValueMoments found = moments(t, kMixture);
    CHECK(found.mean == doctest::Approx(mean).epsilon(2e-3));
    CHECK(found.std == doctest::Approx(std::sqrt(square)).epsilon(1e-2));
    CHECK(values.front() >= t.low);
    CHECK(values.back() <= t.high);
    for (const double y : {values[500], values[11'000], values[19'000]}) {
      const auto at_most = static_cast<double>(std::ranges::count_if(values, [y](double v) { return v <= y; }));
      CHECK(cdf(t, kMixture, y) == doctest::Approx(at_most / n).epsilon(1e-3));
      // The mean over thresholds of a step function's squared distance is that of all pairs; sorted values make it a
      // sum.
      double distance = 0, spread = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        distance += std::abs(values[i] - y) / n;
        spread += values[i] * (2 * static_cast<double>(i) + 1 - n) / (n * n);
      }
      CHECK(crps(t, kMixture, y) == doctest::Approx(distance - spread).epsilon(5e-3));
    }
  }
}

TEST_CASE("value transform: without limits in reach the figures are those of the Gaussians, and log has closed forms") {
  const ValueTransform wide{.low = -1e9}, logarithm{.kind = Kind::log, .low = 0};
  const GaussianMixture plain{kMeans, kStds, kWeights}, logs{kMeans, kStds, kWeights, Scale::logarithmic};
  for (const auto& [t, mixture] : {std::pair(wide, plain), std::pair(logarithm, logs)}) {
    CHECK(moments(t, kMixture).mean == doctest::Approx(moments(mixture).mean).epsilon(1e-9));
    CHECK(moments(t, kMixture).std == doctest::Approx(moments(mixture).std).epsilon(1e-9));
    for (const double y : {0.01, 0.4, 3.0}) {
      CHECK(crps(t, kMixture, y) == doctest::Approx(crps(mixture, y)).epsilon(1e-8));
      CHECK(central_mass(t, kMixture, y) == doctest::Approx(central_mass(mixture, y)).epsilon(1e-12));
    }
  }
}

TEST_CASE("value transform: densities and probabilities of values add up to 1") {
  for (const ValueTransform& t : all_transforms()) {
    CAPTURE(transform_name(t.kind));
    CAPTURE(t.low);
    const double mean = 0.3, std = 0.5;
    double sum = 0;
    if (t.counts) {
      for (int k = 0; k < 200; ++k) sum += std::exp(log_density(t, mean, std, k));
    } else {
      constexpr int kSteps = 40'000;
      const double high = std::isfinite(t.high) ? t.high : 40, step = (high - t.low) / kSteps;
      for (const double limit : {t.low, t.high})
        if (t.kind != Kind::logit && std::isfinite(limit) && !(t.kind == Kind::log && limit == t.low))
          sum += std::exp(log_density(t, mean, std, limit));
      for (int i = 0; i < kSteps; ++i) sum += step * std::exp(log_density(t, mean, std, t.low + (i + 0.5) * step));
    }
    CHECK(sum == doctest::Approx(1).epsilon(1e-2));  // the density of a square has a pole at 0
    CHECK(log_density(t, mean, std, t.low - 1) == -kUnlimited);
  }
}

TEST_CASE("value transform: a value at a limit with half of the probability is in every central interval") {
  const ValueTransform t{.low = 0};
  const std::vector<double> mean{-0.1}, std{1};
  CHECK(central_mass(t, {mean, std}, 0) == 0);
  CHECK(central_mass(t, {mean, std}, 1.9) == doctest::Approx(2 * normal_probability(2) - 1));
  CHECK(std::signbit(ValueTransform{.low = 0, .counts = true}.inverse(-0.2)) == false);
}

TEST_CASE("fill: values with limits stay within them, in the units of the table") {
  const OnCpu cpu;
  const TrainedModel trained = as_trained(small_run(), make_model(small_run().spec, {.seed = 3}));
  std::vector<double> x, y, truth;
  for (int i = 0; i < 12; ++i) {
    x.push_back(i);
    truth.push_back(i % 5);
    y.push_back(i % 3 == 0 ? kNaN : i % 5);
  }
  const FillData data{.x = x, .values = {y}, .truth = {truth}};
  for (const TransformOptions& options : {TransformOptions{.low = 0},
                                          {.kind = Kind::sqrt},
                                          {.kind = Kind::logit, .low = -1, .high = 9},
                                          {.counts = true}}) {
    const FillResult found = fill(trained, data, {.quantiles = {0.001, 0.999}, .samples = 5, .transform = options});
    const ValueTransform& t = found.transforms[0];
    for (const auto* figures : {&found.columns[0].mean, &found.columns[0].quantiles, &found.columns[0].samples})
      for (const double figure : *figures) {
        CHECK(figure >= t.low);
        CHECK(figure <= t.high);
        CHECK((!t.counts || figures == &found.columns[0].mean || figure == std::floor(figure)));
      }
    CHECK(found.scores[0].crps > 0);
    CHECK(found.scores[0].crps < 10);
  }
}

TEST_CASE("fill: a transform refuses values that it does not take") {
  const TrainedModel trained = as_trained(small_run(), make_model(small_run().spec, {.seed = 3}));
  const std::vector<double> x{1, 2, 3, 4}, y{0, 2.5, 3, kNaN}, negative{1, -2, 3, kNaN};
  const auto error = [&](const std::vector<double>& values, const TransformOptions& options) {
    return error_of(
        [&] { fill(trained, {.x = x, .values = {values}, .value_names = {"rain"}}, {.transform = options}); });
  };
  CHECK(error(y, {.kind = Kind::log}) ==
        "[predict] column \"rain\" holds 0, expected values off the limit for the transform log: use --transform sqrt");
  CHECK(error(negative, {.kind = Kind::sqrt}) ==
        "[predict] column \"rain\" holds -2, expected values of at least 0: use --bounds or leave it blank");
  CHECK(error(y, {.high = 2}) ==
        "[predict] column \"rain\" holds 2.5, expected values of at most 2: use --bounds or leave it blank");
  CHECK(error(y, {.counts = true}) == "[predict] column \"rain\" holds 2.5, expected whole numbers for --counts");
  CHECK(error(y, {.kind = Kind::logit}) ==
        "[predict] the transform logit found, expected --bounds LOW,HIGH and no --counts");
  CHECK(error(y, {.low = 3, .high = 2}) == "[predict] bounds from 3 to 2 found, expected a lower and a higher one");
  CHECK(error_of([] { transform_kind("ln"); }) ==
        "[predict] the transform \"ln\" found, expected none, log, sqrt, logit or auto");
}
