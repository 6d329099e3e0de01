#include "npzoo/models/blocks/transformer.h"

#include <algorithm>
#include <utility>

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/equal_layers.h"
#include "npzoo/models/blocks/recomputed.h"
#include "npzoo/ops/elementwise/elementwise.h"

namespace npzoo {

namespace {

MultiheadAttention attention_of_layer(const TransformerConfig& c, Initializer& init) {
  if (c.features) return MultiheadAttention(c.width, c.heads, *c.features, init);
  if (c.head_width > 0) return MultiheadAttention(HeadWidths{c.width, c.heads, c.head_width}, init);
  if (c.attention_width == 0) return MultiheadAttention(c.width, c.heads, init);
  return MultiheadAttention({c.width, c.width, c.width, c.attention_width, c.width}, c.heads, init);
}

WeightAndBias weight_and_bias(const auto& module) { return {module.weight.value, module.bias.value}; }

}  // namespace

TransformerLayer::TransformerLayer(const TransformerConfig& config, Initializer& init)
    : attention(attention_of_layer(config, init)),
      norm1(config.width, config.layer_norm_eps),
      norm2(config.width, config.layer_norm_eps),
      expand(config.width, config.hidden, init),
      contract(config.hidden, config.width, init),
      norm_(config.norm),
      gelu_(config.gelu) {}

KeysValues TransformerLayer::keys_values_of(const Tensor& points, const PrefixMask& mask) const {
  return attention.project(norm_ == NormPlacement::pre ? norm1(points) : points, mask);
}

KeysValues TransformerLayer::keys_values(const Tensor& context, const PrefixMask& mask) const {
  if (attention.features && recomputes(context)) {
    KeysValues found;
    {
      const NoGrad off;
      found = keys_values(context, mask);
    }
    KeySummary& summary = found.summary;
    summary.sums = recomputed_sum("summarise_points", context, {attention.key.weight.value}, summary.sums,
                                  [this, mask, shift = summary.shift](const Tensor& points, std::int64_t begin) {
                                    const KeySummary part = keys_values_of(points, mask.after(begin)).summary;
                                    return merge(part, {Tensor::zeros_like(part.sums), shift}).sums;
                                  });
    return found;
  }
  KeysValues joined;
  for_chunks(context.dim(1), chunk_points(context.device()), [&](std::int64_t begin, std::int64_t end) {
    const KeysValues part = keys_values_of(points_between(context, begin, end), mask.after(begin));
    if (end - begin == context.dim(1)) {
      joined = part;
      return;
    }
    if (attention.features) joined.summary = begin == 0 ? part.summary : merge(joined.summary, part.summary);
    if (!part.keys.defined()) return;
    if (begin == 0) {
      const auto room = [&](const Tensor& some) {
        return Tensor::empty(some.shape().with(1, context.dim(1)), some.dtype(), some.device());
      };
      joined.keys = room(part.keys);
      joined.values = room(part.values);
    }
    copy_slice(part.keys, 1, begin, joined.keys);
    copy_slice(part.values, 1, begin, joined.values);
  });
  return joined;
}

Tensor TransformerLayer::fused(const Tensor& x, const KeysValues& context, const PrefixMask& mask,
                               const Dropping& dropping) const {
  // A recording keeps the steps, so that its backward pass need not compute them again.
  if (x.device() == Device::cpu || current_tape() || attention.features || dropping.share > 0 || context.samples > 1 ||
      AttentionListener::current())
    return {};
  const TransformerLayerWeights weights = layer_weights();
  const TransformerLayerOptions options = layer_options();
  if (!transformer_layer_is_fused(x, context.keys, context.values, weights, options)) return {};
  return transformer_layer(x, context.keys, context.values, mask, weights, options);
}

Tensor TransformerLayer::operator()(const Tensor& x, const KeysValues& context, const PrefixMask& mask,
                                    const Dropping& dropping) const {
  const auto rows = [this, context, mask, dropping](const Tensor& points, std::int64_t) {
    if (const Tensor whole = fused(points, context, mask, dropping); whole.defined()) return whole;
    return after_attention(points, attention(before_attention(points), context, mask), dropping);
  };
  if (dropping.share > 0 || mask.varies_by_row() || !recomputes(x)) return rows(x, 0);
  return recomputed_points("transformer_layer", x, {attention.query.weight.value}, rows);
}

Tensor TransformerLayer::over(const Tensor& points, std::int64_t keys, const PrefixMask& mask) const {
  if (records_whole(points.shape(), keys)) return encoder_layer(points, keys, mask, encoder_weights(), layer_options());
  return (*this)(points, keys_values(points_between(points, 0, keys)), mask);
}

bool TransformerLayer::records_whole(const Shape& points, std::int64_t keys) const {
  if (!current_tape() || attention.features || AttentionListener::current()) return false;
  return encoder_layer_is_fused(points, keys, encoder_weights(), layer_options());
}

TransformerLayerWeights TransformerLayer::layer_weights() const {
  return {weight_and_bias(attention.query), weight_and_bias(attention.out), weight_and_bias(expand),
          weight_and_bias(contract),        weight_and_bias(norm1),         weight_and_bias(norm2)};
}

EncoderLayerWeights TransformerLayer::encoder_weights() const {
  return {layer_weights(), weight_and_bias(attention.key), weight_and_bias(attention.value)};
}

TransformerLayerOptions TransformerLayer::layer_options() const {
  const AttentionOptions of_attention = attention.options();
  return {.heads = of_attention.heads,
          .scale = of_attention.scale,
          .pre_norm = norm_ == NormPlacement::pre,
          .gelu = gelu_,
          .eps = norm1.eps()};
}

Tensor TransformerLayer::feed_forward(const Tensor& x, const Dropping& dropping) const {
  return contract(dropping(gelu_ ? gelu(expand(x)) : expand(x, Activation::relu)));
}

Tensor TransformerLayer::after_attention(const Tensor& x, const Tensor& attended, const Dropping& dropping) const {
  if (norm_ == NormPlacement::pre) {
    const auto [sum, normalised] = norm2(x, attended);
    return add(sum, feed_forward(normalised, dropping));
  }
  const Tensor h = norm1(x, attended).norm;
  return norm2(h, feed_forward(h, dropping)).norm;
}

void TransformerLayer::visit(ModuleVisitor& visitor) {
  visitor("attention", attention);
  visitor("norm1", norm1);
  visitor("norm2", norm2);
  visitor("expand", expand);
  visitor("contract", contract);
}

TwoStreamTransformer::TwoStreamTransformer(const TransformerConfig& config, Initializer& init) {
  for (std::int64_t i = 0; i < config.layers; ++i) layers.emplace_back(config, init);
  if (config.equal_layers) make_equal(layers);
  if (config.final_norm) norm.emplace(config.width, config.layer_norm_eps);
}

TwoStreamTransformer::Encoded TwoStreamTransformer::encode(Tensor tokens, const PrefixMask& mask,
                                                           const Dropping& dropping) const {
  Encoded encoded;
  Tensor h = std::move(tokens);  // (B, Nc, E)
  for (std::size_t i = 0; i < layers.size(); ++i) {
    encoded.push_back(layers[i].keys_values(h, mask));
    encoded.back().origin.layer = i;
    if (i + 1 == layers.size()) break;  // the output of the last layer is not used
    h = in_chunks(std::move(h),
                  [&](const Tensor& points) { return layers[i](points, encoded.back(), mask, dropping); });
  }
  return encoded;
}

Tensor TwoStreamTransformer::query(const Encoded& context, const Tensor& tokens, const PrefixMask& mask) const {
  Tensor h = tokens;  // (B, Nt, E)
  for (std::size_t i = 0; i < layers.size(); ++i) h = layers[i](h, context[i], mask);
  return norm ? (*norm)(h) : h;
}

bool TwoStreamTransformer::records_whole(const Shape& tokens, std::int64_t context) const {
  return std::ranges::all_of(layers, [&](const TransformerLayer& each) { return each.records_whole(tokens, context); });
}

Tensor TwoStreamTransformer::together(Tensor tokens, std::int64_t context, const PrefixMask& mask) const {
  for (const TransformerLayer& layer : layers) tokens = layer.over(tokens, context, mask);
  return norm ? (*norm)(tokens) : tokens;
}

void TwoStreamTransformer::begin_step(std::int64_t step) {
  for (TransformerLayer& layer : layers)
    if (layer.attention.features) layer.attention.features->begin_step(step);
}

void TwoStreamTransformer::visit(ModuleVisitor& visitor) {
  visitor("layers", layers);
  if (norm) visitor("norm", *norm);
}

}  // namespace npzoo
