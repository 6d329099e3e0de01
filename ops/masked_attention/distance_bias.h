#pragma once

#include <span>

#include "npzoo/ops/masked_attention/distance_rule.h"
#include "npzoo/ops/masked_attention/masked_attention.h"

namespace npzoo {

/// A term of the scores that depends on the distance between a query's place and a key's place alone. Each head has
/// parameters of its own.
struct DistanceBias {
  BiasForm form = BiasForm::rbf;
  DistanceKind distance = DistanceKind::euclidean;
  Tensor query_places{}, key_places{};  // (B, Nq, G) and (B, Nk, G); on a sphere G is 2: longitude, latitude in degrees
  Tensor a{}, b{}, c{};                 // (H, F) as far as the form has them; of `scalar` (H)
};

/// masked_attention whose scores are scale · q·k plus the biases of up to three groups of coordinates (Jenson et al.,
/// "Scalable spatiotemporal inference with biased scan attention transformer neural processes", AISTATS 2026).
///
/// Distances and biases are computed tile by tile, and again in the backward pass: no array of Nq × Nk is ever built.
/// q, k, v and the parameters a, b, c take gradients, places take none. Saves what masked_attention saves, and the
/// places. A pair whose distance is NaN has the score NaN. On a GPU a warp works on each row.
Tensor biased_attention(const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask,
                        const AttentionOptions& options, std::span<const DistanceBias> biases);

}  // namespace npzoo
