#include "npzoo/models/tnp/tnp_kr.h"

#include <fmt/core.h>

#include "npzoo/models/blocks/min_std.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/tnp/token_transformer.h"

namespace npzoo {

namespace {

TokenTransformerConfig read_config(ConfigReader& reader) {
  TokenTransformerConfig c;
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  c.transformer = {.width = reader.size("d_model", "width of tokens"),
                   .hidden = reader.size("dim_feedforward", "width of the feed-forward networks"),
                   .heads = reader.size("nhead", "attention heads"),
                   .layers = reader.depth("num_layers", "layers"),
                   .norm = NormPlacement::pre,
                   .layer_norm_eps = 1e-6,
                   .final_norm = true};
  c.embedder = {reader.size("embed_hidden", "width of the hidden layer of the embedding"), c.transformer.width};
  c.head_hidden = c.transformer.hidden;
  if (reader.has("head_hidden"))
    c.head_hidden =
        reader.size("head_hidden", "width of the predicting network's hidden layer; dim_feedforward if missing");
  c.loss_per_channel = true;
  c.std = {StdForm::Kind::half_log_variance, read_min_std(reader)};
  c.likelihood = read_likelihood(reader);
  return c;
}

RandomFeatureConfig read_features(ConfigReader& reader) {
  const std::string norms = reader.choice(
      "feature_norms", "norms of the random features: all equal, or as of Gaussian vectors", {"fixed", "chi"});
  const std::string stabiliser =
      reader.choice("stabiliser", "number that is subtracted from exponents", {"none", "maximum"}, "none");
  const auto redraw_every =
      reader.integer("redraw_every", "updates between draws of new random features; 0: never", 0, 1'000'000'000, 0);
  return {.count = reader.size("num_features", "random features of the attention"),
          .norms = norms == "fixed" ? FeatureNorms::fixed : FeatureNorms::chi,
          .stabiliser = stabiliser == "none" ? Stabiliser::none : Stabiliser::maximum,
          .redraw_every = redraw_every};
}

std::unique_ptr<Model> make(const TokenTransformerConfig& config, const InitialWeights& weights) {
  Initializer init(Framework::flax, weights);
  return std::make_unique<TokenTransformer>(config, init);
}

}  // namespace

std::unique_ptr<Model> make_tnp_kr_full(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "tnp-kr-full");
  const TokenTransformerConfig c = read_config(reader);
  reader.finish();
  return make(c, weights);
}

std::unique_ptr<Model> make_tnp_kr_fast(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "tnp-kr-fast");
  TokenTransformerConfig c = read_config(reader);
  c.transformer.features = read_features(reader);
  reader.finish();
  return make(c, weights);
}

namespace {

AuthorsPlace authors_tnp_kr(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "embedder") return flax_mlp("embed_s_f", Words(words).last(3));
  if (words[0] == "predictor") return flax_mlp("head", Words(words).last(3));
  if (words[1] == "norm") return {flax_name("dec.norm", words[2])};
  const std::string block = "KRBlock_" + words[2];
  if (words.back() == "projection") return {fmt::format("projections.dec.{}.attn.attn.random", block)};
  return flax_transformer_layer("dec." + block, Words(words).subspan(3));
}

ModelConfig authors_full(ModelConfig theirs) {
  rename(theirs, {{"embed", "embed_hidden"}});
  return dl4bi_transformer(std::move(theirs));
}

ModelConfig authors_fast(ModelConfig theirs) {
  rename(theirs, {{"features", "num_features"}});
  theirs["feature_norms"] = std::string("fixed");
  return authors_full(std::move(theirs));
}

constexpr AuthorsCode kFullAuthors[] = {
    {.recorded_as = "dl4bi-tnp-kr-full", .place = authors_tnp_kr, .config = authors_full}};
constexpr AuthorsCode kFastAuthors[] = {
    {.recorded_as = "dl4bi-tnp-kr-fast", .place = authors_tnp_kr, .config = authors_fast}};

constexpr PublishedSize kFullSizes[] = {
    {"tnp-kr/gp1d-rbf", 226'754}, {"tnp-kr/gp1d-matern", 226'754}, {"tnp-kr/gp1d-periodic", 226'754},
    {"tnp-kr/gp2d-rbf", 227'010}, {"tnp-kr/mnist", 227'010},       {"tnp-kr/celeba32", 228'038},
};

// The projections are not trained.
constexpr PublishedSize kFastSizes[] = {
    {"tnp-kr/gp1d-rbf", 226'754}, {"tnp-kr/gp1d-matern", 226'754}, {"tnp-kr/gp1d-periodic", 226'754},
    {"tnp-kr/mnist", 227'010},    {"tnp-kr/celeba32", 228'038},
};

constexpr const char* kSmallFull[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "embed_hidden": 10, "min_std": 0.0})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "embed_hidden": 10, "min_std": 0.05})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "embed_hidden": 10, "min_std": 0.0, "likelihood": "beta"})",
};

constexpr const char* kSmallFast[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "embed_hidden": 10, "min_std": 0.05, "num_features": 24, "feature_norms": "fixed"})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "embed_hidden": 10, "min_std": 0.05, "num_features": 24, "feature_norms": "chi", "stabiliser": "maximum"})",
};

}  // namespace

ModelInfo tnp_kr_full_info() {
  return {
      .name = "tnp-kr-full",
      .title = "Transformer neural process with kernel regression blocks, full attention",
      .paper = "Jenson et al., Transformer neural processes - kernel regression, 2024",
      .make = make_tnp_kr_full,
      .small_forms = kSmallFull,
      .sizes = kFullSizes,
      .authors = kFullAuthors,
      .likelihoods = true,
  };
}

ModelInfo tnp_kr_fast_info() {
  return {
      .name = "tnp-kr-fast",
      .title = "Transformer neural process with kernel regression blocks, random-feature attention",
      .paper = "Jenson et al., Transformer neural processes - kernel regression, 2024",
      .make = make_tnp_kr_fast,
      .small_forms = kSmallFast,
      .sizes = kFastSizes,
      .authors = kFastAuthors,
      .likelihoods = true,
  };
}

}  // namespace npzoo
