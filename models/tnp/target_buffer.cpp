#include "npzoo/models/tnp/target_buffer.h"

#include <algorithm>
#include <cmath>

#include "npzoo/models/blocks/path_attention.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/predictions/mixture.h"
#include "npzoo/models/predictions/target_orders.h"
#include "npzoo/models/tnp/buffered_targets.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

std::int64_t read_buffer(ConfigReader& reader) {
  return reader.integer("buffer", "the most targets in a buffer behind the context; 0: no buffer", 0, 65536, 0);
}

const BufferedState& buffer_of(const ContextState& state) {
  const auto* own = dynamic_cast<const BufferedState*>(&state);
  check(own != nullptr, "[prediction] a state without a buffer found, expected one of a model with `buffer`");
  return *own;
}

std::unique_ptr<Prediction> BufferedModel::in_turn(const ContextState& state, const Tensor& xt, const Draws& draws,
                                                   std::int64_t samples) const {
  if (buffer_size() == 0) return nullptr;
  return std::make_unique<BufferedTargets>(*this, with_empty_buffer(state), xt, draws, samples);
}

Marginals BufferedModel::given_context(const ContextState& state, const Tensor& xt) const {
  const BufferedState& buffer = buffer_of(state);
  if (buffer.count() == 0) return given_context_alone(state, xt);
  const PrefixMask all = PrefixMask::first(buffer.count());
  return predict(state, {target_tokens(state, xt), xt, buffer.count(), {all, all}},
                 [&](std::size_t row, const Tensor&) { return buffer.buffer_rows[row]; });
}

Marginals BufferedModel::given_buffer(const ContextState& state, const Context& buffer, const Tensor& xt,
                                      const BufferMasks& masks) const {
  const Tensor tokens =
      concat({buffer_tokens(state, buffer.xc, buffer.yc, 0), target_tokens(state, xt)}, 1);  // (B, n + Nt, E)
  return predict(state, {tokens, xt, 0, masks},
                 [&](std::size_t row, const Tensor& states) { return row_of(row, states); });
}

Tensor through_buffer(const TwoStreamTransformer& encoder, const TwoStreamTransformer::Encoded& context,
                      const PrefixMask& real, const BufferStream& stream, const BufferedModel::ReadRow& read) {
  const std::int64_t points = stream.points();
  Tensor h = stream.tokens;  // (B·P, n, E)
  for (std::size_t i = 0; i < encoder.layers.size(); ++i) {
    const TransformerLayer& layer = encoder.layers[i];
    const KeysValues rows = read(i, slice(h, 1, 0, points));
    const bool last = i + 1 == encoder.layers.size();  // only the targets leave it
    if (last) h = slice(h, 1, points, h.dim(1));
    h = layer.after_attention(h, attend_along_paths(layer.attention, layer.before_attention(h), context[i], real, rows,
                                                    last ? stream.masks.by_targets : stream.masks.all));
  }
  return encoder.norm ? (*encoder.norm)(h) : h;
}

BufferMasks drawn_buffer_masks(std::int64_t batch, std::int64_t count, std::int64_t buffer, Draws& draws) {
  const Tensor half = draws.uniform(1, batch, {count}, DType::float64, Device::cpu),
               share = draws.uniform(1, batch, {count}, DType::float64, Device::cpu);
  // Behind `first` points of the buffer, which see those before them, each target sees some that come before it.
  const auto fill = [half, share, count, buffer](std::int64_t first, std::span<std::int64_t> seen) {
    for (std::int64_t i = 0; i < std::ssize(seen); ++i) {
      const std::int64_t at = i % (first + count), target = at - first;
      if (target < 0) {
        seen[i] = at;
        continue;
      }
      const std::int64_t drawn = i / (first + count) * count + target, most = std::min(target, buffer);
      const bool none = most == 0 || half.values<double>()[drawn] < 0.5;
      seen[i] = none ? 0 : 1 + static_cast<std::int64_t>(share.values<double>()[drawn] * static_cast<double>(most));
    }
  };
  const auto mask = [&](std::int64_t first) {
    return PrefixMask::lengths(
        draws.derived({batch, first + count}, [fill, first](std::span<std::int64_t> seen) { fill(first, seen); }));
  };
  return {mask(buffer), mask(0)};
}

Tensor learned_token_rows(std::int64_t rows, std::int64_t width, Initializer& init) {
  return affine(init.standard_normal({rows, width}), 1 / std::sqrt(static_cast<double>(width)), 0);
}

TargetsForLoss predict_for_loss(const BufferedModel& model, const Task& task, Draws& draws,
                                const std::function<std::unique_ptr<ContextState>()>& encode) {
  Task shuffled = in_drawn_orders(task, 1, draws).front();
  const Context targets = clear_padding({shuffled.xt, shuffled.yt, task.target_lengths});
  shuffled.xt = targets.xc;
  shuffled.yt = targets.yc;
  const std::int64_t count = targets.xc.dim(1), buffer = std::clamp<std::int64_t>(count - 1, 0, model.buffer_size());
  const BufferMasks masks = drawn_buffer_masks(targets.xc.dim(0), count, buffer, draws);
  const std::unique_ptr<ContextState> state = encode();
  const Context first{slice(targets.xc, 1, 0, buffer), slice(targets.yc, 1, 0, buffer), {}};
  return {std::move(shuffled), as_prediction(model.given_buffer(*state, first, targets.xc, masks))};
}

std::unique_ptr<Prediction> as_prediction(Marginals marginals) {
  if (marginals.log_weight.defined()) return std::make_unique<Mixture>(std::move(marginals));
  const auto alone = [](const Tensor& x) { return reshape(x, x.shape().without(0)); };
  return std::make_unique<Independent>(Moments{alone(marginals.mean), alone(marginals.std)});
}

Tensor points_of_paths(const Tensor& x, std::int64_t paths) {
  if (paths == 1) return x;
  const std::int64_t batch = x.dim(0), n = x.dim(1), width = x.dim(2);
  return reshape(broadcast_to(reshape(x, {batch, 1, n, width}), {batch, paths, n, width}), {batch * paths, n, width});
}

Context context_of_paths(const Context& context, const Context& points) {
  const std::int64_t batch = context.xc.dim(0), paths = batch > 0 ? points.xc.dim(0) / batch : 1;
  return {points_of_paths(context.xc, paths), points_of_paths(context.yc, paths),
          lengths_of_paths(context.lengths, paths)};
}

Tensor lengths_of_paths(const Tensor& lengths, std::int64_t paths) {
  if (!lengths.defined() || paths == 1) return lengths;
  Tensor all = Tensor::empty({lengths.dim(0) * paths}, DType::int64, Device::cpu);
  for (std::int64_t row = 0; row < all.dim(0); ++row)
    all.data<std::int64_t>()[row] = lengths.data<std::int64_t>()[row / paths];
  return all;
}

}  // namespace npzoo
