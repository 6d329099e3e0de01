#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "npzoo/datasets/gaussian_processes/posterior.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

using namespace npzoo;

namespace {

constexpr double kNoise = 0.2;

/// Nc contexts and Nt targets in the plane; target 0 sits on context 0.
struct PlanarProblem {
  explicit PlanarProblem(std::int64_t nc, std::int64_t nt) : xc(2 * nc), yc(nc), xt(2 * nt), yt(nt) {
    Random random(11, static_cast<std::uint64_t>(nc));
    for (auto* values : {&xc, &xt})
      for (double& value : *values) value = random.uniform(-1, 1);
    random.fill_normal(yc);
    random.fill_normal(yt);
    if (nc > 0) std::copy_n(xc.begin(), 2, xt.begin());
  }
  GpPosterior posterior() const { return {kernel, {xc, 2}, yc, kNoise}; }

  Kernel kernel{.kind = KernelKind::matern52, .lengthscale = 0.8, .scale = 1.2, .nugget = 0.01};
  std::vector<double> xc, yc, xt, yt;
};

/// a⁻¹ b by Gauss-Jordan elimination, for matrices without small pivots.
std::vector<double> solve(std::vector<double> a, std::vector<double> b, std::int64_t n, std::int64_t m) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = a[r * n + i] / a[i * n + i];
      for (std::int64_t k = 0; k < n; ++k) a[r * n + k] -= factor * a[i * n + k];
      for (std::int64_t k = 0; k < m; ++k) b[r * m + k] -= factor * b[i * m + k];
    }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < m; ++k) b[i * m + k] /= a[i * n + i];
  return b;
}

