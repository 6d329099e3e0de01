#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/module.h"
#include "engine/tape.h"

namespace npzoo {

struct OptimiserConfig {
  std::string name;  // "adam", "adamw" or "yogi"
  double lr = 0;     // the peak, where a schedule changes it
  double beta1 = 0, beta2 = 0;
  double epsilon = 0;
  double weight_decay = 0;  // adam: added to the gradient, adamw: decoupled from it

  bool operator==(const OptimiserConfig&) const = default;
};

/// Gradients of the parts of one loss, from recordings that follow each other (see Tape::follow). They are summed in
/// this order.
using GradientParts = std::span<const Grads* const>;

struct StepScalars;

/// Adam (Kingma and Ba, ICLR 2015), AdamW (Loshchilov and Hutter, ICLR 2019), both as PyTorch computes them, or Yogi
/// (Zaheer et al., NeurIPS 2018) as Optax does. All keep two moments per parameter.
class Optimiser {
 public:
  struct Moments {
    Tensor first, second;
  };

  /// The parameters must be of one dtype and outlive the optimiser.
  Optimiser(const OptimiserConfig& config, std::vector<NamedParameter> parameters);

  /// One update with the given learning rate, in one pass over memory; parameters that got no gradient stay as they
  /// are. With `clip_norm` > 0 all gradients are scaled down together so that their global norm is at most that.
  void step(GradientParts gradients, double learning_rate, double clip_norm = 0);
  void step(const Grads& gradients, double learning_rate, double clip_norm = 0) {
    const Grads* const only = &gradients;
    step({&only, 1}, learning_rate, clip_norm);
  }

  /// The two halves of a step. `begin_step` notes what depends on the number of the step, `apply` changes the
  /// parameters by it: on a CUDA device without the host's help, so that a captured `apply` can be launched after each
  /// `begin_step`. The former waits until the device has read what it noted before.
  /// With `loss` on a CUDA device, nothing changes where that is not finite.
  void begin_step(double learning_rate);
  void apply(GradientParts gradients, double clip_norm = 0, const Tensor& loss = {});

  /// Makes parameters and moments its own, by copies of what others hold as well; true where there was any. A captured
  /// `apply` must find them so, and those captured before go on with what is no longer the parameters'.
  bool take_sole_ownership();

  /// √(Σ ‖gradient‖²) over all parameters, summed in double in a fixed order.
  double global_norm(GradientParts gradients);

  /// Updates made so far: part of the state, since the moments' bias corrections depend on it.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }
  /// Of each parameter, in the order given. Writing to them restores a state.
  std::vector<Moments>& moments() { return moments_; }
  const std::vector<Moments>& moments() const { return moments_; }
  const std::vector<NamedParameter>& parameters() const { return parameters_; }

 private:
  /// Calls f<T>(device, stretches) for every parameter that has a gradient, cut into stretches.
  template <class F>
  void run_on_stretches(GradientParts gradients, F f);
  Device device() const;

  OptimiserConfig config_;
  std::vector<NamedParameter> parameters_;
  std::vector<Moments> moments_;
  std::int64_t steps_ = 0;
  Tensor scalars_;               // StepScalars, where the host writes them
  std::uint64_t last_read_ = 0;  // by the device: a mark of its stream
};

}  // namespace npzoo
