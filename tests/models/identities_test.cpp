#include <doctest/doctest.h>

#include <map>

#include "npzoo/models/blocks/transformer.h"
#include "npzoo/models/tnp/token_transformer.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kBatch = 3, kContext = 6, kTargets = 4, kWidth = 8;

/// Contexts of these lengths; none: all of them are full.
Tensor ragged_lengths() { return Tensor::from<std::int64_t>({kBatch}, {6, 2, 0}); }

/// Which keys of [context; targets] are seen: the context points that are real.
PrefixMask context_only(const Tensor& lengths) {
  return lengths.defined() ? PrefixMask::lengths(lengths) : PrefixMask::first(kContext);
}

/// One encoder over all tokens (B, Nc + Nt, E) in which every point attends to the context; returns the target part.
Tensor masked_encoder(const TwoStreamTransformer& encoder, const Tensor& tokens, const PrefixMask& mask) {
  Tensor h = tokens;
  for (const TransformerLayer& layer : encoder.layers) h = layer(h, layer.keys_values(h), mask);
  h = slice(h, 1, kContext, kContext + kTargets);
  return encoder.norm ? (*encoder.norm)(h) : h;
}

Tensor two_streams(const TwoStreamTransformer& encoder, const Tensor& tokens, const Tensor& lengths) {
  const auto parts = split(tokens, 1, {kContext, kTargets});
  const PrefixMask mask = PrefixMask::lengths(lengths);
  return encoder.query(encoder.encode(parts[0], mask), parts[1], mask);
}

/// The formulas of KRBlock and KRStack (TNP-KR, algorithm 2) on the weights of a model by their names.
class KrStack {
 public:
  explicit KrStack(Model& model) {
    for (const auto& [name, parameter] : named_parameters(model)) weights_[name] = parameter->value;
  }

  Tensor operator()(Tensor q, Tensor k, const PrefixMask& mask) const {
    for (int i = 0; weights_.contains(fmt::format("encoder.layers.{}.norm1.weight", i)); ++i) {
      const std::string block = fmt::format("encoder.layers.{}.", i);
      const Tensor q1 = norm(block + "norm1", q), k1 = norm(block + "norm1", k);
      q = feed_forward(block, npzoo::add(q, attention(block, q1, k1, mask)));
      k = feed_forward(block, npzoo::add(k, attention(block, k1, k1, mask)));
    }
    return norm("encoder.norm", q);
  }

  Tensor mlp(const std::string& name, Tensor x, int layers) const {
    for (int i = 0; i < layers; ++i) {
      x = dense(fmt::format("{}.layers.{}", name, i), x);
      if (i + 1 < layers) x = relu(x);
    }
    return x;
  }

 private:
  const Tensor& at(const std::string& name) const { return weights_.at(name); }
  Tensor dense(const std::string& name, const Tensor& x) const {
    return linear(x, at(name + ".weight"), at(name + ".bias"));
  }
  Tensor norm(const std::string& name, const Tensor& x) const {
    return layer_norm(x, at(name + ".weight"), at(name + ".bias"), 1e-6);
  }
  Tensor attention(const std::string& block, const Tensor& q, const Tensor& k, const PrefixMask& mask) const {
    const std::string name = block + "attention.";
    return dense(name + "out", masked_attention(dense(name + "query", q), dense(name + "key", k),
                                                dense(name + "value", k), mask, {.heads = 2}));
  }
  Tensor feed_forward(const std::string& block, const Tensor& x) const {
    return npzoo::add(x, dense(block + "contract", relu(dense(block + "expand", norm(block + "norm2", x)))));
  }

  std::map<std::string, Tensor> weights_;
};

Tensor tokens_of(const Tensor& x, const Tensor& y) { return concat({x, y}, -1); }

}  // namespace

