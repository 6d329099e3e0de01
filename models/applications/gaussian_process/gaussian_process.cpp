#include "npzoo/models/applications/gaussian_process/gaussian_process.h"

#include <cmath>
#include <utility>

#include "npzoo/engine/boundary.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/checked_product.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/models/applications/gaussian_process/gp_search.h"
#include "npzoo/models/applications/gaussian_process/gp_state.h"

namespace npzoo {

namespace {

constexpr std::size_t kFewest = 3;             // points that hyper-parameters are fitted to
constexpr std::int64_t kTargetsTogether = 64;  // that share a triangular solve
constexpr std::int64_t kMostJoint = 2000;      // targets drawn together

/// Calls `work` with parts of `count` targets, on the threads of the pool.
template <class Work>
void for_targets(std::size_t count, const Work& work) {
  thread_pool().for_range(static_cast<std::int64_t>(count), kTargetsTogether,
                          [&](std::int64_t begin, std::int64_t end) {
                            throw_if_stopped();
                            work(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
                          });
}

}  // namespace

GaussianProcess::GaussianProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}
GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess::~GaussianProcess() = default;

GaussianProcess GaussianProcess::fit(const GpPoints& points, const GpOptions& options) {
  return with_errors([&] {
    auto state = State::of(points, options, GpKernel::parse(options.kernel == "auto" ? "matern-3/2" : options.kernel));
    State& s = *state;
    const std::vector<GpBlock> blocks = s.blocks_with_trends();
    if (s.all.size() < kFewest) {
      std::vector<double> logs;
      for (const LogNormal& prior : weak_priors(s.covariance)) logs.push_back(prior.center);
      s.settle(s.covariance, s.values_of(s.covariance, logs), blocks);
      return GaussianProcess(std::move(state));
    }
    GpSearchResult search = search_hyperparameters(blocks, s.group_of, s.slope_of, options.kernel);
    s.found.log_density = search.log_density;
    s.found.fitted_points = search.fitted_points;
    const GpCovariance fitted(search.kernel, s.group_of, s.slope_of);
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
    const std::vector<GpBlock> blocks = s.blocks_with_trends();
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
    for_targets(m, [&](std::size_t first, std::size_t last) {
      if (s.exact()) return some(s.whole ? *s.whole : empty, first, last - first);
      for (std::size_t i = first; i < last; ++i) some(s.nearest_context(&x[i * dims]), i, 1);
    });
    for (double& mean : figures.mean) mean = s.scaling.shift + s.scaling.scale * mean;
    for (double& std : figures.std) std = s.scaling.scale * std::sqrt(std);
    return figures;
  });
}

std::vector<double> GaussianProcess::slope_errors(std::span<const double> targets) const {
  return with_errors([&] {
    const State& s = *state_;
    const std::vector<double> x = s.scaling.inputs(targets);
    const std::size_t dims = s.dims(), m = x.size() / dims, slopes = s.found.slopes.size();
    std::vector<double> errors(checked_product(m, slopes));
    if (slopes == 0) return errors;
    const double scale = s.scaling.scale * s.small_sample_factor();
    const auto some = [&](const GpContext& c, std::size_t first, std::size_t count) {
      const std::span<const double> at = std::span(x).subspan(first * dims, count * dims);
      const std::vector<double> open = s.open_trend(c, s.trend(at), s.explained(c, at));
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t k = 0; k < slopes; ++k) errors[(first + i) * slopes + k] = scale * open[(k + 1) * count + i];
    };
    for_targets(m, [&](std::size_t first, std::size_t last) {
      if (!s.tree) return some(*s.whole, first, last - first);
      for (std::size_t i = first; i < last; ++i) some(s.nearest_context(&x[i * dims]), i, 1);
    });
    return errors;
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
    std::vector<double> samples(checked_product(m, draws));
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
