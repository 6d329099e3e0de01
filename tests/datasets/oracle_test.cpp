#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "npzoo/datasets/kinds/gp/oracle.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"

using namespace npzoo;

namespace {

GpDistribution small(Prior lengthscale) {
  GpDistribution d;
  d.kernels = {{KernelKind::rbf, lengthscale, {Prior::Kind::constant, 1}, {}}};
  d.points = 16;
  d.context = {2, 9};
  d.context_noise = d.target_noise = 0.1;
  d.jitter = 1e-9;
  return d;
}

constexpr Prior kFree{Prior::Kind::uniform, 0.1, 1};
constexpr Prior kFixed{Prior::Kind::constant, 0.4};

GpSampler sampler_of(const GpDistribution& d, std::int64_t batch_size = 4, DType dtype = DType::float64) {
  return GpSampler(d, {batch_size, 0, Split::evaluation, dtype});
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("[oracle] known kernels: the exact log-likelihoods of the batches") {
  const GpSampler sampler = sampler_of(small(kFree), 3, DType::float32);
  std::vector<std::int64_t> seen;
  const KnownScores scores = known_scores(sampler, 70, [&](std::int64_t done) { seen.push_back(done); });
  REQUIRE(scores.marginal.size() == 70);
  REQUIRE(scores.joint.size() == 70);
  for (const std::int64_t b : {0, 63, 69}) {
    CHECK(scores.marginal[b] == *mean_log_likelihood(sampler.draw(b).truth, sampler.task(b), Density::marginal));
    CHECK(scores.joint[b] == *mean_log_likelihood(sampler.draw(b).truth, sampler.task(b), Density::joint));
  }
  CHECK(seen == std::vector<std::int64_t>{64, 70});
}

TEST_CASE("[oracle] nothing is lost where there is nothing to know") {
  const GpSampler sampler = sampler_of(small(kFixed), 1);
  const KnownScores known = known_scores(sampler, 6);
  const BayesScores bayes = bayes_scores(sampler, 6);
  CHECK(bayes.known.marginal == known.marginal);
  CHECK(bayes.known.joint == known.joint);
  for (std::size_t b = 0; b < 6; ++b) {
    CHECK(bayes.diagonal[b] == doctest::Approx(known.marginal[b]).epsilon(1e-12));
    CHECK(bayes.mixture[b] == doctest::Approx(known.marginal[b]).epsilon(1e-12));
    CHECK(bayes.joint[b] == doctest::Approx(known.joint[b]).epsilon(1e-12));
  }
  CHECK(bayes.quadrature_error == 0);
}

TEST_CASE("[oracle] on average each thing that is not known or not said costs something") {
  const GpSampler sampler = sampler_of(small(kFree));
  const BayesScores bayes = bayes_scores(sampler, 300);
  const auto costs = [](const std::vector<double>& more, const std::vector<double>& less) {
    RunningMean difference;
    for (std::size_t b = 0; b < more.size(); ++b) difference.add(more[b] - less[b]);
    return difference.estimate().value > 3 * difference.estimate().standard_error;
  };
  CHECK(costs(bayes.known.marginal, bayes.mixture));
  CHECK(costs(bayes.mixture, bayes.diagonal));
  CHECK(costs(bayes.known.joint, bayes.joint));
  CHECK(costs(bayes.joint, bayes.mixture));
  CHECK(bayes.quadrature_error < 1e-3);
  for (const auto& [percent, share] : bayes.fit.coverage()) CHECK(std::abs(share - percent / 100.0) < 0.1);
  CHECK(bayes.fit.crps() > 0);
}

TEST_CASE("[oracle] the same whatever the number of threads") {
  const GpSampler sampler = sampler_of(small(kFree));
  set_threads(1);
  const BayesScores alone = bayes_scores(sampler, 40);
  set_threads(4);
  const BayesScores together = bayes_scores(sampler, 40);
  set_threads(0);
  CHECK(alone.diagonal == together.diagonal);
  CHECK(alone.mixture == together.mixture);
  CHECK(alone.joint == together.joint);
  CHECK(alone.fit.crps() == together.fit.crps());
  CHECK(alone.quadrature_error == together.quadrature_error);
}

TEST_CASE("[oracle] the first task of each batch, with its own context alone") {
  GpDistribution d = small(kFree);
  d.shared = d.ragged = true;
  const GpSampler sampler = sampler_of(d);
  const BayesScores scores = bayes_scores(sampler, 3);
  REQUIRE(scores.mixture.size() == 3);
  for (std::size_t b = 0; b < 3; ++b) {
    const GpBatch batch = sampler.draw(b);
    const auto nc = static_cast<std::size_t>(batch.task.lengths.values<std::int64_t>()[0]);
    const auto nt = static_cast<std::size_t>(batch.task.xt.dim(1));
    const auto first = [](const Tensor& t, std::size_t n) { return t.values<double>().subspan(0, n); };
    const BayesPosterior posterior(d, {first(batch.task.xc, nc), 1}, first(batch.task.yc, nc), {},
                                   batch.truth.kernels()[0]);
    const BayesPredictions p = posterior.predict({first(batch.task.xt, nt), 1}, first(batch.task.yt, nt));
    CHECK(scores.mixture[b] == doctest::Approx(mean(p.log_likelihood)).epsilon(1e-12));
    CHECK(scores.joint[b] == doctest::Approx(*p.joint_log_likelihood / static_cast<double>(nt)).epsilon(1e-12));
  }
}

TEST_CASE("[oracle] noise-free targets have no joint figures") {
  GpDistribution d = small(kFree);
  d.target_noise = 0;
  d.targets = GpDistribution::Targets::all;
  const GpSampler sampler = sampler_of(d, 2);
  const KnownScores known = known_scores(sampler, 3);
  const BayesScores bayes = bayes_scores(sampler, 3);
  CHECK(known.joint.empty());
  CHECK(bayes.joint.empty());
  const OracleEstimates estimates = estimate_oracles(known, bayes);
  CHECK_FALSE(estimates.known_joint);
  CHECK_FALSE(estimates.bayes_joint);
  CHECK(std::isfinite(estimates.bayes_diagonal.value));
}

TEST_CASE("[oracle] estimates: a control variate") {
  const KnownScores known{{1, 2, 3, 6}, {}};
  BayesScores bayes;
  bayes.known.marginal = {1.5, 2};
  bayes.diagonal = {1, 1.5};  // always 0.5 less
  bayes.mixture = {1, 1.9};
  const OracleEstimates e = estimate_oracles(known, bayes);
  CHECK(e.known_marginal.value == doctest::Approx(3));
  CHECK(e.known_marginal.standard_error == doctest::Approx(std::sqrt(14.0 / 3 / 4)));
  CHECK(e.bayes_diagonal.value == doctest::Approx(2.5));
  CHECK(e.bayes_mixture.value == doctest::Approx(3 - 0.3));
  // Terms 1/4 − .5/2 and 2/4 − .1/2 of the first two batches; 2 of the others, with the variance of all.
  CHECK(e.bayes_mixture.standard_error == doctest::Approx(std::sqrt(2 * 0.45 * 0.45 / 2 + 2 * (14.0 / 3) / 16)));

  const OracleEstimates as_many = estimate_oracles(bayes.known, bayes);
  CHECK(as_many.bayes_mixture.value == doctest::Approx(1.45));
  CHECK(as_many.bayes_mixture.standard_error == doctest::Approx(0.45));

  bayes.known.marginal = bayes.diagonal = bayes.mixture = {1};
  CHECK(std::isnan(estimate_oracles({{2}, {}}, bayes).bayes_diagonal.standard_error));
  CHECK_THROWS_WITH_AS(estimate_oracles({{}, {}}, bayes),
                       "[oracle] 0 batches with known kernels and 0 without found, expected at least one without, and "
                       "no more without than with",
                       Error);
  BayesScores too_many;
  too_many.diagonal = {1, 2};
  CHECK_THROWS_WITH_AS(estimate_oracles({{2}, {}}, too_many),
                       "[oracle] 1 batches with known kernels and 2 without found, expected at least one without, and "
                       "no more without than with",
                       Error);
}

TEST_CASE("[oracle] an estimate agrees with a stated value") {
  CHECK(agrees({1.0, 0.01}, 1.039, 0));
  CHECK_FALSE(agrees({1.0, 0.01}, 1.041, 0));
  CHECK(agrees({1.0, 0.03}, 0.845, 0.04));
  CHECK_FALSE(agrees({1.0, 0.03}, 0.835, 0.04));
  CHECK(agrees({.value = 1.0}, 1.009, 0));
  CHECK_FALSE(agrees({.value = 1.0}, 1.011, 0));
}

TEST_CASE("[oracle] progress may stop the work") {
  const GpSampler sampler = sampler_of(small(kFixed));
  const auto stop = [](std::int64_t) { fail("stop"); };
  CHECK_THROWS_WITH_AS(known_scores(sampler, 100, stop), "stop", Error);
  CHECK_THROWS_WITH_AS(bayes_scores(sampler, 100, {}, stop), "stop", Error);
}
