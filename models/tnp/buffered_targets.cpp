#include "npzoo/models/tnp/buffered_targets.h"

#include <algorithm>
#include <string>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/predictions/components.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/models/predictions/target_paths.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// Keys and values of the buffers of paths on their way.
class PathBuffers {
 public:
  PathBuffers(const BufferedModel& model, const Tensor& x, std::int64_t points)
      : model_(model), rows_(static_cast<std::size_t>(model.row_count())) {
    const Shape each{x.dim(0), points, model.row_width()};
    for (KeysValues& row : rows_)
      row = {Tensor::empty(each, x.dtype(), x.device()), Tensor::empty(each, x.dtype(), x.device())};
  }

  /// Predicts target t from x (B·P, Nt, Dx) and values (B·P, Nt, Dy) of those before it. The buffer's first point is
  /// target `begin`; on the way target t − 1 enters it.
  Marginals target(const ContextState& state, const Tensor& x, const Tensor& values, std::int64_t begin,
                   std::int64_t t) {
    const std::int64_t seen = t - begin;
    const Tensor xt = slice(x, 1, t, t + 1);
    const PrefixMask all = PrefixMask::first(seen);
    Tensor tokens = model_.target_tokens(state, xt);
    if (seen > 0) {
      const Tensor last = model_.buffer_tokens(state, slice(x, 1, t - 1, t), slice(values, 1, t - 1, t), seen - 1);
      tokens = concat({last, tokens}, 1);
    }
    // The point that enters sees those before it, the target sees it as well.
    const BufferMasks masks{seen > 0 ? PrefixMask::growing(seen - 1) : all, all};
    return model_.predict(state, {tokens, xt, std::max<std::int64_t>(seen - 1, 0), masks},
                          [&](std::size_t row, const Tensor& states) -> KeysValues {
                            KeysValues& rows = rows_[row];
                            if (seen == 0) return rows;
                            const KeysValues one = model_.row_of(row, states);
                            copy_slice(one.keys, 1, seen - 1, rows.keys);
                            copy_slice(one.values, 1, seen - 1, rows.values);
                            return rows;
                          });
  }

 private:
  const BufferedModel& model_;
  BufferRows rows_;
};

}  // namespace

BufferedTargets::BufferedTargets(const BufferedModel& model, const std::shared_ptr<const ContextState>& state,
                                 Tensor xt, const Draws& draws, std::int64_t samples)
    : Autoregressive(state, xt, draws, samples, 1),
      model_(model.sharing_weights()),
      state_(state),
      xt_(std::move(xt)) {}

Marginals BufferedTargets::marginals() const { return model_->given_context(*state_, xt_); }

Tensor BufferedTargets::log_likelihood(const Tensor& y) const { return as_prediction(marginals())->log_likelihood(y); }

DensityForms BufferedTargets::forms() const {
  const std::int64_t size = model_->buffer_size();
  return {.joint = xt_.dim(1) <= size ? "teacher-forced"
                                      : "teacher-forced, buffer joins the context after " + std::to_string(size)};
}

/// Targets x (B, n, Dx) of one filling of the buffer, each given the values y of those before it, in one pass.
Marginals BufferedTargets::given_block(const ContextState& state, const Tensor& x, const Tensor& y) const {
  const std::int64_t batch = x.dim(0), targets = x.dim(1), given = std::max<std::int64_t>(targets - 1, 0),
                     width = given + targets;
  Tensor seen = Tensor::empty({batch, width}, DType::int64, Device::cpu);
  for (std::int64_t i = 0; i < batch * width; ++i)
    seen.data<std::int64_t>()[i] = i % width < given ? i % width : i % width - given;
  return model_->given_buffer(state, {slice(x, 1, 0, given), slice(y, 1, 0, given), {}}, x,
                              {PrefixMask::lengths(seen), PrefixMask::growing(0)});
}

Marginals BufferedTargets::given_those_before(const Tensor& y) const {
  const std::int64_t targets = xt_.dim(1), size = model_->buffer_size();
  check(y.dim(1) == targets, "[prediction] y {} found, expected values of {} targets", y.shape(), targets);
  const Tensor values = y.to(xt_.dtype()).to(xt_.device());
  std::shared_ptr<const ContextState> state = state_;
  std::vector<Tensor> mean, std, weight;
  for (std::int64_t begin = 0; begin == 0 || begin < targets; begin += size) {
    throw_if_stopped();
    const std::int64_t end = std::min(begin + size, targets);
    const Tensor x = slice(xt_, 1, begin, end), known = slice(values, 1, begin, end);
    const Marginals block = given_block(*state, x, known);
    mean.push_back(block.mean);
    std.push_back(block.std);
    if (block.log_weight.defined()) weight.push_back(block.log_weight);
    if (end < targets) state = model_->absorbed(*state, {x, known, {}});
  }
  return {concat(mean, 2), concat(std, 2), weight.empty() ? Tensor() : concat(weight, 2)};
}

Tensor BufferedTargets::joint_log_likelihood(const Tensor& y) const {
  return as_prediction(given_those_before(y))->joint_log_likelihood(y);
}

std::unique_ptr<Prediction> BufferedTargets::next(const ContextState& state, const Tensor& xt) const {
  return as_prediction(model_->given_context(state, xt));
}

