#include <span>

#include "datasets/gp/draw.h"
#include "datasets/gp/kernels.h"
#include "engine/backend.h"
#include "engine/cuda/transfer.h"

namespace npzoo {

namespace {

/// Blocks that Random::fill_normal takes for so many numbers.
std::uint64_t normal_blocks(std::int64_t count) { return static_cast<std::uint64_t>(count + 1) / 2; }

/// Draws the kernels and moves `random` past everything that the device draws, in the order of the CPU.
std::vector<GpTaskSource> draw_sources(const GpDistribution& d, const GpCounts& counts, Random& random) {
  std::vector<GpTaskSource> sources(counts.context.size());
  const std::int64_t coordinates = (counts.points - grid_points(d)) * d.dims;
  for (GpTaskSource& source : sources) {
    if (!d.shared || &source == sources.data()) {
      source.kernel = draw_kernel(d, random);
      source.locations = random.reserve(static_cast<std::uint64_t>(coordinates)).offset;
    } else {
      source = sources[0];
    }
    source.normals = random.reserve(normal_blocks(counts.points)).offset;
  }
  for (std::size_t b = 0; b < sources.size(); ++b) {
    sources[b].context = counts.context[b];
    sources[b].context_noise = random.reserve(normal_blocks(counts.context[b])).offset;
    sources[b].target_noise = random.reserve(normal_blocks(counts.targets)).offset;
  }
  return sources;
}

}  // namespace

GpBatch draw_on_device(const GpDistribution& d, const GpCounts& counts, Random& random, DType dtype) {
  const std::vector<GpTaskSource> sources = draw_sources(d, counts, random);
  const auto bytes = std::as_bytes(std::span(sources));
  const Buffer there(bytes.size(), Device::cuda);
  upload(there.data(), bytes.data(), bytes.size());

  const auto batch = static_cast<std::int64_t>(sources.size());
  const std::int64_t nc = counts.max_context, nt = counts.targets;
  GpBatch result{{Tensor::empty({batch, nc, d.dims}, dtype, Device::cuda),
                  Tensor::empty({batch, nc, 1}, dtype, Device::cuda),
                  Tensor::empty({batch, nt, d.dims}, dtype, Device::cuda),
                  Tensor::empty({batch, nt, 1}, dtype, Device::cuda),
                  {}},
                 {},
                 d.context_noise,
                 d.target_noise};
  for (const GpTaskSource& source : sources) result.kernels.push_back(source.kernel);
  Task& task = result.task;
  run_on_cuda(task.xt, [&]<class T>(auto& cuda) {
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
                            .sources = reinterpret_cast<const GpTaskSource*>(there.data()),
                            .xc = task.xc.data<T>(),
                            .yc = task.yc.data<T>(),
                            .xt = task.xt.data<T>(),
                            .yt = task.yt.data<T>()});
  });
  return result;
}

}  // namespace npzoo
