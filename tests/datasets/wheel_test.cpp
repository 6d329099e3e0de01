#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

#include "npzoo/datasets/kinds/wheel/numpy_random.h"
#include "npzoo/datasets/kinds/wheel/source.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/ops/concat/concat.h"
#include "tests/datasets/task_fixtures.h"
#include "tests/small_protocol.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

WheelSource source(WheelDistribution::Problems problems, const SourceOptions& options,
                   std::optional<double> delta = {}) {
  return WheelSource({.problems = problems, .delta = delta, .context = 40, .targets = 20}, options);
}

constexpr auto kAuthors = WheelDistribution::Problems::authors, kFresh = WheelDistribution::Problems::fresh;

/// Places of all points of a row, in order.
std::multiset<std::pair<double, double>> places(const Task& task, std::int64_t b) {
  std::multiset<std::pair<double, double>> all;
  for (const Tensor& x : {task.xc, task.xt})
    for (std::int64_t i = 0; i < x.dim(1); ++i) {
      const double* at = x.data<double>() + (b * x.dim(1) + i) * 2;
      all.emplace(at[0], at[1]);
    }
  return all;
}

SourceOptions exact(Split split, std::int64_t batch_size, std::uint64_t seed = 0) {
  return {.batch_size = batch_size, .seed = seed, .split = split, .dtype = DType::float64};
}

}  // namespace

TEST_CASE("wheel: NumPy's numbers of seed 0") {
  NumpyRandom uniform(0);
  for (const double number : {0.5488135039273248, 0.7151893663724195, 0.6027633760716439})
    CHECK(uniform.uniform() == number);
  NumpyRandom normal(0);
  for (const double number : {1.764052345967664, 0.4001572083672233, 0.9787379841057392, 2.240893199201458})
    CHECK(normal.normal() == doctest::Approx(number).epsilon(1e-15));
  std::array<std::int64_t, 10> order{};
  std::iota(order.begin(), order.end(), 0);
  NumpyRandom(0).shuffle(order);
  CHECK(order == std::array<std::int64_t, 10>{2, 8, 4, 9, 1, 6, 7, 3, 0, 5});
  const std::vector<double> torch = torch_uniforms(0, 4);
  for (const auto& [i, number] :
       {std::pair(0, 0.4963), std::pair(1, 0.7682), std::pair(2, 0.0885), std::pair(3, 0.1320)})
    CHECK(std::abs(torch[static_cast<std::size_t>(i)] - number) < 5e-5);
}

TEST_CASE("wheel: the arm of a place") {
  CHECK(wheel::best_arm(0.3, 0.4, 0.51) == 0);
  CHECK(wheel::best_arm(0.3, 0.4, 0.49) == 1);
  CHECK(wheel::best_arm(-0.3, 0.4, 0.49) == 2);
  CHECK(wheel::best_arm(-0.3, -0.4, 0.49) == 3);
  CHECK(wheel::best_arm(0.3, -0.4, 0.49) == 4);
  // On the axes.
  CHECK(wheel::best_arm(0, 1, 0.5) == 2);
  CHECK(wheel::best_arm(0, 0, 0) == 3);
  CHECK(wheel::best_arm(1, 0, 0.5) == 4);
}

TEST_CASE("wheel: problems of the authors differ in nothing but their order where δ is the same") {
  const wheel::Problem a = wheel::authors_problem(60, 0.7, 0), b = wheel::authors_problem(60, 0.7, 1),
                       wider = wheel::authors_problem(60, 0.9, 0);
  CHECK(a.x != b.x);
  const auto sorted = [](std::vector<double> x) {
    std::ranges::sort(x);
    return x;
  };
  CHECK(sorted(a.x) == sorted(b.x));
  CHECK(sorted(a.y) == sorted(b.y));
  CHECK(a.x == wider.x);
  CHECK(sorted(a.y) != sorted(wider.y));
  // The places are those that NumPy gives first within the disc, of 20 at a time.
  NumpyRandom random(0);
  std::multiset<double> first;
  while (first.size() < 120) {
    const double x = -1 + 2 * random.uniform(), y = -1 + 2 * random.uniform();
    if (x * x + y * y <= 1) first.insert({x, y});
  }
  CHECK(std::vector<double>(first.begin(), first.end()) == sorted(a.x));
}

TEST_CASE("wheel: rewards are those of the arms at their places, under both rules") {
  for (const auto problems : {kAuthors, kFresh}) {
    const double delta = 0.6;
    const Batch batch = source(problems, exact(Split::evaluation, 20), delta).batch(0);
    const Task& task = batch.task;
    CHECK(batch.truth->name() == "known wheel");
    std::array<double, 2> squares{}, counts{};
    for (std::int64_t i = 0; i < 20 * 20; ++i) {
      const double x = task.xt.data<double>()[2 * i], y = task.xt.data<double>()[2 * i + 1];
      CHECK(x * x + y * y <= 1);
      const std::int64_t best = wheel::best_arm(x, y, delta);
      for (std::int64_t arm = 0; arm < wheel::kArms; ++arm) {
        const double mean = arm == 0 ? 1.2 : arm == best ? 50 : 1.0, std = arm > 0 && arm == best ? 0.01 : 0.05;
        const double z = (task.yt.data<double>()[i * wheel::kArms + arm] - mean) / std;
        CHECK(std::abs(z) < 5);
        squares[arm > 0 && arm == best] += z * z;
        ++counts[arm > 0 && arm == best];
      }
    }
    for (const std::size_t large : {0, 1}) {
      CHECK(counts[large] > 200);
      CHECK(std::abs(squares[large] / counts[large] - 1) < 5 * std::sqrt(2 / counts[large]));
    }
  }
}

