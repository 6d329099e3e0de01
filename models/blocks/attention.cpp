#include "npzoo/models/blocks/attention.h"

#include <cmath>

#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/random_feature_attention/linear_attention_weights.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

Linear normal_projection(std::int64_t width, Initializer& init) {
  const double deviation = 1 / std::sqrt(static_cast<double>(width));
  return Linear(affine(init.standard_normal({width, width}), deviation, 0), {});
}

/// torch.nn.MultiheadAttention draws query, key and value as one (3E, E) matrix and starts all biases at zero.
Linear input_projection(std::int64_t width, Initializer& init, AttentionBiases biases) {
  if (biases == AttentionBiases::none) return normal_projection(width, init);
  if (biases == AttentionBiases::output_only) return Linear::without_bias(width, width, init);
  if (init.framework() != Framework::torch) return Linear(width, width, init);
  return Linear(init.xavier_uniform(width, width, 3 * width, width), Tensor::zeros({width}));
}

Linear output_projection(std::int64_t width, Initializer& init, AttentionBiases biases) {
  if (biases == AttentionBiases::none) return normal_projection(width, init);
  if (init.framework() != Framework::torch || biases == AttentionBiases::output_only) return Linear(width, width, init);
  return Linear(init.linear_weight(width, width), Tensor::zeros({width}));
}

}  // namespace

Tensor for_samples(const Tensor& x, std::int64_t samples) {
  if (samples == 1) return x;
  const std::int64_t batch = x.dim(0);
  return reshape(broadcast_to(x, {samples, batch, x.dim(1), x.dim(2)}), {samples * batch, x.dim(1), x.dim(2)});
}

Tensor attend(const Tensor& queries, const KeysValues& context, const PrefixMask& mask,
              const AttentionOptions& options) {
  const bool own_keys = context.keys.dim(0) == context.values.dim(0);
  const Tensor keys = own_keys ? context.keys : for_samples(context.keys, context.samples);
  const Tensor rows = for_samples(queries, context.samples);
  Tensor out = masked_attention(rows, keys, context.values, mask, options);
  tell_listener(context.origin, context.values, out, [&] { return attention_weights(rows, keys, mask, options); });
  return out;
}

MultiheadAttention::MultiheadAttention(std::int64_t width, std::int64_t heads, Initializer& init,
                                       AttentionBiases biases)
    : query(input_projection(width, init, biases)),
      key(input_projection(width, init, biases)),
      value(input_projection(width, init, biases)),
      out(output_projection(width, init, biases)),
      heads_(static_cast<int>(heads)) {
  check(heads >= 1 && width % heads == 0, "[attention] {} heads do not divide the width {}", heads, width);
}

MultiheadAttention::MultiheadAttention(std::int64_t width, std::int64_t heads, const RandomFeatureConfig& config,
                                       Initializer& init)
    : MultiheadAttention(width, heads, init) {
  features.emplace(config, width / heads, init);
}

MultiheadAttention::MultiheadAttention(const AttentionWidths& widths, std::int64_t heads, Initializer& init)
    : query(widths.query, widths.inner, init),
      key(widths.key, widths.inner, init),
      value(widths.value, widths.inner, init),
      out(widths.inner, widths.out, init),
      heads_(static_cast<int>(heads)),
      scale_(1 / std::sqrt(static_cast<double>(widths.inner))) {
  check(heads >= 1 && widths.inner % heads == 0, "[attention] {} heads do not divide the width {}", heads,
        widths.inner);
}

MultiheadAttention::MultiheadAttention(const HeadWidths& widths, Initializer& init)
    : query(Linear::without_bias(widths.width, widths.inner(), init)),
      key(Linear::without_bias(widths.width, widths.inner(), init)),
      value(Linear::without_bias(widths.width, widths.inner(), init)),
      out(widths.heads == 1 && widths.head_width == widths.width ? Linear({}, {})
                                                                 : Linear(widths.inner(), widths.width, init)),
      heads_(static_cast<int>(widths.heads)) {}

KeysValues MultiheadAttention::project(const Tensor& for_keys, const Tensor& for_values, const PrefixMask& mask) const {
  const Tensor keys = key(for_keys), values = value(for_values);  // (B, N, E)
  if (!features) return {keys, values};
  KeysValues summarised{.summary = summarise_keys(keys, values, features->projection.value, mask, linear_options())};
  if (KeepAttention::on()) {
    summarised.keys = keys;
    summarised.values = values;
  }
  return summarised;
}

Tensor MultiheadAttention::operator()(const Tensor& queries, const KeysValues& context, const PrefixMask& mask) const {
  const Tensor q = query(queries);  // (B, Nq, E)
  if (!features) return combine(attend(q, context, mask, options()));
  const Tensor& projection = features->projection.value;
  const Tensor attended = attend_to_summary(q, context.summary, projection, linear_options());
  tell_listener(context.origin, context.values, attended,
                [&] { return linear_attention_weights(q, context.keys, projection, mask, linear_options()); });
  return combine(attended);
}

void MultiheadAttention::visit(ModuleVisitor& visitor) {
  visitor("query", query);
  visitor("key", key);
  visitor("value", value);
  visitor("out", out);
  if (features) visitor("features", *features);
}

}  // namespace npzoo
