#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "npzoo/models/predictions/sampled_functions.h"
#include "npzoo/models/trials/choosers.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// A bump each, at `count` places along both inputs; the lowest value is at `at` of each task.
Task bumps(std::int64_t count, const std::vector<double>& at) {
  const auto tasks = static_cast<std::int64_t>(at.size());
  Task task{Tensor::zeros({tasks, 1, 2}, DType::float64), Tensor::zeros({tasks, 1, 1}, DType::float64),
            Tensor::zeros({tasks, count * count, 2}, DType::float64),
            Tensor::zeros({tasks, count * count, 1}, DType::float64)};
  const auto value = [&](std::int64_t b, double x, double y) {
    const double away = std::pow(x - at[static_cast<std::size_t>(b)], 2) + std::pow(y - 3, 2);
    return -std::exp(-away);
  };
  for (std::int64_t b = 0; b < tasks; ++b) {
    for (std::int64_t i = 0; i < count * count; ++i) {
      double* place = task.xt.data<double>() + (b * count * count + i) * 2;
      place[0] = 4 * static_cast<double>(i / count) / static_cast<double>(count - 1);
      place[1] = 6 * static_cast<double>(i % count) / static_cast<double>(count - 1);
      task.yt.data<double>()[b * count * count + i] = value(b, place[0], place[1]);
    }
    task.yc.data<double>()[b] = value(b, 0, 0);
  }
  return task;
}

/// Returns the choices of a search in the first task.
std::vector<std::int64_t> choices(const Candidates& candidates, std::int64_t steps, const Chooser& chooser) {
  std::vector<std::int64_t> chosen;
  search(candidates, steps, [&](const SearchState& state) {
    const auto next = chooser(state);
    chosen.push_back(next.front());
    return next;
  });
  return chosen;
}

/// Draws a place z of each task with every context, and a function that is least there; observations of it are noisy.
/// It streams, and keeps its function as more points come.
class FunctionDrawer final : public Model {
 public:
  struct State final : ContextState {
    Tensor z;  // (K, B)
  };

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    auto state = std::make_unique<State>();
    state->z = draws.uniform(samples, context.xc.dim(0), {1}, DType::float64, Device::cpu);
    drawn.push_back(4 * state->z.values<double>()[0]);
    return state;
  }
  std::unique_ptr<ContextState> do_update(const ContextState& state, const Context& /*more*/) const override {
    return std::make_unique<State>(dynamic_cast<const State&>(state));
  }
  bool streams() const override { return true; }
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override {
    const auto z = dynamic_cast<const State&>(state).z.values<double>();
    const std::int64_t count = dynamic_cast<const State&>(state).z.dim(0), tasks = xt.dim(0), points = xt.dim(1);
    Tensor mean = Tensor::zeros({count, tasks, points, 1}, DType::float64);
    for (std::int64_t row = 0; row < count * tasks; ++row)
      for (std::int64_t i = 0; i < points; ++i)
        mean.data<double>()[row * points + i] =
            std::abs(xt.values<double>()[(row % tasks * points + i) * 2] - 4 * z[static_cast<std::size_t>(row)]);
    return std::make_unique<SampledFunctions>(Moments{mean, Tensor::full(mean.shape(), 1, DType::float64)});
  }
  void visit(ModuleVisitor&) override {}
  std::int64_t dim_x() const override { return 2; }
  std::int64_t dim_y() const override { return 1; }

  mutable std::vector<double> drawn;  // places of the first task, one of each condition
};

}  // namespace

TEST_CASE("choosers: under Thompson's rule each step follows a new function of the model, without its noise") {
  const Task task = bumps(17, {1, 2});
  const Candidates candidates(task);
  const FunctionDrawer model;
  const ChoiceRules rules{.thompson = true, .repeat = true};
  const auto chosen = choices(candidates, 12, model_chooser(model, candidates, rules, {3, 0, 12}));
  REQUIRE(model.drawn.size() == 12);
  std::set<std::int64_t> columns;
  for (std::size_t step = 0; step < chosen.size(); ++step) {
    columns.insert(chosen[step] / 17);
    CHECK(std::abs(4.0 * static_cast<double>(chosen[step] / 17) / 16 - model.drawn[step]) <= 0.126);
  }
  CHECK(columns.size() >= 6);

  // By an acquisition the state is extended: it was drawn once.
  const FunctionDrawer other;
  const ChoiceRules improvement{.acquisition = {.kind = AcquisitionKind::expected_improvement}, .repeat = true};
  choices(candidates, 5, model_chooser(other, candidates, improvement, {3, 0, 5}));
  CHECK(other.drawn.size() == 1);
}

