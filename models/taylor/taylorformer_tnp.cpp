#include "npzoo/models/predictions/target_orders.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/taylor/authors.h"
#include "npzoo/models/tnp/tnp_a.h"

namespace npzoo {

namespace {

/// The baseline of Taylorformer's paper, by its own code: TNP-A's network with attention of a width of its own, GELU
/// networks of the width of the model, and deviations 1e-3 more than the network's, as in their losses. Nothing is
/// added to the values that later targets are given. Dropout and orders of targets in training are as in Taylorformer;
/// their dropout layers are called without the flag of training, so that it depends on Keras whether they ever drop.
std::unique_ptr<Model> make_taylorformer_tnp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "taylorformer-tnp");
  TnpAConfig c;
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  const std::int64_t width = reader.size("output_shape", "width of the model");
  c.embedder.assign(4, width);
  c.head_hidden = width;
  c.transformer.width = c.transformer.hidden = width;
  c.transformer.heads = reader.size("num_heads", "attention heads");
  c.transformer.attention_width = c.transformer.heads * reader.size("head_dim", "width of an attention head");
  c.transformer.layers = reader.depth("num_layers", "layers");
  c.transformer.layer_norm_eps = 1e-3;
  c.transformer.gelu = true;
  c.std = {StdForm::Kind::exp, 0, 1e-3};
  if (reader.get<bool>("bound_std", "whether standard deviations have a positive lower bound", false))
    c.std = {StdForm::Kind::softplus, 0.05, 1e-3};
  c.loss_per_channel = true;
  c.dropout = read_dropout(reader);
  c.permutation_repeats = read_permutation_repeats(reader);
  reader.finish();
  Initializer init(Framework::tensorflow, weights);
  return std::make_unique<TnpA>(c, init);
}

constexpr PublishedSize kTaylorformerTnpSizes[] = {
    {"taylorformer/exchange", 2'654, R"({"output_shape": 12, "num_heads": 2, "head_dim": 6, "num_layers": 2})"},
};

constexpr const char* kSmallTaylorformerTnps[] = {
    R"({"output_shape": 8, "num_heads": 2, "head_dim": 3, "num_layers": 2})",
    R"({"output_shape": 8, "num_heads": 1, "head_dim": 5, "num_layers": 2, "bound_std": true})",
};

}  // namespace

ModelInfo taylorformer_tnp_info() {
  return {
      .name = "taylorformer-tnp",
      .title = "Transformer neural process, autoregressive, as in Taylorformer's code",
      .paper = "Nivron et al., Taylorformer: probabilistic modelling for random processes including time series, 2023",
      .make = make_taylorformer_tnp,
      .small_forms = kSmallTaylorformerTnps,
      .sizes = kTaylorformerTnpSizes,
      .authors = taylorformer_tnp_authors(),
      .density = Density::joint,
  };
}

}  // namespace npzoo
