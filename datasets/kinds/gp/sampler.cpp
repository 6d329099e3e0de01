#include "npzoo/datasets/kinds/gp/sampler.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "npzoo/datasets/gaussian_processes/cholesky.h"
#include "npzoo/datasets/kinds/gp/draw.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/measure/machine.h"
#include "npzoo/engine/memory.h"

namespace npzoo {

std::int64_t grid_points(const GpDistribution& d) {
  if (d.grid == 0) return 0;
  std::int64_t count = 1;
  for (std::int64_t axis = 0; axis < d.dims; ++axis) count *= d.grid;
  return count;
}

GpCounts draw_counts(const GpDistribution& d, std::int64_t batch_size, Random& random) {
  GpCounts counts;
  counts.context.resize(batch_size);
  if (d.ragged)
    std::ranges::generate(counts.context, [&] { return d.context.draw(random); });
  else
    std::ranges::fill(counts.context, d.context.draw(random));
  counts.max_context = std::ranges::max(counts.context);
  if (d.targets == GpDistribution::Targets::all) {
    counts.points = counts.targets = d.points + grid_points(d);
  } else {
    counts.targets = d.targets == GpDistribution::Targets::rest ? d.points - counts.max_context
                     : d.target_count                           ? d.target_count->draw(random)
                                      : random.integer(d.min_targets, d.points - counts.max_context);
    counts.points = counts.max_context + counts.targets;
  }
  return counts;
}

Kernel draw_kernel(const GpDistribution& d, Random& random) {
  const auto which = random.integer(0, static_cast<std::int64_t>(d.kernels.size()));
  Kernel kernel = d.kernels[which].draw(random);
  kernel.nugget = d.jitter;
  return kernel;
}

namespace {

/// Functions of a batch, before noise.
struct Functions {
  std::int64_t dims;
  std::vector<Kernel> kernels;  // (B)
  std::vector<double> x;        // (B, points, Dx)
  std::vector<double> f;        // (B, points)
};

/// Random locations first, so that contexts are taken from them, then the grid.
std::vector<double> draw_locations(const GpDistribution& d, std::int64_t count, Random& random) {
  const std::int64_t on_grid = grid_points(d);
  std::vector<double> x(static_cast<std::size_t>(count * d.dims));
  const auto grid_begin = x.begin() + (count - on_grid) * d.dims;
  std::generate(x.begin(), grid_begin, [&] { return random.uniform(d.low, d.high); });
  const double step = d.grid > 1 ? (d.high - d.low) / static_cast<double>(d.grid - 1) : 0;
  auto out = grid_begin;
  for (std::int64_t i = 0; i < on_grid; ++i)
    for (std::int64_t axis = 0, rest = i; axis < d.dims; ++axis, rest /= d.grid)
      *out++ = d.low + step * static_cast<double>(rest % d.grid);
  return x;
}

Functions draw_functions(const GpDistribution& d, std::int64_t batch_size, std::int64_t points, Random& random) {
  Functions functions{d.dims, {}, {}, std::vector<double>(batch_size * points)};
  Kernel kernel;
  std::vector<double> x, z(points);
  std::optional<Cholesky> factor;
  for (std::int64_t b = 0; b < batch_size; ++b) {
    throw_if_stopped();
    if (!d.shared || b == 0) {
      kernel = draw_kernel(d, random);
      x = draw_locations(d, points, random);
      factor.emplace(covariance(kernel, {x, d.dims}), points);
    }
    random.fill_normal(z);
    factor->multiply(z, std::span(functions.f).subspan(b * points, points));
    functions.kernels.push_back(kernel);
    functions.x.insert(functions.x.end(), x.begin(), x.end());
  }
  return functions;
}

/// Inputs x and noisy values y of consecutive points, from point `first` of all rows on.
void observe(const Functions& functions, std::int64_t first, double noise, Random& random, std::span<double> x,
             std::span<double> y) {
  std::copy_n(functions.x.begin() + first * functions.dims, x.size(), x.begin());
  random.fill_normal(y);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = functions.f[first + i] + noise * y[i];
}

GpBatch draw_on_host(const GpDistribution& d, const GpCounts& counts, Random& random, DType dtype) {
  const auto batch = static_cast<std::int64_t>(counts.context.size());
  Functions functions = draw_functions(d, batch, counts.points, random);
  const std::int64_t nc = counts.max_context, nt = counts.targets, dims = d.dims;
  Tensor xc = Tensor::zeros({batch, nc, dims}, DType::float64, Device::cpu);
  Tensor yc = Tensor::zeros({batch, nc, 1}, DType::float64, Device::cpu);
  Tensor xt = Tensor::empty({batch, nt, dims}, DType::float64, Device::cpu);
  Tensor yt = Tensor::empty({batch, nt, 1}, DType::float64, Device::cpu);
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t first = b * counts.points, own = counts.context[b];
    observe(functions, first, d.context_noise, random, xc.values<double>().subspan(b * nc * dims, own * dims),
            yc.values<double>().subspan(b * nc, own));
    observe(functions, first + counts.points - nt, d.target_noise, random,
            xt.values<double>().subspan(b * nt * dims, nt * dims), yt.values<double>().subspan(b * nt, nt));
  }
  return {{xc.to(dtype), yc.to(dtype), xt.to(dtype), yt.to(dtype), {}},
          {std::move(functions.kernels), d.context_noise, d.target_noise}};
}

/// Returns the least memory of the host for a batch of the most points, in doubles so that nothing overflows.
double least_bytes(const GpDistribution& d, std::int64_t batch_size, Device device) {
  const bool all = d.targets == GpDistribution::Targets::all;
  const auto points = static_cast<double>(all ? d.points + grid_points(d) : d.points - 1);
  const double values =
      device == Device::cpu ? 2 * points * static_cast<double>(d.dims + 1) : 1;  // twice: as tensors too
  return static_cast<double>(batch_size) * (sizeof(double) * values + sizeof(Kernel));
}

}  // namespace

