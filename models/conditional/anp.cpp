#include "npzoo/models/conditional/authors.h"
#include "npzoo/models/conditional/latent_np.h"
#include "npzoo/models/registry.h"

namespace npzoo {

namespace {

/// The constructor parameters of tnp and dl4bi; depths count as in AttendingConfig.
struct AnpConfig {
  LatentNpConfig common;
  AttendingConfig attending;
  AttendingPoolConfig latent;
  std::int64_t decoder_depth = 3;
};

AnpConfig config_of_others(const LatentNpConfig& common, ConfigReader& reader) {
  AnpConfig c{.common = common, .attending = {.dim_x = common.dim_x, .dim_y = common.dim_y}, .latent = {}};
  c.attending.hidden = c.latent.hidden = reader.size("dim_hid", "width of hidden layers");
  c.latent.in = common.dim_x + common.dim_y;
  c.latent.out = 2 * common.latent;
  c.decoder_depth = reader.depth("dec_depth", "linear layers of the decoder");
  if (common.lineage == Lineage::tnp) {
    c.attending.value_depth = reader.depth("enc_v_depth", "linear layers of the encoder of values");
    c.attending.input_depth = reader.depth("enc_qk_depth", "linear layers of the encoder of queries and keys");
    c.latent.pre_depth = reader.depth("enc_pre_depth", "linear layers before the mean over points");
    c.latent.post_depth = reader.depth("enc_post_depth", "linear layers after the mean over points");
  } else {
    c.attending.value_depth = reader.depth("enc_depth", "linear layers of the encoder");
    c.latent.pre_depth = reader.depth("lat_depth", "linear layers of the encoder of the latent path");
    c.attending.heads = c.latent.heads = reader.size("nhead", "attention heads");
    c.common.inputs_first = true;
  }
  return c;
}

std::unique_ptr<Model> make_other(const AnpConfig& c, const InitialWeights& weights) {
  const Lineage lineage = c.common.lineage;
  Initializer init(framework_of(lineage), weights);
  ContextEncoder deterministic(attending_encoder(lineage, c.attending, "anp", init), {});
  PoolingEncoder latent = attending_pool(lineage, c.latent, "anp", init);
  Mlp decoder = latent_decoder(c.common, c.attending.hidden, c.decoder_depth, init);
  return std::make_unique<LatentNp>(c.common, std::move(deterministic), std::move(latent), std::move(decoder));
}

/// Those of DeepMind's code and of the paper.
struct DeepMindConfig {
  LatentNpConfig common;
  std::int64_t hidden = 128, depth = 4, latent_depth = 4, input_depth = 2, decoder_depth = 3;
  std::string attention = "multihead";  // of targets to the context: also dot_product, laplace, uniform
  std::int64_t heads = 8;
  double laplace_scale = 1;         // inputs that are so far apart weigh 1/e
  std::int64_t self_attention = 0;  // layers in both paths, one upon the other
  bool image_transformer = false;   // multihead attention with residual connections and a feed-forward network
};

DeepMindConfig config_of_deepmind(const LatentNpConfig& common, ConfigReader& reader) {
  DeepMindConfig c{.common = common};
  c.hidden = reader.size("dim_hid", "width of hidden layers");
  c.depth = reader.depth("enc_depth", "linear layers of the encoder");
  c.latent_depth = reader.depth("lat_depth", "linear layers of the encoder of the latent path");
  c.decoder_depth = reader.depth("dec_depth", "linear layers of the decoder");
  c.attention = reader.choice("attention", "attention of the targets to the context",
                              {"uniform", "laplace", "dot_product", "multihead"});
  const bool multihead = c.attention == "multihead", product = c.attention == "dot_product";
  c.common.uniform_attention = c.attention == "uniform";
  if (multihead || product)
    c.input_depth = reader.depth("enc_qk_depth", "linear layers of the encoder of queries and keys", c.input_depth);
  if (c.attention == "laplace") {
    c.laplace_scale = reader.number(
        "laplace_scale", "distance at which Laplace attention falls to 1/e, in units of the inputs", kPositive, 1);
  }
  c.self_attention = reader.integer("self_attention_layers", "self-attention layers of each encoder", 0, 64, 0);
  if (multihead || c.self_attention > 0) {
    c.heads = reader.size("nhead", "attention heads", c.heads);
    constexpr KeyLine kBlock = "attention alone, or a layer with residual connections and a feed-forward network";
    c.image_transformer =
        reader.choice("attention_block", kBlock, {"plain", "image-transformer"}, "plain") == "image-transformer";
  }
  return c;
}

PointAttention multihead(const DeepMindConfig& c, Initializer& init) {
  if (!c.image_transformer) return PointAttention(MultiheadAttention(c.hidden, c.heads, init, AttentionBiases::none));
  return PointAttention(TransformerLayer(
      {.width = c.hidden, .hidden = c.hidden, .heads = c.heads, .norm = NormPlacement::post, .layer_norm_eps = 1e-6},
      init));
}

std::vector<PointAttention> self_attention(const DeepMindConfig& c, Initializer& init) {
  std::vector<PointAttention> layers;
  for (std::int64_t i = 0; i < c.self_attention; ++i) layers.push_back(multihead(c, init));
  return layers;
}

/// Uniform attention is the mean, the same for all targets.
ContextEncoder deepmind_context(const DeepMindConfig& c, Initializer& init) {
  const std::int64_t dim_x = c.common.dim_x;
  Mlp points = Mlp::of_depth(dim_x + c.common.dim_y, c.hidden, c.hidden, c.depth, init);
  std::vector<PointAttention> among = self_attention(c, init);
  if (c.attention == "uniform") return {{}, PoolingEncoder(std::move(points), std::move(among), {})};
  if (c.attention == "laplace") {
    const AttentionOptions options{.scale = 1 / c.laplace_scale, .score = AttentionScore::laplace};
    return {AttendingEncoder({}, std::move(points), std::move(among), PointAttention(PlainAttention{options})), {}};
  }
  Mlp inputs = Mlp::of_depth(dim_x, c.hidden, c.hidden, c.input_depth, init);
  PointAttention cross = c.attention == "multihead" ? multihead(c, init) : PointAttention(PlainAttention{});
  return {AttendingEncoder(std::move(inputs), std::move(points), std::move(among), std::move(cross)), {}};
}

std::unique_ptr<Model> make_deepmind(const DeepMindConfig& c, const InitialWeights& weights) {
  Initializer init(framework_of(Lineage::anp), weights);
  const std::int64_t in = c.common.dim_x + c.common.dim_y;
  ContextEncoder deterministic = deepmind_context(c, init);
  Mlp pre = Mlp::of_depth(in, c.hidden, c.hidden, c.latent_depth, init);
  std::vector<PointAttention> among = self_attention(c, init);
  PoolingEncoder latent(std::move(pre), std::move(among), anp_latent_head(c.hidden, c.common.latent, init));
  Mlp decoder = latent_decoder(c.common, c.hidden, c.decoder_depth, init);
  return std::make_unique<LatentNp>(c.common, std::move(deterministic), std::move(latent), std::move(decoder));
}

std::unique_ptr<Model> make_anp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "anp");
  const LatentNpConfig common = read_latent_config(reader, "anp");
  if (common.lineage == Lineage::anp) {
    const DeepMindConfig c = config_of_deepmind(common, reader);
    reader.finish();
    return make_deepmind(c, weights);
  }
  const AnpConfig c = config_of_others(common, reader);
  reader.finish();
  return make_other(c, weights);
}

