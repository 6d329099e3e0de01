#include "npzoo/datasets/kinds/synthetic/config.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/kinds/gp/config.h"
#include "npzoo/datasets/kinds/synthetic/draw.h"
#include "npzoo/datasets/kinds/synthetic/source.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/protocol_text.h"
#include "npzoo/datasets/tables/standardise.h"
#include "tests/datasets/task_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::string with(const std::string& before, const std::string& after) {
  return replaced(protocol_text("npzoo/any-1d"), before, after);
}

std::string message(const std::string& before, const std::string& after) {
  return error_of_protocol(with(before, after));
}

}  // namespace

TEST_CASE("[synthetic] keys are read strictly") {
  const std::string where = "[protocol] f.toml: data.";
  CHECK(message("dims = 1", "dims = 4") == where + "dims is 4, expected an integer from 1 to 3");
  CHECK(message("context = [1, 513]", "context = [0, 513]") ==
        where + "context is 0, expected integers 1 <= low < high <= 2048");
  CHECK(message("few = 0.15 ", "few = 1.5 ") == where + "few is 1.5, expected a number from 0 to 1");
  CHECK(message("mixed = 0.2 ", "") == where + "mixed is missing, expected a number from 0 to 1");
  CHECK(message("regular = 0.7", "even = 0.7") ==
        where + "places is about 'even', expected weights of regular, uniform, clustered, transects");
  CHECK(message("{ regular = 0.7, uniform = 0.15, clustered = 0.1, transects = 0.05 }", "{ regular = 0 }") ==
        where + "places is without any weight, expected at least one weight > 0");
  CHECK(message("gaps = 0.35", "gaps = -1") == where + "missing.gaps is -1, expected a number >= 0");
  CHECK(message("terms = [1, 4]", "terms = [3, 3]") ==
        where + "terms is [3, 3], expected integers 1 <= low < high <= 17");
  CHECK(message("alpha = { log_uniform = [0.3, 5.0] }", "alpha = \"long\"") ==
        where + "alpha is 'long', expected a number > 0");
  CHECK(
      message("alpha = { log_uniform = [0.3, 5.0] }", "") ==
      where +
          "alpha is missing, expected a number > 0, {log_uniform = [low, high]} or {log_normal = [median, deviation]}");
  CHECK(message("[0.3, 5.0]", "[5, 0.3]") == where + "alpha.log_uniform is [5, 0.3], expected low < high");
  CHECK(message("{ log_uniform = [0.3, 5.0] }", "{ uniform = [0.3, 5.0] }") ==
        where + "alpha.log_normal is missing, expected an array of two numbers");
  CHECK(message("least_std = 0.05 ", "least_std = 1 ") == where + "least_std is 1, expected a number >= 0 and < 1");
  CHECK(
      message("warped = 0.12", "warped = 0.12\nanisotropy = 1.0").starts_with(where + "anisotropy is an unknown key"));
  CHECK(message("name = \"few\"\n", "name = \"few\"\nfar = -1.0\n") ==
        "[protocol] f.toml: evaluation.tests[5].far is -1.0, expected a number from 0 to 1");
  CHECK(message("name = \"few\"\n", "name = \"few\"\ndims = 2\n")
            .starts_with("[protocol] f.toml: evaluation.tests[5].dims is an unknown key"));
}

TEST_CASE("[synthetic] a test changes the keys that it states, and nothing else") {
  const Protocol p = load_protocol("npzoo/any-1d");
  const SyntheticDistribution& trained = synthetic_distribution(*p.data);
  CHECK(p.evaluation.tests[0].name == "mixed");
  CHECK(synthetic_distribution(*p.evaluation.tests[0].data) == trained);
  const auto rough = std::ranges::find(p.evaluation.tests, "rough", &TestConfig::name);
  SyntheticDistribution expected = trained;
  expected.kernels = {{1, 0, 0, 0, 0, 0, 0}};
  expected.terms = {1, 2};
  expected.products = expected.trend = expected.steps = expected.cycles = 0;
  expected.student = expected.outliers = expected.exponentiated = expected.clipped = expected.rounded = 0;
  CHECK(synthetic_distribution(*rough->data) == expected);
  CHECK(gp_distribution(*p.data) == nullptr);
}

TEST_CASE("[synthetic] three inputs from a protocol's file") {
  const std::string text =
      with("dims = 1", "dims = 3\nanisotropy = { log_uniform = [0.5, 2.0] }\naligned = 0.5\ndraped = 0.5");
  const Protocol p = parse_protocol(text, "f.toml");
  CHECK(p.data->dim_x() == 3);
  for (const TestConfig& test : p.evaluation.tests) {
    CAPTURE(test.name);
    const Task task = test.data->source({.batch_size = 2, .split = Split::validation})->task(1);
    CHECK(task.xc.dim(2) == 3);
    for (const Tensor& part : {task.xc, task.yc, task.xt, task.yt})
      for (const double v : doubles(part)) CHECK(std::isfinite(v));
  }
}

