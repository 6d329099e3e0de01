#include "npzoo/models/conditional/authors.h"
#include "npzoo/models/conditional/bootstrap.h"
#include "npzoo/models/conditional/cnp.h"
#include "npzoo/models/registry.h"

namespace npzoo {

namespace {

std::unique_ptr<Model> make_bnp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "bnp");
  const CnpConfig c = read_cnp_config(reader);
  const BootstrapConfig b{.lineage = c.lineage,
                          .dim_x = c.dim_x,
                          .dim_y = c.dim_y,
                          .hidden = c.hidden,
                          .encoded = c.encoders * c.hidden,
                          .decoder_depth = c.decoder_depth,
                          .train_samples = read_train_samples(reader),
                          .std = c.std};
  reader.finish();
  Initializer init(framework_of(c.lineage), weights);
  std::vector<ContextEncoder> encoders;
  for (PoolingEncoder& encoder : cnp_encoders(c, init)) encoders.emplace_back(std::nullopt, std::move(encoder));
  return std::make_unique<BootstrappingProcess>(b, std::move(encoders), init);
}

AuthorsPlace authors_bnp(const std::string& name) {
  const auto words = split_name(name);  // encoders.E.pooling.pre.layers.L.weight or as tnp_bootstrap has it
  if (words[0] != "encoders") return tnp_bootstrap(words);
  return tnp_pooling(words[1] == "0" ? "enc1" : "enc2", Words(words).subspan(3));
}

AuthorsPlace dl4bi_bnp(const std::string& name) {
  const auto words = split_name(name);
  return words[0] == "encoders" ? flax_mlp("enc_det", Words(words).last(3)) : dl4bi_bootstrap(words);
}

constexpr AuthorsCode kBnpAuthors[] = {
    {.recorded_as = "bnp", .place = authors_bnp, .config = tnp_bootstrap_config},
    {.recorded_as = "dl4bi-bnp", .place = dl4bi_bnp, .config = dl4bi_bootstrap_config},
};

constexpr PublishedSize kBnpSizes[] = {
    {"tnp/gp-rbf", 248'450},           {"tnp/emnist", 331'394},
    {"tnp/celeba32", 381'958},         {"tnp/wheel", 250'890},
    {"tnp-kr/gp1d-rbf", 165'890},      {"tnp-kr/gp1d-matern", 165'890},
    {"tnp-kr/gp1d-periodic", 165'890},
};

constexpr const char* kSmallBnps[] = {
    R"({"architecture": "tnp", "dim_hid": 6, "dec_depth": 2, "enc_pre_depth": 2, "enc_post_depth": 2, "train_samples": 2})",
    R"({"architecture": "dl4bi", "dim_hid": 6, "dec_depth": 3, "enc_depth": 2, "min_std": 0.0, "train_samples": 2})",
};

}  // namespace

ModelInfo bnp_info() {
  return {
      .name = "bnp",
      .title = "Bootstrapping neural process",
      .paper = "Lee et al., Bootstrapping neural processes, NeurIPS 2020",
      .make = make_bnp,
      .small_forms = kSmallBnps,
      .sizes = kBnpSizes,
      .authors = kBnpAuthors,
      .density = Density::mixture,
      .traits = {.resamples = true},
  };
}

}  // namespace npzoo
