#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "npzoo/models/predictions/autoregressive_model.h"
#include "npzoo/models/predictions/one_by_one.h"
#include "npzoo/models/predictions/target_orders.h"
#include "npzoo/models/tnp/buffered_targets.h"
#include "npzoo/models/tnp/inctnp.h"
#include "tests/models/buffer_fixtures.h"

// The buffer as an option of models that predict each target by itself.

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr const char* kModelsWithBuffer[] = {"inctnp", "kriging-tnp"};

std::unique_ptr<Model> model_with_buffer(const std::string& name, std::int64_t buffer, std::int64_t dim_y = 1) {
  ModelSpec spec = small_model(name);
  spec.config["buffer"] = buffer;
  spec.config["dim_y"] = dim_y;
  return varied_model(spec);
}

const BufferedModel& as_buffered(const Model& model) { return dynamic_cast<const BufferedModel&>(model); }

Task ragged_task(const Model& model, std::int64_t nc, std::int64_t nt) {
  Task task = random_task(model, {3, nc, nt});
  if (nc > 0) task.lengths = Tensor::from<std::int64_t>({3}, {nc, 0, nc - 2});
  return task;
}

std::unique_ptr<Prediction> targets_in_turn(const Model& model, const ContextState& state, const Tensor& xt) {
  auto prediction = as_buffered(model).in_turn(state, xt, some_draws(), kFewSamples);
  REQUIRE(prediction);
  return prediction;
}

Parameter& parameter_of(const std::vector<NamedParameter>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &NamedParameter::name);
  REQUIRE(found != all.end());
  return *found->parameter;
}

const ContextState& state_with_buffer(const Prediction& prediction) {
  return dynamic_cast<const BufferedTargets&>(prediction).state();
}

/// Copies of all numbers that a state keeps of its context, or else of predictions from the context alone.
std::vector<Tensor> context_numbers(const Model& model, const ContextState& state, const Tensor& xt) {
  if (const auto* own = dynamic_cast<const IncTnpBufferState*>(&state)) {
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < own->cache.rows.arrays(); ++i) all.push_back(own->cache.rows.points(i).clone());
    return all;
  }
  const Marginals alone = as_buffered(model).given_context_alone(state, xt);
  return {alone.mean, alone.std, alone.log_weight};
}

}  // namespace

TEST_CASE("buffer: with an empty one, targets are those of the same weights without a buffer") {
  for (const std::string name : kModelsWithBuffer)
    for (const std::int64_t nc : {0, 6}) {
      CAPTURE(name);
      CAPTURE(nc);
      const auto with = model_with_buffer(name, 3, 2), without = model_with_buffer(name, 0, 2);
      const auto from = named_parameters(*with), to = named_parameters(*without);
      REQUIRE(from.size() == to.size() + 1);
      for (const NamedParameter& p : to) p.parameter->value = parameter_of(from, p.name).value;
      CHECK(parameter_of(from, "positions").value.shape() == Shape{3, 8});
      const Task task = ragged_task(*with, nc, 5);
      const auto state = condition(*with, context_of(task)), plain = condition(*without, context_of(task));
      const Marginals expected = without->query(*plain, task.xt)->marginals();
      CHECK(difference_of_marginals(with->query(*state, task.xt)->marginals(), expected) == 0);
      CHECK(difference_of_marginals(targets_in_turn(*with, *state, task.xt)->marginals(), expected) <= kRounding);
      CHECK_FALSE(as_buffered(*without).in_turn(*plain, task.xt, some_draws(), kFewSamples));
      const Tensor x = slice(task.xt, 1, 0, 1), y = slice(task.yt, 1, 0, 1);
      CHECK(difference(targets_in_turn(*with, *state, x)->joint_log_likelihood(y),
                       without->query(*plain, x)->joint_log_likelihood(y)) <= kRounding);
    }
}

