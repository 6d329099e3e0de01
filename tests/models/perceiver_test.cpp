#include "npzoo/models/blocks/perceiver.h"

#include <map>

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/cmanp/cmanp.h"
#include "npzoo/models/tnp/eqtnp.h"
#include "npzoo/models/tnp/lbanp.h"
#include "npzoo/ops/geglu/geglu.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {
constexpr std::int64_t kPerceiverChunk = 64;

/// The formulas of a layer on its weights by their names.
class LayerFormula {
 public:
  LayerFormula(PerceiverLayer& layer, Residual residual) : residual_(residual) {
    for (const auto& [name, parameter] : named_parameters(layer)) weights_[name] = parameter->value;
  }

  Tensor operator()(const Tensor& x, const Tensor& context, const PrefixMask& mask) const {
    const bool cross = weights_.contains("norm_context.weight");
    const Tensor n = norm("norm1", x), c = cross ? norm("norm_context", context) : n;
    const Tensor attended = masked_attention(product("attention.query", n), product("attention.key", c),
                                             product("attention.value", c), mask, {.heads = 2});
    const Tensor h = add(residual_ == Residual::input ? x : n, dense("attention.out", attended));
    const Tensor m = norm("norm2", h);
    return add(residual_ == Residual::input ? h : m, dense("contract", geglu(dense("expand", m))));
  }

 private:
  const Tensor& at(const std::string& name) const { return weights_.at(name); }
  Tensor product(const std::string& name, const Tensor& x) const { return linear(x, at(name + ".weight"), {}); }
  Tensor dense(const std::string& name, const Tensor& x) const {
    return linear(x, at(name + ".weight"), at(name + ".bias"));
  }
  Tensor norm(const std::string& name, const Tensor& x) const {
    return layer_norm(x, at(name + ".weight"), at(name + ".bias"), 1e-5);
  }

  Residual residual_;
  std::map<std::string, Tensor> weights_;
};

void vary(const std::vector<NamedParameter>& parameters) {
  std::uint64_t seed = 1;
  for (const auto& [name, parameter] : parameters)
    parameter->value = add(parameter->value.to(DType::float64), normal<double>(parameter->value.shape(), ++seed, 0.3));
}

template <class M>
std::unique_ptr<M> small(const ModelConfig& changes = {}) {
  ModelSpec spec = small_model(std::is_same_v<M, Eqtnp> ? "eqtnp" : std::is_same_v<M, Lbanp> ? "lbanp" : "cmanp");
  for (const auto& [key, value] : changes) spec.config[key] = value;
  return std::unique_ptr<M>(&dynamic_cast<M&>(*varied_model(spec).release()));
}

/// Decodes the states that the layers read, by the formula of the layers.
Tensor decode(PerceiverDecoder& decoder, const Tensor& xt, const std::vector<Tensor>& states) {
  Tensor h = decoder.embedder(xt);
  for (std::size_t i = 0; i < states.size(); ++i)
    h = LayerFormula(decoder.layers[i], Residual::normalised)(h, states[i], PrefixMask::all());
  return decoder.predictor(decoder.norm(h));
}

}  // namespace

TEST_CASE("perceiver: a layer is its formula, with either residual, and so are its gradients") {
  for (const Residual residual : {Residual::normalised, Residual::input})
    for (const auto kind : {PerceiverLayer::Kind::self_attention, PerceiverLayer::Kind::cross_attention}) {
      const bool cross = kind == PerceiverLayer::Kind::cross_attention;
      CAPTURE(residual == Residual::input);
      CAPTURE(cross);
      Initializer init(Framework::torch, {.seed = 4});
      PerceiverLayer layer({.width = 8, .hidden = 12, .heads = 2, .residual = residual}, kind, init);
      const auto parameters = named_parameters(layer);
      vary(parameters);
      const Tensor context = normal<double>({3, 6, 8}, 90);
      const PrefixMask mask = PrefixMask::lengths(Tensor::from<std::int64_t>({3}, {5, 2, 0}));
      std::vector<Tensor> inputs{normal<double>({3, 5, 8}, 91)};
      for (const auto& [name, parameter] : parameters) inputs.push_back(parameter->value);
      const auto with_weights = [&](const auto& compute) {
        return with_gradients(
            [&](const std::vector<Tensor>& in) {
              for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].parameter->value = in[i + 1];
              return compute(in[0]);
            },
            inputs);
      };
      const auto found = with_weights(
          [&](const Tensor& x) { return cross ? layer(x, layer.keys_values(context), mask) : layer(x, mask); });
      const auto expected =
          with_weights([&](const Tensor& x) { return LayerFormula(layer, residual)(x, context, mask); });
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(difference(found[i], expected[i]) <= kRounding);
    }
}

