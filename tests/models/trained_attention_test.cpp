#include <doctest/doctest.h>

#include "npzoo/engine/gradcheck.h"
#include "npzoo/models/tnp/token_transformer.h"
#include "npzoo/ops/incremental_cross_attention/incremental_cross_attention.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"
#include "tests/models/training_fixtures.h"
#include "tests/ops/random_feature_reference.h"
#include "tests/reference.h"

using namespace npzoo;
using namespace npzoo::testing;

// Gaussian inputs are easy: weights of a trained model are sharp, queries and keys are correlated and off centre.

namespace {

struct AttentionInputs {
  std::vector<Tensor> qkv;
  int heads;
};

/// Returns the inputs of the attention of every layer of a trained TNP-D, for a fresh batch.
const std::vector<AttentionInputs>& trained_inputs() {
  static const std::vector<AttentionInputs> inputs = [] {
    TrainingRun run{load_protocol("quick/gp1d"), {}, 1};
    run.protocol.training.steps = 200;
    run.spec = model_spec(run.protocol, "tnp-d");
    Trainer trainer(run);
    while (!trainer.finished()) trainer.step();

    const auto& model = dynamic_cast<const TokenTransformer&>(trainer.model());
    const auto sampler = run.protocol.data->source({2, 9, Split::evaluation});
    const Task task = sampler->task(0).to(default_device());
    Tensor h = model.embedder(concat({task.xc, task.yc}, -1));
    std::vector<AttentionInputs> found;
    for (const TransformerLayer& layer : model.encoder.layers) {
      const KeysValues context = layer.keys_values(h);
      found.push_back({{layer.attention.query(h), context.keys, context.values}, 4});
      h = layer(h, context, PrefixMask::all());
    }
    return found;
  }();
  return inputs;
}

std::vector<Tensor> by_loops(const std::vector<Tensor>& in, int heads) {
  const double width = static_cast<double>(in[0].dim(2)) / heads;
  const reference::Attention options{heads, 1 / std::sqrt(width),
                                     [](std::int64_t, std::int64_t, std::int64_t) { return true; }};
  const Tensor out = reference::attention(options, in[0], in[1], in[2]);
  const auto d = reference::attention_backward(options, in[0], in[1], in[2], cotangent(out));
  return {out, d.q, d.k, d.v};
}

Function attention(int heads) {
  return [heads](const auto& in) { return masked_attention(in[0], in[1], in[2], PrefixMask::all(), {.heads = heads}); };
}

/// The same from two halves of the keys.
Function in_halves(int heads) {
  return [heads](const auto& in) {
    const std::int64_t n = in[1].dim(1) / 2, rest = in[1].dim(1) - n;
    const auto k = split(in[1], 1, {n, rest}), v = split(in[2], 1, {n, rest});
    const AttentionOptions options{.heads = heads};
    const auto state = incremental_cross_attention(in[0], k[0], v[0], PrefixMask::all(), options);
    return absorb(state, in[0], k[1], v[1], PrefixMask::all(), options).mean;
  };
}

}  // namespace

TEST_CASE("trained attention: as exact in float32 as plain loops") {
  for (const auto& [qkv, heads] : trained_inputs()) {
    const auto composed = by_loops(qkv, heads), truth = by_loops(to_double(qkv), heads);
    check_as_exact_as(composed, with_gradients(attention(heads), qkv), truth);
    check_as_exact_as(composed, with_gradients(in_halves(heads), qkv), truth);
  }
}

TEST_CASE("trained attention: random features") {
  for (const auto& [qkv, heads] : trained_inputs())
    for (const auto stabiliser : {Stabiliser::none, Stabiliser::maximum}) {
      const FeatureSize size{
          qkv[0].dim(0), qkv[0].dim(1), qkv[1].dim(1), heads, qkv[0].dim(2) / heads, qkv[2].dim(2) / heads, 64};
      const Tensor projection = projection_of(size, DType::float32);
      const auto estimate = [=, heads = heads](const auto& in) {
        return linear_attention(in[0], in[1], in[2], projection.to(in[0].dtype()), PrefixMask::all(),
                                {.heads = heads, .stabiliser = stabiliser});
      };
      const auto by_loops = [&, &in = qkv]<class R>(R) {
        return FeatureLoops<R>(size, PrefixMask::all(), 0, stabiliser, projection, in).with_gradients();
      };
      check_as_exact_as(by_loops(0.0f), with_gradients(estimate, qkv), by_loops(0.0));
      const GradcheckResult result = gradcheck(estimate, to_double(qkv), {.max_entries = 30});
      CAPTURE(result.worst);
      CHECK(result.max_error <= 1e-6);
    }
}

TEST_CASE("trained attention: gradients") {
  for (const auto& [qkv, heads] : trained_inputs())
    for (const Function& f : {attention(heads), in_halves(heads)}) {
      const GradcheckResult result = gradcheck(f, to_double(qkv));
      CAPTURE(result.worst);
      CHECK(result.max_error <= 1e-6);
    }
}
