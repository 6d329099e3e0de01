#pragma once

// Shared by the CUDA kernels of keys and of queries. Included by kernel sources only.

#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/random_feature_attention/kernels.h"

/// A block works on a tile of kTile features and kTile points at a time, by products of matrices in shared memory whose
/// results stay in registers. Each warp has all rows of such a product and a strip of its columns; where a result is
/// narrower than a tile, warps share a strip, and each takes a part of what is summed over.
namespace npzoo {

namespace {

constexpr int kTile = 64, kStrip = 16, kWarps = kTile / kStrip, kThreads = kWarps * kWarp;
/// Channels that a product of points takes at a time.
constexpr int kDepth = 16;
/// Keeps rows on 16 bytes, and neighbours in a column in different banks.
constexpr int kPadding = 4, kStride = kTile + kPadding;

/// Blocks that one multiprocessor has registers for.
template <class T>
constexpr int kBlocks = sizeof(T) == 4 ? 4 : 2;
template <class T>
constexpr int kBackwardBlocks = sizeof(T) == 4 ? 3 : 2;

/// One thread's part of a strip: 4 columns of twice 4 rows, half a tile apart.
constexpr int kRows = 8, kColumns = 4;
template <class T>
using Fragment = T[kRows][kColumns];

__device__ inline int row_of(int i) { return lane_id() / kColumns * 4 + i % 4 + i / 4 * (kTile / 2); }
__device__ inline int first_column() { return lane_id() % kColumns * kColumns; }
/// A thread's part of a square tile, where each warp has its own strip.
__device__ inline int point_of(int j) { return warp_id() * kStrip + first_column() + j; }

template <class T>
struct alignas(16) Four {
  T x[4];
};
template <class T>
__device__ const Four<T>& four(const T* from) {
  return *reinterpret_cast<const Four<T>*>(from);
}

/// Elements that are read or written at once.
template <class T>
struct alignas(16) Packed {
  static constexpr int kSize = 16 / sizeof(T);
  T x[kSize];
};

/// Rows in device memory.
template <class T>
struct Rows {
  const T* at;
  std::int64_t stride;
  int count;

  __device__ Rows from(std::int64_t column) const { return {at + column, stride, count}; }
  /// Whether the first `width` channels can be read in packs.
  __device__ bool packed(std::int64_t width) const {
    return reinterpret_cast<std::uintptr_t>(at) % sizeof(Packed<T>) == 0 && stride % Packed<T>::kSize == 0 &&
           width % Packed<T>::kSize == 0;
  }
};

/// The part of an array that begins at `first` and has at most a tile's length.
__device__ inline int tile_length(std::int64_t first, std::int64_t end) {
  return static_cast<int>(min(std::int64_t{kTile}, end - first));
}

/// to (depth, kStride) = rowsᵀ, with zeros behind the last row. Steps of blockDim keep the compiler from unrolling a
/// rare loop, which would cost registers.
template <class T>
__device__ void stage_transposed(const Rows<T>& rows, int depth, T* to) {
  constexpr int kSize = Packed<T>::kSize, kPacks = kDepth / kSize;
  if (rows.packed(depth)) {
    for (int i = static_cast<int>(threadIdx.x); i < kTile * kPacks; i += kThreads) {
      const int row = i / kPacks, column = i % kPacks * kSize;
      if (column >= depth) continue;
      Packed<T> pack{};
      if (row < rows.count) pack = *reinterpret_cast<const Packed<T>*>(rows.at + row * rows.stride + column);
      for (int j = 0; j < kSize; ++j) to[(column + j) * kStride + row] = pack.x[j];
    }
  } else {
    for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += blockDim.x) {
      const int row = i / kDepth, column = i % kDepth;
      if (column < depth) to[column * kStride + row] = row < rows.count ? rows.at[row * rows.stride + column] : T(0);
    }
  }
}

/// to (kTile, 2^bits + kPadding) = rows, with zeros behind the last row and behind the first `width` channels.
template <class T>
__device__ void stage(const Rows<T>& rows, std::int64_t width, int bits, T* to) {
  constexpr int kSize = Packed<T>::kSize;
  const int columns = 1 << bits, stride = columns + kPadding;
  if (rows.packed(width)) {
    const int packs = columns / kSize;
    for (int i = static_cast<int>(threadIdx.x); i < kTile * packs; i += kThreads) {
      const int row = i * kSize >> bits, column = i % packs * kSize;
      Packed<T> pack{};
      if (row < rows.count && column < width)
        pack = *reinterpret_cast<const Packed<T>*>(rows.at + row * rows.stride + column);
      *reinterpret_cast<Packed<T>*>(to + row * stride + column) = pack;
    }
  } else {
    for (int i = static_cast<int>(threadIdx.x); i < kTile << bits; i += blockDim.x) {
      const int row = i >> bits, column = i & (columns - 1);
      to[row * stride + column] = row < rows.count && column < width ? rows.at[row * rows.stride + column] : T(0);
    }
  }
}

/// A block's shared memory.
template <class T>
struct Memory {
  __device__ Memory()
      : left(shared_memory<T>()),
        right(left + kDepth * kStride),
        features(right + kDepth * kStride),
        points(features + kTile * kStride),
        operand(points + kTile) {}

