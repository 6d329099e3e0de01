#pragma once

// Shared by the kernels of attention on tensor cores: tiles of rounded rows in shared memory, and the visibility of
// keys. Included by kernel sources only.

#include <type_traits>

#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/cuda/tensor_core_matrices.h"
#include "npzoo/engine/precision.h"
#include "npzoo/ops/masked_attention/kernels.h"

namespace npzoo {

namespace {

using tensor_core::Bf16;
using tensor_core::Left;
using tensor_core::Right;
using tensor_core::Tf32;
using tensor_core::Tf32Pairs;
using tensor_core::Vector;

constexpr double kLog2E = 1.44269504088896340736, kLn2 = 0.69314718055994530942;
constexpr std::int64_t kMostPoints = std::int64_t{1} << 30;  // indices of points, heads and channels are 32 bits wide
constexpr int kMostWarps = 8;
constexpr int kResidentWarps = 16;   // of a multiprocessor, by the registers that the kernels take
constexpr int kSegmentPoints = 512;  // a segment of fewer is not worth the sum over segments

constexpr std::size_t kMostShared = 99 * 1024;  // bytes that a block has on consumer cards
/// A sum over many points is taken in two levels in float32: so many points are
/// summed in registers, and their sum is added to that of the points before, in memory.
constexpr int kSpanPoints = 2048;

/// Whether sums of these products are to be as exact as those of float32.
template <class Format>
constexpr bool kExact = std::is_same_v<Format, Tf32Pairs>;

/// Whether these kernels are made for the problem.
inline bool suits_tensor_cores(const AttentionForward<float>& p) {
  return p.score == AttentionScore::dot_product && p.biases.count == 0 && p.scan_chunk == 0 &&
         p.width == p.value_width && p.width % 8 == 0 && p.width >= 8 && p.width <= 128 && p.queries < kMostPoints &&
         p.keys < kMostPoints && p.heads * p.width < kMostPoints;
}

/// Calls f<Format, width>() for the precision in use and the least width with room for a head.
template <class F>
void with_format_and_width(std::int64_t width, F f) {
  const auto with_width = [&]<class Format>() {
    if (width <= 16) return f.template operator()<Format, 16>();
    if (width <= 32) return f.template operator()<Format, 32>();
    if (width <= 64) return f.template operator()<Format, 64>();
    f.template operator()<Format, 128>();
  };
  switch (matmul_precision()) {
    case Precision::float32: return with_width.template operator()<Tf32Pairs>();
    case Precision::tf32: return with_width.template operator()<Tf32>();
    case Precision::bf16: return with_width.template operator()<Bf16>();
  }
}

/// Warps of a block that share out `points` rows, `warp_rows` each.
inline int block_warps(std::int64_t points, int warp_rows, int most) {
  int warps = 2;
  while (warps < most && warps * std::int64_t{warp_rows} < points) warps *= 2;
  return warps;
}

/// The number of segments of the sums over `points`, so that `blocks` blocks of each fill the device.
inline std::int64_t count_segments(const Cuda& cuda, std::int64_t blocks, int warps, std::int64_t points) {
  const std::int64_t resident = std::int64_t{cuda.multiprocessors} * (kResidentWarps / warps);
  if (blocks == 0 || blocks >= resident) return 1;
  return max(std::int64_t{1}, min(divide_up(2 * resident, blocks), points / kSegmentPoints));
}

/// The part of `points` in a segment: whole tiles.
inline std::int64_t segment_points(std::int64_t points, std::int64_t segments) {
  constexpr std::int64_t kTile = 64;
  return divide_up(divide_up(points, segments), kTile) * kTile;
}

/// 2^x to 22 bits, 0 where that would be denormal.
__device__ inline float fast_exp2(float x) {
#ifdef __CUDACC__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exponential2(x);
#endif
}

/// 2^x as exact as the products of a format.
template <class Format>
__device__ float power_of_two(float x) {
  if constexpr (kExact<Format>) return exponential2(x);
  return fast_exp2(x);
}

/// Keys that the rows of a range see at least and at most.
struct VisibleKeys {
  int least, most;
};

/// The visible keys of queries [first, first + count); none if count <= 0. All lanes of a warp call it together.
__device__ inline VisibleKeys visible_keys(const AttentionForward<float>& p, int batch, int first, int count) {
  VisibleKeys found{static_cast<int>(kMostPoints), 0};
  const auto look = [&](int query) {
    const int visible = static_cast<int>(p.mask.visible(batch, query, p.keys));
    found = {min(found.least, visible), max(found.most, visible)};
  };
  if (count <= 0) return found;
  if (p.mask.row_stride == 0) {  // the number of visible keys grows or shrinks from row to row
    look(first);
    look(first + count - 1);
    return found;
  }
  for (int i = lane_id(); i < count; i += kWarp) look(first + i);
  for (int step = kWarp / 2; step > 0; step /= 2) {
    found.least = min(found.least, __shfl_xor_sync(kAllLanes, found.least, step));
    found.most = max(found.most, __shfl_xor_sync(kAllLanes, found.most, step));
  }
  return found;
}

/// Rows of one head in an array of (batch, points, heads · width).
struct HeadRows {
  const float* x;
  int stride;
  float factor;

