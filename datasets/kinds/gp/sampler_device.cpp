#include <span>

#include "npzoo/datasets/kinds/gp/draw.h"
#include "npzoo/datasets/kinds/gp/kernels.h"
#include "npzoo/engine/backend.h"
#include "npzoo/engine/cuda/transfer.h"

namespace npzoo {

namespace {

/// Blocks that Random::fill_normal takes for so many numbers.
std::uint64_t normal_blocks(std::int64_t count) { return static_cast<std::uint64_t>(count + 1) / 2; }

/// Draws the kernels and moves `random` past everything that the device draws, in the order of the CPU.
std::vector<GpDraw> make_draws(const GpDistribution& d, const GpCounts& counts, Random& random) {
  std::vector<GpDraw> draws(counts.context.size());
  const std::int64_t coordinates = (counts.points - grid_points(d)) * d.dims;
  for (GpDraw& draw : draws) {
    if (!d.shared || &draw == draws.data()) {
      draw.kernel = draw_kernel(d, random);
      draw.locations = random.reserve(static_cast<std::uint64_t>(coordinates)).offset;
    } else {
      draw = draws[0];
    }
    draw.normals = random.reserve(normal_blocks(counts.points)).offset;
  }
  for (std::size_t b = 0; b < draws.size(); ++b) {
    draws[b].context = counts.context[b];
    draws[b].context_noise = random.reserve(normal_blocks(counts.context[b])).offset;
    draws[b].target_noise = random.reserve(normal_blocks(counts.targets)).offset;
  }
  return draws;
}

}  // namespace

GpBatch draw_on_device(const GpDistribution& d, const GpCounts& counts, Random& random, DType dtype) {
  const std::vector<GpDraw> draws = make_draws(d, counts, random);
  const auto bytes = std::as_bytes(std::span(draws));
  const Buffer there(bytes.size(), Device::cuda);
  upload(there.data(), bytes.data(), bytes.size());

  const auto batch = static_cast<std::int64_t>(draws.size());
  const std::int64_t nc = counts.max_context, nt = counts.targets;
  Task task{Tensor::empty({batch, nc, d.dims}, dtype, Device::cuda),
            Tensor::empty({batch, nc, 1}, dtype, Device::cuda),
            Tensor::empty({batch, nt, d.dims}, dtype, Device::cuda),
            Tensor::empty({batch, nt, 1}, dtype, Device::cuda),
            {}};
  run_on_cuda("gp", task.xt, [&]<class T>(const Backend& cuda) {
    draw_gp_tasks<T>(cuda, {.seed = random.state().seed,
                            .stream = random.state().stream,
                            .batch = batch,
                            .dims = d.dims,
                            .points = counts.points,
                            .grid = grid_points(d),
                            .grid_width = d.grid,
                            .low = d.low,
                            .high = d.high,
                            .shared = d.shared,
                            .context = nc,
                            .targets = nt,
                            .context_noise = d.context_noise,
                            .target_noise = d.target_noise,
                            .draws = reinterpret_cast<const GpDraw*>(there.data()),
                            .xc = task.xc.data<T>(),
                            .yc = task.yc.data<T>(),
                            .xt = task.xt.data<T>(),
                            .yt = task.yt.data<T>()});
  });
  std::vector<Kernel> kernels;
  for (const GpDraw& draw : draws) kernels.push_back(draw.kernel);
  return {std::move(task), {std::move(kernels), d.context_noise, d.target_noise}};
}

}  // namespace npzoo
