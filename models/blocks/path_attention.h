#pragma once

#include "npzoo/models/blocks/attention.h"

namespace npzoo {

/// Attention of points that lie on P paths of each task: to the task's context, which all its paths share, and to
/// points of their own path, as if both were one set of keys. Shares of the two are weighed by their log-sum-exps.
///
/// x (B·P, n, E), row b·P + p; context (B, Nc, H·D), own (B·P, m, H·D) → (B·P, n, E). The context's mask is that of a
/// task, the other one that of a path.
Tensor attend_along_paths(const MultiheadAttention& attention, const Tensor& x, const KeysValues& context,
                          const PrefixMask& context_mask, const KeysValues& own, const PrefixMask& own_mask);

}  // namespace npzoo
