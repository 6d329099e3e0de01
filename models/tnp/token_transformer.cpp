#include "models/tnp/token_transformer.h"

#include "models/blocks/chunks.h"
#include "models/predictions/independent.h"

namespace npzoo {

namespace {

std::vector<std::int64_t> embedder_widths(const TokenTransformerConfig& config) {
  std::vector<std::int64_t> widths{config.dim_x + config.dim_y};
  widths.insert(widths.end(), config.embedder.begin(), config.embedder.end());
  check(widths.back() == config.transformer.width, "[token_transformer] the embedder ends in {}, expected {}",
        widths.back(), config.transformer.width);
  return widths;
}

}  // namespace

TokenModel::TokenModel(const TokenTransformerConfig& config, Initializer& init)
    : embedder(embedder_widths(config), init), encoder(config.transformer, init), config_(config) {}

std::unique_ptr<ContextState> TokenModel::condition(const Context& context, Draws& draws, std::int64_t samples) const {
  const Context points = clear_padding(context);
  Tensor tokens = in_chunks(concat({points.xc, points.yc}, -1), embedder);                 // (B, Nc, E)
  auto encoded = encoder.encode(std::move(tokens), PrefixMask::lengths(context.lengths));  // per layer (B, Nc, E)
  return std::make_unique<TokenTransformerState>(HeldContext(context, draws, samples), std::move(encoded));
}

template <class F>
Tensor TokenModel::chunks(const ContextState& state, const Tensor& xt, const F& f) const {
  const auto& context = state_as<TokenTransformerState>(state, "token_transformer");
  const PrefixMask mask = PrefixMask::lengths(context.context.lengths);
  return in_chunks(xt, [&](const Tensor& x) {
    const Tensor unknown = Tensor::zeros(x.shape().with(-1, config_.dim_y), x.dtype(), x.device());  // (B, n, Dy)
    const Tensor tokens = embedder(concat({x, unknown}, -1));                                        // (B, n, E)
    return f(encoder.query(context.encoded, tokens, mask));                                          // (B, n, E)
  });
}

Tensor TokenModel::encode_targets(const ContextState& state, const Tensor& xt) const {
  return chunks(state, xt, [](Tensor h) { return h; });
}

Tensor TokenModel::encode_targets(const ContextState& state, const Tensor& xt, const Mlp& head) const {
  return chunks(state, xt, head);
}

void TokenModel::visit(ModuleVisitor& visitor) {
  visitor("embedder", embedder);
  visitor("encoder", encoder);
}

TokenTransformer::TokenTransformer(const TokenTransformerConfig& config, Initializer& init)
    : TokenModel(config, init), predictor({config.transformer.width, config.head_hidden, 2 * config.dim_y}, init) {}

std::unique_ptr<Prediction> TokenTransformer::query(const ContextState& state, const Tensor& xt) const {
  const Tensor raw = encode_targets(state, xt, predictor);                 // (B, Nt, 2 Dy)
  return std::make_unique<Independent>(gaussian_head(raw, config().std));  // (B, Nt, Dy)
}

Tensor TokenTransformer::loss(const Task& task, Draws& draws) const {
  const Tensor loss = Model::loss(task, draws);
  return config().loss_per_channel ? mean_over_channels(loss, dim_y()) : loss;
}

void TokenTransformer::visit(ModuleVisitor& visitor) {
  TokenModel::visit(visitor);
  visitor("predictor", predictor);
}

}  // namespace npzoo
