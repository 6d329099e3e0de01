#pragma once

#include <memory>
#include <string>

#include "datasets/model_config.h"
#include "engine/module.h"
#include "models/prediction.h"

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

/// A context as a model has encoded it. Models derive their own.
struct ContextState {
  virtual ~ContextState() = default;
};

/// One that keeps the points themselves, for models that must encode all of them again when more come.
struct HeldContext : ContextState {
  explicit HeldContext(Context observed) : context(std::move(observed)) {}

  Context context;
};

/// A neural process. It is used in three phases: encode a context once, ask it for predictions at any number of target
/// points, in any chunks, and extend the context. Inputs must have the parameters' dtype; Nc = 0 and Nt = 0 are legal.
/// All of it is recorded where a recording is on.
class Model {
 public:
  virtual ~Model() = default;

  virtual std::unique_ptr<ContextState> condition(const Context& context) const = 0;
  /// xt (B, Nt, Dx). Throws Error for the state of another kind of model.
  virtual Prediction query(const ContextState& state, const Tensor& xt) const = 0;
  /// Adds points to a context. This default conditions on all of them again; it needs a HeldContext.
  virtual std::unique_ptr<ContextState> update(const ContextState& state, const Context& more) const;
  /// True when `update` needs time and memory for the new points alone, so that a context may be an endless stream.
  virtual bool streams() const { return false; }

  /// What training minimises, a scalar in nats: the mean negative log-likelihood of the targets unless the model's
  /// authors chose another objective. A mean over the tasks of the batch in any case: training computes it in parts, on
  /// several threads.
  virtual Tensor loss(const Task& task) const;

  /// Called before update number `step` (from 0) of a training run; models that draw random features anew do it here.
  /// What they draw is a function of their seed and the step.
  virtual void begin_step(std::int64_t /*step*/) {}

  virtual void visit(ModuleVisitor& visitor) = 0;

  /// The least standard deviation that the model can predict: it limits every log-likelihood.
  virtual double std_floor() const = 0;
  virtual std::int64_t dim_x() const = 0;
  virtual std::int64_t dim_y() const = 0;

  /// Condition and query in one.
  Prediction predict(const Task& task) const;
};

/// Everything that makes a model apart from its weights.
struct ModelSpec {
  std::string name;    // "tnp-d"
  ModelConfig config;  // constructor parameters, dim_x and dim_y among them

  bool operator==(const ModelSpec&) const = default;
};

}  // namespace npzoo
