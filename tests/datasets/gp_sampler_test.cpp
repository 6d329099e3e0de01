#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "datasets/gp/config.h"
#include "datasets/gp/oracle.h"
#include "datasets/gp/sampler.h"
#include "datasets/protocol.h"
#include "engine/cuda/gpu.h"
#include "engine/error.h"
#include "engine/memory.h"

using namespace npzoo;

namespace {

GpSampler sampler_of(const std::string& protocol, Split split = Split::evaluation, DType dtype = DType::float32) {
  const Protocol p = load_protocol(protocol);
  return GpSampler(*gp_distribution(*p.data), {p.evaluation.batch_size, 0, split, dtype});
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  return !a.defined() || (a.shape() == b.shape() && a.dtype() == b.dtype() && std::ranges::equal(a.raw(), b.raw()));
}

bool same(const Task& a, const Task& b) {
  return same(a.xc, b.xc) && same(a.yc, b.yc) && same(a.xt, b.xt) && same(a.yt, b.yt) && same(a.lengths, b.lengths);
}

struct Mean {
  void add(double x) { ++n, sum += x, squares += x * x; }
  double value() const { return sum / n; }
  double standard_error() const { return std::sqrt((squares / n - value() * value()) / (n - 1)); }

  double n = 0, sum = 0, squares = 0;
};

/// A task that is easy to count over: fixed kernel, four random and three regular locations, all of them targets.
GpDistribution fixed_distribution() {
  GpDistribution d;
  d.kernels = {{KernelKind::matern32, {Prior::Kind::constant, 0.8}, {Prior::Kind::constant, 1.5}, {}}};
  d.points = 4;
  d.grid = 3;
  d.shared = true;
  d.context = {4, 5};
  d.targets = GpDistribution::Targets::all;
  d.context_noise = 0.3;
  d.jitter = 0.01;
  return d;
}

/// False, with a message, where there is no device to draw on, not even an emulated one.
bool has_device() {
  if (!list_gpus().empty()) return true;
  if (kHasEmulator)
    select_gpu(Gpu::emulated);
  else
    MESSAGE("skipped: ", why_no_gpu());
  return kHasEmulator;
}

Task on_cpu(const Task& task) {
  Task here = task;
  for (Tensor Task::*part : {&Task::xc, &Task::yc, &Task::xt, &Task::yt}) here.*part = (task.*part).to(Device::cpu);
  return here;
}

/// Largest difference of a part of two tasks.
template <class T>
double largest_difference(const Task& a, const Task& b, Tensor Task::*part) {
  const auto x = (a.*part).values<T>(), y = (b.*part).values<T>();
  REQUIRE((a.*part).shape() == (b.*part).shape());
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    REQUIRE((std::isfinite(x[i]) && std::isfinite(y[i])));
    largest = std::max(largest, std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
  }
  return largest;
}

/// How far values may be apart that were drawn on two devices. The covariances of equal locations, and what the
/// factorisation makes of them, differ by some roundings of the variance v, v ε each. A pivot can be as small as the
/// jitter, so that its relative error is v ε / jitter, and the elements below it, which can be as large as √v, have
/// half of that. On top of it come the roundings of a sum of n products. Both are magnified by the normal numbers,
/// below 5, and by the number of roundings; found on the emulation is less than a twentieth of this.
double tolerance_of_values(const GpDistribution& d, const GpBatch& batch) {
  const auto n = static_cast<double>(batch.task.xc.dim(1) + batch.task.xt.dim(1));
  double variance = 0;
  for (const Kernel& kernel : batch.truth.kernels()) variance = std::max(variance, kernel.variance());
  return 32 * variance * std::numeric_limits<double>::epsilon() * (std::sqrt(variance) / d.jitter + n);
}

template <class T>
void check_device_against_cpu(const GpDistribution& d, std::int64_t batch_size, std::uint64_t seed, Split split) {
  constexpr DType kType = dtype_of<T>();
  const GpBatch here = GpSampler(d, {batch_size, seed, split, kType}).draw(seed);
  const GpBatch there = GpSampler(d, {batch_size, seed, split, kType, Device::cuda}).draw(seed);
  CHECK(there.task.yt.device() == Device::cuda);
  CHECK(there.truth.kernels() == here.truth.kernels());
  CHECK(there.truth.context_noise() == here.truth.context_noise());
  CHECK(there.truth.target_noise() == here.truth.target_noise());
  CHECK(same(there.task.lengths, here.task.lengths));
  const Task task = on_cpu(there.task);
  const double epsilon = std::numeric_limits<T>::epsilon(), reach = std::max(std::abs(d.low), std::abs(d.high));
  for (Tensor Task::*x : {&Task::xc, &Task::xt})
    CHECK(largest_difference<T>(task, here.task, x) <= 2 * epsilon * reach);
  const double tolerance = std::max(tolerance_of_values(d, here), 8 * epsilon);  // values are below 8
  for (Tensor Task::*y : {&Task::yc, &Task::yt}) CHECK(largest_difference<T>(task, here.task, y) <= tolerance);
}

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
                             Prior{Prior::Kind::uniform, 2, 2.5}, Prior{Prior::Kind::beta, 3, 7}}) {
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
TEST_CASE("[gp sampler] the exact posterior scores what is known of every test distribution") {
  constexpr double kReferenceError = 0.006;
  for (const auto& [protocol, batches] : {std::pair("quick/gp1d", 600), std::pair("tnp/gp-rbf", 600),
                                          std::pair("tnp-kr/gp1d-rbf", 250), std::pair("tnp-kr/gp1d-matern", 250),
                                          std::pair("tnp-kr/gp1d-periodic", 250), std::pair("tnp-kr/gp2d-rbf", 60)}) {
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

TEST_CASE("[gp sampler] a CUDA device draws what the CPU draws") {
  if (!has_device()) return;
  for (const std::string& name : protocol_names()) {
    CAPTURE(name);
    const Protocol p = load_protocol(name);
    if (!gp_distribution(*p.data)) continue;
    std::vector<GpDistribution> distributions{*gp_distribution(*p.data)};
    for (const TestConfig& test : p.evaluation.tests) distributions.push_back(*gp_distribution(*test.data));
    std::uint64_t seed = 0;
    for (const GpDistribution& d : distributions)
      for (Split split : {Split::training, Split::validation, Split::evaluation}) {
        CAPTURE(++seed);
        check_device_against_cpu<double>(d, 5, seed, split);
        check_device_against_cpu<float>(d, 5, seed, split);
      }
  }
}

TEST_CASE("[gp sampler] on a CUDA device: other kernels, a grid in space, own locations, few and many points") {
  if (!has_device()) return;
  GpDistribution d = fixed_distribution();
  d.kernels.push_back({KernelKind::matern52, {Prior::Kind::uniform, 0.5, 1}, {}, {}});
  d.kernels.push_back({KernelKind::rbf, {Prior::Kind::uniform, 0.5, 1}, {}, {}});
  d.kernels.push_back(
      {KernelKind::rbf_mixture, {Prior::Kind::uniform, 0.5, 1}, {}, {}, {Prior::Kind::uniform, 0.2, 1}});
  for (bool shared : {false, true})
    for (std::int64_t dims : {1, 3})
      for (std::int64_t points : {4, 16, 33, 530}) {
        CAPTURE(dims);
        CAPTURE(points);
        d.shared = shared;
        d.dims = dims;
        d.points = points;
        d.grid = points == 16 ? 0 : 1 + (dims == 1);
        d.jitter = points == 530 ? 1e-2 : 1e-4;
        d.ragged = points == 33;
        d.context = {0, points == 33 ? 34 : 2};
        check_device_against_cpu<double>(d, points == 530 ? 2 : 6, 7, Split::training);
      }
}

TEST_CASE("[gp sampler] on a CUDA device: the same bits each time, NaN without a factor, and an oracle") {
  if (!has_device()) return;
  const Protocol p = load_protocol("tnp-kr/gp1d-matern");
  const GpSampler here(*gp_distribution(*p.data), {4, 1, Split::evaluation}),
      there(*gp_distribution(*p.data), {4, 1, Split::evaluation, DType::float32, Device::cuda});
  CHECK(same(on_cpu(there.task(2)), on_cpu(there.task(2))));
  const auto exact = [](const Batch& b) { return *mean_log_likelihood(*b.truth, b.task, Density::marginal); };
  CHECK(exact(there.batch(2)) == doctest::Approx(exact(here.batch(2))).epsilon(1e-3));

  GpDistribution flat = fixed_distribution();
  flat.kernels = {{KernelKind::rbf, {Prior::Kind::constant, 1e6}, {}, {}}};
  flat.points = 40;
  flat.jitter = 0;
  CHECK_THROWS_AS(GpSampler(flat, {2, 0, Split::training}).task(0), Error);
  const Task task = on_cpu(GpSampler(flat, {2, 0, Split::training, DType::float64, Device::cuda}).task(0));
  CHECK(std::isnan(task.yt.values<double>()[42]));
  CHECK(std::isfinite(task.xt.values<double>()[42]));
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
  CHECK_THROWS_WITH_AS(error([](GpDistribution& d) { d.targets = GpDistribution::Targets::disjoint; })(),
                       "[gp sampler] 4 points, expected at least 8", Error);
  CHECK_THROWS_WITH_AS(error([](GpDistribution& d) {
                         d.targets = GpDistribution::Targets::disjoint;
                         d.points = 8;
                       })(),
                       "[gp sampler] a grid of 3 points with disjoint targets, expected none", Error);
}
