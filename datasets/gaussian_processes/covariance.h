#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace npzoo {

/// Points of one task: their covariance then stays below 128 MiB, whatever a file asks for.
inline constexpr std::int64_t kMaxDensePoints = 4096;

/// Points of R^dims, row-major. Does not own them.
struct Inputs {
  std::span<const double> values;  // (n, dims)
  std::int64_t dims = 1;

  std::int64_t size() const { return static_cast<std::int64_t>(values.size()) / dims; }
};

enum class KernelKind : std::uint8_t { rbf, matern32, matern52, periodic, weakly_periodic, rbf_mixture };

/// "rbf", "matern32", "matern52", "periodic", "weakly-periodic", "rbf-mixture".
std::string_view to_string(KernelKind kind);
/// Whether there is a period among its hyper-parameters.
bool has_period(KernelKind kind);

/// Stationary covariance function of the Euclidean distance d, with l = lengthscale, s = scale, p = period,
/// m = second_lengthscale:
///
///     rbf              s² exp(−d² / 2l²)
///     matern32         s² (1 + √3 d/l) exp(−√3 d/l)
///     matern52         s² (1 + √5 d/l + 5d²/3l²) exp(−√5 d/l)
///     periodic         s² exp(−2 sin²(π d/p) / l²)
///     weakly-periodic  s² exp(−d² / 2l² − 2 sin²(π d/p))
///     rbf-mixture      s² (exp(−d² / 2l²) + exp(−d² / 2m²)) / 2
///
/// plus `nugget` where two points coincide. Sources: Rasmussen and Williams, "Gaussian Processes for Machine Learning",
/// 2006, section 4.2; the periodic form as in TNP-pytorch `regression/data/gp.py` and dl4bi-sps `kernels.py`, the last
/// two as in ConvCNP's `train.py`.
struct Kernel {
  KernelKind kind = KernelKind::rbf;
  double lengthscale = 1;
  double scale = 1;               // a standard deviation
  double period = 1;              // periodic and weakly-periodic only
  double nugget = 0;              // a variance; what numerical libraries call jitter
  double second_lengthscale = 1;  // rbf-mixture only

  double variance() const { return scale * scale + nugget; }
  bool operator==(const Kernel&) const = default;
};

/// Covariances between two sets of points of equal `dims`, (n, m) row-major.
std::vector<double> covariance(const Kernel& kernel, Inputs a, Inputs b);
/// Covariances of a set with itself, (n, n).
std::vector<double> covariance(const Kernel& kernel, Inputs a);

}  // namespace npzoo
