#include "npzoo/models/applications/optimise/gp_surrogate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include "npzoo/datasets/symmetric_factor.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostFitted = 256;
constexpr int kFitSteps = 60;
constexpr std::size_t kPointsTogether = 64;  // of a task, which share a triangular solve

/// Correlation and its derivative with respect to the squared distance, in lengthscales.
struct Slope {
  double value, d_square;
};

Slope slope_of(const GpHyperparameters& h, double square) {
  const double r = std::sqrt(square);
  switch (h.kind) {
    case KernelKind::rbf: {
      const double e = std::exp(-0.5 * square);
      return {e, -0.5 * e};
    }
    case KernelKind::matern32: {
      const double e = std::exp(-std::sqrt(3.0) * r);
      return {(1 + std::sqrt(3.0) * r) * e, -1.5 * e};
    }
    case KernelKind::matern52: {
      const double s = std::sqrt(5.0) * r, e = std::exp(-s);
      return {(1 + s + s * s / 3) * e, -5.0 / 6 * (1 + s) * e};
    }
    case KernelKind::periodic: {
      const double l = h.lengthscales[0], w = std::numbers::pi * l / h.period, sine = std::sin(w * r);
      const double e = std::exp(-2 * sine * sine / (l * l));
      const double turn = r > 1e-9 ? std::sin(2 * w * r) / (2 * r) : w;
      return {e, -2 / (l * l) * w * turn * e};
    }
    case KernelKind::weakly_periodic: {
      const double l = h.lengthscales[0], w = std::numbers::pi * l / h.period, sine = std::sin(w * r);
      const double e = std::exp(-0.5 * square - 2 * sine * sine);
      const double turn = r > 1e-9 ? std::sin(2 * w * r) / (2 * r) : w;
      return {e, (-0.5 - 2 * w * turn) * e};
    }
    case KernelKind::rbf_mixture: {
      const double shrunk = 1 / (h.second * h.second), e = std::exp(-0.5 * square);
      const double second = std::exp(-0.5 * shrunk * square);
      return {0.5 * (e + second), -0.25 * (e + shrunk * second)};
    }
  }
  return {};
}

double scaled_square(const GpHyperparameters& h, const double* a, const double* b) {
  double sum = 0;
  for (std::size_t d = 0; d < h.lengthscales.size(); ++d) {
    const double off = (a[d] - b[d]) / h.lengthscales[d];
    sum += off * off;
  }
  return sum;
}

/// (n, m)
std::vector<double> covariance_of(const GpHyperparameters& h, std::span<const double> a, std::span<const double> b) {
  const std::size_t dims = h.lengthscales.size(), n = a.size() / dims, m = b.size() / dims;
  std::vector<double> k(n * m);
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0 && i % 64 == 0) throw_if_stopped();
    for (std::size_t j = 0; j < m; ++j)
      k[i * m + j] = h.scale * h.scale * slope_of(h, scaled_square(h, &a[i * dims], &b[j * dims])).value;
  }
  return k;
}

SymmetricFactor factor_of(const GpHyperparameters& h, std::span<const double> x) {
  std::vector<double> k = covariance_of(h, x, x);
  const std::size_t n = x.size() / h.lengthscales.size();
  for (std::size_t i = 0; i < n; ++i) k[i * n + i] += h.noise * h.noise;
  return {std::move(k), static_cast<std::int64_t>(n)};
}

/// What a fit moves, in logarithms.
struct LogNormal {
  double center, width, low, high;
};

std::vector<LogNormal> priors_of(std::size_t dims) {
  std::vector<LogNormal> priors(
      dims, {std::log(0.4) + 0.25 * std::log(static_cast<double>(dims)), 1, std::log(0.01), std::log(20.0)});
  priors.push_back({0, 1, std::log(0.05), std::log(20.0)});
  priors.push_back({std::log(1e-3), 2, std::log(1e-5), 0});
  return priors;
}

GpHyperparameters with_logs(GpHyperparameters h, const std::vector<double>& logs) {
  for (std::size_t d = 0; d < h.lengthscales.size(); ++d) h.lengthscales[d] = std::exp(logs[d]);
  h.scale = std::exp(logs[logs.size() - 2]);
  h.noise = std::exp(logs.back());
  return h;
}

