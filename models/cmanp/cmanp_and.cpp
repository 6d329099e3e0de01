#include "npzoo/models/cmanp/cmanp_and.h"

#include "npzoo/models/blocks/drop_values.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/registry.h"

namespace npzoo {

namespace {

struct BlocksState final : ContextState {
  BlocksState(std::shared_ptr<const ContextState> state, const Draws& from, std::int64_t count)
      : context(std::move(state)), draws(from), samples(count) {}

  std::shared_ptr<const ContextState> context;  // CMANP's
  Draws draws;                                  // of the paths
  std::int64_t samples;
};

/// Shares the weights that the model and the state have now, so it may outlive both.
class Blocks final : public Autoregressive {
 public:
  Blocks(const CmanpAnd& model, const BlocksState& state, const Tensor& xt, std::int64_t block)
      : Autoregressive(state.context, xt, state.draws, state.samples, block), model_(model) {}

 protected:
  std::unique_ptr<Prediction> next(const ContextState& state, const Tensor& xt) const override {
    return model_.joint(state, xt);
  }
  std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const override {
    return model_.Cmanp::do_update(state, observed);
  }

 private:
  const CmanpAnd model_;
};

}  // namespace

CmanpAnd::CmanpAnd(const CmanpConfig& config, const JointHeadConfig& of_head, std::int64_t block, Initializer& init)
    : Cmanp(config, init), head(of_head, init), block_(block) {}

std::unique_ptr<ContextState> CmanpAnd::do_condition(const Context& context, Draws& draws, std::int64_t samples) const {
  return std::make_unique<BlocksState>(Cmanp::do_condition(context, draws, samples), draws, samples);
}

std::unique_ptr<ContextState> CmanpAnd::do_update(const ContextState& state, const Context& more) const {
  const auto& before = state_as<BlocksState>(state, "cmanp-and");
  return std::make_unique<BlocksState>(Cmanp::do_update(*before.context, more), before.draws, before.samples);
}

std::unique_ptr<Prediction> CmanpAnd::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& own = state_as<BlocksState>(state, "cmanp-and");
  if (block_ == 0) return joint(*own.context, xt);
  return std::make_unique<Blocks>(*this, own, xt, block_);
}

Tensor CmanpAnd::loss(const Task& whole, Draws& draws) const {
  const Task task = drop_values(whole, drop_y(), draws);
  const auto state = Cmanp::do_condition({task.xc, task.yc, task.lengths}, draws, 1);
  return joint_nll(*joint(*state, task.xt, task.target_lengths), task);
}

void CmanpAnd::visit(ModuleVisitor& visitor) {
  Cmanp::visit(visitor);
  visitor("head", head);
}

std::unique_ptr<Model> make_cmanp_and(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "cmanp-and");
  const CmanpConfig c = read_cmanp_config(reader, "cmanp-and");
  const JointHeadConfig head = read_perceiver_joint_head(reader, c);
  const std::int64_t block = reader.has("AND_block_size")
                                 ? reader.size("AND_block_size", "targets that are predicted jointly; all if missing")
                                 : 0;
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<CmanpAnd>(c, head, block, init);
}

namespace {

AuthorsPlace authors_cmanp_and(const std::string& name) {
  const auto words = split_name(name);
  return words[0] == "head" ? authors_joint_head(Words(words).subspan(1)) : authors_cmanp(name);
}

std::map<std::string, Tensor> authors_state(const ContextState& state) {
  return authors_cmanp_state(*state_as<BlocksState>(state, "cmanp-and").context);
}

constexpr AuthorsCode kCmanpAndAuthors[] = {
    {.recorded_as = "cmanp-and", .place = authors_cmanp_and, .state = authors_state}};

constexpr PublishedSize kCmanpAndSizes[] = {
    {"tnp/gp-rbf", 1'460'951},
    {"tnp/emnist", 1'461'079},
    {"tnp/celeba32", 1'467'141},
};

constexpr const char* kSmallCmanpAnds[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "num_latents": 3, "num_latents_per_layer": 4, "emb_depth": 2, "num_std_layers": 1, "prj_dim": 7, "prj_depth": 2, "AND_block_size": 2})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "num_latents": 3, "num_latents_per_layer": 4, "emb_depth": 2, "num_std_layers": 1, "prj_dim": 7, "prj_depth": 2, "bound_std": true})",
};

}  // namespace

ModelInfo cmanp_and_info() {
  return {
      .name = "cmanp-and",
      .title = "Constant memory attentive neural process, autoregressive not diagonal",
      .paper = "Feng et al., Memory efficient neural processes via constant memory attention block, ICML 2024",
      .make = make_cmanp_and,
      .small_forms = kSmallCmanpAnds,
      .sizes = kCmanpAndSizes,
      .authors = kCmanpAndAuthors,
      .density = Density::joint,
  };
}

}  // namespace npzoo