double log_normal(double y, double mean, double variance) {
  return -0.5 * (std::log(2 * std::numbers::pi * variance) + (y - mean) * (y - mean) / variance);
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

TEST_CASE("[gp posterior] marginals are those of brute-force conditioning") {
  for (std::int64_t nc : {0, 1, 9}) {
    CAPTURE(nc);
    const std::int64_t nt = 5;
    const PlanarProblem p(nc, nt);
    auto k_cc = covariance(p.kernel, {p.xc, 2});
    for (std::int64_t i = 0; i < nc; ++i) k_cc[i * nc + i] += kNoise * kNoise;
    const auto k_ct = covariance(p.kernel, {p.xc, 2}, {p.xt, 2});
    const auto weights = solve(k_cc, k_ct, nc, nt);  // (Nc, Nt)

    for (double target_noise : {0.0, kNoise}) {
      const auto [mean, variance] = p.posterior().marginals({p.xt, 2}, target_noise);
      const auto scores = p.posterior().log_likelihood({p.xt, 2}, p.yt, target_noise);
      for (std::int64_t t = 0; t < nt; ++t) {
        double m = 0, v = p.kernel.variance() + target_noise * target_noise;
        for (std::int64_t c = 0; c < nc; ++c) {
          m += weights[c * nt + t] * p.yc[c];
          v -= weights[c * nt + t] * k_ct[c * nt + t];
        }
        CHECK(mean[t] == doctest::Approx(m).epsilon(1e-12));
        CHECK(variance[t] == doctest::Approx(v).epsilon(1e-12));
        CHECK(scores[t] == doctest::Approx(log_normal(p.yt[t], m, v)).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("[gp posterior] the joint likelihood is the product of one-step predictions") {
  for (std::int64_t nc : {0, 7}) {
    const PlanarProblem p(nc, 6);
    PlanarProblem seen = p;
    double chain = 0;
    for (std::size_t t = 0; t < p.yt.size(); ++t) {
      const std::vector<double> x(p.xt.begin() + 2 * t, p.xt.begin() + 2 * t + 2), y{p.yt[t]};
      chain += seen.posterior().log_likelihood({x, 2}, y, kNoise)[0];
      CHECK(seen.posterior().joint_log_likelihood({x, 2}, y, kNoise) ==
            doctest::Approx(seen.posterior().log_likelihood({x, 2}, y, kNoise)[0]));
      seen.xc.insert(seen.xc.end(), x.begin(), x.end());
      seen.yc.push_back(y[0]);
    }
    CHECK(p.posterior().joint_log_likelihood({p.xt, 2}, p.yt, kNoise) == doctest::Approx(chain).epsilon(1e-12));
  }
}

TEST_CASE("[gp posterior] marginal likelihood of a context by the chain rule") {
  const PlanarProblem p(4, 3), none(0, 3);
  std::vector<double> x = p.xc, y = p.yc;
  x.insert(x.end(), p.xt.begin(), p.xt.end());
  y.insert(y.end(), p.yt.begin(), p.yt.end());
  const GpPosterior prior(p.kernel, {{}, 2}, {}, kNoise);
  CHECK(prior.joint_log_likelihood({x, 2}, y, kNoise) ==
        doctest::Approx(prior.joint_log_likelihood({p.xc, 2}, p.yc, kNoise) +
                        p.posterior().joint_log_likelihood({p.xt, 2}, p.yt, kNoise)));
  CHECK(p.posterior().log_evidence() == doctest::Approx(prior.joint_log_likelihood({p.xc, 2}, p.yc, kNoise)));
  CHECK(prior.log_evidence() == 0);
}

TEST_CASE("[gp posterior] the limits: no context, far away, exact observations") {
  const PlanarProblem p(6, 2);
  const GpPosterior prior(p.kernel, {{}, 2}, {}, kNoise);
  CHECK(prior.marginals({p.xt, 2}, 0).mean == std::vector<double>{0, 0});
  CHECK(prior.marginals({p.xt, 2}, 0.5).variance[1] == doctest::Approx(p.kernel.variance() + 0.25));

  const std::vector<double> far{1e3, 1e3};
  CHECK(p.posterior().marginals({far, 2}, 0).mean[0] == doctest::Approx(0));
  CHECK(p.posterior().marginals({far, 2}, 0).variance[0] == doctest::Approx(p.kernel.variance()));

  const GpPosterior exact(p.kernel, {p.xc, 2}, p.yc, 0);
  const auto [mean, variance] = exact.marginals({p.xc, 2}, 0);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    CHECK(mean[i] == doctest::Approx(p.yc[i]).epsilon(1e-10));
    CHECK(variance[i] == doctest::Approx(0).epsilon(1e-10));
  }
  CHECK(p.posterior().joint_log_likelihood({{}, 2}, {}, 0) == 0);
}

TEST_CASE(
    "[gp posterior] a value that a context without noise determines has a positive variance in spite of rounding") {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  const KernelKind kinds[] = {KernelKind::rbf, KernelKind::matern32, KernelKind::matern52, KernelKind::periodic};
  int below = 0;  // how often the variance comes out at the bound that keeps it positive
  for (const KernelKind kind : kinds)
    for (const double lengthscale : {0.05, 0.2, 1.0})
      for (const double scale : {1e-3, 1.0, 30.0})
        for (const double nugget : {0.0, 1e-9}) {
          const Kernel kernel{kind, lengthscale, scale, 0.7, nugget};
          CAPTURE(to_string(kind));
          CAPTURE(lengthscale);
          CAPTURE(scale);
          Random random(5, 0);
          std::vector<double> x(kind == KernelKind::rbf ? 6 : 12), y(x.size());
          for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = 0.6 * (static_cast<double>(i) + 0.5 * random.uniform(0, 1)) / 12;
          random.fill_normal(y);
          for (double& value : y) value *= scale;
          const GpPosterior posterior(kernel, {x, 1}, y, 0);
          std::vector<double> xt = x, yt = y;  // each of them twice, and one beside them
          xt.insert(xt.end(), x.begin(), x.end());
          yt.insert(yt.end(), y.begin(), y.end());
          xt.push_back(0.65);
          yt.push_back(0);
          const auto [mean, variance] = posterior.marginals({xt, 1}, 0);
          const double bound = 2 * static_cast<double>(x.size() + 1) * kEpsilon * kernel.variance();
          for (std::size_t t = 0; t < 2 * x.size(); ++t) {
            CHECK(variance[t] > 0);
            below += variance[t] == bound;
          }
          CHECK(variance.back() >= bound);
          for (const double score : posterior.log_likelihood({xt, 1}, yt, 0)) CHECK(std::isfinite(score));
        }
  CHECK(below > 0);
}

TEST_CASE("[gp posterior] the order of the context does not matter") {
  PlanarProblem p(8, 4);
  const double before = sum(p.posterior().log_likelihood({p.xt, 2}, p.yt, 0));
  std::swap(p.yc[1], p.yc[6]);
  std::swap_ranges(p.xc.begin() + 2, p.xc.begin() + 4, p.xc.begin() + 12);
  CHECK(sum(p.posterior().log_likelihood({p.xt, 2}, p.yt, 0)) == doctest::Approx(before).epsilon(1e-12));
}

TEST_CASE("[gp posterior] wrong input is named") {
  const PlanarProblem p(2, 2);
  const std::vector<double> one{1};
  CHECK_THROWS_WITH_AS(p.posterior().log_likelihood({p.xt, 2}, one, 0), "[gp] 2 inputs and 1 values, expected equal",
                       Error);
  CHECK_THROWS_WITH_AS(GpPosterior(p.kernel, {p.xc, 2}, one, 0), "[gp] 2 inputs and 1 values, expected equal", Error);
  CHECK_THROWS_WITH_AS(p.posterior().marginals({p.xt, 1}, 0),
                       "[covariance] points of 2 and of 1 dimensions, expected equal", Error);
  const std::vector<double> twice{0, 0, 0, 0};
  CHECK_THROWS_WITH_AS(GpPosterior(Kernel{}, {{}, 2}, {}, 0).joint_log_likelihood({twice, 2}, p.yt, 0),
                       "[cholesky] 2 x 2 matrix is not positive definite: pivot 1 is 0, expected > 0", Error);
}
