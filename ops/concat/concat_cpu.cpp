#include <cstring>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/concat/kernels.h"

namespace npzoo {

namespace {

using namespace simd;

/// Copies rows [first, last) of a set.
template <class T>
void copy_rows(const CopiedPiece<T>& p, std::int64_t set, std::int64_t first, std::int64_t last) {
  const std::int64_t there = p.lengths ? max(first, min(last, p.lengths[set])) : last;
  const T* x = p.x ? p.x + set * p.x_set + first * p.x_row : nullptr;
  T* out = p.out + set * p.out_set + first * p.out_row;
  const std::size_t bytes = sizeof(T) * p.width;
  std::int64_t row = first;
  if (p.accumulate) {
    for (; row < there; ++row, x += p.x_row, out += p.out_row)
      for (std::int64_t i = 0; i < p.width; ++i) out[i] += x[i];
    return;
  }
  if (x)
    for (; row < there; ++row, x += p.x_row, out += p.out_row) std::memcpy(out, x, bytes);
  for (; row < there; ++row, out += p.out_row)
    for (std::int64_t i = 0; i < p.width; ++i) out[i] = p.value;
  for (; row < last; ++row, out += p.out_row) std::memset(out, 0, bytes);
}

}  // namespace

template <class T>
void copy_pieces(Cpu& cpu, const CopyPieces<T>& p) {
  for (int k = 0; k < p.count; ++k) {
    const CopiedPiece<T>& piece = p.pieces[k];
    cpu.parallel_for(piece.sets * piece.rows, 1 + 16384 / piece.width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t set = i / piece.rows, first = i % piece.rows, last = min(piece.rows, first + end - i);
        copy_rows(piece, set, first, last);
        i += last - first;
      }
    });
  }
}

NPZOO_INSTANTIATE(copy_pieces, CopyPieces);

}  // namespace npzoo
