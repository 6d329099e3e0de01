#include "npzoo/models/taylor/taylor_stream.h"

#include "npzoo/engine/tape.h"
#include "npzoo/models/blocks/path_attention.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"

namespace npzoo {

namespace {

constexpr double kLayerNormEps = 1e-3;  // Keras'

KeysValues both(const KeysValues& first, const KeysValues& then) {
  return {concat({first.keys, then.keys}, 1), concat({first.values, then.values}, 1)};
}

}  // namespace

TaylorLayer::TaylorLayer(const AttentionWidths& widths, std::int64_t heads, bool first, Initializer& init)
    : attention(widths, heads, init),
      norm1(widths.out, kLayerNormEps),
      expand(widths.out, widths.out, init),
      contract(widths.out, widths.out, init),
      norm2(widths.out, kLayerNormEps) {
  if (first) residual.emplace(widths.query, widths.out, init);
}

Tensor TaylorLayer::after_attention(const Tensor& x, const Tensor& attended, const Dropping& dropping) const {
  const Tensor h = norm1(residual ? (*residual)(x) : x, attended).norm;
  return norm2(h, contract(dropping(gelu(expand(h))))).norm;
}

void TaylorLayer::visit(ModuleVisitor& visitor) {
  visitor("attention", attention);
  if (residual) visitor("residual", *residual);
  visitor("norm1", norm1);
  visitor("expand", expand);
  visitor("contract", contract);
  visitor("norm2", norm2);
}

TaylorStream::TaylorStream(std::int64_t features, const TaylorStreamConfig& config, Initializer& init)
    : inner_(config.heads * config.head_width), values_of_y_(config.values > 0) {
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::int64_t in = i == 0 ? features : config.width;
    const bool of_y = values_of_y_ && i + 1 == config.layers;
    layers.emplace_back(AttentionWidths{in, in, of_y ? config.values : in, inner_, config.width}, config.heads, i == 0,
                        init);
  }
}

KeysValues TaylorStream::keys_values(std::size_t layer, const Tensor& x, const Tensor& y) const {
  return layers[layer].attention.project(x, values_of_y_ && layer + 1 == layers.size() ? y : x);
}

TaylorStream::Encoded TaylorStream::encode(const Tensor& features, const Tensor& y, const Tensor& lengths,
                                           const Dropping& dropping) const {
  const PrefixMask real = PrefixMask::lengths(lengths);
  Encoded encoded;
  Tensor h = features;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    encoded.push_back(keys_values(i, h, y));
    encoded.back().origin.layer = i;
    if (i + 1 == layers.size()) break;  // the output of the last layer is not used
    h = layers[i].after_attention(h, layers[i].attention(h, encoded.back(), real), dropping);
  }
  return encoded;
}

Tensor TaylorStream::operator()(const Encoded& context, const Tensor& lengths, const Encoded& before,
                                const Tensor& query, const Tensor& key, const Tensor& y, std::int64_t given,
                                Encoded& after, const Dropping& dropping) const {
  Encoded own;
  Tensor h = query;
  const std::int64_t count = before.front().keys.dim(1);
  const PrefixMask real = PrefixMask::lengths(lengths), those_before = PrefixMask::growing(count);
  // In training the keys of both are one set, which is attended to in one pass; else paths share those of the context.
  const bool one_set = current_tape() != nullptr && !lengths.defined();
  const PrefixMask all = PrefixMask::growing(context.front().keys.dim(1) + count);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const KeysValues more = keys_values(i, slice(i == 0 ? key : h, 1, 0, given), slice(y, 1, 0, given));
    own.push_back(count == 0 ? more : both(before[i], more));
    const Tensor attended =
        one_set ? layers[i].attention(h, both(context[i], own.back()), all)
                : attend_along_paths(layers[i].attention, h, context[i], real, own.back(), those_before);
    h = layers[i].after_attention(h, attended, dropping);
  }
  after = std::move(own);
  return h;
}

TaylorStream::Encoded TaylorStream::nothing(std::int64_t rows, const Tensor& like) const {
  const Tensor none = Tensor::zeros({rows, 0, inner_}, like.dtype(), like.device());
  return Encoded(layers.size(), {none, none});
}

}  // namespace npzoo