TEST_CASE("[synthetic] terms have lengthscales of their own along each input where inputs are aligned") {
  SyntheticDistribution d = synthetic_distribution(*load_protocol("npzoo/any-3d").data);
  Places places;
  places.spacing = 0.1;
  Random random(5);
  for (const double share : {0.0, 1.0}) {
    d.aligned = share;
    int terms = 0;
    for (int draw = 0; draw < 100; ++draw) {
      const Process process = draw_process(d, places, random);
      for (const Term& term : process.terms()) {
        if (term.base == Term::Base::constant) continue;
        ++terms;
        REQUIRE(term.stretch.size() == (share == 1 ? 3 : 0));
        if (share == 0) continue;
        CHECK(term.stretch[0] * term.stretch[1] * term.stretch[2] == doctest::Approx(1));
        CHECK(std::ranges::max(term.stretch) <= 25);
        if (!term.direction.empty()) CHECK(std::ranges::count(term.direction, 0.0) == 2);
      }
    }
    CHECK(terms > 100);
  }
}

TEST_CASE("[synthetic] hyper-parameters are drawn from their distributions") {
  Random random(3);
  const PositivePrior uniform{PositivePrior::Kind::log_uniform, 0.01, 10},
      normal{PositivePrior::Kind::log_normal, 2, 0.5}, constant{PositivePrior::Kind::constant, 3, 0};
  constexpr int kDraws = 20000;
  int below = 0, below_median = 0, below_one = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = uniform.draw(random), n = normal.draw(random);
    CHECK((u >= 0.01 && u <= 10));
    below += u < 0.1;
    below_median += n < 2;
    below_one += n < 2 * std::exp(-0.5);
    CHECK(constant.draw(random) == 3);
  }
  const auto share = [](int count, double p) {  // in standard errors
    return std::abs(count - p * kDraws) / std::sqrt(p * (1 - p) * kDraws);
  };
  CHECK(share(below, 1.0 / 3) < 4);
  CHECK(share(below_median, 0.5) < 4);
  CHECK(share(below_one, 0.158655) < 4);
  const Choice<4> choice{{0, 1, 3, 0}};
  int second = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::size_t drawn = choice.draw(random);
    CHECK((drawn == 1 || drawn == 2));
    second += drawn == 1;
  }
  CHECK(share(second, 0.25) < 4);
}

TEST_CASE("[synthetic] predict warns outside of the context's range and the reach of targets") {
  struct Known {
    const char* name;
    std::int64_t most_beyond;  // about one value in a million; of three inputs, which have more noise, in 50,000
  };
  for (const auto [name, most_beyond] : {Known{"npzoo/any-1d", 3}, {"npzoo/any-2d", 3}, {"npzoo/any-3d", 12}}) {
    const std::string named = name;
    CAPTURE(named);
    const Protocol p = load_protocol(name);
    const TrainingRange range = p.data->training_range();
    CHECK(range.inputs == Interval{-2, 2});
    CHECK(range.value_std == 1);
    CHECK(range.min_context == 1);
    CHECK(range.max_context == synthetic_distribution(*p.data).context.high - 1);
    CHECK(range.target_noise == 1e-3);
    CHECK(range.noise_varies);
    const auto source = p.data->source({.batch_size = 16, .seed = 4});
    std::int64_t values = 0, beyond = 0, outside = 0;
    double furthest = 0;
    for (std::uint64_t index = 0; index < 150; ++index) {
      const Task task = source->task(index);
      for (const double v : doubles(task.yc)) ++values, beyond += std::abs(v) > range.tails;
      for (const double v : doubles(task.xc)) CHECK(std::abs(v) <= 2 + 1e-6);
      for (const double v : doubles(task.xt)) {
        outside += std::abs(v) > 2;
        furthest = std::max(furthest, std::abs(v));
      }
    }
    CHECK(values > 100'000);
    CHECK(beyond <= most_beyond);
    CHECK(outside > 1000);
    CHECK(furthest <= 2 + range.reach);
    CHECK(furthest > 2 + 0.9 * range.reach);
  }
}

TEST_CASE("[synthetic] least_std that no context reaches is refused") {
  SyntheticDistribution d = synthetic_distribution(*load_protocol("npzoo/any-1d").data);
  d.lengthscale = {PositivePrior::Kind::constant, 1e6, 0};
  d.kernels = {{0, 0, 0, 1, 0, 0, 0}};
  d.products = d.trend = d.steps = d.cycles = d.student = d.outliers = d.exponentiated = d.clipped = d.rounded = 0;
  d.noiseless = 1;
  d.context = {200, 201};
  CHECK(error_of([&] { SyntheticSource(d, {.batch_size = 1}).batch(0); }) ==
        "[synthetic] 1000 contexts in a row vary by less than least_std = 0.05, expected a smaller least_std");
  CHECK(error_of([&] { SyntheticSource(d, {.batch_size = 0}); }) == "[synthetic] batch size 0, expected at least 1");
}
