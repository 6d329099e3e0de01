#include <doctest/doctest.h>

#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// All that a prediction computes.
std::vector<Tensor> everything_of(const Prediction& prediction, const Tensor& y) {
  const Marginals each = prediction.marginals();
  Draws draws = some_draws();
  std::vector<Tensor> found{each.mean, each.std, prediction.joint_log_likelihood(y), prediction.sample(2, draws)};
  if (each.log_weight.defined()) found.push_back(each.log_weight);
  return found;
}

}  // namespace

TEST_CASE("prediction: it outlives its model and its state, and keeps the weights that it was made with") {
  for (const ModelCase& c : small_models_of_all_dimensions()) {
    if (c.spec.config.at("dim_x") != ModelConfig::mapped_type(std::int64_t{1})) continue;
    CAPTURE(c.label);
    auto model = varied_model(c.spec);
    const Task task = random_task(*model, {2, 5, 4});
    auto state = condition(*model, context_of(task));
    const auto prediction = model->query(*state, task.xt);
    const std::vector<Tensor> expected = everything_of(*model->query(*state, task.xt), task.yt);
    for (const auto& [name, parameter] : named_tensors(*model)) {
      // As an optimiser does: what others hold as well is copied before it is changed.
      if (!parameter->value.unique()) parameter->value = parameter->value.clone();
      copy_slice(Tensor::zeros_like(parameter->value), 0, 0, parameter->value);
    }
    state.reset();
    model.reset();
    CHECK(std::ranges::equal(everything_of(*prediction, task.yt), expected,
                             [](const Tensor& a, const Tensor& b) { return same_bits(a, b); }));
  }
}