TEST_CASE("wheel: the truth's density is that of its curve, and no other δ's is higher") {
  const Batch batch = source(kFresh, exact(Split::evaluation, 3), 0.6).batch(2);
  const auto known = batch.truth->log_likelihood(batch.task, Density::joint);
  REQUIRE(known);
  CHECK(*known == *batch.truth->log_likelihood(batch.task, Density::marginal));
  // Constant terms for 20 points with 5 values: −½ log 2π − log σ − ½ each.
  const double small = -0.5 * std::log(2 * std::numbers::pi) - std::log(0.05) - 0.5;
  for (const double sum : *known) CHECK(std::abs(sum / 100 - small) < 0.6);
  const Batch other = source(kFresh, exact(Split::evaluation, 3), 0.8).batch(2);
  const auto mistaken = other.truth->log_likelihood(batch.task, Density::joint);
  for (const double sum : *mistaken) CHECK(sum < -1000);
}

TEST_CASE("wheel: the authors train on 8 problems only, and a test continues from its seed") {
  const WheelSource training = source(kAuthors, exact(Split::training, 3, 7));
  std::set<std::vector<double>> seen;
  for (const std::uint64_t index : {0, 1, 2, 3, 4, 5, 6, 7}) {
    const Task task = training.task(index);
    for (std::int64_t b = 0; b < 3; ++b) seen.insert(doubles(slice(task.yt, 0, b, b + 1)));
  }
  CHECK(seen.size() == 8);
  CHECK(same_points(training.task(0), source(kAuthors, exact(Split::training, 3, 8)).task(0)));
  CHECK(same_points(training.task(0), training.task(8)));

  const Task test = source(kAuthors, exact(Split::evaluation, 2), 0.7).task(1),
             later = source(kAuthors, exact(Split::evaluation, 2, 2), 0.7).task(0);
  CHECK(same_points(test, later));
  CHECK(places(test, 0) == places(test, 1));
  CHECK_FALSE(same_points(test, source(kAuthors, exact(Split::evaluation, 2), 0.7).task(0)));
  for (const Split split : {Split::validation, Split::evaluation})
    CHECK(places(source(kAuthors, exact(split, 2)).task(0), 0) == places(training.task(0), 0));
}

TEST_CASE("wheel: fresh problems differ in their places, by seed and by split") {
  const Task task = source(kFresh, exact(Split::training, 2)).task(0);
  CHECK(places(task, 0) != places(task, 1));
  CHECK(same_points(task, source(kFresh, exact(Split::training, 2)).task(0)));
  CHECK_FALSE(same_points(task, source(kFresh, exact(Split::training, 2, 1)).task(0)));
  CHECK_FALSE(same_points(task, source(kFresh, exact(Split::evaluation, 2)).task(0)));
}

TEST_CASE("wheel: impossible settings are errors") {
  const auto error_with = [](const std::string& data, const std::string& test = "") {
    return error_of_protocol(small_protocol("wheel", "kind = \"wheel\"\n" + data, test));
  };
  const std::string good = "problems = \"fresh\"\ncontext = 5\ntargets = 5\n";
  CHECK_NOTHROW(parse_protocol(small_protocol("wheel", "kind = \"wheel\"\n" + good), "f.toml"));
  CHECK(error_with("problems = \"new\"\ncontext = 5\ntargets = 5\n").find("data.problems is 'new', expected") !=
        std::string::npos);
  CHECK(error_with(good + "delta = 1.0\n").find("data.delta is 1.0, expected") != std::string::npos);
  CHECK(error_with(good + "arms = 4\n").find("data.arms is an unknown key") != std::string::npos);
  CHECK(error_with("problems = \"fresh\"\ncontext = 1\ntargets = 1\n")
            .find("data.targets is 1, expected at least 3 points in all") != std::string::npos);
  CHECK(error_with(good, "delta = 1.5\n").find("evaluation.tests[0].delta is 1.5, expected") != std::string::npos);
  CHECK(error_with(good, "context = 0\ntargets = 2\n")
            .find("evaluation.tests[0].targets is 2, expected at least 3 points") != std::string::npos);
}

TEST_CASE("wheel: the protocols differ in where problems come from") {
  const Protocol fixed = load_protocol("tnp/wheel"), fresh = load_protocol("tnp/wheel-fresh");
  CHECK_FALSE(same_data(fixed, fresh));
  CHECK(fixed.training == fresh.training);
  CHECK(fixed.models == fresh.models);
  CHECK(fixed.training.batch_size == 8);
  CHECK(fixed.evaluation.trial == "bandit");
  REQUIRE(fixed.evaluation.tests.size() == 5);
  CHECK(fixed.evaluation.tests[3].published_figures.at("cumulative_regret").at("tnp-d").value == 3.57);
  CHECK(fresh.evaluation.tests[3].published_figures.empty());
  const auto task = [](const Protocol& p) {
    return p.evaluation.tests[0].data->source(exact(Split::evaluation, 2))->task(0);
  };
  CHECK(task(fixed).xt.shape() == Shape{2, 2000, 2});
  CHECK(task(fixed).xc.dim(1) == 0);
  CHECK(places(task(fixed), 0) == places(task(fixed), 1));
  CHECK(places(task(fresh), 0) != places(task(fresh), 1));
}
