#include "npzoo/models/applications/gaussian_process/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "npzoo/datasets/symmetric_factor.h"
#include "npzoo/engine/boundary.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/models/applications/gaussian_process/gp_scaling.h"
#include "npzoo/models/applications/gaussian_process/gp_search.h"
#include "npzoo/models/applications/neighbour_tree.h"

namespace npzoo {

namespace {

constexpr std::size_t kFewest = 3;             // points that hyper-parameters are fitted to
constexpr std::int64_t kTargetsTogether = 64;  // that share a triangular solve
constexpr std::int64_t kMostJoint = 2000;      // targets drawn together

/// The inputs of the linear mean.
std::vector<std::size_t> mean_inputs(const GpPoints& points, GpMean mean) {
  std::vector<std::size_t> inputs;
  for (std::size_t d = 0; d < static_cast<std::size_t>(points.dims); ++d)
    if (mean == GpMean::linear || (mean == GpMean::constant && !points.in_mean.empty() && points.in_mean[d]))
      inputs.push_back(d);
  return inputs;
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
}

/// The groups of the inputs, or one for each.
std::vector<std::size_t> groups_or_own(const GpPoints& points) {
  if (!points.group_of.empty()) return points.group_of;
  std::vector<std::size_t> own(static_cast<std::size_t>(points.dims));
  std::iota(own.begin(), own.end(), std::size_t{0});
  return own;
}

}  // namespace

/// A context that targets are predicted from: all points, or the nearest ones.
struct GpContext {
  GpBlock block;
  SymmetricFactor factor;
  std::vector<double> white;        // L⁻¹ (y − H β)
  std::vector<double> white_trend;  // L⁻¹ H, (n, P)
};

struct GaussianProcess::State {
  GpOptions options;
  std::vector<std::size_t> group_of, in_mean;
  bool has_mean = true;
  GpScaling scaling;
  GpBlock all;  // scaled
  GpCovariance covariance;
  double noise = 0;  // scaled
  GpFit found{};
  std::vector<double> beta{};                 // (P), scaled
  std::optional<SymmetricFactor> of_trend{};  // Hᵀ K⁻¹ H
  std::optional<GpContext> whole{};           // of an exact process
  std::vector<double> near_x{};               // inputs in lengthscales, (n, D)
  std::optional<NeighbourTree> tree{};

  std::size_t dims() const { return group_of.size(); }
  std::size_t width() const { return has_mean ? in_mean.size() + 1 : 0; }
  bool exact() const { return std::ssize(all.y) <= options.largest_exact; }

  /// (m, P), of scaled inputs.
  std::vector<double> trend(std::span<const double> x) const {
    std::vector<double> h;
    for (std::size_t i = 0; has_mean && i < x.size() / dims(); ++i) {
      h.push_back(1);
      for (const std::size_t d : in_mean) h.push_back(x[i * dims() + d]);
    }
    return h;
  }

  /// Scales inputs (n, D) by lengthscales, so that neighbours are points that the kernel correlates.
  std::vector<double> in_lengthscales(std::span<const double> x) const {
    const std::vector<double> lengths = covariance.shortest();
    std::vector<double> places(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      if (const std::size_t group = group_of[i % dims()]; group != kMeanOnly) places[i] = x[i] / lengths[group];
    return places;
  }

  GpContext context(GpBlock block) const {
    std::vector<double> k = covariance.between(block.x, block.x);
    const std::size_t n = block.size();
    for (std::size_t i = 0; i < n; ++i) k[i * n + i] += noise * noise;
    GpContext c{std::move(block), SymmetricFactor(std::move(k), static_cast<std::int64_t>(n)), {}, {}};
    c.white = c.block.y;
    c.white_trend = c.block.trend;
    c.factor.solve_lower(c.white);
    c.factor.solve_lower(c.white_trend);
    return c;
  }

  static std::unique_ptr<State> of(const GpPoints& points, const GpOptions& options, GpKernel kernel);
  std::vector<GpBlock> choose_mean(std::vector<GpBlock> blocks);
  void settle(GpCovariance fitted, std::span<const double> values, const std::vector<GpBlock>& blocks);
  std::vector<double> values_of(const GpCovariance& of, std::span<const double> logs) const;
  void estimate_trend(const std::vector<GpBlock>& blocks);
  void describe();
  GpContext nearest_context(const double* target) const;
  std::vector<double> explained(const GpContext& c, std::span<const double> x) const;
  std::vector<double> open_trend(const GpContext& c, std::span<const double> h, std::span<const double> v) const;
  void at(const GpContext& c, std::span<const double> x, std::span<double> mean, std::span<double> variance) const;
  std::vector<double> joint(std::span<const double> x) const;
};

/// Hyper-parameters in the units of the data, from the logarithms of scaled ones.
std::vector<double> GaussianProcess::State::values_of(const GpCovariance& of, std::span<const double> logs) const {
  std::vector<double> values;
  for (std::size_t k = 0; k < logs.size(); ++k)
    values.push_back(std::exp(logs[k]) * scaling.unit(of.parameters()[k], group_of));
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
    logs.push_back(std::log(values[k] / scaling.unit(p, group_of)));
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
  } else {
    near_x = in_lengthscales(all.x);
    tree.emplace(near_x, dims());
  }
  describe();
}

/// Sums Hᵀ K⁻¹ H and Hᵀ K⁻¹ y over blocks: all points of an exact process, and those of the fit else.
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
  of_trend.emplace(std::move(a), static_cast<std::int64_t>(p));
  of_trend->solve_lower(beta);
  of_trend->solve_upper(beta);
}

