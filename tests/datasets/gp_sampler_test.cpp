#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "npzoo/datasets/kinds/gp/config.h"
#include "npzoo/datasets/kinds/gp/oracle.h"
#include "npzoo/datasets/kinds/gp/sampler.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/concat/concat.h"
#include "tests/datasets/gp_fixtures.h"

using namespace npzoo;
using npzoo::testing::fixed_distribution;
using npzoo::testing::same;

namespace {

GpSampler sampler_of(const std::string& protocol, Split split = Split::evaluation, DType dtype = DType::float32) {
  const Protocol p = load_protocol(protocol);
  return GpSampler(*gp_distribution(*p.data), {p.evaluation.batch_size, 0, split, dtype});
}

struct Mean {
  void add(double x) { ++n, sum += x, squares += x * x; }
  double value() const { return sum / n; }
  double standard_error() const { return std::sqrt((squares / n - value() * value()) / (n - 1)); }

  double n = 0, sum = 0, squares = 0;
};

}  // namespace

TEST_CASE("[gp sampler] a batch is a function of seed, split and index") {
  const GpDistribution d = *gp_distribution(*load_protocol("tnp/gp-rbf").data);
  const GpSampler sampler(d, {4, 5, Split::training});
  CHECK(same(sampler.task(3), sampler.task(3)));
  CHECK(same(sampler.task(3), GpSampler(d, {4, 5, Split::training}).task(3)));
  CHECK(sampler.draw(3).truth.kernels() == sampler.draw(3).truth.kernels());
  CHECK_FALSE(same(sampler.task(3), sampler.task(4)));
  CHECK_FALSE(same(sampler.task(3), GpSampler(d, {4, 6, Split::training}).task(3)));
  CHECK_FALSE(same(sampler.task(3), GpSampler(d, {4, 5, Split::validation}).task(3)));
  CHECK_FALSE(same(sampler.task(3), GpSampler(d, {4, 5, Split::evaluation}).task(3)));
}

TEST_CASE("[gp sampler] a stop request interrupts drawing, and the same batch can then be drawn") {
  const GpSampler sampler(*gp_distribution(*load_protocol("tnp/gp-rbf").data), {4, 5, Split::training});
  const Task undisturbed = sampler.task(3);
  for (const int look : {1, 3}) {
    int looks = 0;
    const StopScope stop([&looks, look] { return ++looks == look; });
    CHECK_THROWS_AS(sampler.task(3), Interrupted);
    CHECK(same(sampler.task(3), undisturbed));
  }
}

TEST_CASE("[gp sampler] float32 tasks are the rounded float64 tasks") {
  const Task exact = sampler_of("tnp-kr/gp1d-rbf", Split::training, DType::float64).task(0);
  CHECK(exact.yc.dtype() == DType::float64);
  Task rounded = exact;
  for (Tensor Task::*part : {&Task::xc, &Task::yc, &Task::xt, &Task::yt})
    rounded.*part = (exact.*part).to(DType::float32);
  CHECK(same(rounded, sampler_of("tnp-kr/gp1d-rbf", Split::training).task(0)));
}

TEST_CASE("[gp sampler] tnp/gp-rbf: own kernel per row, counts per batch, disjoint targets") {
  const GpSampler sampler = sampler_of("tnp/gp-rbf");
  std::set<std::int64_t> contexts, targets;
  for (std::uint64_t i = 0; i < 600; ++i) {
    const GpBatch batch = sampler.draw(i);
    const Task& task = batch.task;
    const std::int64_t nc = task.xc.dim(1), nt = task.xt.dim(1);
    contexts.insert(nc);
    targets.insert(nt);
    REQUIRE(task.xc.shape() == Shape{16, nc, 1});
    REQUIRE(task.yc.shape() == Shape{16, nc, 1});
    REQUIRE(task.xt.shape() == Shape{16, nt, 1});
    REQUIRE(task.yt.shape() == Shape{16, nt, 1});
    REQUIRE(nc + nt < 50);
    REQUIRE_FALSE(task.lengths.defined());
    REQUIRE(batch.truth.kernels().size() == 16);
    REQUIRE(batch.truth.kernels()[0] != batch.truth.kernels()[1]);
    for (const Kernel& kernel : batch.truth.kernels()) {
      REQUIRE(kernel.kind == KernelKind::rbf);
      REQUIRE((kernel.lengthscale >= 0.1 && kernel.lengthscale < 0.6));
      REQUIRE((kernel.scale >= 0.1 && kernel.scale < 1));
    }
    for (float x : task.xt.values<float>()) REQUIRE(std::abs(x) <= 2);
  }
  CHECK(*contexts.begin() == 3);
  CHECK(*contexts.rbegin() == 46);
  CHECK(contexts.size() == 44);
  CHECK(*targets.begin() == 3);
  CHECK(*targets.rbegin() > 40);
}