std::unique_ptr<ContextState> BufferedTargets::after(const ContextState& state, const Context& observed) const {
  const BufferedState& before = buffer_of(state);
  const std::int64_t count = before.count();
  const auto with = [](const Tensor& first, const Tensor& more) {
    return first.defined() ? concat({first, more}, 1) : more;
  };
  const Context points{with(before.buffered.xc, observed.xc), with(before.buffered.yc, observed.yc), {}};
  if (points.xc.dim(1) >= model_->buffer_size()) return model_->absorbed(state, points);
  BufferRows rows(static_cast<std::size_t>(model_->row_count()));
  const Tensor no_targets = slice(observed.xc, 1, 0, 0);
  const PrefixMask all = PrefixMask::first(count);
  model_->predict(state, {model_->buffer_tokens(state, observed.xc, observed.yc, count), no_targets, count, {all, all}},
                  [&](std::size_t row, const Tensor& states) {
                    const KeysValues more = model_->row_of(row, states);
                    if (count == 0) return rows[row] = more;
                    const KeysValues& old = before.buffer_rows[row];
                    return rows[row] = {concat({old.keys, more.keys}, 1), concat({old.values, more.values}, 1)};
                  });
  return before.with_buffer(points, std::move(rows));
}

std::int64_t BufferedTargets::paths_at_a_time(std::int64_t n) const {
  const std::int64_t targets = xt_.dim(1), size = model_->buffer_size(),
                     points = targets <= size ? targets : size + buffer_of(*state_).context_points() + targets;
  const std::int64_t numbers = 2 * model_->row_count() * model_->row_width();
  const std::int64_t path = xt_.dim(0) * points * numbers * static_cast<std::int64_t>(size_of(xt_.dtype()));
  return std::clamp<std::int64_t>(TargetPaths::path_memory(xt_.device()) / std::max<std::int64_t>(path, 1), 1, n);
}

std::vector<BufferedTargets::Noise> BufferedTargets::draw_noise(std::int64_t n, Draws& draws) const {
  const std::int64_t batch = xt_.dim(0);
  std::vector<Noise> noise(static_cast<std::size_t>(xt_.dim(1)));
  for (Noise& target : noise) {
    if (model_->components() > 1) target.component = draws.uniform(n, batch, {1}, DType::float64, Device::cpu);
    target.value = draws.normal(n, batch, {model_->dim_y()}, DType::float64, Device::cpu);
  }
  return noise;
}

/// Draws a target (M, B·P, 1, Dy) on each path: (B·P, 1, Dy), in the model's dtype, on its device.
Tensor BufferedTargets::draw_target(const Marginals& target, const Noise& noise, std::int64_t first,
                                    std::int64_t paths) const {
  const Tensor mean = on_host(target.mean), std = on_host(target.std);
  const Tensor weight = target.log_weight.defined() ? on_host(target.log_weight) : Tensor();
  const std::int64_t batch = xt_.dim(0), width = model_->dim_y(), rows = batch * paths, count = mean.dim(0);
  Tensor y = Tensor::empty({rows, 1, width}, DType::float64, Device::cpu);
  std::vector<double> weights(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t drawn = (first + row % paths) * batch + row / paths;
    std::int64_t component = 0;
    if (weight.defined()) {
      for (std::int64_t k = 0; k < count; ++k) weights[k] = weight.data<double>()[k * rows + row];
      component = static_cast<std::int64_t>(choose(weights, noise.component.data<double>()[drawn]));
    }
    for (std::int64_t d = 0; d < width; ++d) {
      const std::int64_t at = (component * rows + row) * width + d;
      y.data<double>()[row * width + d] =
          mean.data<double>()[at] + std.data<double>()[at] * noise.value.data<double>()[drawn * width + d];
    }
  }
  return y.to(xt_.dtype()).to(xt_.device());
}

Tensor BufferedTargets::follow(const std::vector<Noise>& noise, std::int64_t first, std::int64_t paths) const {
  const std::int64_t targets = xt_.dim(1), size = model_->buffer_size();
  const Tensor x = points_of_paths(xt_, paths);
  Tensor values = Tensor::empty(x.shape().with(2, model_->dim_y()), x.dtype(), x.device());
  std::shared_ptr<const ContextState> state = state_;
  for (std::int64_t begin = 0; begin < targets; begin += size) {
    const std::int64_t end = std::min(begin + size, targets);
    PathBuffers buffers(*model_, x, end - begin - 1);
    for (std::int64_t t = begin; t < end; ++t) {
      throw_if_stopped();
      const Marginals target = buffers.target(*state, x, values, begin, t);
      copy_slice(draw_target(target, noise[static_cast<std::size_t>(t)], first, paths), 1, t, values);
    }
    if (end == targets) break;
    state = model_->absorbed(*state, {slice(x, 1, begin, end), slice(values, 1, begin, end), {}});
  }
  return values;
}

Tensor BufferedTargets::sample(std::int64_t n, Draws& draws) const {
  const NoGrad off;
  const std::int64_t batch = xt_.dim(0), each = xt_.dim(1) * model_->dim_y(), together = paths_at_a_time(n);
  const std::vector<Noise> noise = draw_noise(n, draws);
  Tensor samples = Tensor::empty({n, batch, xt_.dim(1), model_->dim_y()}, DType::float64, Device::cpu);
  for (std::int64_t first = 0; first < n; first += together) {
    const std::int64_t paths = std::min(together, n - first);
    const Tensor values = on_host(follow(noise, first, paths));  // (B·P, Nt, Dy)
    for (std::int64_t row = 0; row < batch * paths; ++row)
      std::copy_n(values.data<double>() + row * each, each,
                  samples.data<double>() + ((first + row % paths) * batch + row / paths) * each);
  }
  return samples;
}

}  // namespace npzoo
