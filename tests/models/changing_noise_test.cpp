#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "npzoo/engine/random.h"
#include "npzoo/models/applications/tables/changing_noise.h"
#include "npzoo/models/applications/tables/fill.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// A wave with noise of deviation .1 up to x = 100, and of another one behind; every sixth row is asked.
struct Wave {
  std::vector<double> x{}, y{}, truth{};

  explicit Wave(double behind, std::uint64_t seed = 3) {
    Random random(seed);
    for (int i = 0; i < 200; ++i) {
      const double value = std::sin(i / 15.0) + (i < 100 ? 0.1 : behind) * random.normal();
      x.push_back(i + 0.3 * random.uniform(0, 1));  // no calendar
      y.push_back(i % 6 == 3 ? kNaN : value);
      truth.push_back(i % 6 == 3 ? value : kNaN);
    }
  }
  FillData data() const { return {.x = x, .values = {y}, .truth = {truth}}; }
};

/// Predicts a mean of 0.1 and a deviation of 1 with what is added, and figures that can be found by hand.
class Hand final : public SeriesMethod {
 public:
  static constexpr double kMean = 0.1;

  explicit Hand(SeriesOptions options) : options_(std::move(options)) {}

  std::int64_t dim_y() const override { return 1; }
  Standardisation units_of(const Series&) const override { return {}; }
  void predict(const Next& next, const Take& take) override {
    while (const std::optional<Series> series = next()) {
      SeriesPrediction said;
      for (std::size_t i = 0; i < series->targets.size(); ++i) {
        said.mean.push_back(kMean);
        said.std.push_back(std::sqrt(1 + (series->added_variance.empty() ? 0 : series->added_variance[i])));
        for (const double p : options_.quantiles) said.quantiles.push_back(kMean + (p < 0.5 ? -1 : 1));
        for (std::int64_t s = 0; s < options_.samples; ++s) said.samples.push_back(kMean + static_cast<double>(s));
        if (series->truth.empty()) continue;
        const double z = series->truth[i] - kMean;
        said.crps.push_back(std::abs(z));
        said.central_mass.push_back(z * z);
        said.log_density.push_back(-z * z / 2);
      }
      take(std::move(said));
    }
  }

 private:
  SeriesOptions options_;
};

/// Noise of deviation .2 at 0 to 99, and of 4 at 100 to 199.
Series noisy_half() {
  Series series;
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    series.x.push_back(i);
    series.y.push_back((i < 100 ? 0.2 : 4) * random.normal());
  }
  return series;
}

SeriesPrediction answer(SeriesMethod& method, const Series& asked) {
  std::optional<Series> series = asked;
  SeriesPrediction said;
  method.predict([&] { return std::exchange(series, {}); }, [&](SeriesPrediction one) { said = std::move(one); });
  return said;
}

double mean_deviation(const FillResult& result, std::size_t first, std::size_t end) {
  double sum = 0;
  for (std::size_t i = first; i < end; ++i) sum += result.columns[0].std[i];
  return sum / static_cast<double>(end - first);
}

