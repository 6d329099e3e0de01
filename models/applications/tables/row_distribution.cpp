#include "npzoo/models/applications/tables/row_distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/datasets/normal_expectation.h"
#include "npzoo/models/applications/tables/count_figures.h"

namespace npzoo {

namespace {

/// A transformed sum that is not a Gaussian: a rising function of a standard normal number.
class Transformed {
 public:
  Transformed(const ValueTransform& transform, const ComonotonicSum& z)
      : transform_(transform),
        z_(z),
        low_(z.inverse(transform.at_most(transform.low))),
        high_(z.inverse(transform.below(transform.high))) {}

  ValueMoments moments() const {
    if (are_few()) return moments_of_counts(at(-kTail), at(kTail), [&](double k) { return above(k); });
    const double center = at(0);  // near the mean, so that the variance keeps its digits
    const double first = normal_expectation([&](double u) { return at(u) - center; }, {low_, high_});
    const double second =
        normal_expectation([&](double u) { return (at(u) - center) * (at(u) - center); }, {low_, high_});
    return {center + first, std::sqrt(std::max(0.0, second - first * first))};
  }

  double crps(double y) const {
    if (are_few())
      return crps_of_counts(
          at(-kTail), at(kTail), y, [&](double k) { return at_most(k); }, [&](double k) { return above(k); });
    return rising_crps([&](double u) { return at(u); }, y, {low_, high_, z_.inverse(transform_.at_most(y))});
  }

  double central_mass(double y) const {
    const double at_least = normal_probability(-z_.inverse(transform_.below(y)));
    return std::max(0.0, 1 - 2 * std::min(at_most(y), at_least));
  }

 private:
  static constexpr double kTail = 9;  // standard deviations; less than 1e-18 is beyond

  double at(double u) const { return transform_.inverse(z_.at(u)); }
  /// P(Y ≤ y) and P(Y > y).
  double at_most(double y) const { return normal_probability(z_.inverse(transform_.at_most(y))); }
  double above(double y) const { return normal_probability(-z_.inverse(transform_.at_most(y))); }
  /// Whether Y is a whole number, of few enough to sum over.
  bool are_few() const { return transform_.counts && at(kTail) - at(-kTail) < kMostCounts; }

  const ValueTransform& transform_;
  const ComonotonicSum& z_;
  double low_, high_;  // the u between which Y is not at a limit
};

GaussianMixture gaussian(const ComonotonicSum& z) { return {std::span(&z.mean, 1), std::span(&z.std, 1)}; }

}  // namespace

ValueMoments RowDistribution::moments() const {
  ValueMoments of = !transform.active() ? z.moments()
                    : z.parts.empty()   ? npzoo::moments(transform, gaussian(z))
                                        : Transformed(transform, z).moments();
  of.mean += added;
  return of;
}

double RowDistribution::quantile(double probability) const { return at(normal_quantile(probability)); }

double RowDistribution::at(double u) const {
  const double number = z.at(u);
  return (transform.active() ? transform.inverse(number) : number) + added;
}

double RowDistribution::crps(double y) const {
  if (!transform.active()) return z.crps(y - added);
  return z.parts.empty() ? npzoo::crps(transform, gaussian(z), y - added) : Transformed(transform, z).crps(y - added);
}

double RowDistribution::central_mass(double y) const {
  if (!transform.active()) return 1 - 2 * normal_probability(-std::abs(z.inverse(y - added)));
  return z.parts.empty() ? npzoo::central_mass(transform, gaussian(z), y - added)
                         : Transformed(transform, z).central_mass(y - added);
}

double positive_std(double std, double mean) {
  const double size = std::abs(mean);
  return std::max(std, std::nextafter(size, std::numeric_limits<double>::infinity()) - size);
}

void put(const RowDistribution& d, std::int64_t row, double truth, std::span<const double> quantiles,
         PredictedColumn& column) {
  const auto i = static_cast<std::size_t>(row);
  for (std::size_t q = 0; q < quantiles.size(); ++q)
    column.quantiles[i * quantiles.size() + q] = d.quantile(quantiles[q]);
  const ValueMoments m = d.moments();
  column.mean[i] = m.mean;
  column.std[i] = m.std;
  if (std::isnan(truth)) return;
  column.crps[i] = d.crps(truth);
  column.central_mass[i] = d.central_mass(truth);
}

}  // namespace npzoo
