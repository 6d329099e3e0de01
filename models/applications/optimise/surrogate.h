#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/engine/draws.h"

namespace npzoo {

/// The predictive distributions of B functions at N points each: mixtures of K Gaussians, in the units of the values.
struct Belief {
  std::int64_t components = 1;
  std::vector<double> mean, std;     // (K, B, N)
  std::vector<double> log_weight{};  // (K, B, N), logarithms of weights that add up to 1 over K; empty: equal weights

  std::int64_t points() const { return static_cast<std::int64_t>(mean.size()) / components; }  // B N
};

/// Derivatives with respect to the members of a Belief, in the same layout. Log-weights count as independent of each
/// other.
struct BeliefSlopes {
  std::vector<double> mean, std, log_weight;  // (K, B, N)
};

/// A function that scores the points (B, N) of a belief, and fills `slopes` unless it is null.
using Judge = std::function<std::vector<double>(const Belief&, BeliefSlopes* slopes)>;

/// Scores of points, and their derivatives with respect to the points.
struct Judged {
  std::vector<double> value;  // (B, N)
  std::vector<double> d_x;    // (B, N, D)
};

/// The number of the category, of `count`, that coordinate u of the unit cube stands for: ⌊u count⌋, the first or last
/// one beyond the cube, and the first one for NaN.
inline std::int64_t category_at(double u, std::int64_t count) {
  const double category = std::floor(u * static_cast<double>(count)), last = static_cast<double>(count - 1);
  return category > 0 ? static_cast<std::int64_t>(std::min(category, last)) : 0;
}

/// Beliefs about B functions of the unit cube, of which the same number of values has been observed. Values are not
/// standardised; a surrogate may do that itself.
class Surrogate {
 public:
  virtual ~Surrogate() = default;

  virtual std::int64_t tasks() const = 0;  // B
  virtual std::int64_t dims() const = 0;   // D
  /// Adds M values to each task: x (B, M, D), y (B, M).
  virtual void observe(std::span<const double> x, std::span<const double> y) = 0;
  /// Fits the hyper-parameters, if there are any, to all observations. Later observations change beliefs but not
  /// hyper-parameters.
  virtual void learn() {}
  /// Returns the belief at x (B, N, D).
  virtual Belief believe(std::span<const double> x) const = 0;
  /// Returns scores of the belief, with derivatives with respect to x. A point's score must depend on its own belief
  /// alone.
  virtual Judged judge(std::span<const double> x, const Judge& judge) const = 0;
  /// Samples values at all points of a task together, (B, N); empty if the surrogate cannot sample points jointly.
  virtual std::vector<double> sample(std::span<const double> x, Draws& draws) const = 0;
  /// Whether `sample` gives functions.
  virtual bool samples_functions() const = 0;
  /// Returns the largest standard deviation of noise that was fitted to a task, in units of its values' deviation; 0 if
  /// the surrogate fits none.
  virtual double noise() const { return 0; }
  /// Returns its name for outputs.
  virtual std::string name() const = 0;
};

}  // namespace npzoo
