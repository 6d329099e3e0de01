#include "npzoo/models/blocks/biased_block.h"

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"

namespace npzoo {

namespace {

TransformerConfig layer_config(const BiasedBlockConfig& c) {
  return {.width = c.width,
          .hidden = c.hidden,
          .heads = c.heads,
          .norm = NormPlacement::pre,
          .layer_norm_eps = 1e-6,
          .attention_width = c.attention_width};
}

/// A parameter of every head and term, all of them `value`; counts among the initialiser's weights.
Tensor equal_start(const CoordinateBias& bias, std::int64_t heads, Initializer& init, double value) {
  const Shape shape = bias.form == BiasForm::scalar ? Shape{heads} : Shape{heads, bias.terms};
  return affine(init.uniform(shape, 0), 1, value);
}

}  // namespace

HeadBias::HeadBias(CoordinateBias bias, std::int64_t heads, Initializer& init)
    : a{equal_start(bias, heads, init, bias.form == BiasForm::scalar ? -1 : 1)}, bias_(std::move(bias)) {
  if (bias_.form != BiasForm::scalar) b.value = equal_start(bias_, heads, init, 1);
  if (bias_.form == BiasForm::tisa) c.value = equal_start(bias_, heads, init, 0);
}

DistanceBias HeadBias::between(const Tensor& from, const Tensor& to) const {
  const auto columns = [&](const Tensor& x) {
    return bias_.end - bias_.begin == x.dim(2) ? x : slice(x, 2, bias_.begin, bias_.end);
  };
  return {bias_.form, bias_.distance, columns(from), columns(to), a.value, b.value, c.value};
}

void HeadBias::visit(ModuleVisitor& visitor) {
  visitor("a", a);
  visitor("b", b);
  visitor("c", c);
}

BiasedBlock::BiasedBlock(const BiasedBlockConfig& config, Initializer& init)
    : layer(layer_config(config), init),
      options_{.heads = static_cast<int>(config.heads), .scan_chunk = config.scan_chunk} {
  for (const CoordinateBias& bias : config.biases) biases.emplace_back(bias, config.heads, init);
}

Tensor BiasedBlock::operator()(const Tensor& h, const Tensor& x, const KeysValues& context, const Tensor& xc,
                               const PrefixMask& mask) const {
  std::vector<DistanceBias> added;
  for (const HeadBias& bias : biases) added.push_back(bias.between(x, xc));
  const Tensor queries = layer.attention.query(layer.before_attention(h));                                 // (B, Nq, I)
  const Tensor attended = biased_attention(queries, context.keys, context.values, mask, options_, added);  // (B, Nq, I)
  tell_listener(context.origin, context.values, attended,
                [&] { return attention_weights(queries, context.keys, mask, options_, added); });
  const auto [sum, normalised] = layer.norm2(h, layer.attention.out(attended));  // (B, Nq, E)
  return add(sum, layer.contract(gelu_tanh(layer.expand(normalised))));
}

void BiasedBlock::visit(ModuleVisitor& visitor) {
  layer.visit(visitor);
  for (HeadBias& bias : biases) visitor("bias_" + bias.group(), bias);
}

}  // namespace npzoo