TEST_CASE("perceiver: self-attention in chunks of points is the whole") {
  const OnCpu cpu;
  for (const Residual residual : {Residual::normalised, Residual::input}) {
    Initializer init(Framework::torch, {.seed = 4});
    const PerceiverLayer layer({.width = 4, .hidden = 4, .heads = 2, .residual = residual},
                               PerceiverLayer::Kind::self_attention, init);
    const ChunkPoints chunks(kPerceiverChunk);
    const Tensor x = normal<float>({2, kPerceiverChunk + 3, 4}, 1);
    const PrefixMask mask = PrefixMask::lengths(Tensor::from<std::int64_t>({2}, {40, 7}));
    const Tensor in_parts = layer(x, mask);
    Tape tape;
    const Recording on(tape);
    CHECK(difference(in_parts, layer(x, mask)) <= 1e-6);
  }
}

TEST_CASE("eqtnp: decoder layers read the states that enter the encoder's, or those that leave them") {
  for (const bool leaving : {false, true}) {
    CAPTURE(leaving);
    const auto model =
        small<Eqtnp>({{"wiring", std::string(leaving ? "leaving" : "entering")}, {"num_layers", std::int64_t{3}}});
    REQUIRE(model->encoder.size() == (leaving ? 3 : 2));
    const Task task = random_task(*model, {});
    Tensor h = model->embedder(concat({task.xc, task.yc}, -1));
    std::vector<Tensor> states{h};
    for (PerceiverLayer& layer : model->encoder)
      states.push_back(h = LayerFormula(layer, Residual::normalised)(h, h, PrefixMask::all()));
    if (leaving) states.erase(states.begin());
    const Tensor raw = decode(model->decoder, task.xt, states);
    CHECK(difference(predict(*model, task).mean, split(raw, -1, {1, 1})[0]) <= kRounding);
  }
  CHECK(small<Eqtnp>({{"num_layers", std::int64_t{1}}})->encoder.empty());
}

TEST_CASE("perceiver: layers start as copies of one, and part in training") {
  const auto first_equals_second = [](auto& layers) {
    const auto a = named_parameters(layers[0]), b = named_parameters(layers[1]);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(same_bits(a[i].parameter->value, b[i].parameter->value));
      CHECK(a[i].parameter->value.raw().data() != b[i].parameter->value.raw().data());
    }
  };
  const auto fresh = [](const std::string& name) { return make_model(small_model(name)); };
  const auto eqtnp = fresh("eqtnp"), lbanp = fresh("lbanp"), cmanp = fresh("cmanp");
  auto& decoders = dynamic_cast<Eqtnp&>(*eqtnp).decoder.layers;
  first_equals_second(decoders);
  first_equals_second(dynamic_cast<Lbanp&>(*lbanp).encoder);
  first_equals_second(dynamic_cast<Cmanp&>(*cmanp).encoder);
  CHECK_FALSE(same_bits(decoders[0].attention.key.weight.value, decoders[0].attention.value.weight.value));
  auto& model = dynamic_cast<Cmanp&>(*cmanp);
  CHECK(std::abs(doubles(sum(square(model.latents.value)))[0] / 24 - 1) < 0.9);  // N(0, 1), not a weight's scale
  CHECK_FALSE(same_bits(slice(model.encoder[0].latents.value, 0, 0, 3), model.latents.value));
}

TEST_CASE("perceiver: targets and context points in chunks are the whole") {
  const OnCpu cpu;
  for (const std::string name : {"eqtnp", "lbanp", "cmanp"}) {
    CAPTURE(name);
    const auto model = varied_model(small_model(name), DType::float32);
    const ChunkPoints chunks(kPerceiverChunk);
    Task task = random_task(*model, {1, kPerceiverChunk + 9, kPerceiverChunk + 5}, DType::float32);
    task.lengths = Tensor::from<std::int64_t>({1}, {kPerceiverChunk + 2});
    const Moments in_parts = predict(*model, task);
    Tape tape;
    const Recording on(tape);
    CHECK(difference(in_parts, predict(*model, task)) <= 1e-5);
  }
}

