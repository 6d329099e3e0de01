#include "npzoo/models/applications/tables/row_distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/datasets/gaussian_mixture.h"

namespace npzoo {

namespace {

GaussianMixture gaussian(const RowDistribution& d) { return {std::span(&d.mean, 1), std::span(&d.std, 1)}; }

}  // namespace

ValueMoments RowDistribution::moments() const {
  ValueMoments of = transform.active() ? npzoo::moments(transform, gaussian(*this)) : ValueMoments{mean, std};
  of.mean += added;
  return of;
}

double RowDistribution::quantile(double probability) const {
  const double z = npzoo::quantile(gaussian(*this), probability);
  return (transform.active() ? transform.inverse(z) : z) + added;
}

double RowDistribution::crps(double y) const {
  return transform.active() ? npzoo::crps(transform, gaussian(*this), y - added)
                            : npzoo::crps(gaussian(*this), y - added);
}

double RowDistribution::central_mass(double y) const {
  return transform.active() ? npzoo::central_mass(transform, gaussian(*this), y - added)
                            : npzoo::central_mass(gaussian(*this), y - added);
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
