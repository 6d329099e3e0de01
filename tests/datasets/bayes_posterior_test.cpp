#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "npzoo/datasets/gaussian_processes/cholesky.h"
#include "npzoo/datasets/gaussian_processes/log_sum.h"
#include "npzoo/datasets/kinds/gp/bayes_posterior.h"
#include "npzoo/datasets/scores.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

using namespace npzoo;

namespace {

/// Points on a line with values that a kernel gives.
struct Problem {
  Problem(const GpDistribution& d, const Kernel& truth, std::int64_t nc, std::int64_t nt) : xc(nc), xt(nt) {
    Random random(5);
    for (auto* x : {&xc, &xt})
      for (double& value : *x) value = random.uniform(d.low, d.high);
    std::vector<double> x = xc, z(nc + nt), y(nc + nt);
    x.insert(x.end(), xt.begin(), xt.end());
    auto k = covariance(truth, {x, 1});
    for (std::int64_t i = 0; i < nc + nt; ++i) {
      const double noise = i < nc ? d.context_noise : d.target_noise;
      k[i * (nc + nt + 1)] += noise * noise + 1e-12;
    }
    random.fill_normal(z);
    Cholesky(std::move(k), nc + nt).multiply(z, y);
    yc.assign(y.begin(), y.begin() + nc);
    yt.assign(y.begin() + nc, y.end());
  }

  std::vector<double> xc, yc, xt, yt;
};

GpDistribution distribution(std::vector<KernelPrior> kernels) {
  GpDistribution d;
  d.kernels = std::move(kernels);
  d.context_noise = 0.1;
  d.target_noise = 0.2;
  d.jitter = 1e-9;
  return d;
}

constexpr Prior constant(double a) { return {Prior::Kind::constant, a, 0}; }
constexpr Prior uniform(double a, double b) { return {Prior::Kind::uniform, a, b}; }

/// The same integrals as plain sums over kernels with their prior probabilities.
BayesPredictions sum_over(const std::vector<WeightedKernel>& prior, const GpDistribution& d, const Problem& p) {
  std::vector<GpPosterior> posteriors;
  std::vector<double> log_weights;
  LogSum total, joint;
  for (const auto& [kernel, log_weight] : prior) {
    posteriors.emplace_back(kernel, Inputs{p.xc, 1}, p.yc, d.context_noise);
    log_weights.push_back(log_weight + posteriors.back().log_evidence());
    total.add(log_weights.back());
  }
  BayesPredictions result;
  for (std::size_t t = 0; t < p.xt.size(); ++t) {
    double mean = 0, square = 0;
    LogSum mixture;
    for (std::size_t i = 0; i < posteriors.size(); ++i) {
      const auto m = posteriors[i].marginals({{&p.xt[t], 1}, 1}, d.target_noise);
      const double w = log_weights[i] - total.value();
      mean += std::exp(w) * m.mean[0];
      square += std::exp(w) * (m.variance[0] + m.mean[0] * m.mean[0]);
      mixture.add(w + log_normal_density(p.yt[t], m.mean[0], m.variance[0]));
    }
    result.diagonal.mean.push_back(mean);
    result.diagonal.variance.push_back(square - mean * mean);
    result.log_likelihood.push_back(mixture.value());
  }
  for (std::size_t i = 0; i < posteriors.size(); ++i)
    joint.add(log_weights[i] - total.value() + posteriors[i].joint_log_likelihood({p.xt, 1}, p.yt, d.target_noise));
  result.joint_log_likelihood = joint.value();
  return result;
}

void check_equal(const BayesPredictions& found, const BayesPredictions& expected, double tolerance) {
  const auto near = [&](const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(tolerance));
  };
  near(found.diagonal.mean, expected.diagonal.mean);
  near(found.diagonal.variance, expected.diagonal.variance);
  near(found.log_likelihood, expected.log_likelihood);
  CHECK(found.joint_log_likelihood.value() ==
        doctest::Approx(expected.joint_log_likelihood.value()).epsilon(tolerance));
}

double total_probability(const BayesPosterior& posterior) {
  double sum = 0;
  for (const WeightedKernel& k : posterior.kernels()) sum += std::exp(k.log_weight);
  return sum;
}

}  // namespace

TEST_CASE("[bayes posterior] without free hyper-parameters it is the exact posterior") {
  const GpDistribution d = distribution({{KernelKind::periodic, constant(0.7), constant(1.3), constant(0.9)}});
  const Kernel kernel{KernelKind::periodic, 0.7, 1.3, 0.9, d.jitter};
  const Problem p(d, kernel, 6, 5);
  const BayesPosterior posterior(d, {p.xc, 1}, p.yc);
  REQUIRE(posterior.kernels().size() == 1);
  CHECK(posterior.kernels()[0].kernel == kernel);
  CHECK(posterior.kernels()[0].log_weight == 0);
  check_equal(posterior.predict({p.xt, 1}, p.yt), sum_over({{kernel, 0}}, d, p), 1e-12);
}

