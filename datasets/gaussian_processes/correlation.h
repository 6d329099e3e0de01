#pragma once

#include <cmath>
#include <numbers>

#include "npzoo/datasets/gaussian_processes/covariance.h"
#include "npzoo/engine/cuda/device_function.h"

namespace npzoo {

// The formulas of Kernel, for the CPU and for kernels on a GPU.

/// Calls `f` with the correlation as a function of the squared distance, so that the loops inside `f` are compiled for
/// each kind.
template <class F>
NPZOO_DEVICE void with_correlation(const Kernel& kernel, F&& f) {
  const double l = kernel.lengthscale;
  switch (kernel.kind) {
    case KernelKind::rbf: {
      const double factor = -0.5 / (l * l);
      return f([=](double d2) { return std::exp(factor * d2); });
    }
    case KernelKind::matern32: {
      const double factor = std::sqrt(3.0) / l;
      return f([=](double d2) {
        const double r = factor * std::sqrt(d2);
        return (1 + r) * std::exp(-r);
      });
    }
    case KernelKind::matern52: {
      const double factor = std::sqrt(5.0) / l;
      return f([=](double d2) {
        const double r = factor * std::sqrt(d2);
        return (1 + r + r * r / 3) * std::exp(-r);
      });
    }
    case KernelKind::periodic: {
      const double frequency = std::numbers::pi / kernel.period, factor = -2 / (l * l);
      return f([=](double d2) {
        const double s = std::sin(frequency * std::sqrt(d2));
        return std::exp(factor * s * s);
      });
    }
    case KernelKind::weakly_periodic: {
      const double frequency = std::numbers::pi / kernel.period, factor = -0.5 / (l * l);
      return f([=](double d2) {
        const double s = std::sin(frequency * std::sqrt(d2));
        return std::exp(factor * d2 - 2 * s * s);
      });
    }
    case KernelKind::rbf_mixture: {
      const double m = kernel.second_lengthscale, factor = -0.5 / (l * l), second = -0.5 / (m * m);
      return f([=](double d2) { return 0.5 * (std::exp(factor * d2) + std::exp(second * d2)); });
    }
  }
}

NPZOO_DEVICE inline double squared_distance(const double* a, const double* b, std::int64_t dims) {
  double sum = 0;
  for (std::int64_t k = 0; k < dims; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

/// Covariance of two points at that distance.
template <class Correlation>
NPZOO_DEVICE double covariance_at(const Kernel& kernel, const Correlation& correlation, double d2) {
  return kernel.scale * kernel.scale * correlation(d2) + (d2 == 0 ? kernel.nugget : 0);
}

}  // namespace npzoo
