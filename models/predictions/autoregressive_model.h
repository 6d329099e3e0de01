#pragma once

#include <memory>
#include <utility>

#include "npzoo/models/registry.h"

namespace npzoo {

/// A model that predicts targets together by the conditionals of another one, which predicts each by itself (Bruinsma
/// et al., "Autoregressive conditional neural processes", ICLR 2023): log p(y) = Σ log p(yᵢ | context, y₁ … yᵢ₋₁). The
/// marginals are those of the other model; joint densities and samples depend on the order of the targets (see the
/// trial `orders`). Each target, and each of every sample, takes an encoding of all points before it, or of one point
/// with a model that streams. A model with means of its own
/// (PredictsInTurn), such as a buffer, uses them.
class AutoregressiveModel final : public Model {
 public:
  /// The model must outlive this, and the predictions.
  explicit AutoregressiveModel(Model& model) : model_(model) {}
  /// Owns the model.
  explicit AutoregressiveModel(std::unique_ptr<Model> model) : owned_(std::move(model)), model_(*owned_) {}

  Tensor loss(const Task& task, Draws& draws) const override { return model_.loss(task, draws); }
  void visit(ModuleVisitor& visitor) override { model_.visit(visitor); }
  std::optional<double> std_floor() const override { return model_.std_floor(); }
  std::optional<RegularGrid> places() const override { return model_.places(); }
  Likelihood likelihood() const override { return model_.likelihood(); }
  std::int64_t dim_x() const override { return model_.dim_x(); }
  std::int64_t dim_y() const override { return model_.dim_y(); }

 protected:
  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  std::unique_ptr<ContextState> do_update(const ContextState& state, const Context& more) const override;

 private:
  std::unique_ptr<Model> owned_;
  Model& model_;
};

/// Throws Error, opened by `[command]`, unless models of this row predict each target of a task by itself.
void check_predicts_each_alone(const ModelInfo& model, const char* command);

}  // namespace npzoo
