#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

enum class Transpose : std::uint8_t { no, yes };

/// Batched matrix product over the last two axes.
///
/// a (…, M, K) and b (…, K, N) → (…, M, N); with `Transpose::yes` the argument is stored as (…, K, M) or (…, N, K).
/// Leading axes must be equal, or absent in one argument, which then serves the whole batch. K = 0 gives zeros.
/// Saves a and b.
Tensor matmul(const Tensor& a, const Tensor& b, Transpose transpose_a = Transpose::no,
              Transpose transpose_b = Transpose::no);

}  // namespace npzoo