TEST_CASE("identity 1: two streams equal one encoder under the mask 'keys are context points'") {
  for (const NormPlacement placement : {NormPlacement::post, NormPlacement::pre})
    for (const Tensor& lengths : {Tensor(), ragged_lengths()}) {
      CAPTURE(placement == NormPlacement::pre);
      CAPTURE(lengths.defined());
      Initializer init(Framework::torch, {.seed = 4});
      TwoStreamTransformer encoder({.width = kWidth,
                                    .hidden = 12,
                                    .heads = 2,
                                    .layers = 3,
                                    .norm = placement,
                                    .final_norm = placement == NormPlacement::pre},
                                   init);
      std::vector<Tensor> inputs{normal<double>({kBatch, kContext + kTargets, kWidth}, 1)};
      const auto parameters = named_parameters(encoder);
      for (const auto& [name, parameter] : parameters)
        inputs.push_back(
            add(parameter->value.to(DType::float64), normal<double>(parameter->value.shape(), inputs.size(), 0.1)));
      const auto with_weights = [&](const auto& compute) {
        return with_gradients(
            [&](const std::vector<Tensor>& in) {
              for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].parameter->value = in[i + 1];
              return compute(in[0]);
            },
            inputs);
      };
      const auto one = with_weights([&](const Tensor& x) { return masked_encoder(encoder, x, context_only(lengths)); });
      const auto two = with_weights([&](const Tensor& x) { return two_streams(encoder, x, lengths); });
      CHECK(difference(two[0], one[0]) <= kRounding);
      for (std::size_t i = 1; i < one.size(); ++i) CHECK(difference(two[i], one[i]) <= kRounding);
    }
}

TEST_CASE("identity 1: TNP-D is a masked encoder over all tokens") {
  for (const Tensor& lengths : {Tensor(), ragged_lengths()}) {
    CAPTURE(lengths.defined());
    const auto model = varied_model(small_model("tnp-d"));
    auto& tnp = dynamic_cast<TokenTransformer&>(*model);
    Task task = random_task(tnp, {kBatch, kContext, kTargets});
    task.lengths = lengths;
    const auto mean = [&] { return recorded_mean(tnp, task); };
    const auto masked_mean = [&] {
      const Tensor points = tokens_of(concat({task.xc, task.xt}, 1), concat({task.yc, Tensor::zeros_like(task.yt)}, 1));
      const Tensor h = masked_encoder(tnp.encoder, tnp.embedder(points), context_only(lengths));
      return split(tnp.predictor(h), -1, {1, 1})[0];
    };
    const auto loss = [&](const auto& of) { return gradients(tnp, [&] { return sum(square(sub(of(), task.yt))); }); };
    CHECK(difference(mean(), masked_mean()) <= kRounding);
    CHECK(gradient_difference(loss(mean), loss(masked_mean)) <= kRounding);
  }
}

TEST_CASE("identity 2: TNP-KR (Full) is the authors' KR blocks, and these are a masked pre-norm encoder") {
  for (const Tensor& lengths : {Tensor(), ragged_lengths()}) {
    CAPTURE(lengths.defined());
    const auto model = varied_model(small_model("tnp-kr-full"));
    auto& tnp_kr = dynamic_cast<TokenTransformer&>(*model);
    Task task = random_task(tnp_kr, {kBatch, kContext, kTargets});
    task.lengths = lengths;
    const Tensor context = tokens_of(task.xc, task.yc), targets = tokens_of(task.xt, Tensor::zeros_like(task.yt));
    const auto mean = [&] { return recorded_mean(tnp_kr, task); };
    const auto kr_mean = [&] {
      const KrStack kr(tnp_kr);
      const Tensor h = kr(kr.mlp("embedder", targets, 2), kr.mlp("embedder", context, 2), PrefixMask::lengths(lengths));
      return split(kr.mlp("predictor", h, 2), -1, {1, 1})[0];
    };
    const auto masked_mean = [&] {
      const Tensor tokens = tnp_kr.embedder(concat({context, targets}, 1));
      return split(tnp_kr.predictor(masked_encoder(tnp_kr.encoder, tokens, context_only(lengths))), -1, {1, 1})[0];
    };
    const auto loss = [&](const auto& of) {
      return gradients(tnp_kr, [&] { return sum(square(sub(of(), task.yt))); });
    };
    CHECK(difference(mean(), kr_mean()) <= kRounding);
    CHECK(difference(mean(), masked_mean()) <= kRounding);
    CHECK(gradient_difference(loss(mean), loss(kr_mean)) <= kRounding);
    CHECK(gradient_difference(loss(mean), loss(masked_mean)) <= kRounding);
  }
}

TEST_CASE("identity 21: a context given twice says nothing new") {
  for (const ModelCase& c : all_models()) {
    if (!is_of_sets(c.spec.name) || model_info(c.spec.name).traits.counts_points) continue;
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    // Given other targets the context would weigh more, twice.
    const Task task = random_task(*model, predicts_jointly(c.spec.name) ? TaskSize{.nt = 1} : TaskSize{});
    const Task twice{concat({task.xc, task.xc}, 1), concat({task.yc, task.yc}, 1), task.xt, task.yt, {}};
    CHECK(difference(predict(*model, twice), predict(*model, task)) <= kRounding);
  }
}
