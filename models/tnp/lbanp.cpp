#include "npzoo/models/tnp/lbanp.h"

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/drop_values.h"
#include "npzoo/models/blocks/equal_layers.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

struct LbanpState final : HeldContext {
  LbanpState(HeldContext held, std::vector<KeysValues> read) : HeldContext(std::move(held)), layers(std::move(read)) {}

  std::vector<KeysValues> layers;  // for each decoder layer; (B, L, E)
};

}  // namespace

Lbanp::Lbanp(const LbanpConfig& config, Initializer& init)
    : embedder(perceiver_embedder(config, init)),
      latents{init.standard_normal({config.latents, config.layer.width})},
      encoder([&] {
        std::vector<LatentLayer> layers;
        for (std::int64_t i = 0; i < config.layers; ++i) layers.emplace_back(config.layer, init);
        make_equal(layers);
        return layers;
      }()),
      decoder(config, init),
      config_(config) {}

std::unique_ptr<ContextState> Lbanp::do_condition(const Context& context, Draws& draws, std::int64_t samples) const {
  const Context points = clear_padding(context);
  const PrefixMask mask = PrefixMask::lengths(context.lengths);
  const Tensor tokens =
      in_chunks(concat({points.xc, points.yc}, -1), [&](const Tensor& xy) { return embedder(xy); });  // (B, Nc, E)
  Latents h{broadcast_to(latents.value, {tokens.dim(0), config_.latents, config_.layer.width})};      // (B, L, E)
  std::vector<KeysValues> read;
  for (const LatentLayer& layer : encoder) {
    h = layer(h.states, tokens, mask);                    // (B, L, E)
    read.push_back(decoder.keys_values(read.size(), h));  // (B, L, E) each
  }
  return std::make_unique<LbanpState>(HeldContext(context, draws, samples), std::move(read));
}

std::unique_ptr<Prediction> Lbanp::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& encoded = state_as<LbanpState>(state, "lbanp");
  return decoder(xt, encoded.layers, PrefixMask::all());  // (B, Nt, Dy)
}

Tensor Lbanp::encode_targets(const ContextState& state, const Tensor& xt) const {
  return decoder.encode(xt, state_as<LbanpState>(state, "lbanp").layers, PrefixMask::all());
}

Tensor Lbanp::loss(const Task& task, Draws& draws) const {
  return Model::loss(drop_values(task, config_.drop_y, draws), draws);
}

void Lbanp::visit(ModuleVisitor& visitor) {
  visitor("embedder", embedder);
  visitor("latents", latents);
  visitor("encoder", encoder);
  visitor("decoder", decoder);
}

LbanpConfig read_lbanp_config(ConfigReader& reader, const std::string& model) {
  LbanpConfig c{read_perceiver_config(reader, model)};
  c.latents = reader.size("num_latents", "latent vectors");
  return c;
}

std::unique_ptr<Model> make_lbanp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "lbanp");
  LbanpConfig c = read_lbanp_config(reader, "lbanp");
  c.likelihood = read_likelihood(reader);
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<Lbanp>(c, init);
}

AuthorsPlace authors_lbanp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] != "encoder") return authors_perceiver_model(words);
  return authors_latent_layer(fmt::format("encoder.layers.{}.", words[1]), Words(words).subspan(2));
}

namespace {

constexpr AuthorsCode kLbanpAuthors[] = {{.recorded_as = "lbanp", .place = authors_lbanp}};

constexpr PublishedSize kLbanpSizes[] = {
    {"tnp/gp-rbf", 792'514},
    {"tnp/emnist", 792'642},
    {"tnp/celeba32", 793'286},
    {"tnp/gp-rbf", 784'834, R"({"num_latents": 8})"},
};

constexpr const char* kSmallLbanps[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "num_latents": 3, "emb_depth": 2})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "num_latents": 3, "emb_depth": 2, "residual": "input", "bound_std": true, "drop_y": 0.4})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "num_latents": 3, "emb_depth": 2, "likelihood": "zero-inflated-negative-binomial"})",
};

}  // namespace

ModelInfo lbanp_info() {
  return {
      .name = "lbanp",
      .title = "Latent bottlenecked attentive neural process",
      .paper = "Feng et al., Latent bottlenecked attentive neural processes, ICLR 2023",
      .make = make_lbanp,
      .small_forms = kSmallLbanps,
      .sizes = kLbanpSizes,
      .authors = kLbanpAuthors,
      .likelihoods = true,
  };
}

}  // namespace npzoo