  __device__ HeadRows from(int row) const { return {x + std::int64_t{row} * stride, stride, factor}; }
};

__device__ inline HeadRows head_rows(const AttentionForward<float>& p, const float* x, std::int64_t points, int head,
                                     float factor = 1) {
  return {x + (head / p.heads * points * p.heads + head % p.heads) * p.width, static_cast<int>(p.heads * p.width),
          factor};
}

/// Tiles of rows of `kWidth` rounded elements; rows end in room that keeps those of one column in different banks.
template <class Format, int kWidth>
struct Tiles {
  using Element = typename Format::Element;
  static constexpr int kPitch = kWidth + 16 / static_cast<int>(sizeof(Element));
  static constexpr std::size_t kRowBytes = kPitch * sizeof(Element);

  /// Rows [0, valid) of the heads to as many tiles of `rows` rows, one behind the other; 0 behind the ends of rows and
  /// of heads. Returns whether this thread met a number that is not finite, where `checked`.
  template <int kHeads>
  __device__ static bool load(const HeadRows (&heads)[kHeads], int rows, int valid, int width, bool vectors,
                              bool checked, Element* to) {
    // Threads stay in their column: there are at least 64 of them, in powers of two.
    constexpr int kQuads = kWidth / 4, kAtOnce = 4 / kHeads;
    const int step = static_cast<int>(blockDim.x) / kQuads, column = static_cast<int>(threadIdx.x) % kQuads * 4;
    if (column >= width) valid = 0;
    bool odd = false;
    for (int first = static_cast<int>(threadIdx.x) / kQuads; first < rows; first += kAtOnce * step) {
      Vector<float, 4> x[kAtOnce][kHeads];
#pragma unroll
      for (int i = 0; i < kAtOnce * kHeads; ++i)
        x[i / kHeads][i % kHeads] = fetch(heads[i % kHeads], first + i / kHeads * step, column, valid, vectors);
#pragma unroll
      for (int i = 0; i < kAtOnce * kHeads; ++i) {
        const int row = first + i / kHeads * step;
        if (row >= rows) continue;
        const auto rounded = tensor_core::round_four(Format{}, x[i / kHeads][i % kHeads].x);
        if (checked)
#pragma unroll
          for (std::uint32_t word : rounded.x) odd |= tensor_core::finite_part(Format{}, word) != word;
        using Words = std::remove_const_t<decltype(rounded)>;
        *reinterpret_cast<Words*>(to + (i % kHeads * rows + row) * kPitch + column) = rounded;
      }
    }
    return odd;
  }

 private:
  __device__ static Vector<float, 4> fetch(const HeadRows& head, int row, int column, int valid, bool vectors) {
    Vector<float, 4> x{};
    if (row >= valid) return x;
    const float* at = head.x + std::int64_t{row} * head.stride + column;
    if (vectors) {
      x = *reinterpret_cast<const Vector<float, 4>*>(at);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) x.x[i] = at[i];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) x.x[i] *= head.factor;
    return x;
  }
};

/// 16 rows of a tile as left factors: in registers where that leaves enough of them, else read again for each use.
template <class Format, int kWidth, bool kInRegisters>
class LeftRows {
 public:
  using Element = typename Format::Element;

