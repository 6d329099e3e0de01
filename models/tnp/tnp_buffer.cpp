#include "npzoo/models/tnp/tnp_buffer.h"

#include <algorithm>
#include <cmath>

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/min_std.h"
#include "npzoo/models/blocks/path_attention.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/predictions/mixture.h"
#include "npzoo/models/predictions/target_orders.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/tnp/buffered_targets.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"
#include "npzoo/ops/softmax/softmax.h"

namespace npzoo {

namespace {

/// N(0, 1 / width), as learned positions and roles start.
Tensor learned_token_rows(std::int64_t rows, std::int64_t width, Initializer& init) {
  return affine(init.standard_normal({rows, width}), 1 / std::sqrt(static_cast<double>(width)), 0);
}

/// Numbers that the head gives for a target: of a mixture its logits, then means, then raw deviations.
std::int64_t width_of_buffer_head(const TnpBufferConfig& c) {
  return c.components * (2 * c.dim_y + (c.components > 1 ? 1 : 0));
}

/// (B, n, M · D) → (M, B, n, D)
Tensor by_component(const Tensor& x, std::int64_t components) {
  const std::int64_t width = x.dim(2) / components;
  const Shape one{1, x.dim(0), x.dim(1), width};
  if (components == 1) return reshape(x, one);
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(components), width);
  std::vector<Tensor> parts = split(x, -1, sizes);
  for (Tensor& part : parts) part = reshape(part, one);
  return concat(parts, 0);
}

}  // namespace

TnpBuffer::TnpBuffer(const TnpBufferConfig& config, Initializer& init)
    : embedder_x(
          Mlp::of_depth(config.dim_x, config.embedder_width, config.transformer.width, config.embedder_depth, init)),
      embedder_y(
          Mlp::of_depth(config.dim_y, config.embedder_width, config.transformer.width, config.embedder_depth, init)),
      roles{learned_token_rows(3, config.transformer.width, init)},
      positions{learned_token_rows(config.buffer, config.transformer.width, init)},
      encoder(config.transformer, init),
      predictor({config.transformer.width, config.head_hidden, width_of_buffer_head(config)}, init),
      config_(config) {}

Tensor TnpBuffer::role(Role which) const {
  const auto row = static_cast<std::int64_t>(which);
  return slice(roles.value, 0, row, row + 1);  // (1, E)
}

Tensor TnpBuffer::buffer_tokens(const Tensor& x, const Tensor& y, std::int64_t first) const {
  const Tensor place = add(slice(positions.value, 0, first, first + x.dim(1)), role(Role::buffer));  // (n, E)
  return add(add(embedder_x(x), embedder_y(y)), place);                                              // (B, n, E)
}

Tensor TnpBuffer::target_tokens(const Tensor& x) const { return add(embedder_x(x), role(Role::target)); }

std::unique_ptr<TnpBufferState> TnpBuffer::encoded(const Context& context, const Draws& draws,
                                                   std::int64_t samples) const {
  const Context points = clear_padding(context);
  const std::int64_t count = points.xc.dim(1);
  auto state = std::make_unique<TnpBufferState>(context, draws, samples);
  const Tensor own = role(Role::context);
  Tensor tokens = join_chunks(count, chunk_points(points.xc.device()), [&](std::int64_t begin, std::int64_t end) {
    const Tensor x = points_between(points.xc, begin, end), y = points_between(points.yc, begin, end);
    return add(add(embedder_x(x), embedder_y(y)), own);  // (B, n, E)
  });
  state->encoded = encoder.encode(std::move(tokens), PrefixMask::lengths(context.lengths));  // per layer (B, Nc, E)
  const Shape none = points.xc.shape().with(1, 0);
  const auto empty = [&](std::int64_t width) {
    return Tensor::zeros(none.with(2, width), points.xc.dtype(), points.xc.device());
  };
  state->buffered = {empty(config_.dim_x), empty(config_.dim_y), {}};
  const Tensor keys = empty(config_.transformer.key_width());
  state->buffer.assign(encoder.layers.size(), {keys, keys});
  return state;
}

std::unique_ptr<ContextState> TnpBuffer::do_condition(const Context& context, Draws& draws,
                                                      std::int64_t samples) const {
  return encoded(context, draws, samples);
}

std::unique_ptr<Prediction> TnpBuffer::do_query(const ContextState& state, const Tensor& xt) const {
  auto own = std::make_shared<const TnpBufferState>(state_as<TnpBufferState>(state, "tnp-buffer"));
  return std::make_unique<BufferedTargets>(*this, std::move(own), xt);
}

/// raw (B, n, ·) of the predicting network.
Marginals TnpBuffer::components(const Tensor& raw) const {
  const std::int64_t count = config_.components, moments = 2 * count * config_.dim_y;
  if (count == 1) {
    const Moments one = gaussian_head(raw, config_.std);
    return {by_component(one.mean, 1), by_component(one.std, 1)};
  }
  const std::vector<Tensor> parts = split(raw, -1, {count, moments});
  const Moments each = gaussian_head(parts[1], config_.std);         // (B, n, M · Dy)
  const Tensor weight = by_component(log_softmax(parts[0]), count);  // (M, B, n, 1)
  return {by_component(each.mean, count), by_component(each.std, count), reshape(weight, weight.shape().without(3))};
}