bool says_so(const FillResult& result) {
  return std::ranges::any_of(result.report.comments(), [](const std::string& line) {
    return line.find("noise changes along") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("changing noise: deviations follow it, of weights and of a Gaussian process") {
  const Wave wave(3);
  for (const bool gp : {false, true}) {
    CAPTURE(gp);
    const FillResult result = gp ? fill_with_gp(wave.data()) : fill(weights_of_tables(), wave.data());
    CHECK(says_so(result));
    CHECK(mean_deviation(result, 5, 80) < 0.5);
    CHECK(mean_deviation(result, 120, 200) > 2);
    CHECK(mean_deviation(result, 120, 200) < 6);
    CHECK(result.scores[0].coverage_95 > 0.88);
  }
}

TEST_CASE("changing noise: a wave that slows down keeps the deviations of its noise where it is slow") {
  std::vector<double> x, y, truth;
  Random random(2);
  for (int i = 0; i < 300; ++i) {
    const double value = 5 * std::sin(std::pow((300 - i) / 60.0, 3)) + 0.1 * random.normal();
    x.push_back(i);
    y.push_back(i % 5 == 2 ? kNaN : value);
    truth.push_back(i % 5 == 2 ? value : kNaN);
  }
  const FillResult result = fill(weights_of_tables(), {.x = x, .values = {y}, .truth = {truth}});
  CHECK(result.scores[0].coverage_95 > 0.85);
  int inside = 0;  // of the 30 that are asked in the slow half
  for (std::size_t i = 152; i < 300; i += 5)
    inside += std::abs(truth[i] - result.columns[0].mean[i]) < 1.96 * result.columns[0].std[i];
  CHECK(inside >= 24);
}

TEST_CASE("changing noise: noise of one deviation changes no figure") {
  const Wave wave(0.1);
  const FillResult result = fill(weights_of_tables(), wave.data());
  CHECK_FALSE(says_so(result));
  CHECK(mean_deviation(result, 120, 200) < 1.3 * mean_deviation(result, 5, 80));
}

TEST_CASE("changing noise: deviations, quantiles, samples and scores at a place have one factor") {
  Hand answers({.quantiles = {0.1, 0.9}, .samples = 3}), trials({});
  ChangingNoise followed(answers, trials);
  Series asked = noisy_half();
  for (int i = 0; i < 200; ++i) {
    asked.targets.push_back(i + 0.5);
    asked.truth.push_back(i % 3 == 0 ? kNaN : 0.3);
  }
  const SeriesPrediction said = answer(followed, asked);
  CHECK(said.noise_ratio > 8);
  CHECK(said.std.front() == doctest::Approx(0.2).epsilon(0.5));
  CHECK(said.std.back() == doctest::Approx(4).epsilon(0.5));
  for (std::size_t i = 0; i < asked.targets.size(); ++i) {
    const double factor = said.std[i], mean = Hand::kMean;
    CHECK(said.mean[i] == mean);
    CHECK(said.quantiles[2 * i] == doctest::Approx(mean - factor));
    CHECK(said.quantiles[2 * i + 1] == doctest::Approx(mean + factor));
    for (std::size_t s = 0; s < 3; ++s)
      CHECK(said.samples[3 * i + s] == doctest::Approx(mean + factor * static_cast<double>(s)));
    if (std::isnan(asked.truth[i])) continue;
    const double z = (asked.truth[i] - mean) / factor;
    CHECK(said.crps[i] == doctest::Approx(factor * std::abs(z)));
    CHECK(said.central_mass[i] == doctest::Approx(z * z));
    CHECK(said.log_density[i] == doctest::Approx(-std::log(factor) - z * z / 2));
  }
}

TEST_CASE("changing noise: an independent error of the places stays as it is") {
  Hand answers({}), trials({});
  ChangingNoise followed(answers, trials);
  Series asked = noisy_half();
  asked.targets = {10, 10, 190, 190};
  asked.added_variance = {0, 2, 0, 2};
  const SeriesPrediction said = answer(followed, asked);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}})
    CHECK(said.std[i + 1] * said.std[i + 1] == doctest::Approx(said.std[i] * said.std[i] + 2));
}

TEST_CASE("changing noise: values on a transformed scale, and several of a place together, are answered as before") {
  Hand answers({}), trials({});
  ChangingNoise followed(answers, trials);
  Series asked = noisy_half();
  asked.targets = {10, 190};
  Series two = asked;
  two.x.resize(100);
  two.value_names = {"a", "b"};
  CHECK(answer(followed, two).noise_ratio == 1);
  const ValueTransform transforms[] = {{.kind = ValueTransform::Kind::log, .low = -100}};
  asked.transforms = transforms;
  CHECK(answer(followed, asked).noise_ratio == 1);
}

TEST_CASE(
    "changing noise: the order of rows makes no difference, and values on another scale none beside their units") {
  const Wave wave(3);
  const FillResult result = fill(weights_of_tables(), wave.data());
  Wave backwards = wave;
  for (std::vector<double>* column : {&backwards.x, &backwards.y, &backwards.truth}) std::ranges::reverse(*column);
  for (double& y : backwards.y) y = 1000 * y + 5e5;
  for (double& y : backwards.truth) y = 1000 * y + 5e5;
  const FillResult other = fill(weights_of_tables(), backwards.data());
  for (std::size_t i = 0; i < 200; ++i)
    CHECK(other.columns[0].std[199 - i] == doctest::Approx(1000 * result.columns[0].std[i]).epsilon(1e-3));
}