TEST_CASE("buffer: the density of all targets in one pass is that of one target after the other") {
  for (const std::string name : kModelsWithBuffer)
    for (const std::int64_t buffer : {1, 2, 3, 9})
      for (const std::int64_t nc : {0, 6}) {
        CAPTURE(name);
        CAPTURE(buffer);
        CAPTURE(nc);
        const auto model = model_with_buffer(name, buffer, 2);
        const Task task = ragged_task(*model, nc, 7);
        const auto state = condition(*model, context_of(task));
        const auto prediction = targets_in_turn(*model, *state, task.xt);
        const Autoregressive& sequence = buffered_sequence(*prediction);
        CHECK(difference(prediction->joint_log_likelihood(task.yt),
                         sequence.Autoregressive::joint_log_likelihood(task.yt)) <= kRounding);
        CHECK(difference_of_marginals(sequence.given_those_before(task.yt),
                                      sequence.Autoregressive::given_those_before(task.yt)) <= kRounding);
      }
}

TEST_CASE("buffer: with one target in it, the density is that of plain autoregression") {
  for (const std::string name : kModelsWithBuffer) {
    CAPTURE(name);
    const auto model = model_with_buffer(name, 1);
    const Task task = ragged_task(*model, 6, 5);
    const std::shared_ptr<const ContextState> state = condition(*model, context_of(task));
    const OneByOne plain(*model, state, task.xt, some_draws(), kFewSamples);
    CHECK(difference(targets_in_turn(*model, *state, task.xt)->joint_log_likelihood(task.yt),
                     plain.joint_log_likelihood(task.yt)) <= kRounding);
  }
}

TEST_CASE("buffer: without places in it, a buffer point of inctnp is the next point of the context") {
  for (const std::int64_t buffer : {2, 4, 9}) {
    CAPTURE(buffer);
    const auto model = model_with_buffer("inctnp", buffer, 2);
    const Task task = ragged_task(*model, 6, 7);
    const std::shared_ptr<const ContextState> state = condition(*model, context_of(task));
    const OneByOne plain(*model, state, task.xt, some_draws(), kFewSamples);
    const Tensor expected = plain.joint_log_likelihood(task.yt);
    CHECK(difference(targets_in_turn(*model, *state, task.xt)->joint_log_likelihood(task.yt), expected) > 1e-4);
    Parameter& positions = parameter_of(named_parameters(*model), "positions");
    positions.value = Tensor::zeros_like(positions.value);
    CHECK(difference(targets_in_turn(*model, *state, task.xt)->joint_log_likelihood(task.yt), expected) <= kRounding);
  }
}