TEST_CASE("[gp sampler] taylorformer/gp-rbf: all points outside of the context are targets, and noise is small") {
  const GpSampler sampler = sampler_of("taylorformer/gp-rbf", Split::training, DType::float64);
  std::set<std::int64_t> contexts;
  for (std::uint64_t i = 0; i < 900; ++i) {
    const Task task = sampler.draw(i).task;
    contexts.insert(task.xc.dim(1));
    REQUIRE(task.xc.dim(1) + task.xt.dim(1) == 100);
  }
  CHECK(*contexts.begin() == 3);
  CHECK(*contexts.rbegin() == 97);
  CHECK(contexts.size() == 95);
  // The values are those of a smooth function: points 1e-4 apart differ by little more than the noise.
  const Task task = sampler.draw(0).task;
  const Tensor x = concat({task.xc, task.xt}, 1), y = concat({task.yc, task.yt}, 1);
  int close = 0;
  for (std::int64_t b = 0; b < 32; ++b)
    for (std::int64_t i = 0; i < 100; ++i)
      for (std::int64_t j = 0; j < i; ++j) {
        const std::int64_t p = b * 100 + i, q = b * 100 + j;
        if (std::abs(x.data<double>()[p] - x.data<double>()[q]) > 1e-4) continue;
        ++close;
        CHECK(std::abs(y.data<double>()[p] - y.data<double>()[q]) < 0.01);
      }
  CHECK(close > 2);
}

TEST_CASE("[gp sampler] tnp-kr: shared kernel and locations, ragged noisy context among noise-free targets") {
  const GpBatch batch = sampler_of("tnp-kr/gp1d-periodic", Split::training, DType::float64).draw(1);
  const Task& task = batch.task;
  const auto lengths = task.lengths.values<std::int64_t>();
  const std::int64_t nc = std::ranges::max(lengths);
  REQUIRE(task.xc.shape() == Shape{32, nc, 1});
  REQUIRE(task.xt.shape() == Shape{32, 150, 1});
  CHECK((std::ranges::min(lengths) >= 3 && nc < 50));
  CHECK(std::ranges::min(lengths) < nc);
  CHECK(std::ranges::count(batch.truth.kernels(), batch.truth.kernels()[0]) == 32);
  CHECK((batch.truth.kernels()[0].period >= 0.5 && batch.truth.kernels()[0].period < 2));
  CHECK(batch.truth.kernels()[0].nugget == 1e-5);

  const auto xc = task.xc.values<double>(), yc = task.yc.values<double>();
  const auto xt = task.xt.values<double>(), yt = task.yt.values<double>();
  Mean noise;
  for (std::int64_t b = 0; b < 32; ++b)
    for (std::int64_t i = 0; i < nc; ++i) {
      const bool real = i < lengths[b];
      REQUIRE(xc[b * nc + i] == (real ? xt[i] : 0));
      if (real)
        noise.add(std::pow(yc[b * nc + i] - yt[b * 150 + i], 2));
      else
        REQUIRE(yc[b * nc + i] == 0);
    }
  CHECK(std::abs(noise.value() - 0.01) < 4 * noise.standard_error());
  for (int i = 0; i < 100; ++i) CHECK(xt[150 + 50 + i] == doctest::Approx(-2 + 4.0 * i / 99));
}

TEST_CASE("[gp sampler] the plane: 128 random points and a 16 x 16 grid") {
  const GpBatch batch = sampler_of("tnp-kr/gp2d-rbf", Split::training, DType::float64).draw(0);
  REQUIRE(batch.task.xt.shape() == Shape{16, 384, 2});
  CHECK(batch.task.xc.dim(2) == 2);
  const auto x = batch.task.xt.values<double>();
  std::set<std::pair<double, double>> grid;
  for (int i = 128; i < 384; ++i) grid.emplace(x[2 * i], x[2 * i + 1]);
  CHECK(grid.size() == 256);
  CHECK(grid.begin()->first == -2);
  CHECK(grid.rbegin()->second == doctest::Approx(2));
}

