#pragma once

#include <algorithm>

#include "npzoo/datasets/kinds/gp/sampler.h"

// Simple tasks of Gaussian processes.

namespace npzoo::testing {

inline bool same(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  return !a.defined() || (a.shape() == b.shape() && a.dtype() == b.dtype() && std::ranges::equal(a.raw(), b.raw()));
}

inline bool same(const Task& a, const Task& b) {
  return same(a.xc, b.xc) && same(a.yc, b.yc) && same(a.xt, b.xt) && same(a.yt, b.yt) && same(a.lengths, b.lengths);
}

/// A task that is easy to count over: fixed kernel, four random and three regular locations, all of them targets.
inline GpDistribution fixed_distribution() {
  GpDistribution d;
  d.kernels = {{KernelKind::matern32, {Prior::Kind::constant, 0.8}, {Prior::Kind::constant, 1.5}, {}}};
  d.points = 4;
  d.grid = 3;
  d.shared = true;
  d.context = {4, 5};
  d.targets = GpDistribution::Targets::all;
  d.context_noise = 0.3;
  d.jitter = 0.01;
  return d;
}

}  // namespace npzoo::testing
