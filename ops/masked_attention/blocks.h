#pragma once

// Blocks of queries, one query to a lane: maxima, sums and exponentials of a row never cross lanes. Included by kernel
// sources only.

#include <algorithm>

#include "npzoo/engine/cpu/gemm_tile.h"
#include "npzoo/engine/cpu/lanes.h"
#include "npzoo/engine/cpu/transpose.h"
#include "npzoo/ops/masked_attention/kernels.h"

namespace npzoo::attention {

using namespace simd;

constexpr double kLog2E = 1.44269504088896340736, kLn2 = 0.69314718055994530942;

/// Width of a row in whole registers.
template <class T>
[[gnu::always_inline]] inline std::int64_t padded(std::int64_t width) {
  return divide_up(width, Simd<T>::kLanes) * Simd<T>::kLanes;
}

/// Consecutive queries of one head, one to a lane. Lanes without a query see as many keys as the query that sees most.
template <class T>
struct Block {
  static constexpr std::int64_t kMostLanes = gemm_tile::kMaxVectors * Simd<T>::kLanes;

  Block(const AttentionForward<T>& p, std::int64_t batch_index, std::int64_t head_index, std::int64_t first_row,
        std::int64_t row_count)
      : batch(batch_index),
        head(head_index),
        begin(first_row),
        rows(row_count),
        vectors(static_cast<int>(divide_up(row_count, Simd<T>::kLanes))),
        least(p.keys) {
    if (p.mask.growth == 0 && p.mask.row_stride == 0) {
      least = most = p.mask.visible(batch, begin, p.keys);
      return;
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      visible[i] = p.mask.visible(batch, begin + i, p.keys);
      least = min(visible[i], least);
      most = max(visible[i], most);
    }
    for (std::int64_t i = rows; i < lanes(); ++i) visible[i] = most;
  }

  std::int64_t lanes() const { return vectors * std::int64_t{Simd<T>::kLanes}; }
  /// Returns the start of this block's rows in arrays of (batch, queries, heads · width) and (batch, heads, queries).
  std::int64_t query_offset(const AttentionForward<T>& p, std::int64_t width) const {
    return ((batch * p.queries + begin) * p.heads + head) * width;
  }
  std::int64_t row_offset(const AttentionForward<T>& p) const { return (batch * p.heads + head) * p.queries + begin; }

  std::int64_t batch, head, begin, rows;
  int vectors;
  std::int64_t least, most = 0;      // least and largest number of keys that a row sees
  std::int64_t visible[kMostLanes];  // number of keys that each row sees; set only if `least` and `most` may differ
};

/// Returns the start of the keys (or values) of one head in an array of (batch, keys, heads · width).
template <class T>
[[gnu::always_inline]] inline std::int64_t key_offset(const AttentionForward<T>& p, std::int64_t batch,
                                                      std::int64_t head, std::int64_t width) {
  return (batch * p.keys * p.heads + head) * width;
}

/// Keys and values of one head, and the strides between points.
template <class T>
struct HeadView {
  HeadView(const AttentionForward<T>& p, std::int64_t batch, std::int64_t head)
      : keys(p.k + key_offset(p, batch, head, p.width)),
        values(p.v + key_offset(p, batch, head, p.value_width)),
        row(p.heads * p.width),
        value_row(p.heads * p.value_width) {}

