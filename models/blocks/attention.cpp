#include "models/blocks/attention.h"

namespace npzoo {

MultiheadAttention::MultiheadAttention(std::int64_t width, std::int64_t heads, Initializer& init)
    : query(width, width, init),
      key(width, width, init),
      value(width, width, init),
      out(width, width, init),
      heads_(static_cast<int>(heads)) {
  check(heads >= 1 && width % heads == 0, "[attention] {} heads do not divide the width {}", heads, width);
  if (init.framework() != Framework::torch) return;
  // torch.nn.MultiheadAttention draws query, key and value as one (3E, E) matrix and starts all biases at zero.
  for (Linear* projection : {&query, &key, &value}) {
    projection->weight.value = init.xavier_uniform(width, width, 3 * width, width);
    projection->bias.value = Tensor::zeros({width});
  }
  out.bias.value = Tensor::zeros({width});
}

Tensor MultiheadAttention::operator()(const Tensor& queries, const KeysValues& context, const PrefixMask& mask) const {
  const Tensor attended =
      masked_attention(query(queries), context.keys, context.values, mask, {.heads = heads_});  // (B, Nq, E)
  return out(attended);
}

void MultiheadAttention::visit(ModuleVisitor& visitor) {
  visitor("query", query);
  visitor("key", key);
  visitor("value", value);
  visitor("out", out);
}

}  // namespace npzoo
