#include "npzoo/models/predictions/target_paths.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/predictions/target_orders.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// Row b·P + p of x (B·P, n, D) as (P, B, n, D).
Tensor paths_first(const Tensor& x, std::int64_t batch) {
  const std::int64_t rows = x.dim(0), paths = rows / batch, each = x.dim(1) * x.dim(2);
  Tensor index = Tensor::empty({1, rows}, DType::int64, Device::cpu);
  for (std::int64_t i = 0; i < rows; ++i) index.data<std::int64_t>()[i] = i % batch * paths + i / batch;
  return reshape(gather(reshape(x, {1, rows, each}), index), {paths, batch, x.dim(1), x.dim(2)});
}

/// The order that undoes each of the orders (…, n).
Tensor inverse(const Tensor& orders) {
  const std::int64_t n = orders.dim(-1);
  Tensor back = Tensor::empty(orders.shape(), DType::int64, Device::cpu);
  for (std::int64_t i = 0; i < orders.numel(); ++i)
    back.data<std::int64_t>()[i / n * n + orders.data<std::int64_t>()[i]] = i % n;
  return back;
}

/// Orders (B, n, Nt) of paths [begin, end).
Tensor slice_paths(const Tensor& orders, std::int64_t begin, std::int64_t end) {
  const std::int64_t batch = orders.dim(0), all = orders.dim(1), targets = orders.dim(2), some = end - begin;
  Tensor part = Tensor::empty({batch, some, targets}, DType::int64, Device::cpu);
  for (std::int64_t b = 0; b < batch; ++b)
    std::copy_n(orders.data<std::int64_t>() + (b * all + begin) * targets, some * targets,
                part.data<std::int64_t>() + b * some * targets);
  return part;
}

}  // namespace

TargetPaths::TargetPaths(std::shared_ptr<const ContextState> state, Tensor xt, const Draws& draws, std::int64_t samples,
                         const Plan& plan)
    : Autoregressive(std::move(state), xt, draws, samples, 1),
      xt_(std::move(xt)),
      draws_(draws),
      samples_(samples),
      plan_(plan) {}

Marginals TargetPaths::marginals() const {
  Draws draws = draws_;
  Paths paths = follow(samples_, draws);
  return {std::move(paths.moments.mean), std::move(paths.moments.std)};
}

Tensor TargetPaths::sample(std::int64_t n, Draws& draws) const {
  return follow(n, draws).values.detach().to(Device::cpu).to(DType::float64);
}

/// n paths of each task.
TargetPaths::Paths TargetPaths::follow(std::int64_t n, Draws& draws) const {
  const NoGrad off;
  const Tensor orders = plan_.permute ? draw_orders(n, draws) : Tensor();
  const Tensor noise = draw_noise(n, draws);
  const std::int64_t together = paths_at_a_time(n);
  std::vector<Tensor> mean, std, values;
  for (std::int64_t begin = 0; begin < n; begin += together) {
    const std::int64_t end = std::min(begin + together, n);
    Paths some = follow(orders.defined() ? slice_paths(orders, begin, end) : Tensor(), slice(noise, 1, begin, end));
    mean.push_back(std::move(some.moments.mean));
    std.push_back(std::move(some.moments.std));
    values.push_back(std::move(some.values));
  }
  return {{concat(mean, 0), concat(std, 0)}, concat(values, 0)};
}

/// Draws orders for each task and path (B, n, Nt): the targets in the order of random numbers.
Tensor TargetPaths::draw_orders(std::int64_t n, Draws& draws) const {
  const std::int64_t batch = xt_.dim(0), targets = xt_.dim(1);
  const Tensor keys = draws.normal(n, batch, {targets}, DType::float64, Device::cpu);  // (n, B, Nt)
  Tensor orders = Tensor::empty({batch, n, targets}, DType::int64, Device::cpu);
  for (std::int64_t row = 0; row < n * batch; ++row) {
    const auto width = static_cast<std::size_t>(targets), from = static_cast<std::size_t>(row) * width;
    const auto to = static_cast<std::size_t>(row % batch * n + row / batch) * width;
    sort_places(keys.values<double>().subspan(from, width), orders.values<std::int64_t>().subspan(to, width));
  }
  return orders;
}

/// Standard normal, (B, n, Nt · Dy), drawn target by target.
Tensor TargetPaths::draw_noise(std::int64_t n, Draws& draws) const {
  const std::int64_t batch = xt_.dim(0), targets = xt_.dim(1), width = plan_.dim_y;
  Tensor noise = Tensor::empty({batch, n, targets * width}, DType::float64, Device::cpu);
  for (std::int64_t t = 0; t < targets; ++t) {
    const Tensor drawn = draws.normal(n, batch, {width}, DType::float64, Device::cpu);  // (n, B, Dy)
    for (std::int64_t row = 0; row < n * batch; ++row)
      std::copy_n(drawn.data<double>() + row * width, width,
                  noise.data<double>() + ((row % batch * n + row / batch) * targets + t) * width);
  }
  return noise.to(xt_.dtype()).to(xt_.device());
}

std::int64_t TargetPaths::paths_at_a_time(std::int64_t n) const {
  const std::int64_t path = xt_.dim(0) * xt_.dim(1) * plan_.numbers * static_cast<std::int64_t>(size_of(xt_.dtype()));
  return std::clamp<std::int64_t>(path_memory(xt_.device()) / std::max<std::int64_t>(path, 1), 1, n);
}

/// Paths in these orders (B, P, Nt), undefined for the given one; noise (B, P, Nt · Dy).
TargetPaths::Paths TargetPaths::follow(const Tensor& orders, const Tensor& noise) const {
  const std::int64_t batch = xt_.dim(0), paths = noise.dim(1), targets = xt_.dim(1), width = plan_.dim_y;
  const Shape each{batch * paths, targets, width};
  const Tensor x = inputs(orders, paths), normal = reshape(noise, each);
  const std::unique_ptr<Walk> on_their_way = walk(batch * paths);
  Tensor mean = Tensor::empty(each, x.dtype(), x.device()), std = Tensor::empty_like(mean),
         values = Tensor::empty_like(mean);
  for (std::int64_t t = 0; t < targets; ++t) {
    throw_if_stopped();
    const Moments one = on_their_way->target(x, values, t);
    copy_slice(one.mean, 1, t, mean);
    copy_slice(one.std, 1, t, std);
    copy_slice(add(one.mean, mul(one.std, slice(normal, 1, t, t + 1))), 1, t, values);
  }
  const auto as_given = [&](const Tensor& in_order) {
    if (!orders.defined()) return paths_first(in_order, batch);
    return paths_first(gather(in_order, inverse(orders).view({batch * paths, targets})), batch);
  };
  return {{as_given(mean), as_given(std)}, as_given(values)};
}

/// Targets in the order in which each path meets them, (B·P, Nt, Dx).
Tensor TargetPaths::inputs(const Tensor& orders, std::int64_t paths) const {
  const std::int64_t batch = xt_.dim(0), targets = xt_.dim(1), width = xt_.dim(2);
  if (orders.defined())
    return reshape(gather(xt_, orders.view({batch, paths * targets})), {batch * paths, targets, width});
  return reshape(broadcast_to(reshape(xt_, {batch, 1, targets, width}), {batch, paths, targets, width}),
                 {batch * paths, targets, width});
}

}  // namespace npzoo
