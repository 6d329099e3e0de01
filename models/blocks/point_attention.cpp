#include "npzoo/models/blocks/point_attention.h"

#include <cmath>

#include "npzoo/models/blocks/chunks.h"

namespace npzoo {

NormalisedAttention::NormalisedAttention(std::int64_t width, Initializer& init)
    : query(Linear::without_bias(width, width, init)),
      key(Linear::without_bias(width, width, init)),
      value(Linear::without_bias(width, width, init)),
      out(width, width, init),
      norm1(width, 1e-5),
      norm2(width, 1e-5) {
  check(width % kHeads == 0, "[attention] {} heads do not divide the width {}", kHeads, width);
}

KeysValues NormalisedAttention::project(const Tensor& for_keys, const Tensor& for_values) const {
  return {key(for_keys), value(for_values)};
}

Tensor NormalisedAttention::operator()(const Tensor& queries, const KeysValues& context, const PrefixMask& mask) const {
  const Tensor q = query(queries);  // (B, Nq, E)
  const double scale = 1 / std::sqrt(static_cast<double>(q.dim(-1)));
  const Tensor attended = attend(q, context, mask, {.heads = kHeads, .scale = scale});
  const Tensor h = norm1(for_samples(q, context.samples), attended).norm;
  return norm2(h, out(h, Activation::relu)).norm;
}

void NormalisedAttention::visit(ModuleVisitor& visitor) {
  visitor("query", query);
  visitor("key", key);
  visitor("value", value);
  visitor("out", out);
  visitor("norm1", norm1);
  visitor("norm2", norm2);
}

Tensor PointAttention::among(const Tensor& x, const PrefixMask& mask) const {
  const KeysValues context = project(x, x);
  return in_chunks(x, [&](const Tensor& points) { return (*this)(points, context, mask); });
}

}  // namespace npzoo
