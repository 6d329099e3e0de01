#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "npzoo/engine/module.h"
#include "npzoo/engine/tape.h"

namespace npzoo {

/// See Optimiser.
enum class OptimiserKind : std::uint8_t { adam, keras_adam, adamw, yogi };

/// As protocols write it: "adam", "keras-adam", "adamw" or "yogi".
std::string_view to_string(OptimiserKind kind);
/// The names of all kinds.
std::vector<std::string_view> optimiser_names();
/// The kind of this name. Throws Error if there is none.
OptimiserKind optimiser_kind(std::string_view name);

struct OptimiserConfig {
  OptimiserKind kind = OptimiserKind::adam;
  double lr = 0;  // the peak, where a schedule changes it
  double beta1 = 0, beta2 = 0;
  double epsilon = 0;
  double weight_decay = 0;  // adam: added to the gradient, adamw: decoupled from it

  bool operator==(const OptimiserConfig&) const = default;
};

/// Gradients of the parts of one loss, from recordings that follow each other (see Tape::follow). They are summed in
/// this order.
using GradientParts = std::span<const Grads* const>;

struct StepScalars;

/// Adam (Kingma and Ba, ICLR 2015), AdamW (Loshchilov and Hutter, ICLR 2019), both as PyTorch computes them, Adam as
/// Keras does, which adds epsilon before the second moment's bias is corrected, or Yogi (Zaheer et al., NeurIPS 2018)
/// as Optax does. All keep two moments per parameter.
class Optimiser {
 public:
  struct Moments {
    Tensor first, second;
  };

  /// The parameters must be of one dtype and outlive the optimiser.
  Optimiser(const OptimiserConfig& config, std::vector<NamedParameter> parameters);

  /// One update with the given learning rate; parameters that got no gradient stay as they are. With `clip_norm` > 0
  /// all gradients are scaled down together so that their global norm is at most that. Where the norm is not finite
  /// nothing changes, the step does not count, and the result is false.
  bool step(GradientParts gradients, double learning_rate, double clip_norm = 0);
  bool step(const Grads& gradients, double learning_rate, double clip_norm = 0) {
    const Grads* const only = &gradients;
    return step({&only, 1}, learning_rate, clip_norm);
  }

  /// The parts of a step. `begin_step` notes what depends on its number. `apply` changes the parameters by that, unless
  /// the gradients' norm or the loss, where one is given, is not finite: on a CUDA device without the host's help, so
  /// that a captured `apply` can be launched after each `begin_step`. `end_step` waits for the device and returns
  /// whether the step was made. A caller that gives up in between waits for the device and resets the number of steps.
  void begin_step(double learning_rate);
  void apply(GradientParts gradients, double clip_norm = 0, const Tensor& loss = {});
  bool end_step();

  /// √(Σ ‖gradient‖²) over all parameters in the last step, before clipping, summed in double in a fixed order.
  double gradient_norm() const { return gradient_norm_; }

  /// Copies parameters and moments that others hold as well; returns true if there were any. A captured `apply` needs
  /// this; those captured before continue with tensors that no longer belong to the parameters.
  bool take_sole_ownership();

  /// Updates made so far: part of the state, since the moments' bias corrections depend on it.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }
  /// Returns the moments of each parameter, in the given order. Writing to them restores a state.
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
  double gradient_norm_ = 0;
  Tensor scalars_;  // StepScalars, where the host writes them
  Tensor outcome_;  // the same after the step, where the host reads them
};

}  // namespace npzoo
