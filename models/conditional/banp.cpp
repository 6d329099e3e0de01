#include "npzoo/models/conditional/authors.h"
#include "npzoo/models/conditional/bootstrap.h"
#include "npzoo/models/conditional/canp.h"
#include "npzoo/models/registry.h"

namespace npzoo {

namespace {

std::unique_ptr<Model> make_banp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "banp");
  const CanpConfig c = read_canp_config(reader);
  const std::int64_t train_samples = read_train_samples(reader);
  reader.finish();
  Initializer init(framework_of(c.lineage), weights);
  std::vector<ContextEncoder> encoders;
  encoders.push_back(canp_encoder(c, "banp", init));
  const BootstrapConfig b{.lineage = c.lineage,
                          .dim_x = c.attending.dim_x,
                          .dim_y = c.attending.dim_y,
                          .hidden = c.attending.hidden,
                          .encoded = (encoders[0].pooling ? 2 : 1) * c.attending.hidden,
                          .decoder_depth = c.decoder_depth,
                          .train_samples = train_samples,
                          .std = c.std};
  return std::make_unique<BootstrappingProcess>(b, std::move(encoders), init);
}

AuthorsPlace authors_banp(const std::string& name) {
  const auto words = split_name(name);  // encoders.0.attending.values.layers.L.weight or as tnp_bootstrap has it
  if (words[0] != "encoders") return tnp_bootstrap(words);
  const Words within = Words(words).subspan(3);
  return words[2] == "attending" ? tnp_attending("enc1", within) : tnp_pooling("enc2", within, true);
}

AuthorsPlace dl4bi_banp(const std::string& name) {
  const auto words = split_name(name);
  return words[0] == "encoders" ? dl4bi_attending(Words(words).subspan(3)) : dl4bi_bootstrap(words);
}

constexpr AuthorsCode kBanpAuthors[] = {
    {.recorded_as = "banp", .place = authors_banp, .config = tnp_bootstrap_config},
    {.recorded_as = "dl4bi-banp", .place = dl4bi_banp, .config = dl4bi_bootstrap_config},
};

constexpr PublishedSize kBanpSizes[] = {
    {"tnp/gp-rbf", 364'674},           {"tnp/emnist", 447'746},
    {"tnp/celeba32", 498'310},         {"tnp/wheel", 367'242},
    {"tnp-kr/gp1d-rbf", 265'218},      {"tnp-kr/gp1d-matern", 265'218},
    {"tnp-kr/gp1d-periodic", 265'218},
};

constexpr const char* kSmallBanps[] = {
    R"({"architecture": "tnp", "dim_hid": 8, "dec_depth": 2, "enc_v_depth": 4, "enc_qk_depth": 2, "enc_pre_depth": 4, "enc_post_depth": 2, "train_samples": 2})",
    R"({"architecture": "dl4bi", "dim_hid": 8, "dec_depth": 3, "enc_depth": 2, "nhead": 2, "min_std": 0.0, "train_samples": 2})",
};

}  // namespace

ModelInfo banp_info() {
  return {
      .name = "banp",
      .title = "Bootstrapping attentive neural process",
      .paper = "Lee et al., Bootstrapping neural processes, NeurIPS 2020",
      .make = make_banp,
      .small_forms = kSmallBanps,
      .sizes = kBanpSizes,
      .authors = kBanpAuthors,
      .density = Density::mixture,
      .traits = {.resamples = true},
  };
}

}  // namespace npzoo