GpSampler::GpSampler(GpDistribution distribution, const SourceOptions& options)
    : distribution_(std::move(distribution)), options_(options) {
  const GpDistribution& d = distribution_;
  const std::int64_t batch_size = options.batch_size;
  const bool all = d.targets == GpDistribution::Targets::all;
  check(batch_size > 0, "[gp sampler] batch size {}, expected at least 1", batch_size);
  check(!d.kernels.empty(), "[gp sampler] no kernel, expected at least one");
  check(d.dims > 0 && d.low < d.high, "[gp sampler] domain [{}, {})^{}, expected a volume", d.low, d.high, d.dims);
  check(0 <= d.context.low && d.context.low < d.context.high,
        "[gp sampler] context range [{}, {}), expected 0 <= low < high", d.context.low, d.context.high);
  const std::int64_t targets = d.targets == GpDistribution::Targets::rest ? 1
                               : d.target_count                           ? d.target_count->high - 1
                                                                          : d.min_targets + 1;
  const std::int64_t needed = d.context.high - 1 + (all ? 0 : targets);
  check(needed <= d.points, "[gp sampler] {} points, expected at least {}", d.points, needed);
  check(all || d.grid == 0, "[gp sampler] a grid of {} points with disjoint targets, expected none", d.grid);
  if (const double bytes = least_bytes(d, batch_size, options.device); bytes > static_cast<double>(usable_memory()))
    throw OutOfMemory(fmt::format(
        "[memory] a batch of {} tasks takes {:.0f} bytes or more, expected at most {}, the memory of this machine",
        batch_size, bytes, usable_memory()));
}

GpBatch GpSampler::draw(std::uint64_t index) const try {
  const auto& [batch_size, seed, split, dtype, device] = options_;
  Random random(seed, static_cast<std::uint64_t>(split) << 56 | index);
  const GpCounts counts = draw_counts(distribution_, batch_size, random);
  GpBatch batch = device == Device::cuda ? draw_on_device(distribution_, counts, random, dtype)
                                         : draw_on_host(distribution_, counts, random, dtype);
  if (distribution_.ragged) batch.task.lengths = Tensor::from<std::int64_t>({batch_size}, counts.context);
  return batch;
} catch (const std::bad_alloc&) {
  throw OutOfMemory(fmt::format("[memory] the system has no room for a batch of {} tasks", options_.batch_size));
}

Batch GpSampler::batch(std::uint64_t index) const {
  GpBatch drawn = draw(index);
  return {std::move(drawn.task), std::make_shared<const GpTruth>(std::move(drawn.truth))};
}

}  // namespace npzoo
