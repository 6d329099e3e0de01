#include "npzoo/models/applications/gaussian_process/gp_state.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/models/applications/gaussian_process/gp_search.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostWhole = 400;  // points that the errors of slopes at each target are computed from

/// The inputs of the linear mean, and the group of each slope, from 0 on.
struct LinearMean {
  std::vector<std::size_t> inputs{}, slope_of{};
};

/// Leaves out groups of inputs that do not vary: the points say nothing about their slopes.
LinearMean linear_mean(const GpPoints& points, GpMean mean) {
  const auto dims = static_cast<std::size_t>(points.dims);
  const auto group = [&](std::size_t d) { return points.slope_groups.empty() ? d : points.slope_groups[d]; };
  const auto linear = [&](std::size_t d) {
    return mean == GpMean::linear || (mean == GpMean::constant && !points.in_mean.empty() && points.in_mean[d]);
  };
  std::set<std::size_t> varying;
  for (std::size_t i = 0; i < points.x.size(); ++i)
    if (points.x[i] != points.x[i % dims]) varying.insert(group(i % dims));
  LinearMean found;
  std::vector<std::size_t> groups;  // in the order in which they appear
  for (std::size_t d = 0; d < dims; ++d) {
    if (!linear(d) || !varying.contains(group(d))) continue;
    const auto at = std::ranges::find(groups, group(d));
    found.inputs.push_back(d);
    found.slope_of.push_back(static_cast<std::size_t>(at - groups.begin()));
    if (at == groups.end()) groups.push_back(group(d));
  }
  return found;
}

void check_gp_points(const GpPoints& points) {
  const auto dims = static_cast<std::size_t>(std::max<std::int64_t>(points.dims, 0));
  check(dims >= 1 && points.x.size() == points.y.size() * dims,
        "[gp] {} inputs and {} values found, expected {} inputs for each value", points.x.size(), points.y.size(),
        points.dims);
  check(points.group_of.empty() || points.group_of.size() == dims, "[gp] groups of {} inputs found, expected {}",
        points.group_of.size(), dims);
  check(points.in_mean.empty() || points.in_mean.size() == dims, "[gp] {} inputs of the mean found, expected {}",
        points.in_mean.size(), dims);
  check(points.slope_groups.empty() || points.slope_groups.size() == dims,
        "[gp] groups of {} slopes found, expected {}", points.slope_groups.size(), dims);
}

/// The groups of the inputs, or one for each.
std::vector<std::size_t> groups_or_own(const GpPoints& points) {
  if (!points.group_of.empty()) return points.group_of;
  std::vector<std::size_t> own(static_cast<std::size_t>(points.dims));
  std::iota(own.begin(), own.end(), std::size_t{0});
  return own;
}

}  // namespace

/// The unit of a hyper-parameter, in units of the data.
double GaussianProcess::State::unit(const GpParameter& p) const {
  if (p.kind != GpParameter::Kind::slope) return scaling.unit(p, group_of);
  const auto slope = static_cast<std::size_t>(std::ranges::find(slope_of, p.group) - slope_of.begin());
  return scaling.scale / scaling.extent[in_mean[slope]];
}

/// Hyper-parameters in the units of the data, from the logarithms of scaled ones.
std::vector<double> GaussianProcess::State::values_of(const GpCovariance& of, std::span<const double> logs) const {
  std::vector<double> values;
  for (std::size_t k = 0; k < logs.size(); ++k) values.push_back(std::exp(logs[k]) * unit(of.parameters()[k]));
  return values;
}

/// Takes hyper-parameters in the units of the data, estimates the mean and conditions on the points.
void GaussianProcess::State::settle(GpCovariance fitted, std::span<const double> values,
                                    const std::vector<GpBlock>& blocks) {
  covariance = std::move(fitted);
  check(values.size() == covariance.parameters().size(), "[gp] {} hyper-parameters found, {} needs {}", values.size(),
        covariance.kernel().text(), covariance.parameters().size());
  std::vector<double> logs;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const GpParameter& p = covariance.parameters()[k];
    logs.push_back(std::log(values[k] / unit(p)));
    found.values.push_back({p, values[k]});
  }
  covariance.set(logs);
  noise = std::exp(logs.back());
  found.kernel = covariance.kernel();
  found.points = std::ssize(all.y);
  estimate_trend(blocks);
  if (exact()) {
    if (all.y.empty()) return describe();
    whole = context(all);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t k = 0; k < width(); ++k) whole->white[i] -= whole->white_trend[i * width() + k] * beta[k];
  }
  if (std::ssize(all.y) > std::min(kMostWhole, options.largest_exact)) find_neighbours();
  describe();
}

