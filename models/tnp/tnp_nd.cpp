#include "npzoo/models/tnp/tnp_nd.h"

#include <limits>

#include "npzoo/models/blocks/drop_values.h"
#include "npzoo/models/conditional/encoders.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/tnp/tnp_d.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"

namespace npzoo {

TnpNd::TnpNd(const TnpNdConfig& config, Initializer& init)
    : TokenModel(config, init), head(config.head, init), loss_(config.joint_loss) {}

std::unique_ptr<Prediction> TnpNd::do_query(const ContextState& state, const Tensor& xt) const {
  return head(encode_targets(state, xt));
}

Tensor TnpNd::loss(const Task& task, Draws& draws) const {
  const Task dropped = drop_values(task, config().drop_y, draws);
  const auto state = condition({dropped.xc, dropped.yc, task.lengths}, draws, 1);
  const Tensor joint = joint_nll(*head(encode_targets(*state, task.xt), task.target_lengths), task, loss_);
  return config().score_context && task.xc.dim(1) > 0 ? add(joint, error_of_context(task, *state)) : joint;
}

Tensor TnpNd::error_of_context(const Task& task, const ContextState& state) const {
  constexpr double kLeast = 1e-30;  // of the weights of a task, which may have no points
  const Tensor values = clear_padding({task.xc, task.yc, task.lengths}).yc;
  const Tensor squares = sum(square(sub(head.mean(encode_context(state)), values)), -1);  // (B, Nc)
  const Tensor weights = context_weights(task);
  if (!weights.defined()) return mean(squares);
  return mean(div(sum(mul(squares, weights), -1), clamp(sum(weights, -1), kLeast, std::numeric_limits<float>::max())));
}

void TnpNd::visit(ModuleVisitor& visitor) {
  TokenModel::visit(visitor);
  visitor("head", head);
}

std::unique_ptr<Model> make_tnp_nd(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "tnp-nd");
  const bool tnp =
      reader.choice("architecture", "authors' code that the architecture follows", {"tnp", "dl4bi"}) == "tnp";
  TnpNdConfig c{tnp ? read_tnp_config(reader, "tnp-nd") : read_dl4bi_tnp_config(reader, "tnp-nd"), {}, {}};
  if (!tnp)
    c.joint_loss = {.per_target = true,
                    .scores_padding = reader.get<bool>(
                        "score_padding", "whether the loss counts padding too, as the authors' code does", false)};
  if (tnp) read_bandit_options(reader, c);
  if (c.score_context) c.joint_loss.per_target = true;
  c.head = read_joint_head(reader);
  reader.finish();
  const std::int64_t layers = c.head.transformer.layers;
  c.head.transformer = c.transformer;
  c.head.transformer.layers = layers;
  c.head.dim_y = c.dim_y;
  c.head.hidden = c.head_hidden;
  c.head.floor = c.std.floor;
  Initializer init(tnp ? Framework::torch : Framework::flax, weights);
  return std::make_unique<TnpNd>(c, init);
}

namespace {

AuthorsPlace authors_tnp_nd(const std::string& name) {
  const auto words = split_name(name);
  return words[0] == "head" ? authors_joint_head(Words(words).subspan(1)) : authors_tnp(name);
}

AuthorsPlace dl4bi_tnp_nd(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] != "head") return dl4bi_tnp(name);
  if (words[1] == "mean") return flax_mlp("dec_f_mu", Words(words).subspan(2));
  if (words[1] == "projector") return flax_mlp("proj_f_std", Words(words).subspan(2));
  return flax_transformer_layer(fmt::format("dec_f_std.TransformerEncoderBlock_{}", words[2]), Words(words).subspan(3));
}

ModelConfig dl4bi_tnp_nd_config(ModelConfig theirs) {
  rename(theirs, {{"proj", "prj_dim"}, {"std_blocks", "num_std_layers"}});
  theirs["emb_depth"] = theirs["prj_depth"] = std::int64_t{4};
  theirs["score_padding"] = true;
  return dl4bi_architecture(dl4bi_transformer(std::move(theirs)), {});
}

constexpr AuthorsCode kTnpNdAuthors[] = {
    {.recorded_as = "tnp-nd", .place = authors_tnp_nd, .config = tnp_architecture},
    {.recorded_as = "dl4bi-tnp-nd", .place = dl4bi_tnp_nd, .config = dl4bi_tnp_nd_config},
};

constexpr PublishedSize kTnpNdSizes[] = {
    {"tnp/gp-rbf", 332'821},
    {"tnp/emnist", 332'885},
    {"tnp/celeba32", 338'431},
    {"tnp/wheel", 47'406},
};

constexpr const char* kSmallTnpNds[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "architecture": "tnp", "emb_depth": 2, "num_std_layers": 1, "prj_dim": 7, "prj_depth": 2})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "architecture": "tnp", "emb_depth": 2, "num_std_layers": 1, "prj_dim": 7, "prj_depth": 2, "bound_std": true})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "architecture": "tnp", "emb_depth": 2, "num_std_layers": 1, "prj_dim": 3, "prj_depth": 2, "diag_depth": 2, "cov_approx": "lowrank"})",
    R"({"d_model": 8, "dim_feedforward": 14, "nhead": 2, "num_layers": 2, "architecture": "tnp", "emb_depth": 2, "num_std_layers": 1, "prj_dim": 3, "prj_depth": 2, "diag_depth": 2, "cov_approx": "lowrank", "drop_y": 0.5, "score_context": true})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "architecture": "dl4bi", "emb_depth": 2, "num_std_layers": 1, "prj_dim": 7, "prj_depth": 2, "min_std": 0.0})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "architecture": "dl4bi", "emb_depth": 2, "num_std_layers": 1, "prj_dim": 7, "prj_depth": 2, "min_std": 0.05})",
};

}  // namespace

ModelInfo tnp_nd_info() {
  return {
      .name = "tnp-nd",
      .title = "Transformer neural process, not diagonal",
      .paper = "Nguyen and Grover, Transformer neural processes, ICML 2022",
      .make = make_tnp_nd,
      .small_forms = kSmallTnpNds,
      .sizes = kTnpNdSizes,
      .authors = kTnpNdAuthors,
      .density = Density::joint,
  };
}

}  // namespace npzoo
