#pragma once

#include "npzoo/datasets/gaussian_processes/cholesky.h"
#include "npzoo/datasets/gaussian_processes/posterior.h"
#include "npzoo/datasets/kinds/gp/sampler.h"
#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/predictions/joint_gaussian.h"
#include "tests/models/model_fixtures.h"

// Models that know the Gaussian process their tasks are drawn from: each kind of prediction has an exact answer.

namespace npzoo::testing {

/// Tasks of one known process in one dimension.
inline GpDistribution exact_process(std::int64_t points = 12) {
  GpDistribution d;
  d.kernels = {{KernelKind::rbf, {.a = 0.4}, {.a = 1}, {}}};
  d.points = points;
  d.context = {3, 6};
  d.min_targets = 3;
  d.context_noise = d.target_noise = 0.2;
  d.jitter = 1e-9;
  return d;
}

/// Mean and covariance of noisy targets, by plain elimination of the context's columns and rows.
struct JointPosterior {
  std::vector<double> mean, covariance;  // (Nt), (Nt, Nt)
};

inline JointPosterior joint_posterior(const Kernel& kernel, double noise, const std::vector<double>& xc,
                                      const std::vector<double>& yc, const std::vector<double>& xt) {
  std::vector<double> x = xc;
  x.insert(x.end(), xt.begin(), xt.end());
  const std::size_t nc = xc.size(), n = x.size(), nt = xt.size();
  std::vector<double> a = covariance(kernel, {x, 1}), rest(n);
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] += noise * noise;
  for (std::size_t i = 0; i < nc; ++i) rest[i] = yc[i];
  for (std::size_t p = 0; p < nc; ++p)
    for (std::size_t i = p + 1; i < n; ++i) {
      const double factor = a[i * n + p] / a[p * n + p];
      for (std::size_t j = p; j < n; ++j) a[i * n + j] -= factor * a[p * n + j];
      rest[i] -= factor * rest[p];
    }
  JointPosterior posterior;
  for (std::size_t i = nc; i < n; ++i) posterior.mean.push_back(-rest[i]);
  for (std::size_t i = nc; i < n; ++i)
    posterior.covariance.insert(posterior.covariance.end(), &a[i * n + nc], &a[i * n] + n);
  posterior.covariance.resize(nt * nt);
  return posterior;
}

/// A model that predicts by the exact posterior: all targets together, or one block after the other.
class ExactGp final : public Model {
 public:
  ExactGp(const Kernel& kernel, double noise, std::optional<std::int64_t> block = {})
      : kernel_(kernel), noise_(noise), block_(block) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    return std::make_unique<HeldContext>(context, draws, samples);
  }
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override {
    if (!block_) return together(state, xt);
    const auto& held = dynamic_cast<const HeldContext&>(state);
    return std::make_unique<Chain>(*this, held, xt, *block_);
  }
  void visit(ModuleVisitor&) override {}
  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 1; }

  std::unique_ptr<Prediction> together(const ContextState& state, const Tensor& xt) const {
    const Context& context = dynamic_cast<const HeldContext&>(state).context;
    const std::int64_t batch = xt.dim(0), nt = xt.dim(1);
    Tensor mean = Tensor::empty({batch, nt, 1}, DType::float64, Device::cpu);
    Tensor factor = Tensor::zeros({batch, nt, nt}, DType::float64, Device::cpu);
    for (std::int64_t b = 0; b < batch; ++b) {
      const JointPosterior p = joint_posterior(kernel_, noise_, doubles(row(context.xc, b)),
                                               doubles(row(context.yc, b)), doubles(row(xt, b)));
      std::ranges::copy(p.mean, mean.data<double>() + b * nt);
      const Cholesky l(p.covariance, nt);
      for (std::int64_t i = 0; i < nt; ++i)
        for (std::int64_t j = 0; j <= i; ++j) factor.data<double>()[(b * nt + i) * nt + j] = l(i, j);
    }
    return std::make_unique<JointGaussian>(mean, factor);
  }

 private:
  class Chain final : public Autoregressive {
   public:
    Chain(const ExactGp& model, const HeldContext& state, const Tensor& xt, std::int64_t block)
        : Autoregressive(std::make_shared<const HeldContext>(state), xt, state.draws, state.samples, block),
          model_(std::make_shared<const ExactGp>(model)) {}

   protected:
    std::unique_ptr<Prediction> next(const ContextState& state, const Tensor& xt) const override {
      return model_->together(state, xt);
    }
    std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const override {
      return model_->update(state, observed);
    }

   private:
    const std::shared_ptr<const ExactGp> model_;
  };

  Kernel kernel_;
  double noise_;
  std::optional<std::int64_t> block_;
};

}  // namespace npzoo::testing