/// Returns how much wider slopes are than a Gaussian of the fitted noise: the deviation of Student's t with the degrees
/// of freedom that the mean leaves, at least four.
double GaussianProcess::State::small_sample_factor() const {
  constexpr double kFewest = 4;
  const std::vector<double> cov = of_trend->inverse(), precisions = trend_precisions(covariance, width());
  auto freedom = static_cast<double>(all.size());
  for (std::size_t k = 0; k < width(); ++k) freedom -= 1 - precisions[k] * cov[k * width() + k];
  freedom = std::max(freedom, kFewest);
  return std::sqrt(freedom / (freedom - 2));
}

void GaussianProcess::State::find_neighbours() {
  near_x = in_lengthscales(all.x);
  tree.emplace(near_x, dims());
}

/// Sums Hᵀ K⁻¹ H and Hᵀ K⁻¹ y over blocks: all points of an exact process, and those of the fit else. Adds the
/// precisions of slopes once.
void GaussianProcess::State::estimate_trend(const std::vector<GpBlock>& blocks) {
  const std::size_t p = width();
  if (p == 0) return;
  std::vector<double> a(p * p);
  beta.assign(p, 0.0);
  for (const GpBlock& block : blocks) {
    const GpContext c = context({block.x, block.y, trend(block.x)});
    for (std::size_t i = 0; i < c.block.size(); ++i)
      for (std::size_t j = 0; j < p; ++j) {
        for (std::size_t k = 0; k < p; ++k) a[j * p + k] += c.white_trend[i * p + j] * c.white_trend[i * p + k];
        beta[j] += c.white_trend[i * p + j] * c.white[i];
      }
  }
  const std::vector<double> precisions = trend_precisions(covariance, p);
  for (std::size_t k = 0; k < p; ++k) a[k * p + k] += precisions[k];
  of_trend.emplace(std::move(a), static_cast<std::int64_t>(p));
  of_trend->solve_lower(beta);
  of_trend->solve_upper(beta);
}

void GaussianProcess::State::describe() {
  if (!of_trend) return;
  const std::vector<double> cov = of_trend->inverse();
  const auto scale_of = [&](std::size_t k) { return scaling.scale / scaling.extent[in_mean[k - 1]]; };
  for (std::size_t k = 1; k < width(); ++k) {
    found.slopes.push_back({.input = in_mean[k - 1],
                            .group = slope_of[k - 1],
                            .value = scale_of(k) * beta[k],
                            .std = scale_of(k) * std::sqrt(cov[k * width() + k]),
                            .center = scaling.center[in_mean[k - 1]]});
    for (std::size_t j = 1; j < width(); ++j)
      found.slope_covariance.push_back(scale_of(k) * scale_of(j) * cov[k * width() + j]);
  }
}

GpContext GaussianProcess::State::nearest_context(const double* target) const {
  const std::vector<double> place = in_lengthscales(std::span(target, dims()));
  GpBlock block;
  for (const auto& [distance, row] : tree->nearest(place.data(), static_cast<std::size_t>(options.neighbours))) {
    block.x.insert(block.x.end(), &all.x[row * dims()], &all.x[row * dims()] + dims());
    block.y.push_back(all.y[row]);
  }
  block.trend = trend(block.x);
  for (std::size_t i = 0; i < block.size(); ++i)
    for (std::size_t k = 0; k < width(); ++k) block.y[i] -= block.trend[i * width() + k] * beta[k];
  return context(std::move(block));
}

/// L⁻¹ K(context, x), (n, m).
std::vector<double> GaussianProcess::State::explained(const GpContext& c, std::span<const double> x) const {
  std::vector<double> v = covariance.between(c.block.x, x);
  c.factor.solve_lower(v);
  return v;
}

