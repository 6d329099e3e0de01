#include "npzoo/models/applications/gaussian_process/gp_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>

#include "npzoo/datasets/symmetric_factor.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/checked_product.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"

namespace npzoo {

namespace {

/// Solutions of one block whose coefficients have precisions T⁻¹, with M = K + H T Hᵀ and A = Hᵀ K⁻¹ H + T⁻¹.
struct SolvedBlock {
  std::vector<double> alpha;              // M⁻¹ y = K⁻¹ (y − H β)
  std::vector<double> trend;              // G, (n, P), with K⁻¹ H A⁻¹ Hᵀ K⁻¹ = G Gᵀ
  std::vector<double> beta{}, inverse{};  // (P), and A⁻¹ (P, P)
  double square = 0;                      // yᵀ M⁻¹ y
  double log_determinant = 0;             // of M, with T left out where it is flat
};

SolvedBlock solve_block(const SymmetricFactor& factor, const GpBlock& block, const std::vector<double>& precision) {
  const std::size_t n = block.size(), p = precision.size();
  std::vector<double> white = block.y, h = block.trend;
  factor.solve_lower(white);
  SolvedBlock solved{.alpha = {}, .trend = {}, .log_determinant = factor.log_determinant()};
  if (p > 0) {
    factor.solve_lower(h);  // V = L⁻¹ H
    std::vector<double> a(p * p), b(p);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < p; ++j) {
        for (std::size_t k = 0; k < p; ++k) a[j * p + k] += h[i * p + j] * h[i * p + k];
        b[j] += h[i * p + j] * white[i];
      }
    for (std::size_t j = 0; j < p; ++j) {
      a[j * p + j] += precision[j];
      if (precision[j] > 0) solved.log_determinant -= std::log(precision[j]);
    }
    const SymmetricFactor of_trend(std::move(a), static_cast<std::int64_t>(p));
    solved.log_determinant += of_trend.log_determinant();
    solved.inverse = of_trend.inverse();
    of_trend.solve_lower(b);
    solved.beta = b;
    of_trend.solve_upper(solved.beta);
    for (std::size_t j = 0; j < p; ++j) solved.square += precision[j] * solved.beta[j] * solved.beta[j];
    std::vector<double> turned(p * n);  // R⁻¹ Vᵀ with A = R Rᵀ
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < p; ++j) turned[j * n + i] = h[i * p + j];
    of_trend.solve_lower(turned);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < p; ++j) {
        white[i] -= turned[j * n + i] * b[j];
        h[i * p + j] = turned[j * n + i];
      }
    factor.solve_upper(h);
    solved.trend = std::move(h);
  }
  solved.square += std::inner_product(white.begin(), white.end(), white.begin(), 0.0);
  factor.solve_upper(white);
  solved.alpha = std::move(white);
  return solved;
}

SymmetricFactor factor_of_block(const GpCovariance& covariance, double noise, const GpBlock& block) {
  const std::size_t n = block.size(), dims = covariance.dims();
  std::vector<double> k(checked_product(n, n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) k[i * n + j] = covariance(&block.x[i * dims], &block.x[j * dims]);
    k[i * n + i] += noise * noise;
  }
  return {std::move(k), static_cast<std::int64_t>(n)};
}

/// Adds the derivatives with respect to the logarithms of the slopes' deviations.
void add_slopes_of_deviations(const GpCovariance& covariance, const SolvedBlock& solved,
                              const std::vector<double>& precision, std::vector<double>& d_log) {
  const std::vector<std::size_t> parameters = covariance.slope_parameters();
  const std::size_t p = precision.size(), first = p - parameters.size();
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    const std::size_t j = first + s;
    d_log[parameters[s]] += precision[j] * (solved.beta[j] * solved.beta[j] + solved.inverse[j * p + j]) - 1;
  }
}

}  // namespace

std::vector<double> trend_precisions(const GpCovariance& covariance, std::size_t columns) {
  const std::vector<double> deviations = covariance.slope_deviations();
  std::vector<double> precisions(columns - deviations.size());
  for (const double deviation : deviations) precisions.push_back(1 / (deviation * deviation));
  return precisions;
}

GpEvidence log_evidence(GpCovariance covariance, std::span<const double> logs, const GpBlock& block) {
  covariance.set(logs);
  const std::size_t n = block.size(), dims = covariance.dims(), own = covariance.own_parameters();
  const std::size_t p = block.trend.size() / std::max<std::size_t>(n, 1);
  const std::vector<double> precision = trend_precisions(covariance, p);
  const auto flat = static_cast<std::size_t>(std::ranges::count(precision, 0.0));
  const double noise = std::exp(logs.back());
  const SymmetricFactor factor = factor_of_block(covariance, noise, block);
  const SolvedBlock solved = solve_block(factor, block, precision);
  GpEvidence evidence{0, std::vector<double>(logs.size())};
  evidence.log_density =
      -0.5 * (solved.square + solved.log_determinant + static_cast<double>(n - flat) * std::log(2 * std::numbers::pi));
  add_slopes_of_deviations(covariance, solved, precision, evidence.d_log);
  const std::vector<double> inverse = factor.inverse();
  std::vector<double> slopes(own);
  for (std::size_t i = 0; i < n; ++i) {
    throw_if_stopped();
    for (std::size_t j = 0; j <= i; ++j) {
      double weight = solved.alpha[i] * solved.alpha[j] - inverse[i * n + j];
      for (std::size_t k = 0; k < p; ++k) weight += solved.trend[i * p + k] * solved.trend[j * p + k];
      if (i == j) weight *= 0.5;
      covariance.with_slopes(&block.x[i * dims], &block.x[j * dims], slopes.data());
      for (std::size_t k = 0; k < own; ++k) evidence.d_log[k] += weight * slopes[k];
      if (i == j) evidence.d_log.back() += weight * 2 * noise * noise;
    }
  }
  return evidence;
}

