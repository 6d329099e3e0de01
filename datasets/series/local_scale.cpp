#include "npzoo/datasets/series/local_scale.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

namespace npzoo {

namespace {

constexpr std::size_t kFewest = 40, kLeastReach = 10;
constexpr double kClearly = 7;  // nats

/// Values in order, of which the median without one of them is asked.
class Window {
 public:
  void add(double value) { sorted_.insert(std::ranges::upper_bound(sorted_, value), value); }
  void remove(double value) { sorted_.erase(std::ranges::lower_bound(sorted_, value)); }
  double median_without(double value) const {
    const auto own = static_cast<std::size_t>(std::ranges::lower_bound(sorted_, value) - sorted_.begin());
    const std::size_t middle = (sorted_.size() - 1) / 2;
    return sorted_[middle < own ? middle : middle + 1];
  }

 private:
  std::vector<double> sorted_;
};

std::vector<double> sizes_of(std::span<const double> errors) {
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  return sizes;
}

/// Deviations of normal errors with the medians of windows that reach so far to each side; at least a thousandth of the
/// root of the mean square of all, so that values that repeat have one.
std::vector<double> scales(std::span<const double> sizes, std::size_t reach) {
  constexpr double kOfNormal = 1.482602218505602, kLeast = 1e-3;
  const std::size_t n = sizes.size();
  const double squares =
                   std::transform_reduce(sizes.begin(), sizes.end(), 0.0, std::plus(), [](double s) { return s * s; }),
               least = kLeast * std::sqrt(squares / static_cast<double>(n));
  std::vector<double> all(n);
  Window window;
  for (std::size_t i = 0; i < std::min(reach, n); ++i) window.add(sizes[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + reach < n) window.add(sizes[i + reach]);
    if (i > reach) window.remove(sizes[i - reach - 1]);
    all[i] = std::max(kOfNormal * window.median_without(sizes[i]), least);
  }
  return all;
}

/// The log density under Student distributions with 4 degrees of freedom, up to a constant. Outliers change it little.
double log_density(std::span<const double> sizes, std::span<const double> scale) {
  constexpr double kDegrees = 4;
  double sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double z = sizes[i] / scale[i];
    sum -= std::log(scale[i]) + (kDegrees + 1) / 2 * std::log1p(z * z / kDegrees);
  }
  return sum;
}

/// Geometric means over windows that reach so far to each side.
std::vector<double> smooth(std::span<const double> scale, std::size_t reach) {
  const std::size_t n = scale.size();
  std::vector<double> sums(n + 1), means(n);
  for (std::size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + std::log(scale[i]);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = i > reach ? i - reach : 0, end = std::min(i + reach + 1, n);
    means[i] = std::exp((sums[end] - sums[first]) / static_cast<double>(end - first));
  }
  return means;
}

}  // namespace

LocalScale::LocalScale(std::span<const double> x, std::span<const double> errors, std::size_t reach)
    : x_(x.begin(), x.end()), reach_(reach) {
  for (const double s : smooth(scales(sizes_of(errors), reach), reach / 2)) logs_.push_back(std::log(s));
}

double LocalScale::at(double x) const {
  const auto after = static_cast<std::size_t>(std::ranges::upper_bound(x_, x) - x_.begin());
  if (after == 0) return std::exp(logs_.front());
  if (after == x_.size()) return std::exp(logs_.back());
  const double share = (x - x_[after - 1]) / (x_[after] - x_[after - 1]);
  return std::exp(logs_[after - 1] + share * (logs_[after] - logs_[after - 1]));
}

double LocalScale::ratio() const { return std::exp(std::ranges::max(logs_) - std::ranges::min(logs_)); }

std::optional<LocalScale> find_local_scale(std::span<const double> x, std::span<const double> errors) {
  const std::size_t n = errors.size();
  if (n < kFewest) return {};
  const std::vector<double> sizes = sizes_of(errors), one = scales(sizes, n);
  if (!(one.front() > 0)) return {};
  double best = log_density(sizes, one) + kClearly;
  std::size_t found = 0;
  for (const std::size_t part : {24, 12, 6, 3}) {
    const std::size_t reach = n / part;
    if (reach < kLeastReach) continue;
    const std::vector<double> local = scales(sizes, reach);
    const double density = log_density(sizes, local);
    if (!(density > best)) continue;
    best = density;
    found = reach;
  }
  return found > 0 ? std::optional<LocalScale>(std::in_place, x, errors, found) : std::nullopt;
}

std::vector<double> errors_beside_neighbours(std::span<const double> x, std::span<const double> y) {
  std::vector<double> errors;
  for (std::size_t i = 1; i + 1 < y.size(); ++i) {
    const double gap = x[i + 1] - x[i - 1], share = gap > 0 ? (x[i] - x[i - 1]) / gap : 0.5;
    errors.push_back((y[i] - (1 - share) * y[i - 1] - share * y[i + 1]) /
                     std::sqrt(1 + share * share + (1 - share) * (1 - share)));
  }
  return errors;
}

}  // namespace npzoo
