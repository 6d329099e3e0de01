#include "npzoo/models/applications/optimise/gp_surrogate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "npzoo/datasets/symmetric_factor.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/models/applications/gaussian_process/gp_fit.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostFitted = 256;
constexpr std::size_t kPointsTogether = 64;  // of a task, which share a triangular solve
/// Noise of standardised values: an objective is computed, or it is measured.
const LogNormal kLittleNoise{std::log(1e-3), 2, std::log(1e-5), 0}, kMuchNoise{std::log(0.3), 1, std::log(1e-5), 0};
constexpr double kClearGain = 2;  // nats that much noise must explain more

/// The factor that is fitted for a kernel without a period; none for others.
std::optional<GpFactor> factor_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::rbf: return GpFactor::rbf;
    case KernelKind::matern32: return GpFactor::matern32;
    case KernelKind::matern52: return GpFactor::matern52;
    default: return {};
  }
}

CorrelationSlope slope_of(const GpHyperparameters& h, double square) {
  const double r = std::sqrt(square);
  switch (h.kind) {
    case KernelKind::rbf:
    case KernelKind::matern32:
    case KernelKind::matern52: return correlation_slope(*factor_of(h.kind), square);
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

/// The distance of two points along input `d`.
double distance(const GpHyperparameters& h, std::size_t d, const double* a, const double* b) {
  if (!h.is_category(d)) return a[d] - b[d];
  return category_at(a[d], h.categories[d]) == category_at(b[d], h.categories[d]) ? 0 : 1;
}

double scaled_square(const GpHyperparameters& h, const double* a, const double* b) {
  double sum = 0;
  for (std::size_t d = 0; d < h.lengthscales.size(); ++d) {
    const double off = distance(h, d, a, b) / h.lengthscales[d];
    sum += off * off;
  }
  return sum;
}

/// Inputs of which categories are columns of their own that share a lengthscale.
struct OneHotInputs {
  std::vector<double> x;
  std::vector<std::size_t> groups;  // of each column
};

OneHotInputs one_hot(const GpHyperparameters& h, std::span<const double> x) {
  const double chosen = 1 / std::numbers::sqrt2;  // two different categories are 1 apart
  const std::size_t dims = h.lengthscales.size();
  OneHotInputs inputs;
  for (std::size_t d = 0; d < dims; ++d)
    inputs.groups.insert(inputs.groups.end(),
                         h.is_category(d) ? static_cast<std::size_t>(h.categories[d]) : std::size_t{1}, d);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t d = i % dims;
    if (!h.is_category(d)) {
      inputs.x.push_back(x[i]);
      continue;
    }
    const std::int64_t category = category_at(x[i], h.categories[d]);
    for (std::int64_t c = 0; c < h.categories[d]; ++c) inputs.x.push_back(c == category ? chosen : 0);
  }
  return inputs;
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

/// Priors of the scale and the lengthscales.
std::vector<LogNormal> priors_of(std::size_t dims) {
  std::vector<LogNormal> priors{{0, 1, std::log(0.05), std::log(20.0)}};
  priors.resize(dims + 1,
                {std::log(0.4) + 0.25 * std::log(static_cast<double>(dims)), 1, std::log(0.01), std::log(20.0)});
  return priors;
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

bool can_be_fitted(KernelKind kind) { return factor_of(kind).has_value(); }

GpHyperparameters fit_gp(const GpHyperparameters& start, std::span<const double> x, std::span<const double> y) {
  const std::optional<GpFactor> factor = factor_of(start.kind);
  check(factor.has_value(), "[gp] the kernel {} found, expected rbf, matern32 or matern52", to_string(start.kind));
  const std::size_t dims = start.lengthscales.size();
  GpBlock some{{x.begin(), x.end()}, {y.begin(), y.end()}};
  thin(static_cast<std::int64_t>(dims), some.x, some.y);
  OneHotInputs inputs = one_hot(start, some.x);
  some.x = std::move(inputs.x);
  const GpCovariance covariance({{{*factor}}}, std::move(inputs.groups));
  const auto climb = [&](const LogNormal& noise) {
    std::vector<LogNormal> priors = priors_of(dims);
    priors.push_back(noise);
    std::vector<double> logs;
    for (const LogNormal& p : priors) logs.push_back(p.center);
    return climb_evidence([&](std::span<const double> at) { return log_evidence(covariance, at, some); }, priors, logs,
                          {});
  };
  GpOptimum best = climb(kLittleNoise);
  // Noise may explain values that a rough function explains as well.
  if (GpOptimum noisy = climb(kMuchNoise); noisy.log_density > best.log_density + kClearGain) best = std::move(noisy);
  GpHyperparameters fitted = start;
  fitted.scale = std::exp(best.logs[0]);
  for (std::size_t d = 0; d < dims; ++d) fitted.lengthscales[d] = std::exp(best.logs[d + 1]);
  fitted.noise = std::exp(best.logs.back());
  return fitted;
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
          if (hyperparameters.is_category(d)) continue;
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

GpSurrogate::GpSurrogate(std::int64_t tasks, std::int64_t dims, KernelKind kind, std::vector<std::int64_t> categories)
    : dims_(dims), fitted_(true) {
  GpHyperparameters start{.kind = kind,
                          .lengthscales = std::vector<double>(static_cast<std::size_t>(dims), 0.4),
                          .categories = std::move(categories)};
  processes_.resize(static_cast<std::size_t>(tasks), Process{.hyperparameters = std::move(start)});
}

GpSurrogate::~GpSurrogate() = default;

double GpSurrogate::noise() const {
  double most = 0;
  for (const Process& p : processes_)
    if (p.learned) most = std::max(most, p.hyperparameters.noise);
  return most;
}

std::int64_t GpSurrogate::tasks() const { return std::ssize(processes_); }

void GpSurrogate::observe(std::span<const double> x, std::span<const double> y) {
  const auto dims = static_cast<std::size_t>(dims_), each = y.size() / processes_.size();
  check(y.size() % processes_.size() == 0 && x.size() == y.size() * dims,
        "[gp] {} inputs and {} values of {} tasks, expected {} inputs for each value", x.size(), y.size(),
        processes_.size(), dims);
  std::vector<Process> grown = processes_;  // a stop leaves those that are there
  for (std::size_t b = 0; b < grown.size(); ++b) {
    Process& p = grown[b];
    std::ranges::copy(x.subspan(b * each * dims, each * dims), std::back_inserter(p.x));
    std::ranges::copy(y.subspan(b * each, each), std::back_inserter(p.y));
    if (!fitted_ || p.learned) p.condition();
  }
  processes_ = std::move(grown);
}

void GpSurrogate::learn() {
  if (!fitted_) return;
  std::vector<Process> learned = processes_;
  thread_pool().for_range(tasks(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b)
      if (Process& p = learned[static_cast<std::size_t>(b)]; !p.y.empty()) p.learn();
  });
  processes_ = std::move(learned);
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
