#pragma once

// The parts of drawing a batch that both devices share. Private to GpSampler.

#include <cstdint>
#include <vector>

#include "npzoo/datasets/kinds/gp/distribution.h"
#include "npzoo/datasets/kinds/gp/sampler.h"

namespace npzoo {

struct GpCounts {
  std::vector<std::int64_t> context;  // (B)
  std::int64_t max_context;
  std::int64_t points;  // of a task, targets last
  std::int64_t targets;
};

GpCounts draw_counts(const GpDistribution& d, std::int64_t batch_size, Random& random);
Kernel draw_kernel(const GpDistribution& d, Random& random);
/// How many of the locations are on the grid.
std::int64_t grid_points(const GpDistribution& d);

/// Draws all that follows the counts, on the CUDA device; `lengths` is left undefined.
GpBatch draw_on_device(const GpDistribution& d, const GpCounts& counts, Random& random, DType dtype);

}  // namespace npzoo
