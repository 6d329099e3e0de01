#pragma once

#include "npzoo/models/forecast/series_blocks.h"
#include "npzoo/ops/circular_correlation/circular_correlation.h"

namespace npzoo {

/// Auto-correlation in the place of attention (Wu et al., "Autoformer", NeurIPS 2021, section 3.2): values, moved by
/// the delays at which queries and keys correlate most, are added up with weights by a softmax of the correlations.
/// These are means over channels, so heads would change nothing.
///
/// In training the delays are those of the mean over the batch, in evaluation each task's own.
class AutoCorrelation {
 public:
  /// As many delays as the integer part of `factor` times the logarithm of the length, and one at least.
  AutoCorrelation(std::int64_t width, double factor, Initializer& init);

  /// x (B, L, E), memory (B, S, E), cut or filled up with zeros behind to L steps → (B, L, E)
  Tensor operator()(const Tensor& x, const Tensor& memory, const SeriesPass& pass) const;

  void visit(ModuleVisitor& visitor) { projections.visit(visitor); }

  SeriesProjections projections;
  CircularMethod method = CircularMethod::automatic;

 private:
  double factor_;
};

}  // namespace npzoo