  static std::size_t bytes(int bits) {
    return static_cast<std::size_t>(2 * kDepth * kStride + kTile * kStride + kTile + kTile * ((1 << bits) + kPadding)) *
           sizeof(T);
  }

  T *left, *right;  // (kDepth, kStride): factors of a product over channels
  T* features;      // (kTile, kStride)
  T* points;        // (kTile)
  T* operand;       // (kTile, columns + kPadding): the factor of the features
};

/// log₂ of the columns that a result of `width` columns is cut into.
inline int column_bits(std::int64_t width) { return width <= 16 ? 4 : width <= 32 ? 5 : 6; }
__host__ __device__ inline std::int64_t column_tiles(std::int64_t width, int bits) {
  return divide_up(width, std::int64_t{1} << bits);
}

/// sums += leftᵀ · right over `depth` rows of both; `right` begins with the strip.
template <class T>
__device__ void multiply(const T* left, int left_stride, const T* right, int right_stride, int depth,
                         Fragment<T>& sums) {
  left += row_of(0), right += first_column();
  for (int k = 0; k < depth; ++k, left += left_stride, right += right_stride) {
    const Four<T> a = four(left), b = four(left + kTile / 2), c = four(right);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < kColumns; ++j) {
        sums[i][j] += a.x[i] * c.x[j];
        sums[i + 4][j] += b.x[i] * c.x[j];
      }
  }
}

/// sums (rows of left, rows of right) = left · rightᵀ over `depth` channels; `squares`, unless null, are those of this
/// thread's points, to be added up over the lanes that share them. The block has synchronised.
template <class T>
__device__ void product(const Rows<T>& left, const Rows<T>& right, std::int64_t depth, const Memory<T>& memory,
                        Fragment<T>& sums, T* squares) {
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) sums[i][j] = 0;
  const T* strip = memory.right + warp_id() * kStrip;
  for (std::int64_t k = 0; k < depth; k += kDepth) {
    const int count = static_cast<int>(min(std::int64_t{kDepth}, depth - k));
    if (k > 0) __syncthreads();
    stage_transposed(left.from(k), count, memory.left);
    stage_transposed(right.from(k), count, memory.right);
    __syncthreads();
    multiply(memory.left, kStride, strip, kStride, count, sums);
    for (int c = lane_id() / kColumns; squares && c < count; c += kWarp / kColumns) {
      const Four<T> x = four(strip + c * kStride + first_column());
      for (int j = 0; j < kColumns; ++j) squares[j] += x.x[j] * x.x[j];
    }
  }
}