/// Rows that are spread over all, as many as a fit looks at.
void thin(std::int64_t dims, std::vector<double>& x, std::vector<double>& y) {
  const auto n = static_cast<std::int64_t>(y.size());
  if (n <= kMostFitted) return;
  for (std::int64_t i = 0; i < kMostFitted; ++i) {
    const std::int64_t from = i * n / kMostFitted;
    y[static_cast<std::size_t>(i)] = y[static_cast<std::size_t>(from)];
    std::copy_n(&x[static_cast<std::size_t>(from * dims)], dims, &x[static_cast<std::size_t>(i * dims)]);
  }
  y.resize(kMostFitted);
  x.resize(static_cast<std::size_t>(kMostFitted * dims));
}

}  // namespace

GpEvidence log_evidence(const GpHyperparameters& h, std::span<const double> x, std::span<const double> y) {
  check(h.kind != KernelKind::periodic && h.kind != KernelKind::weakly_periodic,
        "[gp] the evidence of a periodic kernel asked for, expected another kernel");
  const std::size_t dims = h.lengthscales.size(), n = y.size();
  const SymmetricFactor factor = factor_of(h, x);
  std::vector<double> white(y.begin(), y.end());
  factor.solve_lower(white);
  std::vector<double> alpha = white;
  factor.solve_upper(alpha);
  GpEvidence evidence{0, std::vector<double>(dims + 2)};
  const double square = std::inner_product(white.begin(), white.end(), white.begin(), 0.0);
  evidence.log_density =
      -0.5 * (square + factor.log_determinant() + static_cast<double>(n) * std::log(2 * std::numbers::pi));
  const std::vector<double> precision = factor.inverse();
  const double variance = h.scale * h.scale;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double weight = (i == j ? 0.5 : 1.0) * (alpha[i] * alpha[j] - precision[i * n + j]);
      const Slope slope = slope_of(h, scaled_square(h, &x[i * dims], &x[j * dims]));
      for (std::size_t d = 0; d < dims; ++d) {
        const double off = (x[i * dims + d] - x[j * dims + d]) / h.lengthscales[d];
        evidence.d_log[d] -= weight * variance * slope.d_square * 2 * off * off;
      }
      evidence.d_log[dims] += weight * 2 * variance * slope.value;
      if (i == j) evidence.d_log[dims + 1] += weight * 2 * h.noise * h.noise;
    }
  return evidence;
}

GpHyperparameters fit_gp(const GpHyperparameters& start, std::span<const double> x, std::span<const double> y) {
  const std::size_t dims = start.lengthscales.size();
  std::vector<double> some_x(x.begin(), x.end()), some_y(y.begin(), y.end());
  thin(static_cast<std::int64_t>(dims), some_x, some_y);
  const std::vector<LogNormal> priors = priors_of(dims);
  std::vector<double> logs;
  for (const LogNormal& p : priors) logs.push_back(p.center);
  std::vector<double> best = logs, step(logs.size(), 0.2), before(logs.size());
  double highest = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < kFitSteps; ++i) {
    throw_if_stopped();
    GpEvidence e = log_evidence(with_logs(start, logs), some_x, some_y);
    for (std::size_t k = 0; k < logs.size(); ++k) {
      const double off = (logs[k] - priors[k].center) / priors[k].width;
      e.log_density -= 0.5 * off * off;
      e.d_log[k] -= off / priors[k].width;
    }
    if (e.log_density > highest) {
      highest = e.log_density;
      best = logs;
    }
    for (std::size_t k = 0; k < logs.size(); ++k) {
      const double turn = e.d_log[k] * before[k];
      step[k] = turn > 0 ? std::min(1.0, 1.2 * step[k]) : turn < 0 ? std::max(1e-4, 0.5 * step[k]) : step[k];
      before[k] = turn < 0 ? 0 : e.d_log[k];
      const double move = before[k] > 0 ? step[k] : before[k] < 0 ? -step[k] : 0;
      logs[k] = std::clamp(logs[k] + move, priors[k].low, priors[k].high);
    }
  }
  return with_logs(start, best);
}

struct GpSurrogate::Process {
  GpHyperparameters hyperparameters;
  double shift = 0, scale = 1;  // of values
  bool learned = false;
  std::vector<double> x{}, y{};
  std::optional<SymmetricFactor> factor{};  // of the covariance of observed values
  std::vector<double> white{}, alpha{};     // L⁻¹ y, K⁻¹ y

