#pragma once

#include "npzoo/models/prediction.h"

namespace npzoo {

/// How a flow is followed, and how the divergence of its velocity is computed.
struct FlowOptions {
  std::int64_t steps = 100;
  std::int64_t samples = 50;       // drawn for the marginals
  std::int64_t exact_values = 32;  // up to so many values of a task, the divergence is exact
  std::int64_t probes = 8;         // random signs that estimate it beyond (Hutchinson, 1989)
};

/// All targets of a task together: values at time 1 of an ordinary differential equation dy/dt = v(y, t) that begins
/// with standard normal numbers at time 0 (Chen et al., "Neural ordinary differential equations", NeurIPS 2018; Lipman
/// et al., "Flow matching for generative modeling", ICLR 2023). Derived classes have the velocity.
class Flow : public Prediction {
 public:
  /// `like` (B, Nt, Dy) has the shape, the dtype and the device of the values. `draws` are copied.
  Flow(const Tensor& like, const Draws& draws, const FlowOptions& options);

  /// A Gaussian around each of the samples, with the samples' own mean and deviation for all of them together.
  Marginals marginals() const override;
  Tensor joint_log_likelihood(const Tensor& y) const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;
  DensityForms forms() const override;

  /// Log-density of y (B, Nt, Dy), float64 on the CPU.
  struct Density {
    Tensor of_targets;  // (P, B, Nt) of each probe; only the sum over a task's targets has a meaning
    Tensor source;      // (B, Nt, Dy), where the values were at time 0
  };
  /// Follows y to time 0 by the midpoint rule, and integrates z'Jz for each of the probes z (P, B, Nt, Dy).
  Density density(const Tensor& y, const Tensor& probes) const;
  /// The same with the exact divergence, the sum over all unit vectors: P is 1.
  Density exact_density(const Tensor& y) const;

  enum class Rule : std::uint8_t { euler, midpoint };
  /// Values (K · B, Nt, Dy) at time 1 from those at time 0.
  Tensor follow(const Tensor& source, Rule rule) const;

 protected:
  /// The velocity of values y (K · B, Nt, Dy), of K samples of each task, at a time. Recorded if a recording is on.
  virtual Tensor velocity(const Tensor& y, double time) const = 0;
  /// Samples values at time 1: (n · B, Nt, Dy). By default Euler's rule from normal numbers.
  virtual Tensor draw(std::int64_t n, Draws& draws) const;

  const FlowOptions& options() const { return options_; }
  const Tensor& like() const { return like_; }

 private:
  bool exact() const { return like_.dim(1) * like_.dim(2) <= options_.exact_values; }
  Tensor divergences(const Tensor& y, double time, const Tensor& probes) const;

  Tensor like_;
  Draws draws_;
  FlowOptions options_;
};

}  // namespace npzoo
