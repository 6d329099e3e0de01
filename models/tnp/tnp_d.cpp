#include "npzoo/models/tnp/tnp_d.h"

#include "npzoo/models/blocks/drop_values.h"
#include "npzoo/models/blocks/min_std.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/tnp/token_transformer.h"

namespace npzoo {

namespace {

/// Sizes, by the names that both architectures use.
TokenTransformerConfig read_sizes(ConfigReader& reader, const std::string& model) {
  TokenTransformerConfig c;
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  c.transformer.width = reader.size("d_model", "width of tokens");
  c.transformer.hidden = reader.size("dim_feedforward", "width of the feed-forward networks");
  c.transformer.heads = reader.size("nhead", "attention heads");
  c.transformer.layers = reader.depth("num_layers", "layers");
  c.embedder.assign(static_cast<std::size_t>(reader.depth("emb_depth", "linear layers of the embedding of points")),
                    c.transformer.width);
  c.head_hidden = c.transformer.hidden;
  const auto dropout = reader.number("dropout", "0: no published run uses another value", kFinite, 0);
  check(dropout == 0, "[{}] dropout {} found, expected 0: no published run uses another", model, dropout);
  return c;
}

}  // namespace

TokenTransformerConfig read_dl4bi_tnp_config(ConfigReader& reader, const std::string& model) {
  TokenTransformerConfig c = read_sizes(reader, model);
  if (reader.has("head_hidden"))
    c.head_hidden =
        reader.size("head_hidden", "width of the predicting network's hidden layer; dim_feedforward if missing");
  c.transformer.layer_norm_eps = 1e-6;
  c.std.floor = read_min_std(reader);
  c.std.kind = c.std.floor > 0 ? StdForm::Kind::softplus : StdForm::Kind::exp;
  c.loss_per_channel = true;
  return c;
}

TokenTransformerConfig read_tnp_config(ConfigReader& reader, const std::string& model) {
  TokenTransformerConfig c = read_sizes(reader, model);
  c.transformer.equal_layers = true;
  if (reader.get<bool>("bound_std", "whether standard deviations have a positive lower bound", false))
    c.std = {StdForm::Kind::softplus, 0.05};
  return c;
}

void read_bandit_options(ConfigReader& reader, TokenTransformerConfig& config) {
  config.drop_y = read_drop_y(reader);
  config.score_context = reader.get<bool>("score_context", "whether the loss counts context points too", false);
}

std::unique_ptr<Model> make_tnp_d(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "tnp-d");
  const bool tnp =
      reader.choice("architecture", "authors' code that the architecture follows", {"tnp", "dl4bi"}) == "tnp";
  TokenTransformerConfig c = tnp ? read_tnp_config(reader, "tnp-d") : read_dl4bi_tnp_config(reader, "tnp-d");
  if (tnp) read_bandit_options(reader, c);
  c.likelihood = read_likelihood(reader);
  reader.finish();
  Initializer init(tnp ? Framework::torch : Framework::flax, weights);
  return std::make_unique<TokenTransformer>(c, init);
}

AuthorsPlace authors_tnp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] != "encoder") return authors_mlp(words[0], Words(words).subspan(1));
  return torch_transformer_layer("encoder.layers." + words[2], Words(words).subspan(3));
}

AuthorsPlace dl4bi_tnp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "embedder") return flax_mlp("embed_s_f", Words(words).last(3));
  if (words[0] == "predictor") return flax_mlp("head", Words(words).last(3));
  return flax_transformer_layer(fmt::format("enc.TransformerEncoderBlock_{}", words[2]), Words(words).subspan(3));
}

namespace {

ModelConfig dl4bi_tnp_d_config(ModelConfig theirs) {
  theirs["emb_depth"] = std::int64_t{4};
  return dl4bi_architecture(dl4bi_transformer(std::move(theirs)), {});
}

constexpr AuthorsCode kTnpDAuthors[] = {
    {.recorded_as = "tnp-d", .place = authors_tnp, .config = tnp_architecture},
    {.recorded_as = "dl4bi-tnp-d", .place = dl4bi_tnp, .config = dl4bi_tnp_d_config},
};

constexpr PublishedSize kTnpDSizes[] = {
    {"tnp/gp-rbf", 222'082},           {"tnp/emnist", 222'146},
    {"tnp/celeba32", 222'790},         {"tnp/wheel", 15'530},
    {"tnp-kr/gp1d-rbf", 222'082},      {"tnp-kr/gp1d-matern", 222'082},
    {"tnp-kr/gp1d-periodic", 222'082},
};

constexpr const char* kSmallTnpDs[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "architecture": "tnp", "emb_depth": 2})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "architecture": "tnp", "emb_depth": 2, "bound_std": true})",
    R"({"d_model": 8, "dim_feedforward": 14, "nhead": 2, "num_layers": 2, "architecture": "tnp", "emb_depth": 2, "drop_y": 0.5, "score_context": true})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "architecture": "dl4bi", "emb_depth": 2, "min_std": 0.0})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "architecture": "dl4bi", "emb_depth": 2, "min_std": 0.05})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "architecture": "tnp", "emb_depth": 2, "score_context": true, "likelihood": "student-t"})",
};

}  // namespace

ModelInfo tnp_d_info() {
  return {
      .name = "tnp-d",
      .title = "Transformer neural process, diagonal",
      .paper = "Nguyen and Grover, Transformer neural processes, ICML 2022",
      .make = make_tnp_d,
      .small_forms = kSmallTnpDs,
      .sizes = kTnpDSizes,
      .authors = kTnpDAuthors,
      .likelihoods = true,
  };
}

}  // namespace npzoo
