#include "npzoo/datasets/gaussian_processes/covariance.h"

#include "npzoo/datasets/gaussian_processes/correlation.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

std::string_view to_string(KernelKind kind) {
  switch (kind) {
    case KernelKind::rbf: return "rbf";
    case KernelKind::matern32: return "matern32";
    case KernelKind::matern52: return "matern52";
    case KernelKind::periodic: return "periodic";
    case KernelKind::weakly_periodic: return "weakly-periodic";
    case KernelKind::rbf_mixture: break;
  }
  return "rbf-mixture";
}

bool has_period(KernelKind kind) { return kind == KernelKind::periodic || kind == KernelKind::weakly_periodic; }

namespace {

/// Looks at the stop token after every 64 rows: never for few points.
void look_after(std::int64_t rows) {
  if (rows > 0 && rows % 64 == 0) throw_if_stopped();
}

/// Covariances of one point with the first `n` of `b`.
template <class Correlation>
void fill_row(const Kernel& kernel, const Correlation& correlation, const double* a, Inputs b, std::int64_t n,
              double* out) {
  for (std::int64_t j = 0; j < n; ++j)
    out[j] = covariance_at(kernel, correlation, squared_distance(a, b.values.data() + j * b.dims, b.dims));
}

}  // namespace

std::vector<double> covariance(const Kernel& kernel, Inputs a, Inputs b) {
  check(a.dims == b.dims, "[covariance] points of {} and of {} dimensions, expected equal", a.dims, b.dims);
  const std::int64_t n = a.size(), m = b.size();
  std::vector<double> out(static_cast<std::size_t>(n * m));
  with_correlation(kernel, [&](const auto& correlation) {
    for (std::int64_t i = 0; i < n; ++i) {
      look_after(i);
      fill_row(kernel, correlation, a.values.data() + i * a.dims, b, m, out.data() + i * m);
    }
  });
  return out;
}

std::vector<double> covariance(const Kernel& kernel, Inputs a) {
  const std::int64_t n = a.size();
  std::vector<double> out(static_cast<std::size_t>(n * n));
  with_correlation(kernel, [&](const auto& correlation) {
    for (std::int64_t i = 0; i < n; ++i) {
      look_after(i);
      fill_row(kernel, correlation, a.values.data() + i * a.dims, a, i + 1, out.data() + i * n);
      for (std::int64_t j = 0; j < i; ++j) out[j * n + i] = out[i * n + j];
    }
  });
  return out;
}

}  // namespace npzoo
