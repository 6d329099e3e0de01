#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "npzoo/datasets/gaussian_processes/prior.h"
#include "npzoo/datasets/integer_range.h"

namespace npzoo {

/// How regression tasks are drawn from Gaussian processes. Covers the generators of the TNP family (TNP-pytorch
/// `regression/data/gp.py`) and of TNP-KR (DL4BI with dl4bi-sps).
struct GpDistribution {
  /// Which points are scored: further ones than the context, all of these, or every point of the task, context
  /// included.
  enum class Targets : std::uint8_t { disjoint, rest, all };

  std::vector<KernelPrior> kernels;  // each task takes one of them, with equal chances
  std::int64_t dims = 1;
  double low = -2, high = 2;    // inputs are uniform on [low, high)^dims
  std::int64_t points = 50;     // `disjoint`: Nc + Nt stays below; `rest`: Nc + Nt; `all`: random locations of a task
  std::int64_t grid = 0;        // `all` only: further locations on a regular grid over the domain, per axis
  bool shared = false;          // one kernel and one set of locations for a whole batch
  IntegerRange context{3, 47};  // Nc
  bool ragged = false;          // Nc is drawn for every row, and not once for the batch
  Targets targets = Targets::disjoint;
  std::int64_t min_targets = 3;                // `disjoint` only: Nt is drawn from [min_targets, points − Nc)
  std::optional<IntegerRange> target_count{};  // `disjoint` only: Nt is drawn from here instead, whatever Nc is
  double context_noise = 0;                    // standard deviations of the noise on context and target values
  double target_noise = 0;
  double jitter = 0;  // variance added to the diagonal of the covariance, part of the latent function

  bool operator==(const GpDistribution&) const = default;
};

}  // namespace npzoo