  std::size_t dims() const { return hyperparameters.lengthscales.size(); }

  std::vector<double> standard() const {
    std::vector<double> values;
    for (const double value : y) values.push_back((value - shift) / scale);
    return values;
  }

  void condition() {
    factor = factor_of(hyperparameters, x);
    white = standard();
    factor->solve_lower(white);
    alpha = white;
    factor->solve_upper(alpha);
  }

  void standardise() {
    double sum = 0, squares = 0;
    for (const double value : y) sum += value;
    shift = y.empty() ? 0 : sum / static_cast<double>(y.size());
    for (const double value : y) squares += (value - shift) * (value - shift);
    const double std = y.empty() ? 0 : std::sqrt(squares / static_cast<double>(y.size()));
    scale = std > 0 ? std : 1;
  }

  void learn() {
    standardise();
    hyperparameters = fit_gp(hyperparameters, x, standard());
    learned = true;
    condition();
  }

  /// V = L⁻¹ K(x, points), (n, N).
  std::vector<double> explained(std::span<const double> points) const {
    std::vector<double> v = covariance_of(hyperparameters, x, points);
    if (factor) factor->solve_lower(v);
    return v;
  }

  /// Vᵀ L⁻¹ y, (N).
  std::vector<double> means(std::span<const double> v, std::size_t count) const {
    std::vector<double> mean(count);
    for (std::size_t k = 0; k < y.size(); ++k)
      for (std::size_t i = 0; i < count; ++i) mean[i] += v[k * count + i] * white[k];
    return mean;
  }

  /// Predicts at points (N, D), in units of the values. Writes the gradients `d_mean` and `d_std` (N, D) unless they
  /// are empty.
  void at(std::span<const double> points, std::span<double> mean, std::span<double> std, std::span<double> d_mean,
          std::span<double> d_std) const {
    const std::size_t count = mean.size(), n = y.size();
    const double prior = hyperparameters.scale * hyperparameters.scale, least = 1e-12 * prior;
    std::vector<double> v = explained(points), variance(count, prior);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = 0; i < count; ++i) variance[i] -= v[k * count + i] * v[k * count + i];
    const std::vector<double> standard_mean = means(v, count);
    for (std::size_t i = 0; i < count; ++i) {
      mean[i] = shift + scale * standard_mean[i];
      std[i] = scale * std::sqrt(std::max(variance[i], least));
    }
    if (d_mean.empty()) return;
    if (factor) factor->solve_upper(v);  // K⁻¹ K(x, points)
    std::ranges::fill(d_mean, 0.0);
    std::ranges::fill(d_std, 0.0);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = 0; i < count; ++i) {
        const double* const point = &points[i * dims()];
        const double* const seen = &x[k * dims()];
        const double slope = prior * slope_of(hyperparameters, scaled_square(hyperparameters, point, seen)).d_square;
        for (std::size_t d = 0; d < dims(); ++d) {
          const double l = hyperparameters.lengthscales[d], d_k = 2 * slope * (point[d] - seen[d]) / (l * l);
          d_mean[i * dims() + d] += scale * d_k * alpha[k];
          if (variance[i] > least) d_std[i * dims() + d] -= scale * scale * d_k * v[k * count + i] / std[i];
        }
      }
  }
};

GpSurrogate::GpSurrogate(std::vector<GpHyperparameters> known) : dims_(0), fitted_(false) {
  check(!known.empty(), "[gp] no tasks, expected one or more");
  dims_ = std::ssize(known.front().lengthscales);
  for (GpHyperparameters& h : known) processes_.push_back({.hyperparameters = std::move(h)});
}

GpSurrogate::GpSurrogate(std::int64_t tasks, std::int64_t dims, KernelKind kind) : dims_(dims), fitted_(true) {
  GpHyperparameters start{.kind = kind, .lengthscales = std::vector<double>(static_cast<std::size_t>(dims), 0.4)};
  processes_.resize(static_cast<std::size_t>(tasks), Process{.hyperparameters = std::move(start)});
}

GpSurrogate::~GpSurrogate() = default;

std::int64_t GpSurrogate::tasks() const { return std::ssize(processes_); }

