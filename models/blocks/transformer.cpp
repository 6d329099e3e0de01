#include "models/blocks/transformer.h"

#include "models/blocks/equal_layers.h"
#include "ops/elementwise/elementwise.h"

namespace npzoo {

TransformerLayer::TransformerLayer(const TransformerConfig& config, Initializer& init)
    : attention(config.width, config.heads, init),
      norm1(config.width, config.layer_norm_eps),
      norm2(config.width, config.layer_norm_eps),
      expand(config.width, config.hidden, init),
      contract(config.hidden, config.width, init),
      norm_(config.norm) {}

KeysValues TransformerLayer::keys_values(const Tensor& context) const {
  return attention.project(norm_ == NormPlacement::pre ? norm1(context) : context);
}

Tensor TransformerLayer::operator()(const Tensor& x, const KeysValues& context, const PrefixMask& mask) const {
  if (norm_ == NormPlacement::pre) {
    const auto [sum, normalised] = norm2(x, attention(norm1(x), context, mask));
    return add(sum, feed_forward(normalised));
  }
  const Tensor h = norm1(x, attention(x, context, mask)).norm;
  return norm2(h, feed_forward(h)).norm;
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

TwoStreamTransformer::Encoded TwoStreamTransformer::encode(const Tensor& tokens, const PrefixMask& mask) const {
  Encoded encoded;
  Tensor h = tokens;  // (B, Nc, E)
  for (std::size_t i = 0; i < layers.size(); ++i) {
    encoded.push_back(layers[i].keys_values(h));
    // What leaves the last layer is read by nobody.
    if (i + 1 < layers.size()) h = layers[i](h, encoded.back(), mask);
  }
  return encoded;
}

Tensor TwoStreamTransformer::query(const Encoded& context, const Tensor& tokens, const PrefixMask& mask) const {
  Tensor h = tokens;  // (B, Nt, E)
  for (std::size_t i = 0; i < layers.size(); ++i) h = layers[i](h, context[i], mask);
  return norm ? (*norm)(h) : h;
}

void TwoStreamTransformer::visit(ModuleVisitor& visitor) {
  visitor("layers", layers);
  if (norm) visitor("norm", *norm);
}

}  // namespace npzoo