void GaussianProcess::State::describe() {
  if (!of_trend) return;
  const std::vector<double> cov = of_trend->inverse();
  for (std::size_t k = 1; k < width(); ++k) {
    const double unit = scaling.scale / scaling.extent[in_mean[k - 1]];
    found.slopes.push_back({in_mean[k - 1], unit * beta[k], unit * std::sqrt(cov[k * width() + k])});
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

GaussianProcess::GaussianProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}
GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess::~GaussianProcess() = default;

/// The process of these points, scaled, without hyper-parameters.
std::unique_ptr<GaussianProcess::State> GaussianProcess::State::of(const GpPoints& points, const GpOptions& options,
                                                                   GpKernel kernel) {
  check_gp_points(points);
  const std::vector<std::size_t> group_of = groups_or_own(points);
  GpScaling scaling = gp_scaling(points.x, points.y, group_of, options.usual_mean, options.usual_std);
  if (options.mean == GpMean::zero) scaling.shift = 0;
  return std::make_unique<State>(State{.options = options,
                                       .group_of = group_of,
                                       .in_mean = mean_inputs(points, options.mean),
                                       .has_mean = options.mean != GpMean::zero && !points.y.empty(),
                                       .scaling = scaling,
                                       .all = {scaling.inputs(points.x), scaling.values(points.y)},
                                       .covariance = GpCovariance(std::move(kernel), group_of)});
}

/// Blocks with trends, after inputs were dropped from the mean that the blocks' points do not tell from others.
std::vector<GpBlock> GaussianProcess::State::choose_mean(std::vector<GpBlock> blocks) {
  GpBlock together;
  for (const GpBlock& block : blocks) {
    together.x.insert(together.x.end(), block.x.begin(), block.x.end());
    together.y.insert(together.y.end(), block.y.begin(), block.y.end());
  }
  std::vector<std::size_t> kept;
  for (const std::size_t column : independent_columns(trend(together.x), together.size()))
    if (column > 0) kept.push_back(in_mean[column - 1]);
  in_mean = std::move(kept);
  all.trend = trend(all.x);
  for (GpBlock& block : blocks) block.trend = trend(block.x);
  return blocks;
}

GaussianProcess GaussianProcess::fit(const GpPoints& points, const GpOptions& options) {
  return with_errors([&] {
    auto state = State::of(points, options, GpKernel::parse(options.kernel == "auto" ? "matern-3/2" : options.kernel));
    State& s = *state;
    const std::vector<GpBlock> blocks = s.choose_mean(fit_blocks(s.all, s.dims()));
    if (s.all.size() < kFewest) {
      std::vector<double> logs;
      for (const LogNormal& prior : weak_priors(s.covariance)) logs.push_back(prior.center);
      s.settle(s.covariance, s.values_of(s.covariance, logs), blocks);
      return GaussianProcess(std::move(state));
    }
    GpSearchResult search = search_hyperparameters(blocks, s.group_of, options.kernel);
    s.found.log_density = search.log_density;
    s.found.fitted_points = search.fitted_points;
    const GpCovariance fitted(search.kernel, s.group_of);
    s.settle(fitted, s.values_of(fitted, search.logs), s.exact() ? std::vector{s.all} : blocks);
    return GaussianProcess(std::move(state));
  });
}

GaussianProcess GaussianProcess::with(const GpPoints& points, std::span<const double> values,
                                      const GpOptions& options) {
  return with_errors([&] {
    for (const double value : values)
      check(std::isfinite(value) && value > 0, "[gp] the hyper-parameter {} found, expected a positive number", value);
    auto state = State::of(points, options, GpKernel::parse(options.kernel));
    State& s = *state;
    const std::vector<GpBlock> blocks = s.choose_mean(fit_blocks(s.all, s.dims()));
    s.settle(s.covariance, values, s.exact() ? std::vector{s.all} : blocks);
    return GaussianProcess(std::move(state));
  });
}

const GpFit& GaussianProcess::found() const { return state_->found; }
bool GaussianProcess::exact() const { return state_->exact(); }
bool GaussianProcess::draws_jointly(std::int64_t targets) const { return exact() && targets <= kMostJoint; }

GpFigures GaussianProcess::predict(std::span<const double> targets) const {
  return with_errors([&] {
    const State& s = *state_;
    const std::vector<double> x = s.scaling.inputs(targets);
    const std::size_t dims = s.dims(), m = x.size() / dims;
    GpFigures figures{std::vector<double>(m), std::vector<double>(m)};
    const GpContext empty{{}, SymmetricFactor({}, 0), {}, {}};
    const auto some = [&](const GpContext& c, std::size_t first, std::size_t count) {
      s.at(c, std::span(x).subspan(first * dims, count * dims), std::span(figures.mean).subspan(first, count),
           std::span(figures.std).subspan(first, count));
    };
    thread_pool().for_range(static_cast<std::int64_t>(m), kTargetsTogether, [&](std::int64_t begin, std::int64_t end) {
      throw_if_stopped();
      const auto first = static_cast<std::size_t>(begin), last = static_cast<std::size_t>(end);
      if (s.exact()) return some(s.whole ? *s.whole : empty, first, last - first);
      for (std::size_t i = first; i < last; ++i) some(s.nearest_context(&x[i * dims]), i, 1);
    });
    for (double& mean : figures.mean) mean = s.scaling.shift + s.scaling.scale * mean;
    for (double& std : figures.std) std = s.scaling.scale * std::sqrt(std);
    return figures;
  });
}

std::vector<double> GaussianProcess::covariance(std::span<const double> targets) const {
  return with_errors([&] {
    check(exact(), "[gp] {} points found for a covariance of targets, expected at most {}", state_->all.size(),
          state_->options.largest_exact);
    std::vector<double> cov = state_->joint(state_->scaling.inputs(targets));
    const std::size_t m = targets.size() / state_->dims();
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        cov[i * m + j] = cov[j * m + i] = cov[i * m + j] * state_->scaling.scale * state_->scaling.scale;
    return cov;
  });
}

std::vector<double> GaussianProcess::sample(std::span<const double> targets, std::int64_t count, Random& random) const {
  return with_errors([&] {
    const GpFigures figures = predict(targets);
    const std::size_t m = figures.mean.size(), draws = static_cast<std::size_t>(count);
    std::vector<double> samples(m * draws);
    if (!draws_jointly(static_cast<std::int64_t>(m))) {
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t k = 0; k < draws; ++k)
          samples[i * draws + k] = figures.mean[i] + figures.std[i] * random.normal();
      return samples;
    }
    std::vector<double> cov = covariance(targets);
    for (std::size_t i = 0; i < m; ++i) cov[i * m + i] *= 1 + 1e-9;
    const SymmetricFactor factor(std::move(cov), static_cast<std::int64_t>(m));
    std::vector<double> z(m);
    for (std::size_t k = 0; k < draws; ++k) {
      throw_if_stopped();
      random.fill_normal(z);
      const std::vector<double> drawn = factor.multiply(z);
      for (std::size_t i = 0; i < m; ++i) samples[i * draws + k] = figures.mean[i] + drawn[i];
    }
    return samples;
  });
}

}  // namespace npzoo
