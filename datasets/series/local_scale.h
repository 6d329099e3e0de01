#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace npzoo {

/// The size of errors along one input: linear between points on a scale of logarithms, constant beyond them.
class LocalScale {
 public:
  /// The deviations that normal errors (n, at least 1) have by the medians of their sizes, over windows of `reach`
  /// points to each side and without the error itself, smoothed. `x` (n) must increase, or stay equal.
  LocalScale(std::span<const double> x, std::span<const double> errors, std::size_t reach);

  double at(double x) const;
  /// The largest over the smallest.
  double ratio() const;
  std::size_t reach() const { return reach_; }

 private:
  std::vector<double> x_, logs_;
  std::size_t reach_;
};

/// Looks for a change of the size of `errors` (n) along increasing `x` (n): medians of absolute errors over windows of
/// a twelfth of the points, of a sixth, a third or two thirds, and of at least 21 points. The size is that of a
/// standard deviation, if errors are normal. Returns nothing if no window adds 7 nats to the log density of the errors,
/// each left out of its own median, over one median of all. That density is a Student one, so that outliers alone are
/// no change. Returns nothing for fewer than 40 errors.
std::optional<LocalScale> find_local_scale(std::span<const double> x, std::span<const double> errors);

/// Returns the distance of each value from the line through its two neighbours, n − 2 numbers, for y (n) at increasing
/// x (n). They are divided by the deviation that independent errors of deviation 1 give them. Fewer than three values
/// have none.
std::vector<double> errors_beside_neighbours(std::span<const double> x, std::span<const double> y);

}  // namespace npzoo