GpEvidence log_evidence(const GpCovariance& covariance, std::span<const double> logs, std::span<const GpBlock> blocks) {
  std::vector<GpEvidence> parts(blocks.size());
  thread_pool().for_range(std::ssize(blocks), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      parts[at] = log_evidence(covariance, logs, blocks[at]);
    }
  });
  GpEvidence sum{0, std::vector<double>(logs.size())};
  for (const GpEvidence& part : parts) {
    sum.log_density += part.log_density;
    for (std::size_t k = 0; k < logs.size(); ++k) sum.d_log[k] += part.d_log[k];
  }
  return sum;
}

namespace {

/// The ascent's place and steps.
class Ascent {
 public:
  Ascent(std::span<const LogNormal> priors, std::vector<double> start, const std::vector<double>& first_steps)
      : priors_(priors), start_(std::move(start)), logs_(start_), first_(first_steps), before_(logs_.size()) {
    if (first_.empty()) first_.assign(logs_.size(), 0.2);
    step_ = first_;
    best_ = {logs_, -std::numeric_limits<double>::infinity()};
  }

  const std::vector<double>& logs() const { return logs_; }
  const GpOptimum& best() const { return best_; }
  bool at_start() const { return best_.logs == start_; }

  void add_priors(GpEvidence& e) const {
    for (std::size_t k = 0; k < logs_.size(); ++k) {
      const double off = (logs_[k] - priors_[k].center) / priors_[k].width;
      e.log_density -= 0.5 * off * off;
      e.d_log[k] -= off / priors_[k].width;
    }
  }

  void move(const GpEvidence& e) {
    if (e.log_density > best_.log_density) best_ = {logs_, e.log_density};
    for (std::size_t k = 0; k < logs_.size(); ++k) {
      const double turn = e.d_log[k] * before_[k];
      step_[k] = turn > 0   ? std::min(kLargest * first_[k], 1.2 * step_[k])
                 : turn < 0 ? std::max(kLeast * first_[k], 0.5 * step_[k])
                            : step_[k];
      before_[k] = turn < 0 ? 0 : e.d_log[k];
      const double by = before_[k] > 0 ? step_[k] : before_[k] < 0 ? -step_[k] : 0;
      logs_[k] = std::clamp(logs_[k] + by, priors_[k].low, priors_[k].high);
    }
  }

  void go_back() {
    logs_ = best_.logs;
    std::ranges::fill(before_, 0.0);
    for (std::size_t k = 0; k < step_.size(); ++k) step_[k] = std::max(kLeast * first_[k], 0.25 * step_[k]);
  }

 private:
  static constexpr double kLargest = 5, kLeast = 5e-4;  // of the first step

  std::span<const LogNormal> priors_;
  std::vector<double> start_, logs_, first_, step_, before_;
  GpOptimum best_;
};

/// Gives all that are tied the sum of their slopes.
void tie(const std::vector<std::size_t>& tied, std::vector<double>& d_log) {
  if (tied.empty()) return;
  std::vector<double> sums(*std::ranges::max_element(tied) + 1);
  for (std::size_t k = 0; k < tied.size(); ++k) sums[tied[k]] += d_log[k];
  for (std::size_t k = 0; k < tied.size(); ++k) d_log[k] = sums[tied[k]];
}

}  // namespace

GpOptimum climb_evidence(const std::function<GpEvidence(std::span<const double> logs)>& evidence,
                         std::span<const LogNormal> priors, std::vector<double> start, const ClimbOptions& options) {
  constexpr int kPatience = 8;
  Ascent ascent(priors, std::move(start), options.first_steps);
  double mark = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < options.steps; ++i) {
    throw_if_stopped();
    GpEvidence e;
    try {
      e = evidence(ascent.logs());
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      if (i == 0) throw;
      ascent.go_back();
      continue;
    }
    ascent.add_priors(e);
    tie(options.tied, e.d_log);
    ascent.move(e);
    if (options.least_gain == 0 || i % kPatience != kPatience - 1) continue;
    if (ascent.best().log_density - mark < options.least_gain) {
      if (!ascent.at_start()) break;
      ascent.go_back();
    }
    mark = ascent.best().log_density;
  }
  return ascent.best();
}

}  // namespace npzoo
