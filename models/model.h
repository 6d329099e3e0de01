#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/model_config.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/module.h"
#include "npzoo/models/likelihoods/likelihood.h"
#include "npzoo/models/prediction.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/set_convolution/regular_grid.h"

namespace npzoo {

/// Observed points. `lengths` as in Task.
struct Context {
  Tensor xc;  // (B, Nc, Dx)
  Tensor yc;  // (B, Nc, Dy)
  Tensor lengths{};
};

/// Returns the context with zeros in the padding. Padding may hold NaN, and 0 · NaN would reach the weights' gradients.
Context clear_padding(const Context& context);

/// Returns the points of a context with their values, for `concat_points`, which clears the padding.
PointsToJoin points_of(const Context& context);

/// Returns the points of `a`, then those of `b`, with the padding of both at the end. `draws` recompute it in captured
/// steps.
Context join(const Context& a, const Context& b, Draws& draws);

/// An encoded context. Each model derives its own.
struct ContextState {
  virtual ~ContextState() = default;
};

/// Casts a state to that of a model. Throws Error, opened by `[model]`, for the state of another kind of model.
template <class State>
const State& state_as(const ContextState& state, const char* model) {
  const auto* own = dynamic_cast<const State*>(&state);
  check(own != nullptr, "[{}] the state comes from another kind of model", model);
  return *own;
}

/// A state that keeps the points, for models that encode all of them again when more arrive.
struct HeldContext : ContextState {
  HeldContext(Context observed, const Draws& from, std::int64_t count)
      : context(std::move(observed)), draws(from), samples(count) {}

  Context context;
  Draws draws;  // as they were before the context was encoded
  std::int64_t samples;
};

/// Default number of functions sampled per task, as in the evaluations of NP, ANP, BNP, BANP and TNP-A.
inline constexpr std::int64_t kSamples = 50;

/// A part of a training loss.
struct LossTerm {
  std::string name;  // as records of trainings have it, "kl_divergence"
  double value = 0;
};

/// A neural process. It has three phases: encode a context once, predict at any number of target points, and extend the
/// context. Inputs must have the parameters' dtype; Nc = 0 and Nt = 0 are legal. Operations are recorded if a recording
/// is on.
///
/// Random numbers are drawn when a context is encoded, and stay in the state: a prediction is a function of state and
/// targets. So targets may come in chunks, unless the model predicts them jointly (`ModelInfo::density`).
///
/// Any number of threads may call the const functions of one model at the same time, with the same bits as one after
/// the other. `before_step`, `begin_step`, `visit` and an optimiser change the model: meanwhile no other thread may use
/// it. To predict during a training, take the Trainer's `snapshot`. States and predictions may outlive the model.
class Model {
 public:
  virtual ~Model() = default;

  /// Encodes a context. A model that samples functions samples `samples` of them for each task; other models ignore the
  /// number. Throws Error for less than one.
  std::unique_ptr<ContextState> condition(const Context& context, Draws& draws, std::int64_t samples) const;
  /// Predicts at targets xt (B, Nt, Dx). Throws Error for the state of another kind of model.
  std::unique_ptr<Prediction> query(const ContextState& state, const Tensor& xt) const;
  /// Returns the state of a context and `more` points.
  std::unique_ptr<ContextState> update(const ContextState& state, const Context& more) const;
  /// True if `update` encodes the new points alone, so that a context may be a stream. Time and memory then do not
  /// depend on the points before, unless `state_grows`.
  virtual bool streams() const { return false; }
  /// True if the state of a model that streams keeps something of each point, which new points read: the time for a
  /// point, and the memory, are linear in the number of points.
  virtual bool state_grows() const { return false; }

  /// Returns the training loss, a scalar in nats: the mean negative log-likelihood of the targets unless the model's
  /// authors chose another objective. It is always a mean over the tasks of the batch: training computes it in parts,
  /// on several threads, each with `draws` from its first task on.
  virtual Tensor loss(const Task& task, Draws& draws) const;
  /// Returns parts of the loss that records of trainings keep, as means over the tasks of the batch. By default none.
  virtual std::vector<LossTerm> loss_terms(const Task& /*task*/, Draws& /*draws*/) const { return {}; }

  /// Returns the batch with statistics of all of it that `loss` needs, such as those of batch normalisation. Code that
  /// splits a batch calls it first, with the draws of the loss. Without it, a loss takes its own task for the whole
  /// batch.
  virtual Task prepared(const Task& task, const Draws& /*draws*/) const { return task; }
  /// Called before an update on a batch, with the draws of its loss: updates running statistics.
  virtual void before_step(const Task& /*task*/, const Draws& /*draws*/) {}
  /// True if a task's loss depends on other tasks in its batch beyond the statistics from `prepared`. Training then
  /// neither splits nor pads batches.
  virtual bool whole_batches() const { return false; }

  /// Called before update number `step` (from 0) of a training run. Models that redraw random features do it here, as a
  /// function of their seed and the step.
  virtual void begin_step(std::int64_t /*step*/) {}

  virtual void visit(ModuleVisitor& visitor) = 0;

  /// Returns the least standard deviation that the model can predict, if there is one. It limits every log-likelihood.
  virtual std::optional<double> std_floor() const { return {}; }
  /// Returns the grid of a model that takes points on a grid only.
  virtual std::optional<RegularGrid> places() const { return {}; }
  /// Returns the family of distributions that it predicts values by.
  virtual Likelihood likelihood() const { return {}; }
  virtual std::int64_t dim_x() const = 0;
  virtual std::int64_t dim_y() const = 0;

 protected:
  // The work of `condition`, `query` and `update`, which turn other exceptions into Error.
  virtual std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                                     std::int64_t samples) const = 0;
  virtual std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const = 0;
  /// By default conditions on all points again, with the same random numbers; the state must be a HeldContext.
  virtual std::unique_ptr<ContextState> do_update(const ContextState& state, const Context& more) const;
};

/// Returns the device of the model's parameters; of a model without any, default_device().
Device device_of(const Model& model);

/// Moves x (…, Dx) to the nearest places that the model takes; returns x if it takes all.
Tensor nearest_places(const Model& model, const Tensor& x);

/// Divides a loss that sums over channels by their number, as in dl4bi.
Tensor mean_over_channels(const Tensor& loss, std::int64_t dim_y);

/// Everything that makes a model apart from its weights.
struct ModelSpec {
  std::string name;    // "tnp-d"
  ModelConfig config;  // constructor parameters, dim_x and dim_y among them

  bool operator==(const ModelSpec&) const = default;
};

}  // namespace npzoo
