#include "npzoo/datasets/gaussian_processes/posterior.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "npzoo/datasets/scores.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

const double kLogTwoPi = std::log(2 * std::numbers::pi);

std::vector<double> add_to_diagonal(std::vector<double> matrix, std::int64_t n, double value) {
  for (std::int64_t i = 0; i < n; ++i) matrix[i * n + i] += value;
  return matrix;
}

/// log N(y; 0, L Lᵀ), given L⁻¹ y.
double log_density(const SymmetricFactor& factor, std::span<const double> whitened) {
  const double squares = std::inner_product(whitened.begin(), whitened.end(), whitened.begin(), 0.0);
  return -0.5 * (static_cast<double>(whitened.size()) * kLogTwoPi + factor.log_determinant() + squares);
}

class KernelCovariance final : public Covariance {
 public:
  explicit KernelCovariance(const Kernel& kernel) : kernel_(kernel) {}

  std::vector<double> between(Inputs a, Inputs b) const override { return covariance(kernel_, a, b); }
  std::vector<double> of(Inputs a) const override { return covariance(kernel_, a); }
  std::vector<double> variances(Inputs a) const override {
    return std::vector<double>(static_cast<std::size_t>(a.size()), kernel_.variance());
  }

 private:
  Kernel kernel_;
};

void check_values(Inputs x, std::span<const double> y) {
  check(x.size() == static_cast<std::int64_t>(y.size()), "[gp] {} inputs and {} values, expected equal", x.size(),
        y.size());
}

}  // namespace

GpPosterior::GpPosterior(const Kernel& kernel, Inputs xc, std::span<const double> yc, double context_noise)
    : GpPosterior(std::make_shared<KernelCovariance>(kernel), xc, yc, context_noise) {}

GpPosterior::GpPosterior(std::shared_ptr<const Covariance> prior, Inputs xc, std::span<const double> yc,
                         double context_noise)
    : prior_(std::move(prior)),
      xc_(xc.values.begin(), xc.values.end()),
      dims_(xc.dims),
      factor_(add_to_diagonal(prior_->of(xc), xc.size(), context_noise * context_noise), xc.size()),
      whitened_(yc.begin(), yc.end()) {
  check_values(xc, yc);
  factor_.solve_lower(whitened_);
}

/// How the context explains the targets: with V = L⁻¹ K(xc, xt), the mean is Vᵀ L⁻¹ yc and the covariance of the latent
/// function K(xt, xt) − Vᵀ V.
struct GpPosterior::Projection {
  std::vector<double> v;     // (Nc, Nt)
  std::vector<double> mean;  // (Nt)
};

GpPosterior::Projection GpPosterior::project(Inputs xt) const {
  const std::int64_t nt = xt.size();
  Projection p{prior_->between({xc_, dims_}, xt), std::vector<double>(nt)};
  factor_.solve_lower(p.v);
  for (std::int64_t c = 0; c < factor_.size(); ++c)
    for (std::int64_t t = 0; t < nt; ++t) p.mean[t] += p.v[c * nt + t] * whitened_[c];
  return p;
}

double GpPosterior::log_evidence() const { return log_density(factor_, whitened_); }

GpMarginals GpPosterior::marginals(Inputs xt, double target_noise) const {
  const std::int64_t nt = xt.size();
  Projection p = project(xt);
  const std::vector<double> prior_variance = prior_->variances(xt);
  std::vector<double> variance = prior_variance;
  for (double& v : variance) v += target_noise * target_noise;
  for (std::int64_t c = 0; c < factor_.size(); ++c)
    for (std::int64_t t = 0; t < nt; ++t) variance[t] -= p.v[c * nt + t] * p.v[c * nt + t];
  // If a target is known exactly this is 0 but for rounding. There the factor errs by Nc + 1 units of rounding of k(x,
  // x) at most, the solution by twice that and the sum by as much, to first order whatever the condition (Higham,
  // Accuracy and stability of numerical algorithms, theorems 8.5 and 10.3). Smaller values are noise.
  constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
  const double units = 4 * static_cast<double>(factor_.size() + 1) * kUnit;
  for (std::int64_t t = 0; t < nt; ++t) variance[t] = std::max(variance[t], units * prior_variance[t]);
  return {std::move(p.mean), std::move(variance)};
}

std::vector<double> GpPosterior::log_likelihood(Inputs xt, std::span<const double> yt, double target_noise) const {
  check_values(xt, yt);
  const auto [mean, variance] = marginals(xt, target_noise);
  std::vector<double> result(yt.size());
  for (std::size_t t = 0; t < yt.size(); ++t) result[t] = log_normal_density(yt[t], mean[t], variance[t]);
  return result;
}

double GpPosterior::joint_log_likelihood(Inputs xt, std::span<const double> yt, double target_noise) const {
  check_values(xt, yt);
  const std::int64_t nt = xt.size();
  const Projection p = project(xt);
  std::vector<double> s = add_to_diagonal(prior_->of(xt), nt, target_noise * target_noise);
  subtract_square(s, nt, p.v);
  const SymmetricFactor factor(std::move(s), nt);
  std::vector<double> error(nt);
  for (std::int64_t t = 0; t < nt; ++t) error[t] = yt[t] - p.mean[t];
  factor.solve_lower(error);
  return log_density(factor, error);
}

}  // namespace npzoo
