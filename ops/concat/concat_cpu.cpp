#include <cstring>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/concat/kernels.h"

namespace npzoo {

namespace {

template <class T>
void copy_row(const CopiedPiece<T>& p, std::int64_t set, std::int64_t row) {
  const T* x = p.x ? p.x + set * p.x_set + row * p.x_row : nullptr;
  T* out = p.out + set * p.out_set + row * p.out_row;
  const bool missing = p.lengths && row >= p.lengths[set];
  if (p.accumulate) {
    for (std::int64_t i = 0; !missing && i < p.width; ++i) out[i] += x ? x[i] : p.value;
  } else if (x && !missing) {
    std::memcpy(out, x, sizeof(T) * p.width);
  } else {
    for (std::int64_t i = 0; i < p.width; ++i) out[i] = missing ? T(0) : p.value;
  }
}

}  // namespace

template <class T>
void copy_pieces(Cpu& cpu, const CopyPieces<T>& p) {
  for (int k = 0; k < p.count; ++k) {
    const CopiedPiece<T>& piece = p.pieces[k];
    if (piece.width == 0) continue;
    cpu.parallel_for(piece.sets * piece.rows, 1 + 16384 / piece.width, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t set = begin / piece.rows, row = begin % piece.rows;
      for (std::int64_t i = begin; i < end; ++i) {
        copy_row(piece, set, row);
        if (++row < piece.rows) continue;
        row = 0;
        ++set;
      }
    });
  }
}

NPZOO_INSTANTIATE(copy_pieces, CopyPieces);

}  // namespace npzoo