void GpSurrogate::observe(std::span<const double> x, std::span<const double> y) {
  const auto dims = static_cast<std::size_t>(dims_), each = y.size() / processes_.size();
  check(y.size() % processes_.size() == 0 && x.size() == y.size() * dims,
        "[gp] {} inputs and {} values of {} tasks, expected {} inputs for each value", x.size(), y.size(),
        processes_.size(), dims);
  for (std::size_t b = 0; b < processes_.size(); ++b) {
    Process& p = processes_[b];
    std::ranges::copy(x.subspan(b * each * dims, each * dims), std::back_inserter(p.x));
    std::ranges::copy(y.subspan(b * each, each), std::back_inserter(p.y));
    if (!fitted_ || p.learned) p.condition();
  }
}

void GpSurrogate::learn() {
  if (!fitted_) return;
  thread_pool().for_range(tasks(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b)
      if (Process& p = processes_[static_cast<std::size_t>(b)]; !p.y.empty()) p.learn();
  });
}

Belief GpSurrogate::believe(std::span<const double> x) const {
  const std::size_t all = x.size() / static_cast<std::size_t>(dims_);
  Belief belief{1, std::vector<double>(all), std::vector<double>(all)};
  describe(x, belief, {}, {});
  return belief;
}

Judged GpSurrogate::judge(std::span<const double> x, const Judge& judge) const {
  const auto dims = static_cast<std::size_t>(dims_), all = x.size() / dims;
  Belief belief{1, std::vector<double>(all), std::vector<double>(all)};
  std::vector<double> d_mean(x.size()), d_std(x.size());
  describe(x, belief, d_mean, d_std);
  BeliefSlopes slopes;
  Judged judged{judge(belief, &slopes), std::vector<double>(x.size())};
  for (std::size_t i = 0; i < x.size(); ++i)
    judged.d_x[i] = slopes.mean[i / dims] * d_mean[i] + slopes.std[i / dims] * d_std[i];
  return judged;
}

void GpSurrogate::describe(std::span<const double> x, Belief& belief, std::span<double> d_mean,
                           std::span<double> d_std) const {
  const auto dims = static_cast<std::size_t>(dims_), each = belief.mean.size() / processes_.size();
  const std::size_t chunks = (each + kPointsTogether - 1) / kPointsTogether;
  thread_pool().for_range(
      std::ssize(processes_) * static_cast<std::int64_t>(chunks), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          throw_if_stopped();
          const std::size_t task = static_cast<std::size_t>(i) / chunks,
                            first = static_cast<std::size_t>(i) % chunks * kPointsTogether,
                            count = std::min(kPointsTogether, each - first), at = task * each + first;
          const auto slopes = [&](std::span<double> d) { return d.empty() ? d : d.subspan(at * dims, count * dims); };
          processes_[task].at(x.subspan(at * dims, count * dims), std::span(belief.mean).subspan(at, count),
                              std::span(belief.std).subspan(at, count), slopes(d_mean), slopes(d_std));
        }
      });
}

std::vector<double> GpSurrogate::sample(std::span<const double> x, Draws& draws) const {
  const auto dims = static_cast<std::size_t>(dims_), each = x.size() / dims / processes_.size();
  const Tensor normal = draws.normal(1, tasks(), {static_cast<std::int64_t>(each)}, DType::float64, Device::cpu);
  std::vector<double> values;
  for (std::size_t b = 0; b < processes_.size(); ++b) {
    throw_if_stopped();
    const Process& p = processes_[b];
    const std::span<const double> points = x.subspan(b * each * dims, each * dims);
    const std::vector<double> v = p.explained(points), mean = p.means(v, each);
    std::vector<double> cov = covariance_of(p.hyperparameters, points, points);
    subtract_square(cov, static_cast<std::int64_t>(each), v);
    const double jitter = 1e-8 * p.hyperparameters.scale * p.hyperparameters.scale;
    for (std::size_t i = 0; i < each; ++i) cov[i * each + i] += jitter;
    const SymmetricFactor factor(std::move(cov), static_cast<std::int64_t>(each));
    const std::vector<double> drawn = factor.multiply(normal.values<double>().subspan(b * each, each));
    for (std::size_t i = 0; i < each; ++i) values.push_back(p.shift + p.scale * (mean[i] + drawn[i]));
  }
  return values;
}

}  // namespace npzoo