TEST_CASE("[bayes posterior] integrals over one hyper-parameter are those of a fine sum") {
  struct Case {
    KernelPrior prior;
    double Kernel::*member;
    double low, high;
    std::function<double(double)> log_density;  // up to a constant
    Kernel truth;
  };
  const auto flat = [](double) { return 0.0; };
  const auto beta = [](double l) { return 2 * std::log(l) + 6 * std::log1p(-l); };
  const auto inverse = [](double l) { return -std::log(l); };
  for (const Case& c : {
           Case{{KernelKind::rbf, uniform(0.1, 0.6), constant(1), {}},
                &Kernel::lengthscale,
                0.1,
                0.6,
                flat,
                {.kind = KernelKind::rbf, .lengthscale = 0.3}},
           Case{{KernelKind::matern52, {Prior::Kind::log_uniform, 0.1, 1}, constant(1), {}},
                &Kernel::lengthscale,
                0.1,
                1,
                inverse,
                {.kind = KernelKind::matern52, .lengthscale = 0.3}},
           Case{{KernelKind::matern32, {Prior::Kind::beta, 3, 7}, constant(1), {}},
                &Kernel::lengthscale,
                0,
                1,
                beta,
                {.kind = KernelKind::matern32, .lengthscale = 0.2}},
           Case{{KernelKind::matern52, constant(0.4), uniform(0.1, 2), {}},
                &Kernel::scale,
                0.1,
                2,
                flat,
                {.kind = KernelKind::matern52, .lengthscale = 0.4, .scale = 0.7}},
           Case{{KernelKind::periodic, constant(0.8), constant(1), uniform(0.5, 2)},
                &Kernel::period,
                0.5,
                2,
                flat,
                {.kind = KernelKind::periodic, .lengthscale = 0.8, .period = 0.8}},
           Case{{KernelKind::weakly_periodic, constant(0.8), constant(1), uniform(0.5, 2)},
                &Kernel::period,
                0.5,
                2,
                flat,
                {.kind = KernelKind::weakly_periodic, .lengthscale = 0.8, .period = 0.8}},
           Case{{KernelKind::rbf_mixture, constant(1), constant(1), {}, uniform(0.1, 0.6)},
                &Kernel::second_lengthscale,
                0.1,
                0.6,
                flat,
                {.kind = KernelKind::rbf_mixture, .second_lengthscale = 0.3}},
       }) {
    CAPTURE(to_string(c.prior.kind));
    const GpDistribution d = distribution({c.prior});
    for (const std::int64_t nc : {0, 3, 14}) {
      CAPTURE(nc);
      const Problem p(d, c.truth, nc, 7);
      constexpr int kSteps = 3000;
      std::vector<WeightedKernel> sum;
      for (int i = 0; i < kSteps; ++i) {
        Kernel kernel = c.truth;
        kernel.nugget = d.jitter;
        kernel.*c.member = c.low + (c.high - c.low) * (i + 0.5) / kSteps;
        sum.push_back({kernel, c.log_density(kernel.*c.member)});
      }
      const BayesPosterior posterior(d, {p.xc, 1}, p.yc, BayesOptions{}.finer());
      CHECK(total_probability(posterior) == doctest::Approx(1).epsilon(1e-8));
      CHECK(posterior.kernels().size() < 1200);
      check_equal(posterior.predict({p.xt, 1}, p.yt), sum_over(sum, d, p), 1e-3);
    }
  }
}

TEST_CASE("[bayes posterior] two hyper-parameters") {
  const GpDistribution d = distribution({{KernelKind::rbf, uniform(0.1, 0.6), uniform(0.1, 1), {}}});
  const Problem p(d, {.lengthscale = 0.4, .scale = 0.5}, 20, 6);
  std::vector<WeightedKernel> sum;
  for (int i = 0; i < 80; ++i)
    for (int j = 0; j < 80; ++j)
      sum.push_back(
          {{.lengthscale = 0.1 + 0.5 * (i + 0.5) / 80, .scale = 0.1 + 0.9 * (j + 0.5) / 80, .nugget = d.jitter}});
  check_equal(BayesPosterior(d, {p.xc, 1}, p.yc).predict({p.xt, 1}, p.yt), sum_over(sum, d, p), 2e-3);
}

