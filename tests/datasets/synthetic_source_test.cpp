#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

#include "npzoo/datasets/kinds/synthetic/config.h"
#include "npzoo/datasets/kinds/synthetic/source.h"
#include "npzoo/datasets/kinds/synthetic/truth.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/tables/standardise.h"
#include "tests/datasets/task_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

SyntheticDistribution any(std::int64_t dims) {
  return synthetic_distribution(*load_protocol(fmt::format("npzoo/any-{}d", dims)).data);
}

SyntheticDistribution only_gaussian(SyntheticDistribution d) {
  d.student = d.outliers = d.exponentiated = d.clipped = d.rounded = 0;
  return d;
}

std::vector<double> row_values(const Tensor& t, std::int64_t b) {
  const std::vector<double> all = doubles(t);
  const auto width = static_cast<std::ptrdiff_t>(t.dim(1) * t.dim(2));
  return {all.begin() + b * width, all.begin() + (b + 1) * width};
}

}  // namespace

TEST_CASE("[synthetic] a batch is a function of source, seed, split and index, on any thread") {
  for (const std::int64_t dims : {1, 2, 3}) {
    CAPTURE(dims);
    SyntheticDistribution d = any(dims);
    d.context.high = 65;
    const SyntheticSource source(d, {4, 5});
    std::vector<Task> here, there(6);
    for (std::uint64_t i = 0; i < 6; ++i) here.push_back(source.task(i));
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 6; ++i) threads.emplace_back([&, i] { there[5 - i] = source.task(5 - i); });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < 6; ++i) CHECK(same_points(here[i], there[i]));

    std::set<std::vector<double>> seen;
    for (const std::uint64_t seed : {5, 6})
      for (const Split split : {Split::training, Split::validation, Split::evaluation})
        for (const std::uint64_t index : {0, 1})
          seen.insert(doubles(SyntheticSource(d, {4, seed, split}).task(index).xc));
    CHECK(seen.size() == 12);
  }
}

TEST_CASE("[synthetic] tasks are standardised as tables are, and bounded") {
  for (const std::int64_t dims : {1, 2, 3}) {
    CAPTURE(dims);
    SyntheticDistribution d = any(dims);
    d.context.high = 129;
    const SyntheticSource source(d, {.batch_size = 8, .seed = 1, .dtype = DType::float64});
    const std::vector<std::string> x_names(static_cast<std::size_t>(dims)), y_names(1);
    std::int64_t constant = 0;
    for (std::uint64_t index = 0; index < 60; ++index) {
      const Task task = source.task(index);
      CHECK((task.xc.dim(1) >= 1 && task.xc.dim(1) <= 128 && task.xt.dim(1) >= 16 && task.xt.dim(1) <= 128));
      for (std::int64_t b = 0; b < 8; ++b) {
        const std::vector<double> xc = row_values(task.xc, b), yc = row_values(task.yc, b);
        // Standardising again changes nothing but for rounding: a hundred steps of it relative to a value's magnitude,
        // which `least_std` keeps below 60 deviations of the context.
        const Standardisation again = standardise(xc, yc, x_names, y_names, synthetic_range(d));
        const std::vector<double> x = again.map_inputs(xc), y = again.map_values(yc);
        double error = 0;
        for (std::size_t i = 0; i < x.size(); ++i) error = std::max(error, std::abs(x[i] - xc[i]));
        if (again.values[0].constant) {
          ++constant;
          CHECK(again.values[0].shift == 0);
        } else {
          for (std::size_t i = 0; i < y.size(); ++i) error = std::max(error, std::abs(y[i] - yc[i]));
        }
        CHECK(error < 1e-12);
        for (const double v : row_values(task.xt, b)) CHECK(std::abs(v) <= 2 + d.reach);
        for (const double v : row_values(task.yt, b)) CHECK(std::abs(v) < 1000);
      }
    }
    CHECK(constant > 0);
  }
}

