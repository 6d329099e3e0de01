#include "npzoo/models/model.h"

#include "npzoo/engine/boundary.h"
#include "npzoo/engine/error.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/mask_points/mask_points.h"

namespace npzoo {

namespace {

void check_lengths(const Context& context) {
  const std::int64_t batch = context.xc.dim(0);
  check(!context.lengths.defined() || context.lengths.shape() == Shape{batch},
        "[context] lengths {} found, expected {} of them", context.lengths.shape(), batch);
}

/// How many points of a row are real.
std::int64_t count(const Context& context, std::int64_t b) {
  if (!context.lengths.defined()) return context.xc.dim(1);
  const std::int64_t n = context.lengths.values<std::int64_t>()[static_cast<std::size_t>(b)];
  check(0 <= n && n <= context.xc.dim(1), "[context] row {} has length {}, expected 0 to {}", b, n, context.xc.dim(1));
  return n;
}

void check_each_length(const Context& context) {
  check_lengths(context);
  if (!context.lengths.defined()) return;
  for (std::int64_t b = 0; b < context.xc.dim(0); ++b) count(context, b);
}

}  // namespace

PointsToJoin points_of(const Context& context) {
  check_each_length(context);
  return {{context.xc, context.yc}, context.lengths};
}

Context clear_padding(const Context& context) {
  check_each_length(context);
  if (!context.lengths.defined()) return context;
  return {mask_points(context.xc, context.lengths), mask_points(context.yc, context.lengths), context.lengths};
}

Context join(const Context& a, const Context& b, Draws& draws) {
  check_lengths(b);
  const Context side_by_side{concat({a.xc, b.xc}, 1), concat({a.yc, b.yc}, 1), {}};
  if (!a.lengths.defined() && !b.lengths.defined()) return side_by_side;
  const std::int64_t batch = a.xc.dim(0), from_a = a.xc.dim(1), all = side_by_side.xc.dim(1);
  const Tensor lengths = draws.derived({batch}, [a, b](std::span<std::int64_t> out) {
    for (std::int64_t row = 0; row < std::ssize(out); ++row) out[row] = count(a, row) + count(b, row);
  });
  const Tensor index = draws.derived({batch, all}, [a, b, batch, from_a, all](std::span<std::int64_t> out) {
    for (std::int64_t row = 0; row < batch; ++row) {
      const std::int64_t first = count(a, row), both = first + count(b, row);
      for (std::int64_t i = 0; i < all; ++i) out[row * all + i] = i < first ? i : i < both ? from_a + i - first : 0;
    }
  });
  return {gather(side_by_side.xc, index), gather(side_by_side.yc, index), lengths};
}

std::unique_ptr<ContextState> Model::condition(const Context& context, Draws& draws, std::int64_t samples) const {
  check(samples >= 1, "[condition] {} samples found, expected 1 or more", samples);
  return with_errors([&] { return do_condition(context, draws, samples); });
}

std::unique_ptr<Prediction> Model::query(const ContextState& state, const Tensor& xt) const {
  return with_errors([&] { return do_query(state, xt); });
}

std::unique_ptr<ContextState> Model::update(const ContextState& state, const Context& more) const {
  return with_errors([&] { return do_update(state, more); });
}

std::unique_ptr<ContextState> Model::do_update(const ContextState& state, const Context& more) const {
  const auto& held = state_as<HeldContext>(state, "update");
  Draws draws = held.draws;
  const Context all = join(held.context, more, draws);
  return condition(all, draws, held.samples);
}

Tensor Model::loss(const Task& task, Draws& draws) const {
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, 1);
  return nll(*query(*state, task.xt), task.yt, task.target_weights, task.target_totals);
}

Device device_of(const Model& model) {
  // `visit` hands out the parameters to change them, which nothing does here.
  const std::vector<NamedParameter> parameters = named_tensors(const_cast<Model&>(model));
  return parameters.empty() ? default_device() : parameters.front().parameter->value.device();
}

Tensor nearest_places(const Model& model, const Tensor& x) {
  const auto grid = model.places();
  if (!grid) return x;
  Tensor at = x.detach().to(Device::cpu).to(DType::float64).clone();
  for (std::int64_t i = 0; i < at.numel(); ++i) {
    double& place = at.data<double>()[i];
    place = grid->along(static_cast<int>(i % grid->dims())).nearest(place);
  }
  return at.to(x.dtype()).to(x.device());
}

Tensor mean_over_channels(const Tensor& loss, std::int64_t dim_y) {
  return dim_y == 1 ? loss : affine(loss, 1 / static_cast<double>(dim_y), 0);
}

}  // namespace npzoo