/// Sums over the features of a tile: over the lanes that share this thread's points.
template <class T>
__device__ T sum_of_lanes(T x) {
  for (int step = kColumns; step < kWarp; step *= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}

template <class T>
__device__ T larger(T a, T b) {
  return a > b ? a : b;
}

/// Computes w·x − ‖x‖²/2 for a tile of features and points: NaN if the norm overflows. `shifted` leaves the norm out,
/// which is the same for all features of a point. The block has synchronised.
template <class T>
__device__ void exponents(const FeatureMap<T>& map, std::int64_t first_feature, const Rows<T>& points, bool shifted,
                          const Memory<T>& memory, Fragment<T>& e) {
  T norms[kColumns] = {};
  const Rows<T> projection{map.projection + first_feature * map.width, map.width,
                           tile_length(first_feature, map.features)};
  product(projection, points, map.width, memory, e, norms);
  for (int j = 0; j < kColumns; ++j) {
    const T norm = shifted ? T(0) : sum_of_lanes(norms[j]) * (map.scale * T(-0.5)), or_nan = norm + T(0) * norm;
    for (int i = 0; i < kRows; ++i) e[i][j] = map.root_scale * e[i][j] + or_nan;
  }
}

/// memory.features (features, points) = e.
template <class T>
__device__ void store(const Fragment<T>& e, const Memory<T>& memory) {
  for (int i = 0; i < kRows; ++i) {
    Four<T> row;
    for (int j = 0; j < kColumns; ++j) row.x[j] = e[i][j];
    *reinterpret_cast<Four<T>*>(memory.features + row_of(i) * kStride + point_of(0)) = row;
  }
}

/// memory.features (points, features) = e.
template <class T>
__device__ void store_transposed(const Fragment<T>& e, const Memory<T>& memory) {
  for (int j = 0; j < kColumns; ++j)
    for (int half = 0; half < kRows; half += 4) {
      Four<T> column;
      for (int i = 0; i < 4; ++i) column.x[i] = e[half + i][j];
      *reinterpret_cast<Four<T>*>(memory.features + point_of(j) * kStride + row_of(half)) = column;
    }
}

/// sums += featuresᵀ · operand, this warp's part of it.
template <class T>
__device__ void multiply_features(const Memory<T>& memory, int bits, Fragment<T>& sums) {
  const int columns = 1 << bits, strips = columns / kStrip, depth = kTile * strips / kWarps,
            first = warp_id() / strips * depth, stride = columns + kPadding;
  multiply(memory.features + first * kStride, kStride, memory.operand + first * stride + warp_id() % strips * kStrip,
           stride, depth, sums);
}

/// Calls write(row, column, sum) for each sum of `multiply_features`, with neighbouring columns in neighbouring
/// threads.
template <class T, class F>
__device__ void combine(const Fragment<T>& sums, const Memory<T>& memory, int bits, F write) {
  constexpr int kSize = kTile * kStrip;
  static_assert(kWarps * kSize <= kTile * kStride);
  __syncthreads();
  for (int i = 0; i < kRows; ++i) {
    Four<T> row;
    for (int j = 0; j < kColumns; ++j) row.x[j] = sums[i][j];
    *reinterpret_cast<Four<T>*>(memory.features + warp_id() * kSize + row_of(i) * kStrip + first_column()) = row;
  }
  __syncthreads();
  const int strips = (1 << bits) / kStrip;
  for (int i = static_cast<int>(threadIdx.x); i < kTile << bits; i += kThreads) {
    const int row = i >> bits, column = i & ((1 << bits) - 1);
    T sum = 0;
    for (int warp = column / kStrip; warp < kWarps; warp += strips)
      sum += memory.features[warp * kSize + row * kStrip + column % kStrip];
    write(row, column, sum);
  }
}

/// The position of a block of a kernel that gives each tile of points of one head its own blocks: one for each tile of
/// columns. Neighbouring blocks read neighbouring channels.
struct Place {
  std::int64_t batch, head, unit, first, column;
  int points;

  template <class T>
  __device__ Place(const FeatureMap<T>& map, std::int64_t width, int bits) {
    const std::int64_t columns = max(std::int64_t{1}, column_tiles(width, bits)), tiles = divide_up(map.points, kTile);
    std::int64_t block = blockIdx.x;
    column = block % columns << bits, block /= columns;
    head = block % map.heads, block /= map.heads;
    first = block % tiles * kTile, batch = block / tiles;
    unit = batch * map.heads + head;
    points = tile_length(first, map.points);
  }

  /// Offset of the tile's first row in an array of points whose heads are `width` wide.
  template <class T>
  __device__ std::int64_t offset(const FeatureMap<T>& map, std::int64_t width) const {
    return ((batch * map.points + first) * map.heads + head) * width;
  }
  template <class T>
  __device__ Rows<T> rows(const FeatureMap<T>& map, const T* x, std::int64_t width) const {
    return {x + offset(map, width), map.heads * width, points};
  }
  /// The first point's place in an array (batch, heads, points).
  template <class T>
  __device__ std::int64_t point(const FeatureMap<T>& map) const {
    return unit * map.points + first;
  }
};

template <class T>
std::int64_t place_blocks(const FeatureMap<T>& map, std::int64_t width, int bits) {
  const std::int64_t columns = column_tiles(width, bits);
  return map.batch * map.heads * divide_up(map.points, kTile) * (columns > 1 ? columns : 1);
}

}  // namespace

}  // namespace npzoo
