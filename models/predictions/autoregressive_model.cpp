#include "npzoo/models/predictions/autoregressive_model.h"

#include <utility>

#include "npzoo/models/predictions/in_turn.h"
#include "npzoo/models/predictions/one_by_one.h"

namespace npzoo {

namespace {

struct ChainState : ContextState {
  ChainState(std::shared_ptr<const ContextState> encoded, const Draws& from, std::int64_t count)
      : state(std::move(encoded)), draws(from), samples(count) {}

  std::shared_ptr<const ContextState> state;
  Draws draws;
  std::int64_t samples;
};

/// Marginals of one prediction, and all that is of several targets by a walk over them.
class ChainPrediction final : public Prediction {
 public:
  ChainPrediction(std::unique_ptr<Prediction> alone, const Model& model, const ChainState& from, const Tensor& xt)
      : alone_(std::move(alone)) {
    if (const auto* own = dynamic_cast<const PredictsInTurn*>(&model))
      chain_ = own->in_turn(*from.state, xt, from.draws, from.samples);
    if (!chain_) chain_ = std::make_unique<OneByOne>(model, from.state, xt, from.draws, from.samples);
  }

  Marginals marginals() const override { return alone_->marginals(); }
  Tensor log_likelihood(const Tensor& y) const override { return alone_->log_likelihood(y); }
  Tensor joint_log_likelihood(const Tensor& y) const override { return chain_->joint_log_likelihood(y); }
  Tensor sample(std::int64_t n, Draws& draws) const override { return chain_->sample(n, draws); }
  DensityForms forms() const override { return {.marginal = alone_->forms().marginal, .joint = chain_->forms().joint}; }

 private:
  std::unique_ptr<Prediction> alone_;
  std::unique_ptr<Prediction> chain_;
};

}  // namespace

std::unique_ptr<ContextState> AutoregressiveModel::do_condition(const Context& context, Draws& draws,
                                                                std::int64_t samples) const {
  const Draws before = draws;
  return std::make_unique<ChainState>(model_.condition(context, draws, samples), before, samples);
}

std::unique_ptr<Prediction> AutoregressiveModel::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& own = state_as<ChainState>(state, "autoregressive");
  return std::make_unique<ChainPrediction>(model_.query(*own.state, xt), model_, own, xt);
}

std::unique_ptr<ContextState> AutoregressiveModel::do_update(const ContextState& state, const Context& more) const {
  const auto& own = state_as<ChainState>(state, "autoregressive");
  return std::make_unique<ChainState>(model_.update(*own.state, more), own.draws, own.samples);
}

void check_predicts_each_alone(const ModelInfo& model, const char* command) {
  const bool points = model.takes == TaskForm::points;
  check(points && model.drawing() == Density::marginal,
        "[{}] --autoregressive found with {}, which predicts {}, expected a model that predicts each target by itself",
        command, model.name, points ? "targets together" : "sequences");
}

}  // namespace npzoo