AuthorsPlace authors_anp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "decoder") return tnp_decoder(Words(words).subspan(1));
  return words[0] == "latent" ? tnp_pooling("lenc", Words(words).subspan(1), true)
                              : tnp_attending("denc", Words(words).subspan(2));
}

AuthorsPlace dl4bi_anp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "decoder") return flax_mlp("dec", Words(words).subspan(1));
  return words[0] == "latent" ? dl4bi_latent(Words(words).subspan(1)) : dl4bi_attending(Words(words).subspan(2));
}

constexpr AuthorsCode kAnpAuthors[] = {
    {.recorded_as = "anp", .place = authors_anp, .config = tnp_architecture},
    {.recorded_as = "dl4bi-anp", .place = dl4bi_anp, .config = dl4bi_conditional},
};

constexpr PublishedSize kAnpSizes[] = {
    {"tnp/gp-rbf", 348'418},           {"tnp/emnist", 431'490},
    {"tnp/celeba32", 482'054},         {"tnp/wheel", 350'986},
    {"tnp-kr/gp1d-rbf", 414'082},      {"tnp-kr/gp1d-matern", 414'082},
    {"tnp-kr/gp1d-periodic", 414'082},
};

constexpr const char* kSmallAnps[] = {
    R"({"architecture": "tnp", "dim_hid": 8, "dim_lat": 3, "dec_depth": 2, "enc_v_depth": 4, "enc_qk_depth": 2, "enc_pre_depth": 4, "enc_post_depth": 2})",
    R"({"architecture": "tnp", "dim_hid": 8, "dim_lat": 3, "dec_depth": 2, "enc_v_depth": 4, "enc_qk_depth": 2, "enc_pre_depth": 4, "enc_post_depth": 2, "train_samples": 1})",
    R"({"architecture": "dl4bi", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_depth": 2, "lat_depth": 2, "nhead": 2, "n_z": 2, "min_std": 0.05})",
    R"({"architecture": "anp", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_depth": 2, "lat_depth": 2, "attention": "uniform"})",
    R"({"architecture": "anp", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_depth": 2, "lat_depth": 2, "attention": "laplace"})",
    R"({"architecture": "anp", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_depth": 2, "lat_depth": 2, "attention": "dot_product", "enc_qk_depth": 2})",
    R"({"architecture": "anp", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_depth": 2, "lat_depth": 2, "attention": "multihead", "enc_qk_depth": 2, "nhead": 2, "train_samples": 3})",
    R"({"architecture": "anp", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_depth": 2, "lat_depth": 2, "attention": "multihead", "enc_qk_depth": 2, "nhead": 2, "self_attention_layers": 2, "attention_block": "image-transformer"})",
    R"({"architecture": "anp", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_depth": 2, "lat_depth": 2, "attention": "uniform", "nhead": 2, "self_attention_layers": 1})",
};

}  // namespace

ModelInfo anp_info() {
  return {
      .name = "anp",
      .title = "Attentive neural process",
      .paper = "Kim et al., Attentive neural processes, ICLR 2019",
      .make = make_anp,
      .small_forms = kSmallAnps,
      .sizes = kAnpSizes,
      .authors = kAnpAuthors,
      .density = Density::mixture,
  };
}

}  // namespace npzoo