TEST_CASE("[gp sampler] drawn functions have the kernel's covariance, contexts the noise on top") {
  constexpr std::int64_t kRows = 20000, kPoints = 7;
  const GpBatch batch = GpSampler(fixed_distribution(), {kRows, 1, Split::training, DType::float64}).draw(0);
  const auto y = batch.task.yt.values<double>(), yc = batch.task.yc.values<double>();
  const auto k = covariance(batch.truth.kernels()[0], {batch.task.xt.values<double>().first(kPoints), 1});
  CHECK(k[0] == doctest::Approx(1.5 * 1.5 + 0.01));
  for (std::int64_t i = 0; i < kPoints; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::int64_t b = 0; b < kRows; ++b) sum += y[b * kPoints + i] * y[b * kPoints + j];
      const double k_ij = k[i * kPoints + j], k_ii = k[i * kPoints + i], k_jj = k[j * kPoints + j];
      const double deviation = std::sqrt((k_ii * k_jj + k_ij * k_ij) / kRows);  // of the mean of products
      CHECK(std::abs(sum / kRows - k_ij) < 4.5 * deviation);
    }
  Mean noise;
  for (std::int64_t b = 0; b < kRows; ++b) noise.add(std::pow(yc[b * 4 + 2] - y[b * kPoints + 2], 2));
  CHECK(std::abs(noise.value() - 0.09) < 4 * noise.standard_error());
}

TEST_CASE("[gp sampler] a mixture takes every kernel, a beta prior has its mean") {
  GpDistribution d = fixed_distribution();
  d.shared = false;
  d.kernels.push_back({KernelKind::periodic, {Prior::Kind::beta, 3, 7}, {}, {Prior::Kind::uniform, 0.5, 2}});
  Mean periodic, lengthscale;
  const GpBatch batch = GpSampler(d, {4000, 1, Split::training}).draw(0);
  for (const Kernel& kernel : batch.truth.kernels()) {
    periodic.add(kernel.kind == KernelKind::periodic);
    if (kernel.kind == KernelKind::periodic) lengthscale.add(kernel.lengthscale);
  }
  CHECK(std::abs(periodic.value() - 0.5) < 4 * periodic.standard_error());
  CHECK(std::abs(lengthscale.value() - 0.3) < 4 * lengthscale.standard_error());
}

TEST_CASE("[gp sampler] mean squares of priors are those of their draws") {
  for (const Prior& prior : {Prior{Prior::Kind::constant, 0.7, 0}, Prior{Prior::Kind::uniform, 0.1, 1},
                             Prior{Prior::Kind::uniform, 2, 2.5}, Prior{Prior::Kind::beta, 3, 7},
                             Prior{Prior::Kind::log_uniform, 0.25, 1}}) {
    CAPTURE(prior.a);
    Random random(5);
    constexpr int kDraws = 20'000;
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) sum += std::pow(prior.draw(random), 2);
    CHECK(sum / kDraws == doctest::Approx(prior.mean_square()).epsilon(0.02));  // three standard errors and more
  }
}

TEST_CASE("[gp sampler] intervals of the exact posterior cover as they say") {
  for (const char* protocol : {"tnp/gp-rbf", "tnp-kr/gp1d-matern"}) {
    CAPTURE(protocol);
    const GpSampler sampler = sampler_of(protocol, Split::validation, DType::float64);
    Mean half, most;
    for (std::uint64_t i = 0; i < 150; ++i) {
      const GpBatch batch = sampler.draw(i);
      const std::int64_t nt = batch.task.xt.dim(1), row = 3;
      const Inputs xt{batch.task.xt.values<double>().subspan(row * nt, nt), 1};
      const auto [mean, variance] =
          batch.truth.posterior(GpRow(batch.task, row), row).marginals(xt, batch.truth.target_noise());
      double in_half = 0, in_most = 0;
      for (std::int64_t t = 0; t < nt; ++t) {
        const double z = std::abs(batch.task.yt.values<double>()[row * nt + t] - mean[t]) / std::sqrt(variance[t]);
        in_half += z < 0.674490;
        in_most += z < 1.959964;
      }
      half.add(in_half / static_cast<double>(nt));
      most.add(in_most / static_cast<double>(nt));
    }
    CHECK(std::abs(half.value() - 0.5) < 4 * half.standard_error());
    CHECK(std::abs(most.value() - 0.95) < 4 * most.standard_error());
  }
}

