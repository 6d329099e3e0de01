#include "npzoo/models/tnp/lbanp_nd.h"

#include "npzoo/models/blocks/drop_values.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/registry.h"

namespace npzoo {

LbanpNd::LbanpNd(const LbanpConfig& config, const JointHeadConfig& of_head, Initializer& init)
    : Lbanp(config, init), head(of_head, init) {}

std::unique_ptr<Prediction> LbanpNd::do_query(const ContextState& state, const Tensor& xt) const {
  return head(encode_targets(state, xt));
}

Tensor LbanpNd::loss(const Task& whole, Draws& draws) const {
  const Task task = drop_values(whole, drop_y(), draws);
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, 1);
  return joint_nll(*head(encode_targets(*state, task.xt), task.target_lengths), task);
}

void LbanpNd::visit(ModuleVisitor& visitor) {
  Lbanp::visit(visitor);
  visitor("head", head);
}

std::unique_ptr<Model> make_lbanp_nd(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "lbanp-nd");
  const LbanpConfig c = read_lbanp_config(reader, "lbanp-nd");
  const JointHeadConfig head = read_perceiver_joint_head(reader, c);
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<LbanpNd>(c, head, init);
}

namespace {

AuthorsPlace authors_lbanp_nd(const std::string& name) {
  const auto words = split_name(name);
  return words[0] == "head" ? authors_joint_head(Words(words).subspan(1)) : authors_lbanp(name);
}

constexpr AuthorsCode kLbanpNdAuthors[] = {{.recorded_as = "lbanp-nd", .place = authors_lbanp_nd}};

constexpr PublishedSize kLbanpNdSizes[] = {
    {"tnp/gp-rbf", 911'831},
    {"tnp/emnist", 911'959},
    {"tnp/celeba32", 918'021},
    {"tnp/gp-rbf", 904'151, R"({"num_latents": 8})"},
};

constexpr const char* kSmallLbanpNds[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "num_latents": 3, "emb_depth": 2, "num_std_layers": 1, "prj_dim": 7, "prj_depth": 2})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "num_latents": 3, "emb_depth": 2, "num_std_layers": 1, "prj_dim": 3, "prj_depth": 2, "diag_depth": 2, "cov_approx": "lowrank"})",
};

}  // namespace

ModelInfo lbanp_nd_info() {
  return {
      .name = "lbanp-nd",
      .title = "Latent bottlenecked attentive neural process, joint Gaussian",
      .paper = "Feng et al., Latent bottlenecked attentive neural processes, ICLR 2023",
      .make = make_lbanp_nd,
      .small_forms = kSmallLbanpNds,
      .sizes = kLbanpNdSizes,
      .authors = kLbanpNdAuthors,
      .density = Density::joint,
  };
}

}  // namespace npzoo