Marginals TnpBuffer::predict(const TnpBufferState& state, const Stream& stream, const BufferKeys& keys_of) const {
  const PrefixMask real = PrefixMask::lengths(state.context.lengths);
  Tensor h = stream.tokens;
  for (std::size_t i = 0; i < encoder.layers.size(); ++i) {
    const TransformerLayer& layer = encoder.layers[i];
    const KeysValues keys = keys_of(i, h);
    const bool last = i + 1 == encoder.layers.size();  // only the targets leave it
    if (last) h = slice(h, 1, h.dim(1) - stream.targets, h.dim(1));
    h = layer.after_attention(h, attend_along_paths(layer.attention, layer.before_attention(h), state.encoded[i], real,
                                                    keys, last ? stream.masks.by_targets : stream.masks.all));
  }
  return components(predictor(encoder.norm ? (*encoder.norm)(h) : h));
}

Marginals TnpBuffer::given_context(const TnpBufferState& state, const Tensor& xt) const {
  if (state.count() > 0) {
    const PrefixMask all = PrefixMask::first(state.count());
    return predict(state, {target_tokens(xt), xt.dim(1), {all, all}},
                   [&](std::size_t layer, const Tensor&) { return state.buffer[layer]; });
  }
  const PrefixMask real = PrefixMask::lengths(state.context.lengths);
  return components(in_chunks(xt, [&](const Tensor& x) {
    return predictor(encoder.query(state.encoded, target_tokens(x), real));  // (B, n, M (2 Dy + 1))
  }));
}

Marginals TnpBuffer::given_buffer(const TnpBufferState& state, const Context& buffer, const Tensor& xt,
                                  const BufferMasks& masks) const {
  const std::int64_t count = buffer.xc.dim(1);
  const Tensor tokens = concat({buffer_tokens(buffer.xc, buffer.yc, 0), target_tokens(xt)}, 1);  // (B, n + Nt, E)
  return predict(state, {tokens, xt.dim(1), masks}, [&](std::size_t layer, const Tensor& h) {
    return encoder.layers[layer].keys_values(slice(h, 1, 0, count));
  });
}

BufferMasks TnpBuffer::drawn_masks(std::int64_t batch, std::int64_t count, std::int64_t buffer, Draws& draws) {
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

Tensor TnpBuffer::loss(const Task& task, Draws& draws) const {
  const Task shuffled = in_drawn_orders(task, 1, draws).front();
  const Context targets = clear_padding({shuffled.xt, shuffled.yt, task.target_lengths});
  const std::int64_t count = targets.xc.dim(1), buffer = std::clamp<std::int64_t>(count - 1, 0, config_.buffer);
  const BufferMasks masks = drawn_masks(targets.xc.dim(0), count, buffer, draws);
  const auto state = encoded({task.xc, task.yc, task.lengths}, draws, 1);
  const Context first{slice(targets.xc, 1, 0, buffer), slice(targets.yc, 1, 0, buffer), {}};
  const auto prediction = as_prediction(given_buffer(*state, first, targets.xc, masks));
  return nll(*prediction, targets.yc, shuffled.target_weights, task.target_totals);
}

void TnpBuffer::visit(ModuleVisitor& visitor) {
  visitor("embedder_x", embedder_x);
  visitor("embedder_y", embedder_y);
  visitor("roles", roles);
  visitor("positions", positions);
  visitor("encoder", encoder);
  visitor("predictor", predictor);
}

std::unique_ptr<Prediction> as_prediction(Marginals marginals) {
  if (marginals.log_weight.defined()) return std::make_unique<Mixture>(std::move(marginals));
  const auto alone = [](const Tensor& x) { return reshape(x, x.shape().without(0)); };
  return std::make_unique<Independent>(Moments{alone(marginals.mean), alone(marginals.std)});
}

namespace {

std::unique_ptr<Model> make_tnp_buffer(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "tnp-buffer");
  TnpBufferConfig c;
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  c.transformer.width = reader.size("d_model", "width of tokens");
  c.transformer.hidden = reader.size("dim_feedforward", "width of the feed-forward networks");
  c.transformer.heads = reader.size("nhead", "attention heads");
  c.transformer.layers = reader.depth("num_layers", "layers");
  c.embedder_depth = reader.depth("emb_depth", "linear layers of the embeddings of inputs and of values");
  c.embedder_width = reader.size("emb_hidden", "width of their hidden layers");
  c.head_hidden = reader.size("head_hidden", "width of the predicting network's hidden layer");
  c.components = reader.size("components", "Gaussians in the mixture of a target; 1: one Gaussian");
  c.buffer = reader.size("buffer", "the most targets in the buffer before they become context");
  c.std.floor = read_min_std(reader);
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<TnpBuffer>(c, init);
}

constexpr const char* kSmallTnpBuffers[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2, "emb_hidden": 9, "head_hidden": 10, "components": 1, "buffer": 2, "min_std": 0.05})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2, "emb_hidden": 9, "head_hidden": 10, "components": 3, "buffer": 3, "min_std": 0.0})",
};

}  // namespace

ModelInfo tnp_buffer_info() {
  return {
      .name = "tnp-buffer",
      .title = "Transformer neural process with a causal autoregressive buffer",
      .paper = "Hassan et al., Efficient autoregressive inference for transformer probabilistic models, ICLR 2026",
      .make = make_tnp_buffer,
      .small_forms = kSmallTnpBuffers,
      .density = Density::joint,
  };
}

}  // namespace npzoo
