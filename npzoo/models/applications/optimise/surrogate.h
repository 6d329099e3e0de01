#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/engine/draws.h"

namespace npzoo {

/// What is believed of the values of B functions at N points each: mixtures of K Gaussians, in the units of the values.
struct Belief {
  std::int64_t components = 1;
  std::vector<double> mean, std;     // (K, B, N)
  std::vector<double> log_weight{};  // (K, B, N), of what adds up to 1 over K; empty: all are as likely

  std::int64_t points() const { return static_cast<std::int64_t>(mean.size()) / components; }  // B N
};

/// Derivatives with respect to what a Belief holds, in the same layout. Of log-weights each by itself, as if nothing
/// tied them together.
struct BeliefSlopes {
  std::vector<double> mean, std, log_weight;  // (K, B, N)
};

/// Figures of points (B, N) that a belief gives, and their derivatives where `slopes` is not null.
using Judge = std::function<std::vector<double>(const Belief&, BeliefSlopes* slopes)>;

/// Figures of points, and how they change with these.
struct Judged {
  std::vector<double> value;  // (B, N)
  std::vector<double> d_x;    // (B, N, D)
};

/// Beliefs about B functions of the unit cube, of which the same number of values has been observed. Values are as they
/// come; a surrogate standardises them where it wants to.
class Surrogate {
 public:
  virtual ~Surrogate() = default;

  virtual std::int64_t tasks() const = 0;  // B
  virtual std::int64_t dims() const = 0;   // D
  /// Adds M values to each task: x (B, M, D), y (B, M).
  virtual void observe(std::span<const double> x, std::span<const double> y) = 0;
  /// Fits what there is to fit to all that was observed; what is observed afterwards changes beliefs and not how they
  /// are formed.
  virtual void learn() {}
  /// Of x (B, N, D).
  virtual Belief believe(std::span<const double> x) const = 0;
  /// The same, judged; with derivatives with respect to x. A point's figure must depend on its own belief alone.
  virtual Judged judge(std::span<const double> x, const Judge& judge) const = 0;
  /// Values at all points of a task together, (B, N); empty where it says nothing of several points together.
  virtual std::vector<double> sample(std::span<const double> x, Draws& draws) const = 0;
  /// Whether `sample` gives functions.
  virtual bool samples_functions() const = 0;
  /// How outputs call it.
  virtual std::string name() const = 0;
};

}  // namespace npzoo
