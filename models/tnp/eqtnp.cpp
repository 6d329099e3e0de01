#include "npzoo/models/tnp/eqtnp.h"

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/drop_values.h"
#include "npzoo/models/blocks/equal_layers.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/registry.h"

namespace npzoo {

namespace {

struct EqtnpState final : HeldContext {
  EqtnpState(HeldContext held, std::vector<KeysValues> read) : HeldContext(std::move(held)), layers(std::move(read)) {}

  std::vector<KeysValues> layers;  // for each decoder layer; (B, Nc, E)
};

}  // namespace

Eqtnp::Eqtnp(const EqtnpConfig& config, Initializer& init)
    : embedder(perceiver_embedder(config, init)),
      encoder([&] {
        const std::int64_t count = config.wiring == EqtnpConfig::Wiring::leaving ? config.layers : config.layers - 1;
        std::vector<PerceiverLayer> layers;
        for (std::int64_t i = 0; i < count; ++i)
          layers.emplace_back(config.layer, PerceiverLayer::Kind::self_attention, init);
        make_equal(layers);
        return layers;
      }()),
      decoder(config, init),
      config_(config) {}

std::unique_ptr<ContextState> Eqtnp::do_condition(const Context& context, Draws& draws, std::int64_t samples) const {
  const Context points = clear_padding(context);
  const PrefixMask mask = PrefixMask::lengths(context.lengths);
  std::vector<KeysValues> read;
  const auto hand_on = [&](const Tensor& state) { read.push_back(decoder.keys_values(read.size(), state)); };
  Tensor h =
      in_chunks(concat({points.xc, points.yc}, -1), [&](const Tensor& xy) { return embedder(xy); });  // (B, Nc, E)
  if (config_.wiring == EqtnpConfig::Wiring::entering) hand_on(h);
  for (const PerceiverLayer& layer : encoder) {
    h = layer(h, mask);  // (B, Nc, E)
    hand_on(h);
  }
  return std::make_unique<EqtnpState>(HeldContext(context, draws, samples), std::move(read));
}

std::unique_ptr<Prediction> Eqtnp::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& encoded = state_as<EqtnpState>(state, "eqtnp");
  return decoder(xt, encoded.layers, PrefixMask::lengths(encoded.context.lengths));  // (B, Nt, Dy)
}

Tensor Eqtnp::loss(const Task& task, Draws& draws) const {
  return Model::loss(drop_values(task, config_.drop_y, draws), draws);
}

void Eqtnp::visit(ModuleVisitor& visitor) {
  visitor("embedder", embedder);
  visitor("encoder", encoder);
  visitor("decoder", decoder);
}

std::unique_ptr<Model> make_eqtnp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "eqtnp");
  EqtnpConfig c{read_perceiver_config(reader, "eqtnp")};
  constexpr KeyLine kWiring =
      "context that a layer of the targets reads: entering the same layer of the context, or leaving it";
  if (reader.choice("wiring", kWiring, {"entering", "leaving"}, "entering") == "leaving")
    c.wiring = EqtnpConfig::Wiring::leaving;
  c.likelihood = read_likelihood(reader);
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<Eqtnp>(c, init);
}

namespace {

AuthorsPlace authors_eqtnp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] != "encoder") return authors_perceiver_model(words);
  const std::string layer = fmt::format("encoder.layers.{}.", words[1]);
  return authors_perceiver_layer(layer + "dataset_self_attn", layer + "ff", Words(words).subspan(2));
}

constexpr AuthorsCode kEqtnpAuthors[] = {{.recorded_as = "eqtnp", .place = authors_eqtnp}};

constexpr PublishedSize kEqtnpSizes[] = {
    {"tnp/gp-rbf", 492'354},
    {"tnp/emnist", 492'482},
    {"tnp/celeba32", 493'126},
    {"tnp/wheel", 33'402},
};

constexpr const char* kSmallEqtnps[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2, "residual": "input", "bound_std": true})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2, "wiring": "leaving"})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2, "likelihood": "zero-inflated-poisson"})",
};

}  // namespace

ModelInfo eqtnp_info() {
  return {
      .name = "eqtnp",
      .title = "Efficient-queries transformer neural process",
      .paper = "Feng et al., Efficient queries transformer neural processes, NeurIPS workshop 2022",
      .make = make_eqtnp,
      .small_forms = kSmallEqtnps,
      .sizes = kEqtnpSizes,
      .authors = kEqtnpAuthors,
      .likelihoods = true,
  };
}

}  // namespace npzoo
