#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "npzoo/datasets/kinds/gp/config.h"
#include "npzoo/datasets/kinds/gp/oracle.h"
#include "npzoo/datasets/kinds/gp/sampler.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/error.h"
#include "tests/datasets/gp_fixtures.h"

using namespace npzoo;
using npzoo::testing::fixed_distribution;
using npzoo::testing::same;

namespace {

/// False, with a message, if there is no device to draw on, not even an emulated one.
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

TEST_CASE("[gp sampler] a CUDA device draws the same as the CPU") {
  if (!has_device()) return;
  std::uint64_t seed = 0;
  for (const std::string& name : protocol_names()) {
    CAPTURE(name);
    const Protocol p = load_protocol(name);
    if (!gp_distribution(*p.data)) continue;
    std::vector<GpDistribution> distributions{*gp_distribution(*p.data)};
    for (const TestConfig& test : p.evaluation.tests)
      if (const GpDistribution* other = gp_distribution(*test.data)) distributions.push_back(*other);
    for (const GpDistribution& d : distributions) {
      const auto split = static_cast<Split>(1 + ++seed % 3);  // it changes the random numbers alone
      CAPTURE(seed);
      check_device_against_cpu<double>(d, 3, seed, split);
      check_device_against_cpu<float>(d, 3, seed, split);
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