  __device__ void load(const Element* rows) {
    rows_ = rows;
    if constexpr (kInRegisters)
#pragma unroll
      for (int i = 0; i < kWidth / 16; ++i)
        tensor_core::load_left(kept_[i], rows + 16 * i, Tiles<Format, kWidth>::kPitch);
  }
  /// Sets the columns [16 i, 16 i + 16) of rows in registers.
  __device__ void set(int i, const Left<Format>& columns) {
    static_assert(kInRegisters);
    kept_[i] = columns;
  }
  /// Columns [16 i, 16 i + 16).
  __device__ Left<Format> columns(int i) const {
    if constexpr (kInRegisters) {
      return kept_[i];
    } else {
      Left<Format> x;
      tensor_core::load_left(x, rows_ + 16 * i, Tiles<Format, kWidth>::kPitch);
      return x;
    }
  }

 private:
  const Element* rows_;
  Left<Format> kept_[kInRegisters ? kWidth / 16 : 1];
};

template <class Format>
__device__ void keep_finite_part(Right<Format>& b) {
#pragma unroll
  for (std::uint32_t& word : b.x) word = tensor_core::finite_part(Format{}, word);
}

/// Records for the block whether one of its threads met a non-finite number; to be read behind the next barrier.
__device__ inline void note(bool odd, int* of_warps) {
  const bool any = __any_sync(kAllLanes, odd);
  if (lane_id() == 0) of_warps[warp_id()] = any;
}
__device__ inline bool noted(const int* of_warps) {
  bool any = false;
  for (int i = 0; i < static_cast<int>(blockDim.x) / kWarp; ++i) any |= of_warps[i] != 0;
  return any;
}

/// The position of a block: blocks of rows, then segments of the other factor, then heads.
struct Place {
  __device__ Place(const AttentionForward<float>& p, std::int64_t points, int warp_rows, std::int64_t segments)
      : rows(static_cast<int>(blockDim.x) / kWarp * warp_rows),
        head(static_cast<int>(blockIdx.x / (divide_up(points, rows) * segments))),
        segment(static_cast<int>(blockIdx.x / divide_up(points, rows) % segments)),
        batch(static_cast<int>(head / p.heads)),
        first(static_cast<int>(blockIdx.x % divide_up(points, rows)) * rows),
        warp_first(first + warp_id() * warp_rows) {}

  int rows, head, segment, batch, first, warp_first;
};

/// Takes the keys of a segment to shared memory, tile by tile in two places in turn, and hands `warp` those that one of
/// its rows sees: attend<false> where all of them see the whole tile. `odd` are notes of the warps on values that are
/// not finite.
template <class Tile, int kKeys, class Warp>
__device__ __forceinline__ void for_key_tiles(const AttentionForward<float>& p, const Place& place, int warp_rows,
                                              std::int64_t segment_keys, bool vectors, typename Tile::Element* tiles,
                                              int* odd, Warp& warp) {
  const int width = static_cast<int>(p.width), queries = static_cast<int>(p.queries);
  const VisibleKeys of_block = visible_keys(p, place.batch, place.first, min(place.rows, queries - place.first));
  const VisibleKeys of_warp =
      visible_keys(p, place.batch, place.warp_first, min(warp_rows, queries - place.warp_first));
  const HeadRows k = head_rows(p, p.k, p.keys, place.head), v = head_rows(p, p.v, p.keys, place.head);
  const int begin = static_cast<int>(place.segment * segment_keys);
  const int end = static_cast<int>(min(std::int64_t{of_block.most}, begin + segment_keys));
  const auto load = [&](int first, int buffer) {
    const bool mixed = first + kKeys > of_block.least;
    note(Tile::template load<2>({k.from(first), v.from(first)}, kKeys, end - first, width, vectors, mixed,
                                tiles + buffer * 2 * kKeys * Tile::kPitch),
         odd + buffer * kMostWarps);
  };
  if (begin < end) load(begin, 0);
  __syncthreads();
  for (int first = begin, buffer = 0; first < end; first += kKeys, buffer ^= 1) {
    if (first + kKeys < end) load(first + kKeys, buffer ^ 1);
    const auto* keys = tiles + buffer * 2 * kKeys * Tile::kPitch;
    const auto* values = keys + kKeys * Tile::kPitch;
    if (first + kKeys <= of_warp.least)
      warp.template attend<false>(keys, values, first, false);
    else if (first < of_warp.most)
      warp.template attend<true>(keys, values, first, noted(odd + buffer * kMostWarps));
    __syncthreads();
  }
}

__host__ __device__ inline bool aligned_to_16(const void* x) { return reinterpret_cast<std::uintptr_t>(x) % 16 == 0; }

}  // namespace

}  // namespace npzoo
