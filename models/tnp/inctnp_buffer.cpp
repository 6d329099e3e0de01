#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/path_attention.h"
#include "npzoo/models/tnp/inctnp.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"

// The buffer of incTNP.

namespace npzoo {

namespace {

const CausalTransformer::Cache& cache_behind_buffer(const ContextState& state) {
  return state_as<IncTnpBufferState>(state, "inctnp").cache;
}

Marginals as_one_component(const Moments& m) {
  const auto one = [](const Tensor& x) { return reshape(x, {1, x.dim(0), x.dim(1), x.dim(2)}); };
  return {one(m.mean), one(m.std)};
}

/// The cache once for each of P paths of each task.
CausalTransformer::Cache cache_of_paths(const CausalTransformer::Cache& cache, std::int64_t paths) {
  if (paths == 1) return cache;
  CausalTransformer::Cache all{GrowingRows(cache.rows.arrays()).joined(cache.rows.count()),
                               lengths_of_paths(cache.lengths, paths)};
  for (std::size_t i = 0; i < cache.rows.arrays(); ++i)
    all.rows.append(i, points_of_paths(cache.rows.points(i), paths));
  return all;
}

std::unique_ptr<IncTnpBufferState> before_buffer(const CausalTransformer::Cache& cache) {
  auto state = std::make_unique<IncTnpBufferState>();
  state->cache = cache;
  return state;
}

}  // namespace

std::unique_ptr<ContextState> IncTnpBufferState::with_buffer(Context points, BufferRows rows) const {
  auto extended = std::make_unique<IncTnpBufferState>(*this);
  extended->buffered = std::move(points);
  extended->buffer_rows = std::move(rows);
  return extended;
}

std::shared_ptr<const ContextState> IncTnp::with_empty_buffer(const ContextState& state) const {
  return before_buffer(state_as<IncTnpState>(state, "inctnp").cache);
}

Tensor IncTnp::loss_through_buffer(const Task& task, Draws& draws) const {
  const TargetsForLoss targets = predict_for_loss(*this, task, draws, [&] {
    return before_buffer(extended({}, {task.xc, task.yc, task.lengths})->cache);
  });
  return nll(*targets.prediction, targets.task.yt, targets.task.target_weights, task.target_totals);
}

Tensor IncTnp::buffer_tokens(const ContextState& /*state*/, const Tensor& x, const Tensor& y,
                             std::int64_t first) const {
  return add(context_tokens(x, y), slice(positions.value, 0, first, first + x.dim(1)));  // (B, n, E)
}

Tensor IncTnp::target_tokens(const ContextState& /*state*/, const Tensor& x) const { return tokens_of_targets(x); }

KeysValues IncTnp::row_of(std::size_t row, const Tensor& states) const {
  const auto& layers = row % 2 == 0 ? encoder.context_layers : encoder.target_layers;
  return layers[row / 2].keys_values(states);
}

Marginals IncTnp::predict(const ContextState& state, const BufferStream& stream, const ReadRow& read) const {
  const CausalTransformer::Cache& cache = cache_behind_buffer(state);
  const PrefixMask real = CausalTransformer::real_points(cache), itself_too = PrefixMask::growing(stream.first + 1);
  const std::int64_t count = stream.points();
  Tensor points = slice(stream.tokens, 1, 0, count), targets = slice(stream.tokens, 1, count, stream.tokens.dim(1));
  for (std::size_t i = 0; i < encoder.context_layers.size(); ++i) {
    const TransformerLayer &own = encoder.context_layers[i], &of_targets = encoder.target_layers[i];
    const KeysValues before = read(2 * i, points);
    if (count > 0)
      points = own.after_attention(
          points, attend_along_paths(own.attention, own.before_attention(points), encoder.read_by_context(cache, i),
                                     real, before, itself_too));  // (B·P, n, E)
    const KeysValues shown = read(2 * i + 1, points);
    targets = of_targets.after_attention(targets,
                                         attend_along_paths(of_targets.attention, of_targets.before_attention(targets),
                                                            encoder.read_by_targets(cache, i), real, shown,
                                                            stream.masks.by_targets));  // (B·P, Nt, E)
  }
  return as_one_component(gaussian_head(predictor(targets), config_.std));
}

Marginals IncTnp::given_context_alone(const ContextState& state, const Tensor& xt) const {
  const Tensor raw = in_chunks(
      xt, [&](const Tensor& x) { return predictor(encoder.query(cache_behind_buffer(state), tokens_of_targets(x))); });
  return as_one_component(gaussian_head(raw, config_.std));
}

std::unique_ptr<ContextState> IncTnp::absorbed(const ContextState& state, const Context& points) const {
  const CausalTransformer::Cache& cache = cache_behind_buffer(state);
  const std::int64_t batch = cache.rows[0].dim(0), paths = batch > 0 ? points.xc.dim(0) / batch : 1;
  return before_buffer(encoder.extend(cache_of_paths(cache, paths), context_tokens(points.xc, points.yc), {}));
}

}  // namespace npzoo
