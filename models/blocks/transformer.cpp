#include "npzoo/models/blocks/transformer.h"

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/equal_layers.h"
#include "npzoo/ops/elementwise/elementwise.h"

namespace npzoo {

namespace {

MultiheadAttention attention_of_layer(const TransformerConfig& c, Initializer& init) {
  if (c.features) return MultiheadAttention(c.width, c.heads, *c.features, init);
  if (c.head_width > 0) return MultiheadAttention(HeadWidths{c.width, c.heads, c.head_width}, init);
  if (c.attention_width == 0) return MultiheadAttention(c.width, c.heads, init);
  return MultiheadAttention({c.width, c.width, c.width, c.attention_width, c.width}, c.heads, init);
}

}  // namespace

TransformerLayer::TransformerLayer(const TransformerConfig& config, Initializer& init)
    : attention(attention_of_layer(config, init)),
      norm1(config.width, config.layer_norm_eps),
      norm2(config.width, config.layer_norm_eps),
      expand(config.width, config.hidden, init),
      contract(config.hidden, config.width, init),
      norm_(config.norm),
      gelu_(config.gelu) {}

KeysValues TransformerLayer::keys_values(const Tensor& context, const PrefixMask& mask) const {
  KeysValues joined;
  for_chunks(context.dim(1), chunk_points(context.device()), [&](std::int64_t begin, std::int64_t end) {
    const Tensor points = points_between(context, begin, end);
    const KeysValues part = attention.project(norm_ == NormPlacement::pre ? norm1(points) : points, mask.after(begin));
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

Tensor TransformerLayer::operator()(const Tensor& x, const KeysValues& context, const PrefixMask& mask,
                                    const Dropping& dropping) const {
  return after_attention(x, attention(before_attention(x), context, mask), dropping);
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

void TwoStreamTransformer::begin_step(std::int64_t step) {
  for (TransformerLayer& layer : layers)
    if (layer.attention.features) layer.attention.features->begin_step(step);
}

void TwoStreamTransformer::visit(ModuleVisitor& visitor) {
  visitor("layers", layers);
  if (norm) visitor("norm", *norm);
}

}  // namespace npzoo