TEST_CASE("choosers: a Sobol sequence has one place in each part of the box, where chance has not") {
  const Task task = bumps(32, {1, 2});
  const Candidates candidates(task);
  const auto parts = [&](const Chooser& chooser) {
    std::set<std::int64_t> parts;
    for (const std::int64_t i : choices(candidates, 16, chooser)) parts.insert(i / 32 / 8 * 4 + i % 32 / 8);
    return parts.size();
  };
  std::size_t by_chance = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    // Places are a 31st of the box apart: a point of the sequence may be nearest to one of a neighbouring part.
    CHECK(parts(sobol_chooser(candidates, {seed, 0, 16})) >= 14);
    by_chance += parts(random_chooser({seed, 0, 16}));
  }
  CHECK(by_chance < 8 * 13);
}

TEST_CASE("choosers: a Sobol sequence is another for each seed, batch and task, and sees no place twice") {
  const Task task = bumps(5, {1, 2});
  const Candidates candidates(task);
  const auto all = choices(candidates, 24, sobol_chooser(candidates, {3, 0, 24}));
  CHECK(std::set<std::int64_t>(all.begin(), all.end()).size() == 24);
  CHECK(choices(candidates, 24, sobol_chooser(candidates, {3, 0, 24})) == all);
  CHECK(choices(candidates, 24, sobol_chooser(candidates, {4, 0, 24})) != all);
  CHECK(choices(candidates, 24, sobol_chooser(candidates, {3, 1, 24})) != all);
  bool differs = false;
  const Chooser chooser = sobol_chooser(candidates, {3, 0, 24});
  search(candidates, 5, [&](const SearchState& state) {
    const auto chosen = chooser(state);
    differs |= chosen[0] != chosen[1];
    return chosen;
  });
  CHECK(differs);
}

TEST_CASE("choosers: a fitted Gaussian process finds the bumps of tasks that differ, whatever the units") {
  for (const bool thompson : {false, true}) {
    CAPTURE(thompson);
    Task task = bumps(13, {1, 3});
    const Candidates candidates(task);
    const ChoiceRules rules{.thompson = thompson, .acquisition = {.kind = AcquisitionKind::expected_improvement}};
    const auto regret = [&](const Chooser& chooser) -> std::vector<double> {
      return search(candidates, 20, chooser).simple.back();
    };
    for (const double each : regret(gp_chooser(candidates, rules, 1, {1, 0, 20}))) CHECK(each < 0.05);
    for (const double each : regret(gp_chooser(candidates, rules, 7, {1, 0, 20}))) CHECK(each < 0.3);
    Task large = bumps(13, {1, 3});
    for (double& x : std::span(large.xt.data<double>(), static_cast<std::size_t>(large.xt.numel()))) x = 1e3 * x + 7;
    for (double& x : std::span(large.xc.data<double>(), static_cast<std::size_t>(large.xc.numel()))) x = 1e3 * x + 7;
    const Candidates stretched(large);
    const SearchCurve curve = search(stretched, 20, gp_chooser(stretched, rules, 1, {1, 0, 20}));
    for (const double each : curve.simple.back()) CHECK(each < 0.05);
  }
}

TEST_CASE("choosers: a Gaussian process is the same on any number of threads") {
  const Task task = bumps(9, {1, 3});
  const Candidates candidates(task);
  const ChoiceRules rules{.acquisition = {.kind = AcquisitionKind::expected_improvement}};
  const auto chosen = [&](int threads) {
    const ThreadCount count(threads);
    return choices(candidates, 8, gp_chooser(candidates, rules, 2, {1, 0, 8}));
  };
  CHECK(chosen(3) == chosen(1));
}
