#include "npzoo/models/tnp/tnp_buffer.h"

#include <algorithm>
#include <cmath>

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/min_std.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"
#include "npzoo/ops/softmax/softmax.h"

namespace npzoo {

namespace {

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

std::unique_ptr<ContextState> TnpBufferState::with_buffer(Context points, BufferRows rows) const {
  auto extended = std::make_unique<TnpBufferState>(*this);
  extended->buffered = std::move(points);
  extended->buffer_rows = std::move(rows);
  return extended;
}

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

Tensor TnpBuffer::buffer_tokens(const ContextState& /*state*/, const Tensor& x, const Tensor& y,
                                std::int64_t first) const {
  const Tensor place = add(slice(positions.value, 0, first, first + x.dim(1)), role(Role::buffer));  // (n, E)
  return add(add(embedder_x(x), embedder_y(y)), place);                                              // (B, n, E)
}

Tensor TnpBuffer::target_tokens(const ContextState& /*state*/, const Tensor& x) const {
  return add(embedder_x(x), role(Role::target));  // (B, n, E)
}

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
  return state;
}

std::unique_ptr<ContextState> TnpBuffer::do_condition(const Context& context, Draws& draws,
                                                      std::int64_t samples) const {
  return encoded(context, draws, samples);
}

std::unique_ptr<Prediction> TnpBuffer::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& own = state_as<TnpBufferState>(state, "tnp-buffer");
  return in_turn(own, xt, own.draws, own.samples);
}

/// raw (B, n, ·) of the predicting network.
Marginals TnpBuffer::components_of(const Tensor& raw) const {
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

std::shared_ptr<const ContextState> TnpBuffer::with_empty_buffer(const ContextState& state) const {
  return std::make_shared<const TnpBufferState>(state_as<TnpBufferState>(state, "tnp-buffer"));
}

Marginals TnpBuffer::predict(const ContextState& state, const BufferStream& stream, const ReadRow& read) const {
  const auto& own = state_as<TnpBufferState>(state, "tnp-buffer");
  const PrefixMask real = PrefixMask::lengths(own.context.lengths);
  return components_of(predictor(through_buffer(encoder, own.encoded, real, stream, read)));
}

Marginals TnpBuffer::given_context_alone(const ContextState& state, const Tensor& xt) const {
  const auto& own = state_as<TnpBufferState>(state, "tnp-buffer");
  const PrefixMask real = PrefixMask::lengths(own.context.lengths);
  return components_of(in_chunks(xt, [&](const Tensor& x) {
    return predictor(encoder.query(own.encoded, target_tokens(state, x), real));  // (B, n, M (2 Dy + 1))
  }));
}

std::unique_ptr<ContextState> TnpBuffer::absorbed(const ContextState& state, const Context& points) const {
  const auto& own = state_as<TnpBufferState>(state, "tnp-buffer");
  Draws draws = own.draws;
  return encoded(join(context_of_paths(own.context, points), points, draws), own.draws, own.samples);
}

Tensor TnpBuffer::loss(const Task& task, Draws& draws) const {
  const TargetsForLoss targets = predict_for_loss(*this, task, draws, [&] {
    return encoded({task.xc, task.yc, task.lengths}, draws, 1);
  });
  return nll(*targets.prediction, targets.task.yt, targets.task.target_weights, task.target_totals);
}

void TnpBuffer::visit(ModuleVisitor& visitor) {
  visitor("embedder_x", embedder_x);
  visitor("embedder_y", embedder_y);
  visitor("roles", roles);
  visitor("positions", positions);
  visitor("encoder", encoder);
  visitor("predictor", predictor);
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
