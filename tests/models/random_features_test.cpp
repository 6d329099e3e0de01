#include "npzoo/models/blocks/random_features.h"

#include <doctest/doctest.h>

#include "npzoo/models/tnp/token_transformer.h"
#include "npzoo/models/trials/likelihood.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

ModelSpec fast_model(std::int64_t redraw_every = 0) {
  ModelSpec spec = small_model("tnp-kr-fast");
  if (redraw_every > 0) spec.config["redraw_every"] = redraw_every;
  return spec;
}

TrainingRun fast_run(std::int64_t redraw_every, const RunOptions& options) {
  TrainingRun run = small_run(options);
  run.spec = fast_model(redraw_every);
  return run;
}

Tensor projection(const Model& model, std::size_t layer = 0) {
  return dynamic_cast<const TokenTransformer&>(model).encoder.layers[layer].attention.features->projection.value;
}

/// All tensors of two checkpoints are the same bits.
bool same_weights(const Weights& a, const Weights& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&b](const auto& named) {
           return b.contains(named.first) && same_bits(named.second, b.at(named.first));
         });
}

}  // namespace

TEST_CASE("random features: every layer has its own, drawn from the seed") {
  const auto a = make_model(fast_model(), {.seed = 1}), same = make_model(fast_model(), {.seed = 1}),
             other = make_model(fast_model(), {.seed = 2});
  CHECK(same_bits(projection(*a), projection(*same)));
  CHECK(!same_bits(projection(*a), projection(*other)));
  CHECK(!same_bits(projection(*a, 0), projection(*a, 1)));
  CHECK(projection(*a).shape() == Shape{24, 4});
}

TEST_CASE("random features: they are saved but neither trained nor counted") {
  const auto model = make_model(fast_model());
  const auto names = [](const std::vector<NamedParameter>& tensors) {
    return std::ranges::count_if(tensors, [](const auto& p) { return p.name.ends_with("features.projection"); });
  };
  CHECK(names(named_tensors(*model)) == 2);
  CHECK(names(named_parameters(*model)) == 0);

  Trainer trainer(fast_run(0, {.steps = 3}));
  const Tensor before = projection(trainer.model()).clone();
  while (!trainer.finished()) trainer.step();
  CHECK(same_bits(projection(trainer.model()), before));
  const Checkpoint c = trainer.checkpoint();
  CHECK(c.weights.contains("encoder.layers.1.attention.features.projection"));
  CHECK(!c.first_moments.contains("encoder.layers.1.attention.features.projection"));
}

TEST_CASE("random features: they are drawn anew on schedule") {
  Trainer trainer(fast_run(3, {.steps = 9}));
  Tensor last = projection(trainer.model()).clone();
  for (int step = 0; step < 9; ++step) {
    trainer.step();
    const Tensor now = projection(trainer.model()).clone();
    CHECK(same_bits(now, last) == (step == 0 || step % 3 != 0));
    last = now;
  }
}

TEST_CASE("random features: a resumed run continues with the same ones, bit for bit") {
  const TemporaryDirectory directory;
  const auto path = directory / "checkpoint.safetensors";
  for (const std::string keep : {"last", "best"}) {
    const TrainingRun run = fast_run(4, {.steps = 14, .keep = keep, .validate_every = 5});
    const auto advance = [](Trainer& trainer, std::int64_t until) {
      while (trainer.steps_done() < until) {
        trainer.step();
        if (trainer.steps_done() % 5 == 0) trainer.validate();
      }
    };
    Trainer whole(run);
    advance(whole, 14);
    for (const std::int64_t stop : {3, 4, 6, 10}) {
      CAPTURE(stop);
      Trainer first(run);
      advance(first, stop);
      save_checkpoint(path, first.checkpoint());
      Trainer second(load_checkpoint(path));
      advance(second, 14);
      CHECK(same_weights(second.checkpoint().weights, whole.checkpoint().weights));
      CHECK(same_weights(second.checkpoint().best_weights, whole.checkpoint().best_weights));
    }
    // A restored model predicts with the features that belong to its weights.
    save_checkpoint(path, whole.checkpoint());
    const Checkpoint c = load_checkpoint(path);
    const auto& weights = keep == "best" ? c.best_weights : c.weights;
    CHECK(same_bits(projection(*restore_model(c)), weights.at("encoder.layers.0.attention.features.projection")));
  }
}

TEST_CASE("random features: evaluation counts limited denominators") {
  const TrainingRun run = fast_run(0, {.steps = 3});
  const auto sampler = run.protocol.data->source({4, 1, Split::evaluation, DType::float32, default_device()});
  const auto model = make_model(run.spec);
  CHECK(evaluate(*model, *sampler, {.batches = 2}).clamped_denominators == 0);
  // Long keys and queries: the features of all of them vanish without a stabiliser.
  for (const auto& [name, parameter] : named_parameters(*model))
    if (name.ends_with("attention.query.bias") || name.ends_with("attention.key.bias"))
      parameter->value = Tensor::full(parameter->value.shape(), 30);
  CHECK(evaluate(*model, *sampler, {.batches = 2}).clamped_denominators > 0);
}

TEST_CASE("random features: errors of configuration") {
  using namespace std::string_literals;
  const auto error_with = [](const std::string& key, ModelConfig::mapped_type value) {
    ModelSpec spec = fast_model();
    spec.config[key] = std::move(value);
    return error_of([&] { make_model(spec); });
  };
  CHECK(error_with("feature_norms", "normal"s) == "[tnp-kr-fast] feature_norms 'normal' found, expected fixed or chi");
  CHECK(error_with("stabiliser", "max"s) == "[tnp-kr-fast] stabiliser 'max' found, expected none or maximum");
  CHECK(error_with("redraw_every", std::int64_t{-1}) ==
        "[tnp-kr-fast] redraw_every is -1, expected an integer from 0 to 1000000000");
  CHECK(error_with("num_features", std::int64_t{0}) ==
        "[tnp-kr-fast] num_features is 0, expected an integer from 1 to 65536");
  CHECK(error_of([] { make_model(fast_model(), {.max_elements = 260}); }).starts_with("[init] "));
  Initializer init(Framework::flax, {.max_elements = 10});
  CHECK(error_of([&] { RandomFeatures({.count = 4}, 3, init); }) ==
        "[init] 12 random features exceed the 10 elements allowed");
}
