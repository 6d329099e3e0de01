#include "datasets/gp/kernel.h"

#include <cmath>
#include <numbers>

#include "engine/error.h"

namespace npzoo {

std::string_view to_string(KernelKind kind) {
  switch (kind) {
    case KernelKind::rbf: return "rbf";
    case KernelKind::matern32: return "matern32";
    case KernelKind::matern52: return "matern52";
    case KernelKind::periodic: break;
  }
  return "periodic";
}

namespace {

/// Calls `f` with the correlation as a function of the squared distance, so that the loops inside `f` are compiled for
/// each kind.
template <class F>
void with_correlation(const Kernel& kernel, F&& f) {
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
  }
}

double squared_distance(const double* a, const double* b, std::int64_t dims) {
  double sum = 0;
  for (std::int64_t k = 0; k < dims; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

/// Covariances of one point with the first `n` of `b`.
template <class Correlation>
void fill_row(const Kernel& kernel, const Correlation& correlation, const double* a, Points b, std::int64_t n,
              double* out) {
  const double variance = kernel.scale * kernel.scale;
  for (std::int64_t j = 0; j < n; ++j) {
    const double d2 = squared_distance(a, b.values.data() + j * b.dims, b.dims);
    out[j] = variance * correlation(d2) + (d2 == 0 ? kernel.nugget : 0);
  }
}

}  // namespace

std::vector<double> covariance(const Kernel& kernel, Points a, Points b) {
  check(a.dims == b.dims, "[covariance] points of {} and of {} dimensions, expected equal", a.dims, b.dims);
  const std::int64_t n = a.size(), m = b.size();
  std::vector<double> out(static_cast<std::size_t>(n * m));
  with_correlation(kernel, [&](const auto& correlation) {
    for (std::int64_t i = 0; i < n; ++i)
      fill_row(kernel, correlation, a.values.data() + i * a.dims, b, m, out.data() + i * m);
  });
  return out;
}

std::vector<double> covariance(const Kernel& kernel, Points a) {
  const std::int64_t n = a.size();
  std::vector<double> out(static_cast<std::size_t>(n * n));
  with_correlation(kernel, [&](const auto& correlation) {
    for (std::int64_t i = 0; i < n; ++i) {
      fill_row(kernel, correlation, a.values.data() + i * a.dims, a, i + 1, out.data() + i * n);
      for (std::int64_t j = 0; j < i; ++j) out[j * n + i] = out[i * n + j];
    }
  });
  return out;
}

}  // namespace npzoo
