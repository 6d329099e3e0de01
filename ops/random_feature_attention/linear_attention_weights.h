#pragma once

#include "npzoo/ops/random_feature_attention/random_feature_attention.h"

namespace npzoo {

/// Returns the weights of `linear_attention`, φ(q)·φ(k) / Σ φ(q)·φ(k): (B, H, Nq, Nk), 0 for keys that are not visible.
/// A row's weights add up to 1, to less if the denominator is limited, or are all 0 if no key is visible. Float64 on
/// the CPU, computed in double, not recorded. Arguments as in `linear_attention`.
Tensor linear_attention_weights(const Tensor& q, const Tensor& k, const Tensor& projection, const PrefixMask& mask,
                                const RandomFeatureOptions& options);

}  // namespace npzoo
