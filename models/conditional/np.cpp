#include "npzoo/models/conditional/authors.h"
#include "npzoo/models/conditional/latent_np.h"
#include "npzoo/models/registry.h"

namespace npzoo {

namespace {

/// The constructor parameters of all lineages; depths count linear layers.
struct NpConfig {
  LatentNpConfig common;
  std::int64_t hidden = 128;
  std::int64_t pre_depth = 4, post_depth = 2;                // of the deterministic path
  std::int64_t latent_pre_depth = 4, latent_post_depth = 2;  // of the latent one
  std::int64_t decoder_depth = 3;
};

NpConfig read_np_config(ConfigReader& reader) {
  NpConfig c{.common = read_latent_config(reader, "np")};
  c.hidden = reader.size("dim_hid", "width of hidden layers");
  c.decoder_depth = reader.depth("dec_depth", "linear layers of the decoder");
  if (c.common.lineage == Lineage::tnp) {
    c.pre_depth = c.latent_pre_depth = reader.depth("enc_pre_depth", "linear layers before the mean over points");
    c.post_depth = c.latent_post_depth = reader.depth("enc_post_depth", "linear layers after the mean over points");
  } else {
    c.pre_depth = reader.depth("enc_depth", "linear layers of the encoder");
    c.post_depth = 0;
    c.latent_pre_depth = reader.depth("lat_depth", "linear layers of the encoder of the latent path");
  }
  return c;
}

std::unique_ptr<Model> make_np(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "np");
  const NpConfig c = read_np_config(reader);
  reader.finish();
  Initializer init(framework_of(c.common.lineage), weights);
  const std::int64_t in = c.common.dim_x + c.common.dim_y, latent = c.common.latent;
  ContextEncoder deterministic({}, PoolingEncoder(in, c.hidden, c.pre_depth, c.post_depth, init));
  Mlp pre = Mlp::of_depth(in, c.hidden, c.hidden, c.latent_pre_depth, init);
  Mlp head = c.common.lineage == Lineage::anp
                 ? anp_latent_head(c.hidden, latent, init)
                 : Mlp::of_depth(c.hidden, c.hidden, 2 * latent, c.latent_post_depth, init);
  Mlp decoder = latent_decoder(c.common, c.hidden, c.decoder_depth, init);
  return std::make_unique<LatentNp>(c.common, std::move(deterministic),
                                    PoolingEncoder(std::move(pre), {}, std::move(head)), std::move(decoder));
}

AuthorsPlace authors_np(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "decoder") return tnp_decoder(Words(words).subspan(1));
  return words[0] == "latent" ? tnp_pooling("lenc", Words(words).subspan(1))
                              : tnp_pooling("denc", Words(words).subspan(2));
}

AuthorsPlace dl4bi_np(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "latent") return dl4bi_latent(Words(words).subspan(1));
  return flax_mlp(words[0] == "decoder" ? "dec" : "enc_det", Words(words).last(3));
}

constexpr AuthorsCode kNpAuthors[] = {
    {.recorded_as = "np", .place = authors_np, .config = tnp_architecture},
    {.recorded_as = "dl4bi-np", .place = dl4bi_np, .config = dl4bi_conditional},
};

constexpr PublishedSize kNpSizes[] = {
    {"tnp/gp-rbf", 232'194},           {"tnp/emnist", 315'138},
    {"tnp/celeba32", 365'702},         {"tnp/wheel", 234'634},
    {"tnp-kr/gp1d-rbf", 248'706},      {"tnp-kr/gp1d-matern", 248'706},
    {"tnp-kr/gp1d-periodic", 248'706},
};

constexpr const char* kSmallNps[] = {
    R"({"architecture": "tnp", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_pre_depth": 2, "enc_post_depth": 2})",
    R"({"architecture": "tnp", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_pre_depth": 2, "enc_post_depth": 2, "train_samples": 1})",
    R"({"architecture": "dl4bi", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_depth": 2, "lat_depth": 2, "n_z": 1, "min_std": 0.0})",
    R"({"architecture": "dl4bi", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_depth": 2, "lat_depth": 2, "n_z": 2, "min_std": 0.05})",
    R"({"architecture": "anp", "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_depth": 2, "lat_depth": 2})",
};

}  // namespace

ModelInfo np_info() {
  return {
      .name = "np",
      .title = "Neural process",
      .paper = "Garnelo et al., Neural processes, ICML workshop 2018",
      .make = make_np,
      .small_forms = kSmallNps,
      .sizes = kNpSizes,
      .authors = kNpAuthors,
      .density = Density::mixture,
  };
}

}  // namespace npzoo