TEST_CASE("perceiver: errors of configuration and of use") {
  using namespace std::string_literals;
  const auto error_with = [](const std::string& name, const std::string& key, ModelConfig::mapped_type value) {
    ModelSpec spec = small_model(name);
    spec.config[key] = std::move(value);
    return error_of([&] { make_model(spec); });
  };
  for (const std::string name : {"eqtnp", "lbanp", "cmanp"}) {
    CAPTURE(name);
    CHECK(error_with(name, "residual", "x"s) == "[" + name + "] residual 'x' found, expected normalised or input");
    CHECK(error_with(name, "dropout", 0.1) ==
          "[" + name + "] dropout 0.1 found, expected 0: no published run uses another");
    CHECK(error_with(name, "nhead", std::int64_t{3}) == "[attention] 3 heads do not divide the width 8");
    CHECK(error_with(name, "d_modle", std::int64_t{8}).starts_with("[" + name + "] d_modle is an unknown key"));

    const auto model = varied_model(small_model(name));
    const Task task = random_task(*model, {2, 3, 2});
    const auto state = condition(*model, {task.xc, task.yc, {}});
    for (const std::string& other : model_names()) {
      if (other == name || other == name + "-nd") continue;  // which encodes a context as `name` does
      CAPTURE(other);
      const auto other_model = varied_model(small_model(other));
      const Task its_own = random_task(*other_model, {2, 3, 2});
      const auto foreign = condition(*other_model, {its_own.xc, its_own.yc, {}});
      CHECK(error_of([&] { query(*model, *foreign, task.xt); }) ==
            "[" + name + "] the state comes from another kind of model");
    }
    const Tensor wide = Tensor::zeros({2, 2, 3}, DType::float64),
                 other_batch = Tensor::zeros({5, 2, 1}, DType::float64);
    CHECK(error_of([&] { query(*model, *state, wide); }).starts_with("["));
    CHECK(error_of([&] { query(*model, *state, other_batch); }).starts_with("["));
    CHECK(error_of([&] { condition(*model, {wide, task.yc, {}}); }).starts_with("["));
    CHECK(error_of([&] { model->update(*state, {other_batch, other_batch, {}}); }).starts_with("["));
  }
  CHECK(error_with("eqtnp", "wiring", "x"s) == "[eqtnp] wiring 'x' found, expected entering or leaving");
  CHECK(error_with("lbanp", "num_latents", std::int64_t{0}) ==
        "[lbanp] num_latents is 0, expected an integer from 1 to 65536");
  CHECK(error_with("cmanp", "CMAB_block_size", std::int64_t{0}) ==
        "[cmanp] CMAB_block_size is 0, expected an integer from 1 to 65536");
  ModelSpec missing = small_model("cmanp");
  missing.config.erase("num_latents_per_layer");
  CHECK(error_of([&] { make_model(missing); }) == "[cmanp] num_latents_per_layer is missing, expected an integer");

  for (const std::string name : {"eqtnp", "lbanp", "cmanp"}) {
    CAPTURE(name);
    ModelSpec deeper = small_model(name);
    deeper.config["num_layers"] = std::int64_t{3};
    const auto model = varied_model(small_model(name)), other = varied_model(deeper);
    const Task task = random_task(*model, {2, 3, 2});
    const auto state = condition(*other, {task.xc, task.yc, {}});
    CHECK(error_of([&] { query(*model, *state, task.xt); }) ==
          "[perceiver] the state of the context has 3 layers, expected 2");
    if (model->streams())
      CHECK(error_of([&] {
              model->update(*state, {task.xc, task.yc, {}});
            }) == "[cmanp] the state of the context has 3 blocks, expected 2");
  }

  const auto cmanp = varied_model(small_model("cmanp")), lbanp = varied_model(small_model("lbanp"));
  const Task task = random_task(*cmanp, {2, 3, 2});
  const auto foreign = condition(*lbanp, {task.xc, task.yc, {}});
  CHECK(error_of([&] {
          cmanp->update(*foreign, {task.xc, task.yc, {}});
        }) == "[cmanp] the state comes from another kind of model");
}