  const T* keys;
  const T* values;
  std::int64_t row, value_row;
};

/// Calls f(block) once if all rows see the same keys or `clean(block)` is true. Else calls f for each run of rows that
/// see the same keys, so that no row multiplies a NaN that it does not see with a weight of 0.
template <class T, class Clean, class F>
[[gnu::always_inline]] inline void for_runs(const AttentionForward<T>& p, const Block<T>& block, Clean clean, F f) {
  if (block.least == block.most || clean(block)) return f(block);
  for (std::int64_t i = 0, n = 0; i < block.rows; i += n) {
    for (n = 1; i + n < block.rows && block.visible[i + n] == block.visible[i];) ++n;
    f(Block<T>(p, block.batch, block.head, block.begin + i, n));
  }
}

/// Returns whether rows [begin, end) of x hold only finite numbers.
template <class T>
bool all_finite(const T* x, std::int64_t begin, std::int64_t end, std::int64_t stride, std::int64_t width) {
  Vec<T> sum{};  // 0 · x is NaN where x is not finite
  for (std::int64_t i = begin; i < end; ++i)
    for (std::int64_t j = 0; j < width; j += Simd<T>::kLanes) sum += 0 * load_up_to(x + i * stride + j, width - j);
  return simd::sum(sum) == 0;
}

/// Returns the size of tiles when `keys` keys are cut into tiles of about equal size, at most `largest`.
[[gnu::always_inline]] inline std::int64_t tile_step(std::int64_t keys, std::int64_t largest) {
  return divide_up(keys, max(divide_up(keys, largest), 1));
}

/// The same for a scan: tiles do not reach over the end of a chunk of keys. `chunk` is 0 for no scan.
[[gnu::always_inline]] inline std::int64_t scan_step(std::int64_t chunk, std::int64_t keys, std::int64_t largest) {
  if (chunk == 0 || keys <= chunk) return tile_step(keys, largest);
  std::int64_t step = min(chunk, largest);
  while (chunk % step != 0) --step;
  return step;
}

/// A sum over many keys is taken in two levels: so many tiles are summed from zero, and their sum is added to that of
/// the tiles before. Otherwise the rounding of a long sum would exceed its last terms.
constexpr std::int64_t kSpanTiles = 128;

/// earlier += sums, or = sums if there is nothing `earlier`. Arrays consist of whole registers.
template <class T>
[[gnu::always_inline]] inline void add_span(const T* sums, std::int64_t size, bool first, T* earlier) {
  for (std::int64_t i = 0; i < size; i += Simd<T>::kLanes)
    store(earlier + i, first ? load(sums + i) : load(earlier + i) + load(sums + i));
}

/// Writes for each lane how many of the keys [first, first + count) it sees.
template <class T>
[[gnu::always_inline]] inline void visible_in_tile(const Block<T>& block, std::int64_t first, std::int64_t count,
                                                   T* out) {
  for (std::int64_t i = 0; i < block.lanes(); ++i)
    out[i] = static_cast<T>(max(std::int64_t{0}, min(count, block.visible[i] - first)));
}

/// Returns the factor that queries are multiplied with when they are loaded.
template <class T>
[[gnu::always_inline]] inline T query_factor(const AttentionForward<T>& p) {
  return p.score == AttentionScore::dot_product ? static_cast<T>(p.scale * kLog2E) : T(1);
}

/// Computes −scale · log₂e · Σ |k − q|.
template <class T>
void laplace_scores(const AttentionForward<T>& p, const Block<T>& block, const T* keys, std::int64_t row,
                    std::int64_t count, const T* queries, T* scores) {
  const auto factor = static_cast<T>(-p.scale * kLog2E);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < block.lanes(); j += Simd<T>::kLanes) {
      Vec<T> distance{};
      for (std::int64_t c = 0; c < p.width; ++c)
        distance += simd::abs(splat<T>(keys[i * row + c]) - load(queries + c * block.lanes() + j));
      store(scores + i * block.lanes() + j, distance * factor);
    }
}

/// Computes scores (keys, lanes) in units of log 2 for `count` keys, which lie `row` elements apart, and `queries`
/// (width, lanes).
template <class T>
[[gnu::always_inline]] inline void score_tile(const AttentionForward<T>& p, const Block<T>& block, const T* keys,
                                              std::int64_t row, std::int64_t count, const T* queries, T* scores) {
  const std::int64_t lanes = block.lanes();
  switch (p.score) {
    case AttentionScore::dot_product:
      return gemm_tile::multiply_registers<T, gemm_tile::Start::zero>(
          count, block.vectors, {p.width, keys, row, 1, queries, lanes, scores, lanes});
    case AttentionScore::laplace: return laplace_scores(p, block, keys, row, count, queries, scores);
    case AttentionScore::uniform: std::fill_n(scores, count * lanes, T(0));
  }
}

}  // namespace npzoo::attention