TEST_CASE("[bayes posterior] kinds of kernels have the odds of their evidence") {
  const KernelPrior rbf{KernelKind::rbf, constant(0.4), constant(1), {}};
  const KernelPrior matern{KernelKind::matern32, constant(0.4), constant(1), {}};
  const KernelPrior free{KernelKind::rbf, {Prior::Kind::beta, 2, 5}, uniform(0.5, 2), {}};
  const GpDistribution d = distribution({rbf, matern});
  const Problem p(d, {.lengthscale = 0.4}, 10, 5);
  std::vector<WeightedKernel> kernels;
  for (const KernelPrior& prior : d.kernels)
    kernels.push_back({{.kind = prior.kind, .lengthscale = 0.4, .nugget = d.jitter}, 0});
  check_equal(BayesPosterior(d, {p.xc, 1}, p.yc).predict({p.xt, 1}, p.yt), sum_over(kernels, d, p), 1e-12);

  // Without a context the odds are even, whatever the priors: their densities have integral 1.
  const BayesPosterior prior(distribution({rbf, free}), {{}, 1}, {});
  for (const WeightedKernel& k : prior.kernels())
    if (k.kernel.lengthscale == 0.4 && k.kernel.scale == 1) CHECK(std::exp(k.log_weight) == doctest::Approx(0.5));
  const KernelPrior periodic{KernelKind::periodic, uniform(0.3, 0.9), constant(1), uniform(0.25, 4)};
  double share = 0;
  const BayesPosterior half(distribution({free, periodic}), {{}, 1}, {});
  for (const WeightedKernel& k : half.kernels())
    if (k.kernel.kind == KernelKind::periodic) share += std::exp(k.log_weight);
  CHECK(share == doctest::Approx(0.5).epsilon(1e-6));
}

TEST_CASE("[bayes posterior] where the kernel came from is looked at closely, and changes nothing else") {
  GpDistribution d = distribution({{KernelKind::periodic, constant(0.1), constant(1), uniform(0.1, 0.5)},
                                   {KernelKind::rbf, constant(0.1), constant(1), {}}});
  d.context_noise = 0.01;
  const Kernel truth{.kind = KernelKind::periodic, .lengthscale = 0.1, .period = 0.123};
  const Problem p(d, truth, 40, 5);
  const BayesOptions coarse{.nodes = 4, .tolerance = 2e-3, .cycles = 4};
  const auto peak = [&](const BayesPosterior& posterior) {
    const auto best = std::ranges::max_element(posterior.kernels(), {}, &WeightedKernel::log_weight);
    return best->kernel;
  };
  CHECK(std::abs(peak(BayesPosterior(d, {p.xc, 1}, p.yc, coarse, truth)).period - 0.123) < 1e-3);
  CHECK(peak(BayesPosterior(d, {p.xc, 1}, p.yc, coarse)).period != doctest::Approx(0.123).epsilon(1e-3));

  d = distribution({{KernelKind::rbf, uniform(0.1, 0.6), constant(1), {}}});
  const Problem q(d, {.lengthscale = 0.3}, 10, 5);
  check_equal(BayesPosterior(d, {q.xc, 1}, q.yc, {}, Kernel{.lengthscale = 0.3}).predict({q.xt, 1}, q.yt),
              BayesPosterior(d, {q.xc, 1}, q.yc).predict({q.xt, 1}, q.yt), 1e-4);
}

TEST_CASE("[bayes posterior] noise-free targets have no joint density") {
  GpDistribution d = distribution({{KernelKind::rbf, uniform(0.1, 0.6), constant(1), {}}});
  const Problem p(d, {.lengthscale = 0.3}, 4, 3);
  d.target_noise = 0;
  const BayesPredictions predictions = BayesPosterior(d, {p.xc, 1}, p.yc).predict({p.xt, 1}, p.yt);
  CHECK_FALSE(predictions.joint_log_likelihood);
  CHECK(predictions.log_likelihood.size() == 3);
}

TEST_CASE("[bayes posterior] a covariance that cannot be factorised is named") {
  GpDistribution d = distribution({{KernelKind::rbf, uniform(0.1, 0.6), constant(1), {}}});
  d.context_noise = d.jitter = 0;
  const std::vector<double> twice{0.5, 0.5}, y{0, 1};
  CHECK_THROWS_WITH_AS(BayesPosterior(d, {twice, 1}, y),
                       "[cholesky] 2 x 2 matrix is not positive definite: pivot 1 is 0, expected > 0", Error);
}

TEST_CASE("[bayes posterior] as many values as inputs") {
  const GpDistribution d = distribution({{KernelKind::rbf, constant(0.3), constant(1), {}}});
  const std::vector<double> x{0.5, 0.7}, y{0};
  CHECK_THROWS_WITH_AS(BayesPosterior(d, {{}, 1}, {}).predict({x, 1}, y),
                       "[bayes posterior] 2 inputs and 1 values, expected equal", Error);
  CHECK_THROWS_WITH_AS(BayesPosterior(d, {x, 1}, y), "[gp] 2 inputs and 1 values, expected equal", Error);
}
