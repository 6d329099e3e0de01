#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Throws Error, in the name of `op`, unless `lengths` (B) are numbers of real points of each set of x (B, N, …), in
/// [0, most].
inline void check_lengths(const char* op, const Tensor& x, const Tensor& lengths, std::int64_t most) {
  check(lengths.dtype() == DType::int64 && lengths.shape() == Shape{x.dim(0)},
        "[{}] lengths are {} {}, expected int64 ({}) for x {}", op, to_string(lengths.dtype()), lengths.shape(),
        x.dim(0), x.shape());
  std::int64_t b = 0;
  for (std::int64_t length : lengths.values<std::int64_t>())
    check(0 <= length && length <= most, "[{}] length {} is {}, expected in [0, {}]", op, b++, length, most);
}
inline void check_lengths(const char* op, const Tensor& x, const Tensor& lengths) {
  check_lengths(op, x, lengths, x.dim(1));
}

}  // namespace npzoo
