#include "npzoo/models/blocks/perceiver.h"

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/drop_values.h"
#include "npzoo/models/blocks/equal_layers.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/geglu/geglu.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reduce/reduce.h"

namespace npzoo {

namespace {

constexpr double kLayerNormEps = 1e-5;

}  // namespace

PerceiverLayer::PerceiverLayer(const PerceiverConfig& config, Kind kind, Initializer& init)
    : norm1(config.width, kLayerNormEps),
      attention(config.width, config.heads, init, AttentionBiases::output_only),
      norm2(config.width, kLayerNormEps),
      expand(config.width, 2 * config.hidden, init),
      contract(config.hidden, config.width, init),
      residual_(config.residual) {
  if (kind == Kind::cross_attention) norm_context.emplace(config.width, kLayerNormEps);
}

Tensor PerceiverLayer::operator()(const Tensor& x, const KeysValues& context, const PrefixMask& mask) const {
  const Tensor normal = norm1(x);                                                 // (B, Nq, E)
  return after_attention(residual(x, normal), attention(normal, context, mask));  // (B, Nq, E)
}

Tensor PerceiverLayer::operator()(const Tensor& x, const PrefixMask& mask) const {
  const Tensor normal = norm1(x);                       // (B, N, E)
  const KeysValues points = attention.project(normal);  // (B, N, E) each
  const Tensor& kept = residual(x, normal);
  return join_chunks(x.dim(1), chunk_points(x.device()), [&](std::int64_t begin, std::int64_t end) {
    const Tensor queries = points_between(normal, begin, end);  // (B, n, E)
    return after_attention(points_between(kept, begin, end), attention(queries, points, mask));
  });
}

Tensor PerceiverLayer::weights_among(const Tensor& x) const {
  const Tensor normal = norm1(x), queries = attention.query(normal), keys = attention.key(normal);
  return mean(attention_weights(queries, keys, PrefixMask::all(), attention.options()), 1);
}

Tensor PerceiverLayer::after_attention(const Tensor& kept, const Tensor& attended) const {
  const auto [sum, normal] = norm2(kept, attended);                    // (B, N, E) each
  return add(residual(sum, normal), contract(geglu(expand(normal))));  // (B, N, E)
}

void PerceiverLayer::visit(ModuleVisitor& visitor) {
  visitor("norm1", norm1);
  if (norm_context) visitor("norm_context", *norm_context);
  visitor("attention", attention);
  visitor("norm2", norm2);
  visitor("expand", expand);
  visitor("contract", contract);
}

LatentLayer::LatentLayer(const PerceiverConfig& config, Initializer& init)
    : cross(config, PerceiverLayer::Kind::cross_attention, init),
      self(config, PerceiverLayer::Kind::self_attention, init) {}

Latents LatentLayer::operator()(const Tensor& latents, const Tensor& context, const PrefixMask& mask) const {
  const Tensor normal = cross.norm1(latents);            // (B, L, E)
  const Tensor queries = cross.attention.query(normal);  // (B, L, E)
  AttentionState gathered;
  for_chunks(context.dim(1), chunk_points(context.device()), [&](std::int64_t begin, std::int64_t end) {
    const KeysValues points = cross.keys_values(points_between(context, begin, end));  // (B, n, E) each
    const auto part =
        incremental_cross_attention(queries, points.keys, points.values, mask.after(begin), cross.attention.options());
    gathered = begin == 0 ? part : merge(gathered, part);
  });
  return after_gathering(cross.residual(latents, normal), gathered);
}

Latents LatentLayer::after_gathering(const Tensor& kept, const AttentionState& gathered) const {
  const Tensor met = cross.after_attention(kept, cross.attention.out(gathered.mean));  // (B, L, E)
  if (!gathered.weights.defined()) return {self(met)};
  return {self(met), matmul(self.weights_among(met), mean(gathered.weights, 1))};
}

void LatentLayer::visit(ModuleVisitor& visitor) {
  visitor("cross", cross);
  visitor("self", self);
}

PerceiverModelConfig read_perceiver_config(ConfigReader& reader, const std::string& model) {
  PerceiverModelConfig c;
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  c.embedder_depth = reader.depth("emb_depth", "linear layers of the embedding of points");
  c.layers = reader.depth("num_layers", "layers");
  c.layer.width = reader.size("d_model", "width of tokens");
  c.layer.hidden = reader.size("dim_feedforward", "width of the feed-forward networks");
  c.layer.heads = reader.size("nhead", "attention heads");
  constexpr KeyLine kResidual = "input that residual connections add to the attention: normalised, or as it is";
  if (reader.choice("residual", kResidual, {"normalised", "input"}, "normalised") == "input")
    c.layer.residual = Residual::input;
  if (reader.get<bool>("bound_std", "whether standard deviations have a positive lower bound", false))
    c.std = {StdForm::Kind::softplus, 0.05};
  c.drop_y = read_drop_y(reader);
  const auto dropout = reader.number("dropout", "0: no published run uses another value", kFinite, 0);
  check(dropout == 0, "[{}] dropout {} found, expected 0: no published run uses another", model, dropout);
  return c;
}

Mlp perceiver_embedder(const PerceiverModelConfig& config, Initializer& init) {
  return Mlp::of_depth(config.dim_x + config.dim_y, config.layer.width, config.layer.width, config.embedder_depth,
                       init);
}

PerceiverDecoder::PerceiverDecoder(const PerceiverModelConfig& config, Initializer& init)
    : embedder(Mlp::of_depth(config.dim_x, config.layer.width, config.layer.width, config.embedder_depth, init)),
      norm(config.layer.width, kLayerNormEps),
      predictor({config.layer.width, config.layer.hidden, config.likelihood.outputs(config.dim_y)}, init),
      std_(config.std),
      likelihood_(config.likelihood) {
  for (std::int64_t i = 0; i < config.layers; ++i)
    layers.emplace_back(config.layer, PerceiverLayer::Kind::cross_attention, init);
  make_equal(layers);
}

KeysValues PerceiverDecoder::keys_values(std::size_t i, const Latents& latents) const {
  KeysValues read = layers[i].keys_values(latents.states);
  read.origin = {i, latents.reading};
  return read;
}

template <class F>
Tensor PerceiverDecoder::chunks(const Tensor& xt, const std::vector<KeysValues>& context, const PrefixMask& mask,
                                const F& f) const {
  check(context.size() == layers.size(), "[perceiver] the state of the context has {} layers, expected {}",
        context.size(), layers.size());
  return in_chunks(xt, [&](const Tensor& x) {
    Tensor h = embedder(x);                                                              // (B, n, E)
    for (std::size_t i = 0; i < layers.size(); ++i) h = layers[i](h, context[i], mask);  // (B, n, E)
    return f(norm(h));
  });
}

Tensor PerceiverDecoder::encode(const Tensor& xt, const std::vector<KeysValues>& context,
                                const PrefixMask& mask) const {
  return chunks(xt, context, mask, [](Tensor h) { return h; });
}

std::unique_ptr<Prediction> PerceiverDecoder::operator()(const Tensor& xt, const std::vector<KeysValues>& context,
                                                         const PrefixMask& mask) const {
  const Tensor raw = chunks(xt, context, mask, [&](const Tensor& h) { return predictor(h); });  // (B, Nt, 2 Dy)
  return output_head(raw, std_, likelihood_);                                                   // (B, Nt, Dy)
}

void PerceiverDecoder::visit(ModuleVisitor& visitor) {
  visitor("embedder", embedder);
  visitor("layers", layers);
  visitor("norm", norm);
  visitor("predictor", predictor);
}

}  // namespace npzoo