TEST_CASE("buffer: states of the context have the same bits whatever the buffer holds, targets see its first points") {
  for (const std::string name : kModelsWithBuffer) {
    CAPTURE(name);
    const auto model = model_with_buffer(name, 4);
    const Task task = random_task(*model, {2, 5, 5}), other = random_task(*model, {2, 3, 1});
    const Context buffer{other.xc, other.yc, {}};
    const Context changed{other.xc, concat({slice(other.yc, 1, 0, 1), affine(slice(other.yc, 1, 1, 3), 1, 1)}, 1), {}};
    const BufferMasks masks = masks_of_buffer(3, equal_counts(2, {0, 1, 2, 3, 1}));
    const auto state = condition(*model, context_of(task));
    const auto prediction = targets_in_turn(*model, *state, task.xt);
    const ContextState& own = state_with_buffer(*prediction);
    const std::vector<Tensor> before = context_numbers(*model, own, task.xt);
    const Tensor a = as_buffered(*model).given_buffer(own, buffer, task.xt, masks).mean,
                 b = as_buffered(*model).given_buffer(own, changed, task.xt, masks).mean;
    const std::vector<Tensor> after = context_numbers(*model, own, task.xt);
    REQUIRE(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(same_bits(after[i], before[i]));
    for (const std::int64_t t : {0, 1, 4}) CHECK(same_bits(slice(a, 2, t, t + 1), slice(b, 2, t, t + 1)));
    for (const std::int64_t t : {2, 3}) CHECK(difference(slice(a, 2, t, t + 1), slice(b, 2, t, t + 1)) > 1e-6);
    // A target that sees none of the buffer is that of the context alone.
    CHECK(difference(slice(a, 2, 0, 1), slice(prediction->marginals().mean, 2, 0, 1)) <= kRounding);
  }
}

TEST_CASE("buffer: paths are drawn from the teacher-forced conditionals, by the same numbers") {
  const NoGrad off;
  for (const std::string name : kModelsWithBuffer)
    for (const std::int64_t buffer : {2, 9}) {
      CAPTURE(name);
      CAPTURE(buffer);
      const auto model = model_with_buffer(name, buffer, 2);
      const Task task = ragged_task(*model, 5, 7);
      const auto state = condition(*model, context_of(task));
      const auto prediction = targets_in_turn(*model, *state, task.xt);
      check_paths_follow_conditionals(buffered_sequence(*prediction), as_buffered(*model).components());
    }
}

TEST_CASE("buffer: the loss is that of targets in a drawn order, each after as many targets as its mask shows") {
  for (const std::string name : kModelsWithBuffer) {
    CAPTURE(name);
    const auto model = model_with_buffer(name, 4);
    const Task task = random_task(*model, {3, 5, 4});
    Draws draws = some_draws();
    const Task shuffled = in_drawn_orders(task, 1, draws).front();
    const BufferMasks masks = drawn_buffer_masks(3, 4, 3, draws);
    double sum = 0;
    for (std::int64_t b = 0; b < 3; ++b) {
      const Task one = task_row(shuffled, b);
      const auto state = condition(*model, context_of(one));
      for (std::int64_t t = 0; t < 4; ++t) {
        const std::int64_t seen = masks.by_targets.visible(b, t, 100);
        const auto chain = [&](const Tensor& x) { return concat({slice(x, 1, 0, seen), slice(x, 1, t, t + 1)}, 1); };
        const auto prediction = targets_in_turn(*model, *state, chain(one.xt));
        // One after the other, without the pass of the loss.
        const Marginals all = buffered_sequence(*prediction).Autoregressive::given_those_before(chain(one.yt));
        const Tensor each = log_likelihood(all, chain(one.yt));
        const double last = each.to(Device::cpu).values<double>().back();
        sum -= name == "kriging-tnp" && last < -10 ? -10 - std::log(1 - (last + 10)) : last;
      }
    }
    CHECK(loss(*model, task).item() == doctest::Approx(sum / 12).epsilon(1e-11));
  }
}

TEST_CASE("buffer: joint densities and samples of --autoregressive go through it") {
  for (const std::string name : kModelsWithBuffer) {
    CAPTURE(name);
    auto model = model_with_buffer(name, 3);
    const Task task = random_task(*model, {2, 5, 7});
    const auto state = condition(*model, context_of(task));
    const Tensor expected = targets_in_turn(*model, *state, task.xt)->joint_log_likelihood(task.yt);
    const AutoregressiveModel chain(*model);
    const auto own = condition(chain, context_of(task));
    const auto prediction = chain.query(*own, task.xt);
    CHECK(difference(prediction->joint_log_likelihood(task.yt), expected) == 0);
    CHECK(prediction->forms().joint == "teacher-forced, buffer joins the context after 3");
    CHECK(difference_of_marginals(prediction->marginals(), model->query(*state, task.xt)->marginals()) == 0);
  }
}

TEST_CASE("buffer: errors") {
  ModelSpec spec = small_model("inctnp");
  spec.config["buffer"] = std::int64_t{3};
  spec.config["likelihood"] = std::string("negative-binomial");
  CHECK(error_of([&] { make_model(spec); }) ==
        "[inctnp] buffer is 3 with another likelihood, expected 0 or the Gaussian likelihood");
  const auto model = model_with_buffer("inctnp", 3);
  const Task task = random_task(*model, {1, 3, 2});
  const auto state = condition(*model, context_of(task));
  CHECK(error_of([&] { as_buffered(*model).given_context(*state, task.xt); }) ==
        "[prediction] a state without a buffer found, expected one of a model with `buffer`");
}
