#include "npzoo/models/applications/tables/series_figures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/models/applications/tables/place_samples.h"

namespace npzoo {

namespace {

/// The Gaussians of a value of marginals, at place `i` among (B, Nt, Dy), on the scale that `map` maps from.
class Gaussians {
 public:
  Gaussians(const Marginals& m, const ValueMap& map, std::int64_t i) {
    const std::int64_t count = m.mean.dim(0), all = m.mean.numel() / count, dim_y = m.mean.dim(3);
    const auto at = [](const Tensor& t, std::int64_t k) { return t.values<double>()[static_cast<std::size_t>(k)]; };
    for (std::int64_t k = 0; k < count; ++k) {
      const double mean = map.mean(at(m.mean, k * all + i));
      mean_.push_back(mean);
      std_.push_back(map.std(at(m.std, k * all + i), mean));
      if (m.log_weight.defined()) weight_.push_back(std::exp(at(m.log_weight, (k * all + i) / dim_y)));
    }
  }

  GaussianMixture mixture() const { return {mean_, std_, weight_}; }

 private:
  std::vector<double> mean_, std_, weight_;
};

/// log of the mean of exp(`logs`), weighted unless `weights` are empty.
double log_of_mean(std::span<const double> logs, std::span<const double> weights) {
  const double most = *std::ranges::max_element(logs);
  if (!std::isfinite(most)) return most;
  double sum = 0, all = 0;
  for (std::size_t k = 0; k < logs.size(); ++k) {
    const double weight = weights.empty() ? 1 : weights[k];
    sum += weight * std::exp(logs[k] - most);
    all += weight;
  }
  return most + std::log(sum / all);
}

/// Returns marginals on the linear scale plus independent errors of these variances (B, Nt, Dy).
Marginals widened(Marginals m, const Tensor& added) {
  if (!added.defined()) return m;
  check_gaussian(m, "added_variance");
  const auto from = std::as_const(m.std).values<double>(), more = added.values<double>();
  Tensor std = Tensor::empty(m.std.shape(), DType::float64, Device::cpu);
  const auto to = std.values<double>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::sqrt(from[i] * from[i] + more[i % more.size()]);
  m.std = std;
  return m;
}

}  // namespace

SeriesFigures::SeriesFigures(const Prediction& prediction, const Tensor& added, const SeriesOptions& options,
                             Draws& draws)
    : options_(options),
      drawn_(on_host(prediction.marginals())),
      marginals_(widened(drawn_, added)),
      moments_(moments(marginals_)) {
  for (const double p : options.quantiles) quantiles_.push_back(quantile(marginals_, p));
  if (options.samples > 0 && options.density != Density::marginal) samples_ = prediction.sample(options.samples, draws);
}

void SeriesFigures::score(const Tensor& y) {
  log_density_ = log_likelihood(marginals_, y);
  crps_ = npzoo::crps(marginals_, y);
  central_mass_ = npzoo::central_mass(marginals_, y);
}

void SeriesFigures::append(std::int64_t b, const Series& series, std::span<const double> places,
                           std::span<const double> truth, SeriesPrediction& out) const {
  const auto count = static_cast<std::int64_t>(places.size() / options_.x_names.size());
  if (series.transforms.empty()) {
    append_plain(b, count, out);
    append_scores(b, truth, out);
  } else {
    append_transformed(b, count, series.transforms, out);
    append_transformed_scores(b, truth, series.transforms, out);
  }
  append_samples(b, series, places, out);
}

void SeriesFigures::append_plain(std::int64_t b, std::int64_t count, SeriesPrediction& out) const {
  const std::int64_t dim_y = moments_.mean.dim(2), first = b * moments_.mean.dim(1) * dim_y;
  const auto at = [](const Tensor& t, std::int64_t i) { return t.values<double>()[static_cast<std::size_t>(i)]; };
  for (std::int64_t i = first; i < first + count * dim_y; ++i) {
    const ValueMap& map = out.units.values[static_cast<std::size_t>(i % dim_y)];
    out.mean.push_back(map.mean(at(moments_.mean, i)));
    out.std.push_back(map.std(at(moments_.std, i), at(moments_.mean, i)));
    for (const Tensor& q : quantiles_) out.quantiles.push_back(map.mean(at(q, i)));
    if (samples_.defined())
      for (std::int64_t k = 0; k < samples_.dim(0); ++k)
        out.samples.push_back(map.mean(at(samples_, k * moments_.mean.numel() + i)));
  }
}

void SeriesFigures::append_scores(std::int64_t b, std::span<const double> truth, SeriesPrediction& out) const {
  const std::vector<ValueMap>& maps = out.units.values;
  const std::size_t dim_y = maps.size(), first = static_cast<std::size_t>(b * moments_.mean.dim(1));
  for (std::size_t i = 0; i < truth.size() / dim_y; ++i) {
    double log_density = log_density_.values<double>()[first + i];
    for (std::size_t c = 0; c < dim_y; ++c) {
      const double y = truth[i * dim_y + c];
      const std::size_t at = (first + i) * dim_y + c;
      const auto known = [y](double figure) {
        return std::isnan(y) ? std::numeric_limits<double>::quiet_NaN() : figure;
      };
      log_density = known(log_density - std::log(maps[c].scale));
      out.crps.push_back(known(crps_.values<double>()[at] * maps[c].scale));
      out.central_mass.push_back(known(central_mass_.values<double>()[at]));
    }
    out.log_density.push_back(log_density);
  }
}

void SeriesFigures::append_transformed(std::int64_t b, std::int64_t count, std::span<const ValueTransform> transforms,
                                       SeriesPrediction& out) const {
  check_gaussian(marginals_, "transform");
  const std::int64_t dim_y = moments_.mean.dim(2), first = b * moments_.mean.dim(1) * dim_y;
  const auto at = [](const Tensor& t, std::int64_t i) { return t.values<double>()[static_cast<std::size_t>(i)]; };
  for (std::int64_t i = first; i < first + count * dim_y; ++i) {
    const auto c = static_cast<std::size_t>(i % dim_y);
    const ValueMap& map = out.units.values[c];
    const ValueTransform& transform = transforms[c];
    const ValueMoments value = npzoo::moments(transform, Gaussians(marginals_, map, i).mixture());
    out.mean.push_back(value.mean);
    out.std.push_back(value.std);
    for (const Tensor& q : quantiles_) out.quantiles.push_back(transform.inverse(map.mean(at(q, i))));
    if (samples_.defined())
      for (std::int64_t k = 0; k < samples_.dim(0); ++k)
        out.samples.push_back(transform.inverse(map.mean(at(samples_, k * moments_.mean.numel() + i))));
  }
}

void SeriesFigures::append_transformed_scores(std::int64_t b, std::span<const double> truth,
                                              std::span<const ValueTransform> transforms, SeriesPrediction& out) const {
  const std::size_t dim_y = transforms.size(), first = static_cast<std::size_t>(b * moments_.mean.dim(1));
  for (std::size_t i = 0; i < truth.size() / dim_y; ++i) {
    std::vector<double> densities(static_cast<std::size_t>(marginals_.mean.dim(0)));  // of each component
    std::vector<double> weights;
    for (std::size_t c = 0; c < dim_y; ++c) {
      const double y = truth[i * dim_y + c];
      const Gaussians gaussians(marginals_, out.units.values[c], static_cast<std::int64_t>((first + i) * dim_y + c));
      const GaussianMixture z = gaussians.mixture();
      const bool known = !std::isnan(y);
      out.crps.push_back(known ? npzoo::crps(transforms[c], z, y) : y);
      out.central_mass.push_back(known ? npzoo::central_mass(transforms[c], z, y) : y);
      for (std::size_t k = 0; k < densities.size(); ++k)
        densities[k] += known ? npzoo::log_density(transforms[c], z.mean[k], z.std[k], y) : y;
      weights.assign(z.weight.begin(), z.weight.end());
    }
    out.log_density.push_back(log_of_mean(densities, weights));
  }
}

void SeriesFigures::append_samples(std::int64_t b, const Series& series, std::span<const double> places,
                                   SeriesPrediction& out) const {
  if (options_.samples == 0 || options_.density != Density::marginal) return;
  const PlaceSamples samples(options_.seed, series.x, series.y);
  const std::size_t dim_x = options_.x_names.size(), first = out.samples.size();
  for (std::size_t i = 0; i < places.size() / dim_x; ++i)
    samples.draw(drawn_, b, static_cast<std::int64_t>(i), places.subspan(i * dim_x, dim_x), options_.samples,
                 out.samples);
  const auto count = static_cast<std::size_t>(options_.samples);
  for (std::size_t i = first; i < out.samples.size(); ++i) {
    const std::size_t c = (i - first) / count % out.units.values.size();
    const double value = out.units.values[c].mean(out.samples[i]);
    out.samples[i] = series.transforms.empty() ? value : series.transforms[c].inverse(value);
  }
}

}  // namespace npzoo
