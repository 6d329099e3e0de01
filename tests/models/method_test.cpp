#include "npzoo/models/applications/tables/method.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/normal_distribution.h"
#include "npzoo/engine/random.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using Column = std::vector<double>;

/// Positive numbers along one input, and others with an effect; every fifth value is missing.
struct PositiveTable {
  Column x, y, logs, whole;

  PositiveTable() {
    Random random(11);
    for (std::size_t i = 0; i < 40; ++i) {
      const double z = 1 + std::sin(static_cast<double>(i) / 4) + 0.2 * random.normal();
      const bool missing = i % 5 == 3;
      x.push_back(static_cast<double>(i));
      logs.push_back(missing ? kNaN : z);
      y.push_back(missing ? kNaN : std::exp(z));
      whole.push_back(missing ? kNaN : std::floor(std::exp(z)));
    }
  }
};

double probability_at_most(double z, double mean, double std) { return normal_probability((z - mean) / std); }

}  // namespace

TEST_CASE("method: a Gaussian process of transformed values has the figures of its logarithms") {
  const PositiveTable table;
  const FillOptions plain{.quantiles = {0.1, 0.5, 0.9}, .samples = 4, .gp = {.kernel = "matern-3/2"}};
  FillOptions log = plain;
  log.transform.kind = ValueTransform::Kind::log;
  const FillResult z = fill_with_gp({.x = table.x, .values = {table.logs}}, plain),
                   y = fill_with_gp({.x = table.x, .values = {table.y}}, log);
  CHECK(y.transforms[0].kind == ValueTransform::Kind::log);
  CHECK(y.density == Density::joint);
  for (std::size_t i = 0; i < table.x.size(); ++i) {
    const double mean = z.columns[0].mean[i], variance = std::pow(z.columns[0].std[i], 2);
    CHECK(y.columns[0].mean[i] == doctest::Approx(std::exp(mean + variance / 2)).epsilon(1e-9));
    CHECK(y.columns[0].std[i] ==
          doctest::Approx(std::exp(mean + variance / 2) * std::sqrt(std::expm1(variance))).epsilon(1e-8));
    for (std::size_t k = 0; k < 3; ++k)
      CHECK(y.columns[0].quantiles[3 * i + k] ==
            doctest::Approx(std::exp(z.columns[0].quantiles[3 * i + k])).epsilon(1e-12));
    for (std::size_t k = 0; k < 4; ++k)
      CHECK(y.columns[0].samples[4 * i + k] ==
            doctest::Approx(std::exp(z.columns[0].samples[4 * i + k])).epsilon(1e-12));
  }
}

TEST_CASE("method: a Gaussian process scores transformed values by their own distribution") {
  PositiveTable table;
  Column truth(table.y.size(), kNaN);
  for (std::size_t i = 3; i < truth.size(); i += 5) truth[i] = 2.5;
  FillOptions log{.gp = {.kernel = "matern-3/2"}};
  log.transform.kind = ValueTransform::Kind::log;
  const FillResult found = fill_with_gp({.x = table.x, .values = {table.y}, .truth = {truth}}, log),
                   z = fill_with_gp({.x = table.x, .values = {table.logs}}, {.gp = log.gp});
  CHECK(found.scores[0].rows == 8);
  for (std::size_t i = 3; i < truth.size(); i += 5) {
    // The CRPS is the integral of (F(t) − [t ≥ y])², here by the rectangle rule.
    const double mean = z.columns[0].mean[i], std = z.columns[0].std[i], step = 1e-3;
    double sum = 0;
    for (double t = step / 2; t < 60; t += step)
      sum += step * std::pow(probability_at_most(std::log(t), mean, std) - (t >= truth[i]), 2);
    CHECK(found.columns[0].crps[i] == doctest::Approx(sum).epsilon(2e-3));
    const double below = probability_at_most(std::log(truth[i]), mean, std);
    CHECK(found.columns[0].central_mass[i] == doctest::Approx(1 - 2 * std::min(below, 1 - below)).epsilon(1e-6));
  }
}

TEST_CASE("method: limits, counts and a choice of transforms work with a Gaussian process and with covariates") {
  const PositiveTable table;
  Column inputs;
  for (std::size_t i = 0; i < table.x.size(); ++i)
    inputs.insert(inputs.end(), {table.x[i], std::cos(static_cast<double>(i))});
  const FillData one{.x = table.x, .values = {table.whole}},
      two{.dim_x = 2, .x = inputs, .values = {table.whole}, .covariates = 1};
  for (const FillData& data : {one, two}) {
    FillOptions counts{.quantiles = {0.1, 0.9}, .samples = 3};
    counts.transform.counts = true;
    const FillResult found = fill_with_gp(data, counts);
    const auto is_count = [](double y) { return y >= 0 && y == std::floor(y); };
    CHECK(std::ranges::all_of(found.columns[0].quantiles, is_count));
    CHECK(std::ranges::all_of(found.columns[0].samples, is_count));
    CHECK(std::ranges::all_of(found.columns[0].mean, [](double y) { return y >= 0; }));
    FillOptions within;
    within.quantiles = {0.001, 0.999};
    within.transform.low = 0;
    within.transform.high = 40;
    const FillResult bounded = fill_with_gp(data, within);
    CHECK(std::ranges::all_of(bounded.columns[0].quantiles, [](double y) { return y >= 0 && y <= 40; }));
  }
  FillOptions automatic;
  automatic.transform.automatic = true;
  CHECK(fill_with_gp({.x = table.x, .values = {table.y}}, automatic).transforms[0].kind == ValueTransform::Kind::log);
  // A Gaussian process knows no seasons of the calendar.
  FillOptions period;
  period.periods = {"7"};
  CHECK(error_of([&] { fill_with_gp(one, period); }) ==
        "[predict] --period or --check found with a Gaussian process, expected --model weights");
}

TEST_CASE("method: rows written twice change no answer of a Gaussian process, and a note counts them") {
  const PositiveTable table;
  Column x = table.x, y = table.y;
  for (const std::size_t copied : {4, 10, 10}) {
    x.push_back(table.x[copied]);
    y.push_back(table.y[copied]);
  }
  const FillResult once = fill_with_gp({.x = table.x, .values = {table.y}}),
                   twice = fill_with_gp({.x = x, .values = {y}, .targets = table.x});
  CHECK(twice.columns[0].mean == once.columns[0].mean);
  CHECK(twice.columns[0].std == once.columns[0].std);
  const auto counts = [](const std::string& note) { return note.find("copies do not count") != std::string::npos; };
  CHECK(std::ranges::none_of(once.report.notes, counts));
  const auto note = std::ranges::find_if(twice.report.notes, counts);
  REQUIRE(note != twice.report.notes.end());
  CHECK(note->starts_with("3 observed rows have the inputs and the value of another one"));
  // A second measurement at the same place counts.
  x.push_back(table.x[7]);
  y.push_back(table.y[7] + 0.5);
  CHECK(fill_with_gp({.x = x, .values = {y}, .targets = table.x}).columns[0].mean != once.columns[0].mean);
}
