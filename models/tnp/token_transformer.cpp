#include "npzoo/models/tnp/token_transformer.h"

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/drop_values.h"
#include "npzoo/models/blocks/recomputed.h"
#include "npzoo/models/conditional/encoders.h"

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

std::unique_ptr<TokenTransformerState> TokenModel::encoded(const Context& context, const Draws& draws,
                                                           std::int64_t samples, const Dropping& dropping) const {
  auto layers = layers_of(context, dropping);
  return std::make_unique<TokenTransformerState>(HeldContext(context, draws, samples), std::move(layers));
}

TwoStreamTransformer::Encoded TokenModel::layers_of(const Context& context, const Dropping& dropping) const {
  Tensor tokens = tokens_of(concat_points({points_of(context)}));                            // (B, Nc, E)
  return encoder.encode(std::move(tokens), PrefixMask::lengths(context.lengths), dropping);  // per layer
}

bool TokenModel::together(const Context& context, const Tensor& xt) const {
  const std::int64_t nc = context.xc.dim(1);
  return encoder.records_whole({context.xc.dim(0), nc + xt.dim(1), config_.transformer.width}, nc);
}

Tensor TokenModel::encode_together(const Context& context, const Tensor& xt) const {
  const std::int64_t nc = context.xc.dim(1);
  const Tensor tokens = embedder(concat_points({points_of(context), {{xt}}}));  // (B, Nc + Nt, E)
  return slice(encoder.together(tokens, nc, PrefixMask::lengths(context.lengths)), 1, nc, tokens.dim(1));
}

Tensor TokenModel::tokens_of(const Tensor& points) const {
  if (!recomputes(points)) return in_chunks(points, embedder);
  return recomputed_points("embed_points", points, {embedder.layers[0].weight.value},
                           [this](const Tensor& some, std::int64_t) { return embedder(some); });
}

std::unique_ptr<ContextState> TokenModel::do_condition(const Context& context, Draws& draws,
                                                       std::int64_t samples) const {
  // The encoder takes a small context through each layer with the targets, once these are known.
  if (together(context, context.xc))
    return std::make_unique<TokenTransformerState>(HeldContext(context, draws, samples),
                                                   TwoStreamTransformer::Encoded());
  return encoded(context, draws, samples);
}

template <class F>
Tensor TokenModel::chunks(const ContextState& state, const Tensor& xt, const F& f) const {
  const auto& context = state_as<TokenTransformerState>(state, "token_transformer");
  if (context.encoded.empty() && together(context.context, xt)) return f(encode_together(context.context, xt));
  const auto with_unknown = [this](const Tensor& x) {  // (B, n, Dx + Dy)
    return concat({x, Tensor::zeros(x.shape().with(-1, config_.dim_y), x.dtype(), x.device())}, -1);
  };
  const PrefixMask mask = PrefixMask::lengths(context.context.lengths);
  const auto encoded = context.encoded.empty() ? layers_of(context.context) : context.encoded;
  const auto rows = [this, mask, encoded, with_unknown, f](const Tensor& x, std::int64_t) {
    return f(encoder.query(encoded, embedder(with_unknown(x)), mask));  // (B, n, E)
  };
  if (recomputes(xt)) return recomputed_points("query", xt, {embedder.layers[0].weight.value}, rows);
  return in_chunks(xt, [&](const Tensor& x) { return rows(x, 0); });
}

Tensor TokenModel::encode_targets(const ContextState& state, const Tensor& xt) const {
  return chunks(state, xt, [](Tensor h) { return h; });
}

Tensor TokenModel::encode_targets(const ContextState& state, const Tensor& xt, const Mlp& head) const {
  return chunks(state, xt, [&head](const Tensor& h) { return head(h); });
}

Tensor TokenModel::encode_context(const ContextState& state) const {
  const auto& own = state_as<TokenTransformerState>(state, "token_transformer");
  const PrefixMask mask = PrefixMask::lengths(own.context.lengths);
  const Tensor tokens = embedder(concat_points({points_of(own.context)}));
  return own.encoded.empty() ? encoder.together(tokens, tokens.dim(1), mask) : encoder.query(own.encoded, tokens, mask);
}

void TokenModel::visit(ModuleVisitor& visitor) {
  visitor("embedder", embedder);
  visitor("encoder", encoder);
}

TokenTransformer::TokenTransformer(const TokenTransformerConfig& config, Initializer& init)
    : TokenModel(config, init),
      predictor({config.transformer.width, config.head_hidden, config.likelihood.outputs(config.dim_y)}, init) {}

std::unique_ptr<Prediction> TokenTransformer::do_query(const ContextState& state, const Tensor& xt) const {
  const Tensor raw = encode_targets(state, xt, predictor);     // (B, Nt, 2 Dy)
  return output_head(raw, config().std, config().likelihood);  // (B, Nt, Dy)
}

Tensor TokenTransformer::loss(const Task& task, Draws& draws) const {
  if (config().score_context) return loss_of_all_points(task, draws);
  const Tensor loss = Model::loss(drop_values(task, config().drop_y, draws), draws);
  return config().loss_per_channel ? mean_over_channels(loss, dim_y()) : loss;
}

Tensor TokenTransformer::loss_of_all_points(const Task& task, Draws& draws) const {
  // Padding goes before any density is taken: what stands there may be NaN.
  const Task dropped = drop_values(task, config().drop_y, draws);
  const Context seen = clear_padding({dropped.xc, dropped.yc, task.lengths}),
                given = clear_padding({task.xc, task.yc, task.lengths}),
                wanted = clear_padding({task.xt, task.yt, task.target_lengths});
  const PrefixMask mask = PrefixMask::lengths(task.lengths);
  const Tensor unknown = Tensor::zeros(wanted.yc.shape(), wanted.yc.dtype(), wanted.yc.device());
  const Tensor context = embedder(concat({seen.xc, seen.yc}, -1));                         // (B, Nc, E)
  const Tensor targets = embedder(concat({wanted.xc, unknown}, -1));                       // (B, Nt, E)
  const auto encoded = encoder.encode(context, mask);                                      // per layer (B, Nc, E)
  const Tensor all = encoder.query(encoded, concat({context, targets}, 1), mask);          // (B, Nc + Nt, E)
  const auto prediction = output_head(predictor(all), config().std, config().likelihood);  // (B, Nc + Nt, Dy)
  return nll(*prediction, concat({given.yc, wanted.yc}, 1), context_and_targets(task).weights);
}

void TokenTransformer::visit(ModuleVisitor& visitor) {
  TokenModel::visit(visitor);
  visitor("predictor", predictor);
}

}  // namespace npzoo
