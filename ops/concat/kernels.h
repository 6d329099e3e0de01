#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// Runs of `width` elements, `rows` of them in each of `sets`. Those of x are `x_row` elements apart, and `x_set` from
/// one set to the next; `out_row` and `out_set` are those of `out`.
template <class T>
struct CopiedPiece {
  std::int64_t sets, rows, width;
  const T* x;  // null: `value` everywhere
  std::int64_t x_set, x_row;
  T* out;
  std::int64_t out_set, out_row;
  T value = 0;
  bool accumulate = false;                // adds instead of overwriting
  const std::int64_t* lengths = nullptr;  // (sets); rows from there on count as 0, and are not read
};

/// Pieces that do not overlap, none of them empty. Those that are added have an x.
template <class T>
struct CopyPieces {
  static constexpr int kMost = 10;

  int count = 0;
  CopiedPiece<T> pieces[kMost];
};

NPZOO_KERNEL(copy_pieces, CopyPieces);

}  // namespace npzoo
