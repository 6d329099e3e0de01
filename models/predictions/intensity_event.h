#pragma once

#include "npzoo/models/predictions/event_density.h"

namespace npzoo {

/// Intensity of each mark, log(1 + exp(β (level + slope · s))) / β when s has gone by since the event before: equation
/// 6 of Zuo, Jiang, Li, Zhao and Zha, "Transformer Hawkes process", ICML 2020. Where the slope is below 0 nothing might
/// ever happen, so kLeastIntensity is added, which their code adds in the logarithm alone.
struct MarkIntensities {
  Tensor level;      // (B, Nt, M)
  Tensor slope;      // (B, Nt, 1), per unit of time
  Tensor sharpness;  // (1), β > 0; in the paper's text its reciprocal
};

inline constexpr double kLeastIntensity = 1e-9;

/// The distribution of the next event by intensities of marks. y is (B, Nt, 2), gap and mark, as in NextEvent.
///
/// The integral of the intensities has no elementary form. It is computed by 24 Gauss-Legendre nodes: to rounding while
/// β |slope| · gap ≤ 10, to 1e-6 of itself up to 20. Marginals, of the gap alone, are 32 of its quantiles.
class IntensityEvent final : public EventDensity {
 public:
  /// The forecasts do not come from the intensities, whose mean may be anything if events may never come: expected_gap
  /// (B, Nt) and mark_log_probability (B, Nt, M), as from log_softmax. Throws Error for other shapes.
  IntensityEvent(MarkIntensities intensities, Tensor expected_gap, Tensor mark_log_probability);

  Marginals marginals() const override;
  /// Errors as NextEvent's.
  Tensor log_likelihood(const Tensor& y) const override;
  Tensor joint_log_likelihood(const Tensor& y) const override;
  /// By inversion of the integral, to rounding.
  Tensor sample(std::int64_t n, Draws& draws) const override;
  DensityForms forms() const override;
  EventScores score(const Tensor& y) const override;
  Tensor intensities(const Tensor& elapsed) const override;

  /// In the model's dtype, recorded where a recording is on.
  const Tensor& expected_gap() const { return expected_gap_; }
  const Tensor& mark_log_probability() const { return mark_; }

 private:
  Tensor at(const Tensor& elapsed) const;       // (B, Nt, S) → (B, Nt, S, M)
  Tensor compensator(const Tensor& gap) const;  // (B, Nt) → (B, Nt)
  void check_events(const Tensor& y) const;

  MarkIntensities intensities_;
  Tensor expected_gap_, mark_;
};

}  // namespace npzoo