/// Reference values were computed elsewhere, by other code, to a standard error of up to .006.
TEST_CASE("[gp sampler] the exact posterior reaches the known score of every test distribution") {
  constexpr double kReferenceError = 0.006;
  for (const auto& [protocol, batches] :
       {std::pair("quick/gp1d", 600), std::pair("tnp/gp-rbf", 600), std::pair("tnp-kr/gp1d-rbf", 250),
        std::pair("tnp-kr/gp1d-matern", 250), std::pair("tnp-kr/gp1d-periodic", 250), std::pair("tnp-kr/gp2d-rbf", 60),
        std::pair("taylorformer/gp-rbf", 40), std::pair("taylorformer/gp-matern", 40),
        std::pair("taylorformer/gp-periodic", 40)}) {
    const std::string name = protocol;
    const EvaluationConfig evaluation = load_protocol(name).evaluation;
    for (const TestConfig& test : evaluation.tests) {
      CAPTURE(name);
      CAPTURE(test.name);
      const auto source = test.data->source({evaluation.batch_size, evaluation.seed, Split::evaluation});
      Mean marginal, joint;
      for (int i = 0; i < batches; ++i) {
        const Batch batch = source->batch(i);
        marginal.add(*mean_log_likelihood(*batch.truth, batch.task, Density::marginal));
        if (test.oracle.known_joint) joint.add(*mean_log_likelihood(*batch.truth, batch.task, Density::joint));
      }
      const auto tolerance = [](const Mean& mean) { return 4 * std::hypot(mean.standard_error(), kReferenceError); };
      const double expected = to_log_likelihood(evaluation.metric, test.oracle.known_marginal.value());
      CHECK(std::abs(marginal.value() - expected) < tolerance(marginal));
      if (test.oracle.known_joint) CHECK(std::abs(joint.value() - *test.oracle.known_joint) < tolerance(joint));
    }
  }
}

TEST_CASE("[gp sampler] a batch that no memory can hold is refused before anything is drawn") {
  for (const std::int64_t tasks : {std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::max()})
    for (const Device device : {Device::cpu, Device::cuda})
      CHECK_THROWS_AS(GpSampler(fixed_distribution(), {tasks, 0, Split::training, DType::float32, device}),
                      OutOfMemory);
}

TEST_CASE("[gp sampler] distributions that cannot be drawn from") {
  const auto error = [](auto change) {
    GpDistribution d = fixed_distribution();
    change(d);
    return [d] { GpSampler(d, {1, 0, Split::training}); };
  };
  CHECK_THROWS_WITH_AS(GpSampler(fixed_distribution(), {0, 0, Split::training}),
                       "[gp sampler] batch size 0, expected at least 1", Error);
  CHECK_THROWS_WITH_AS(error([](GpDistribution& d) { d.kernels.clear(); })(),
                       "[gp sampler] no kernel, expected at least one", Error);
  CHECK_THROWS_WITH_AS(error([](GpDistribution& d) { d.high = -2; })(),
                       "[gp sampler] domain [-2, -2)^1, expected a volume", Error);
  CHECK_THROWS_WITH_AS(error([](GpDistribution& d) {
                         d.context = {3, 3};
                       })(),
                       "[gp sampler] context range [3, 3), expected 0 <= low < high", Error);
  CHECK_THROWS_WITH_AS(error([](GpDistribution& d) {
                         d.context = {4, 6};
                       })(),
                       "[gp sampler] 4 points, expected at least 5", Error);
  CHECK_THROWS_WITH_AS(error([](GpDistribution& d) { d.targets = GpDistribution::Targets::rest; })(),
                       "[gp sampler] 4 points, expected at least 5", Error);
  CHECK_THROWS_WITH_AS(error([](GpDistribution& d) { d.targets = GpDistribution::Targets::disjoint; })(),
                       "[gp sampler] 4 points, expected at least 8", Error);
  CHECK_THROWS_WITH_AS(error([](GpDistribution& d) {
                         d.targets = GpDistribution::Targets::disjoint;
                         d.points = 8;
                       })(),
                       "[gp sampler] a grid of 3 points with disjoint targets, expected none", Error);
}