/// Returns the part of the trend that the context leaves open, R⁻¹ (hᵀ − Vᵀ L⁻¹ H) for A = R Rᵀ: (P, m). `v` is
/// L⁻¹ K(context, x), (n, m).
std::vector<double> GaussianProcess::State::open_trend(const GpContext& c, std::span<const double> h,
                                                       std::span<const double> v) const {
  const std::size_t p = width(), m = h.size() / p, n = c.block.size();
  std::vector<double> r(p * m);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t k = 0; k < p; ++k) r[k * m + i] = h[i * p + k];
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t k = 0; k < p; ++k)
      for (std::size_t i = 0; i < m; ++i) r[k * m + i] -= c.white_trend[j * p + k] * v[j * m + i];
  of_trend->solve_lower(r);
  return r;
}

/// Means and variances of observations at scaled inputs (m, D), in scaled units.
void GaussianProcess::State::at(const GpContext& c, std::span<const double> x, std::span<double> mean,
                                std::span<double> variance) const {
  const std::size_t m = mean.size(), p = width();
  const std::vector<double> v = explained(c, x), h = trend(x);
  for (std::size_t i = 0; i < m; ++i) {
    const double prior = covariance(&x[i * dims()], &x[i * dims()]);
    variance[i] = prior;
    mean[i] = 0;
    for (std::size_t j = 0; j < c.block.size(); ++j) {
      mean[i] += v[j * m + i] * c.white[j];
      variance[i] -= v[j * m + i] * v[j * m + i];
    }
    variance[i] = std::max(variance[i], 1e-12 * prior) + noise * noise;
    for (std::size_t k = 0; k < p; ++k) mean[i] += h[i * p + k] * beta[k];
  }
  if (p == 0) return;
  const std::vector<double> r = open_trend(c, h, v);
  for (std::size_t k = 0; k < p; ++k)
    for (std::size_t i = 0; i < m; ++i) variance[i] += r[k * m + i] * r[k * m + i];
}

/// The covariance of observations at scaled inputs (m, D), in scaled units; the lower triangle.
std::vector<double> GaussianProcess::State::joint(std::span<const double> x) const {
  const auto m = std::ssize(x) / std::ssize(group_of);
  std::vector<double> cov = covariance.between(x, x);
  const std::vector<double> v = whole ? explained(*whole, x) : std::vector<double>();
  subtract_square(cov, m, v);
  const auto count = static_cast<std::size_t>(m);
  for (std::size_t i = 0; i < count; ++i) cov[i * count + i] += noise * noise;
  if (width() == 0) return cov;
  const GpContext empty{{}, SymmetricFactor({}, 0), {}, {}};
  const std::vector<double> r = open_trend(whole ? *whole : empty, trend(x), v);
  for (std::size_t k = 0; k < width(); ++k)
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j <= i; ++j) cov[i * count + j] += r[k * count + i] * r[k * count + j];
  return cov;
}

/// The process of these points, scaled, without hyper-parameters.
std::unique_ptr<GaussianProcess::State> GaussianProcess::State::of(const GpPoints& points, const GpOptions& options,
                                                                   GpKernel kernel) {
  check_gp_points(points);
  const std::vector<std::size_t> group_of = groups_or_own(points);
  LinearMean mean = linear_mean(points, options.mean);
  GpScaling scaling =
      gp_scaling(points.x, points.y, group_of, points.slope_groups, options.usual_mean, options.usual_std);
  if (options.mean == GpMean::zero) scaling.shift = 0;
  return std::make_unique<State>(State{.options = options,
                                       .group_of = group_of,
                                       .in_mean = mean.inputs,
                                       .slope_of = mean.slope_of,
                                       .has_mean = options.mean != GpMean::zero && !points.y.empty(),
                                       .scaling = scaling,
                                       .all = {scaling.inputs(points.x), scaling.values(points.y)},
                                       .covariance = GpCovariance(std::move(kernel), group_of, mean.slope_of)});
}

/// The blocks that a fit looks at.
std::vector<GpBlock> GaussianProcess::State::blocks_with_trends() {
  std::vector<GpBlock> blocks = fit_blocks(all, dims());
  all.trend = trend(all.x);
  for (GpBlock& block : blocks) block.trend = trend(block.x);
  return blocks;
}

}  // namespace npzoo