TEST_CASE("[synthetic] one point, and contexts of equal values") {
  SyntheticDistribution d = any(1);
  d.context = {1, 2};
  const SyntheticSource one(d, {.batch_size = 64, .seed = 1, .dtype = DType::float64});
  for (std::uint64_t index = 0; index < 10; ++index) {
    const Task task = one.task(index);
    for (const double v : doubles(task.xc)) CHECK(v == 0);
    for (const double v : doubles(task.yc)) CHECK(v == 0);
    for (const double v : doubles(task.yt)) CHECK(std::abs(v) < 100);
  }
  d = any(1);
  d.clipped = d.rounded = 1;
  d.context = {2, 40};
  const SyntheticSource dry(d, {.batch_size = 64, .seed = 1, .dtype = DType::float64});
  std::int64_t equal = 0, open = 0;
  for (std::uint64_t index = 0; index < 20; ++index) {
    const Task task = dry.task(index);
    for (std::int64_t b = 0; b < 64; ++b) {
      const std::vector<double> yc = row_values(task.yc, b), yt = row_values(task.yt, b);
      for (const double v : yt) CHECK(std::abs(v) <= 2 / d.least_std);
      if (std::ranges::any_of(yc, [](double v) { return v != 0; })) continue;
      ++equal;
      open += std::ranges::any_of(yt, [](double v) { return v != 0; });
    }
  }
  CHECK(equal > 20);
  CHECK(open > 10);
  CHECK(open < equal);
}

TEST_CASE("[synthetic] there is a truth where a whole batch is Gaussian, and it is calibrated") {
  for (const std::int64_t dims : {1, 2, 3}) {
    CAPTURE(dims);
    SyntheticDistribution d = only_gaussian(any(dims));
    d.context = {1, 65};
    d.targets = {8, 9};
    const SyntheticSource source(d, {4, 2, Split::evaluation});
    double squares = 0, points = 0, fourth = 0;
    for (std::uint64_t index = 0; index < 150; ++index) {
      const Batch batch = source.batch(index);
      REQUIRE(batch.truth);
      const auto each = batch.truth->log_likelihood(batch.task, Density::marginal);
      const auto joint = batch.truth->log_likelihood(batch.task, Density::joint);
      REQUIRE((each && joint && each->size() == 4));
      for (std::int64_t b = 0; b < 4; ++b) {
        const std::vector<double> yt = row_values(batch.task.yt, b);
        const auto curve = batch.truth->curve(batch.task, b, row_values(batch.task.xt, b));
        double sum = 0, mean = 0;
        for (std::size_t i = 0; i < yt.size(); ++i) {
          const double z = (yt[i] - curve->mean[i]) / curve->std[i];
          sum += log_normal_density(yt[i], curve->mean[i], curve->std[i] * curve->std[i]);
          mean += z * z / 8;
        }
        CHECK(sum == doctest::Approx((*each)[b]).epsilon(1e-9));
        squares += mean;
        fourth += mean * mean;
        ++points;
      }
    }
    // Means of squares of standard normal values, of tasks that are independent.
    const double mean = squares / points, error = std::sqrt((fourth / points - mean * mean) / points);
    CHECK(std::abs(mean - 1) < 4 * error);
    CHECK(error < 0.06);
  }
  SyntheticDistribution heavy = any(1);
  heavy.student = heavy.outliers = 1;
  CHECK_FALSE(SyntheticSource(heavy, {4, 2, Split::evaluation}).batch(0).truth);
}

TEST_CASE("[synthetic] the oracles that protocols state are those of their tests") {
  for (const char* name : {"npzoo/any-1d", "npzoo/any-2d"}) {
    constexpr double kBatches = 6;
    const EvaluationConfig rules = load_protocol(name).evaluation;
    for (const TestConfig& test : rules.tests) {
      CAPTURE(name);
      CAPTURE(test.name);
      const auto source = test.data->source({rules.batch_size, rules.seed, Split::evaluation});
      if (test.name == "mixed") {
        CHECK_FALSE(source->batch(0).truth);
        continue;
      }
      if (!test.oracle.known_marginal) continue;
      double marginal = 0, joint = 0;
      for (std::uint64_t index = 0; index < kBatches; ++index) {
        const Batch batch = source->batch(index);
        REQUIRE(batch.truth);
        marginal += *mean_log_likelihood(*batch.truth, batch.task, Density::marginal) / kBatches;
        joint += *mean_log_likelihood(*batch.truth, batch.task, Density::joint) / kBatches;
      }
      const double tolerance =
          4 * *test.oracle.standard_error * std::sqrt(static_cast<double>(rules.batches) / kBatches);
      CHECK(std::abs(marginal - *test.oracle.known_marginal) < tolerance);
      CHECK(std::abs(joint - *test.oracle.known_joint) < tolerance);
    }
  }
}
