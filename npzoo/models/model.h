#pragma once

#include <memory>
#include <optional>
#include <string>

#include "npzoo/datasets/model_config.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/module.h"
#include "npzoo/models/prediction.h"
#include "npzoo/ops/set_convolution/regular_grid.h"

namespace npzoo {

/// Observed points. `lengths` as in Task.
struct Context {
  Tensor xc;  // (B, Nc, Dx)
  Tensor yc;  // (B, Nc, Dy)
  Tensor lengths{};
};

/// The same context with zeros as padding. What stands there may be NaN, and 0 · NaN would reach the gradients of
/// weights.
Context clear_padding(const Context& context);

/// The points of `a`, then those of `b`; padding comes behind both. `draws` derive what a captured step needs anew.
Context join(const Context& a, const Context& b, Draws& draws);

/// A context as a model has encoded it. Models derive their own.
struct ContextState {
  virtual ~ContextState() = default;
};

/// The state as that of a model of its own. Throws Error, opened by `[model]`, for the state of another kind of model.
template <class State>
const State& state_as(const ContextState& state, const char* model) {
  const auto* own = dynamic_cast<const State*>(&state);
  check(own != nullptr, "[{}] the state comes from another kind of model", model);
  return *own;
}

/// One that keeps the points themselves, for models that must encode all of them again when more come.
struct HeldContext : ContextState {
  HeldContext(Context observed, const Draws& from, std::int64_t count)
      : context(std::move(observed)), draws(from), samples(count) {}

  Context context;
  Draws draws;  // as they were before the context was encoded
  std::int64_t samples;
};

/// Functions that are drawn for each task where who asks has no other wish: as in the evaluations of NP, ANP, BNP, BANP
/// and TNP-A.
inline constexpr std::int64_t kSamples = 50;

/// A neural process. It is used in three phases: encode a context once, ask it for predictions at any number of target
/// points, and extend the context. Inputs must have the parameters' dtype; Nc = 0 and Nt = 0 are legal. All of it is
/// recorded where a recording is on.
///
/// What is random enters where a context is encoded and stays in the state: a prediction is a function of state and
/// targets. So targets may be asked for in chunks, unless the model predicts them jointly (`ModelInfo::density`).
///
/// Any number of threads may call the const functions of one model at the same time, with the same bits as one after
/// the other. `before_step`, `begin_step`, `visit` and an optimiser change the model: meanwhile no other thread may use
/// it. To predict while a Trainer goes on, take its `snapshot`. States and predictions may outlive the model.
class Model {
 public:
  virtual ~Model() = default;

  /// Encodes a context. A model that draws functions draws `samples` of them for each task; others neither draw nor
  /// count.
  std::unique_ptr<ContextState> condition(const Context& context, Draws& draws, std::int64_t samples) const;
  /// Predicts at targets xt (B, Nt, Dx). Throws Error for the state of another kind of model.
  std::unique_ptr<Prediction> query(const ContextState& state, const Tensor& xt) const;
  /// Returns the state of a context and `more` points.
  std::unique_ptr<ContextState> update(const ContextState& state, const Context& more) const;
  /// True when `update` needs time and memory for the new points alone, so that a context may be an endless stream.
  virtual bool streams() const { return false; }

  /// Returns the training loss, a scalar in nats: the mean negative log-likelihood of the targets unless the model's
  /// authors chose another objective. It is always a mean over the tasks of the batch: training computes it in parts,
  /// on several threads, each with `draws` from its first task on.
  virtual Tensor loss(const Task& task, Draws& draws) const;

  /// The same batch with what `loss` needs to know of all of it, such as the statistics of batch normalisation: whoever
  /// cuts a batch into parts asks for it before, with the draws that the loss will get. A loss that is given none takes
  /// its own task for the whole batch.
  virtual Task prepared(const Task& task, const Draws& /*draws*/) const { return task; }
  /// Called before an update is made on a batch, with the draws that its loss gets: for what a model keeps of batches,
  /// such as running statistics.
  virtual void before_step(const Task& /*task*/, const Draws& /*draws*/) {}
  /// True when the loss of a task depends on the others of its batch, and not only by what `prepared` finds: then
  /// training neither cuts batches into parts nor pads them.
  virtual bool whole_batches() const { return false; }

  /// Called before update number `step` (from 0) of a training run. Models that redraw random features do it here, as a
  /// function of their seed and the step.
  virtual void begin_step(std::int64_t /*step*/) {}

  virtual void visit(ModuleVisitor& visitor) = 0;

  /// The least standard deviation that the model can predict, where there is one: it limits every log-likelihood.
  virtual std::optional<double> std_floor() const { return {}; }
  /// The grid whose nodes are the only points that the model takes, where it takes no others.
  virtual std::optional<RegularGrid> places() const { return {}; }
  virtual std::int64_t dim_x() const = 0;
  virtual std::int64_t dim_y() const = 0;

 protected:
  // What `condition`, `query` and `update` do. Exceptions that are not Error leave them as Error.
  virtual std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                                     std::int64_t samples) const = 0;
  virtual std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const = 0;
  /// By default conditions on all points again, with the same random numbers; the state must be a HeldContext.
  virtual std::unique_ptr<ContextState> do_update(const ContextState& state, const Context& more) const;
};

/// Returns the device of the model's parameters; of a model without any, default_device().
Device device_of(const Model& model);

/// x (…, Dx), or what is next to it of the model's places: points that a model can be tried on.
Tensor nearest_places(const Model& model, const Tensor& x);

/// A loss whose terms are sums over channels, as dl4bi has them: per channel.
Tensor mean_over_channels(const Tensor& loss, std::int64_t dim_y);

/// Everything that makes a model apart from its weights.
struct ModelSpec {
  std::string name;    // "tnp-d"
  ModelConfig config;  // constructor parameters, dim_x and dim_y among them

  bool operator==(const ModelSpec&) const = default;
};

}  // namespace npzoo
