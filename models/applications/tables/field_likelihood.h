#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/models/applications/tables/observed_places.h"

namespace npzoo {

/// The covariance of a field over the variance of its smooth part: a Matérn-3/2 kernel, beside it an exponential one,
/// and noise. Distances are √(dᵀ M d).
struct FieldKernel {
  std::array<double, 3> metric{1, 0, 1};  // M: its diagonal entries around the other one
  double short_length = 1, long_length = 1;
  double share = 0;  // of the exponential kernel
  double noise = 0;
};

/// The likelihood of a field of two inputs by Vecchia's approximation (1988): points in an order from coarse to fine,
/// each given its 30 nearest earlier ones. Of many points all of the first 1,000 count, and 3,000 of the others. The
/// field's variance and a linear trend are those of the largest likelihood.
class FieldLikelihood {
 public:
  /// `y` has a value for each place. Takes the places in [0, 1]² alone. Random choices have a fixed seed. Looks at the
  /// stop token.
  FieldLikelihood(const ObservedPlaces& places, std::span<const double> y);

  /// Points that count; 0 if there are too few places.
  std::int64_t conditionals() const { return std::ssize(weights_); }

  struct Value {
    double mean_loss = 0;    // −log density of a point, the points that stand for others weighted by their number
    double log_density = 0;  // of all points that count, each once
  };
  /// +∞ and −∞ if the covariance has no Cholesky factor. The bits do not depend on the number of threads.
  Value evaluate(const FieldKernel& kernel) const;

 private:
  void gather(const ObservedPlaces& places, std::span<const double> y, std::span<const std::uint32_t> order,
              std::span<const std::size_t> rows);

  std::int64_t groups_ = 0;
  std::vector<double> x_, y_;    // as VecchiaWhiten reads them
  std::vector<double> weights_;  // of each conditional
};

}  // namespace npzoo
