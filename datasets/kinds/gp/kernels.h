#pragma once

#include <cstdint>

#include "npzoo/datasets/gaussian_processes/covariance.h"
#include "npzoo/engine/kernel.h"
#include "npzoo/engine/random.h"

namespace npzoo {

/// The random choices of one task of a batch. Positions are offsets in the batch's random stream.
struct GpDraw {
  Kernel kernel;
  std::uint64_t locations;  // a block for each coordinate
  std::uint64_t normals;    // this and what follows: a block for two numbers
  std::uint64_t context_noise, target_noise;
  std::int64_t context;  // points that are context, further ones are padding
};

/// A batch of tasks of Gaussian processes.
template <class T>
struct GpTasks {
  std::uint64_t seed, stream;
  std::int64_t batch, dims;
  std::int64_t points;      // of a task; its targets are the last ones
  std::int64_t grid;        // how many of them are on the grid: the last ones
  std::int64_t grid_width;  // points of the grid along an axis
  double low, high;
  bool shared;  // the tasks have the first one's kernel and locations
  std::int64_t context, targets;
  double context_noise, target_noise;
  const GpDraw* draws;  // (batch)
  T* xc;                // (batch, context, dims)
  T* yc;                // (batch, context)
  T* xt;                // (batch, targets, dims)
  T* yt;                // (batch, targets)
};

/// If a covariance is not positive definite, the values of its tasks are NaN.
NPZOO_CUDA_KERNEL(draw_gp_tasks, GpTasks);

}  // namespace npzoo
