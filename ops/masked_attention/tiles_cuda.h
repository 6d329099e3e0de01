#pragma once

// How attention is spread over the threads of a CUDA device. Each lane group of a warp owns some points, queries or
// keys, and keeps their channels and the sums over the other side in registers. The points of the other side pass
// through shared memory, a tile at a time, for all warps of a block. Scores and weights never leave the registers.
// Included by kernel sources only.

#include <type_traits>

#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/masked_attention/kernels.h"

namespace npzoo {

namespace {

constexpr double kLog2E = 1.44269504088896340736, kLn2 = 0.69314718055994530942;
constexpr int kMostWarps = 4;  // of a block
/// A sum over many points is taken in two levels: so many points are summed from zero in registers, and their sum is
/// added to that of the points before, in memory. Otherwise the rounding of a long sum would exceed its last terms.
constexpr std::int64_t kSpanPoints = 2048;

/// `width` channels are shared out over lanes with `channels` each, which own `rows` points.
template <class Element, int width, int channels, int rows>
struct Tiling {
  using T = Element;
  static constexpr int kWidth = width, kChannels = channels, kRows = rows;
  static constexpr int kVector = 16 / int{sizeof(T)};  // elements that one instruction loads
  static constexpr int kVectors = channels / kVector;
  static constexpr int kGroup = width / channels;              // lanes with the channels of the same points
  static constexpr int kSlices = kGroup < 8 ? 8 / kGroup : 1;  // lane groups with the same points and other tile points
  static constexpr int kOwners = kWarp / (kGroup * kSlices);   // lane groups with other points
  static constexpr int kWarpRows = kOwners * rows;
  static constexpr int kStep = 16 / int{sizeof(T)};                 // points that a lane takes from a tile at a time
  static constexpr int kSharers = kGroup < kStep ? kGroup : kStep;  // lanes that share out the scores of a step
  static constexpr int kOwn = kStep / kSharers;                     // scores of a row that a lane gets of a step
  static constexpr int kTurn = kStep * kSlices;                     // points that a warp takes from a tile at a time
  // Points of a tile, and the distance between them: slices read from different banks.
  static constexpr int kTile = width < 32 ? 128 : 4096 / width;
  static constexpr int kStride = width + (kSlices > 1 ? kGroup * kVector : 0);
  static constexpr std::size_t kTileBytes = std::size_t{kTile} * kStride * sizeof(T);
  static_assert(channels % kVector == 0 && kTile % kTurn == 0 && rows * channels % (kSlices * kVector) == 0);
};

/// Place of a lane in its warp. Owners are neighbours: they read the same from a tile.
template <class L>
struct Lane {
  __device__ Lane()
      : owner(lane_id() % L::kOwners),
        channel(lane_id() / L::kOwners % L::kGroup),
        slice(lane_id() / (L::kOwners * L::kGroup)) {}

  int owner, channel, slice;
};

/// The factor of queries before their product with keys.
template <class T, bool kLaplace>
__device__ T query_factor(const AttentionForward<T>& p) {
  return kLaplace ? T(1) : static_cast<T>(p.scale * kLog2E);
}

template <class T>
struct alignas(16) Vector {
  T x[16 / sizeof(T)];
};

__device__ inline float maximum(float a, float b) { return fmaxf(a, b); }
__device__ inline double maximum(double a, double b) { return fmax(a, b); }

/// The points of one head in an array of (batch, points, heads · width).
template <class T>
struct PointView {
  __device__ PointView(T* array, std::int64_t points, std::int64_t heads, std::int64_t width_of_one, std::int64_t unit)
      : first(array + (unit / heads * points * heads + unit % heads) * width_of_one),
        stride(heads * width_of_one),
        width(static_cast<int>(width_of_one)),
        aligned(width_of_one * sizeof(T) % 16 == 0 && reinterpret_cast<std::uintptr_t>(array) % 16 == 0) {}

  T* first;
  std::int64_t stride;
  int width;
  bool aligned;
};

/// Returns the channels from `channel` on; 0 behind the last one.
template <class T>
__device__ __forceinline__ Vector<std::remove_const_t<T>> load_vector(const PointView<T>& from, std::int64_t point,
                                                                      int channel) {
  using Loaded = Vector<std::remove_const_t<T>>;
  constexpr int kVector = 16 / sizeof(T);
  Loaded result{};
  const T* at = from.first + point * from.stride + channel;
  if (from.aligned) {
    if (channel < from.width) result = *reinterpret_cast<const Loaded*>(at);
    return result;
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    if (channel + i < from.width) result.x[i] = at[i];
  return result;
}

template <class T>
__device__ __forceinline__ void store_vector(const Vector<T>& value, const PointView<T>& to, std::int64_t point,
                                             int channel) {
  constexpr int kVector = 16 / sizeof(T);
  T* at = to.first + point * to.stride + channel;
  if (to.aligned) {
    if (channel < to.width) *reinterpret_cast<Vector<T>*>(at) = value;
    return;
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    if (channel + i < to.width) at[i] = value.x[i];
}

/// Copies `count` points, times `factor`, to shared memory.
template <class L>
__device__ void stage(const PointView<const typename L::T>& from, std::int64_t first, int count, typename L::T factor,
                      typename L::T* to) {
  constexpr int kRowVectors = L::kWidth / L::kVector;
  for (int i = static_cast<int>(threadIdx.x); i < count * kRowVectors; i += static_cast<int>(blockDim.x)) {
    const int point = i / kRowVectors, channel = i % kRowVectors * L::kVector;
    Vector<typename L::T> x = load_vector(from, first + point, channel);
#pragma unroll
    for (int e = 0; e < L::kVector; ++e) x.x[e] *= factor;
    *reinterpret_cast<Vector<typename L::T>*>(to + point * L::kStride + channel) = x;
  }
}

/// Loads a lane's channels of the points that it owns, times `factor`; 0 for points beyond the last.
template <class L>
__device__ void load_rows(const PointView<const typename L::T>& from, const Lane<L>& lane, std::int64_t first,
                          std::int64_t points, typename L::T factor, typename L::T (&rows)[L::kRows][L::kChannels]) {
#pragma unroll
  for (int r = 0; r < L::kRows; ++r) {
#pragma unroll
    for (int v = 0; v < L::kVectors; ++v) {
      Vector<typename L::T> x{};
      if (first + r < points) x = load_vector(from, first + r, (v * L::kGroup + lane.channel) * L::kVector);
#pragma unroll
      for (int e = 0; e < L::kVector; ++e) rows[r][v * L::kVector + e] = x.x[e] * factor;
    }
  }
}

/// Adds up the sums of the slices and writes them; each slice writes a part. If `adds`, adds factors[row] times the
/// numbers that are there already. Clears the sums.
template <class L>
__device__ void store_rows(typename L::T (&rows)[L::kRows][L::kChannels], const Lane<L>& lane, std::int64_t first,
                           std::int64_t points, const PointView<typename L::T>& to, bool adds,
                           const typename L::T (&factors)[L::kRows]) {
  constexpr int kCount = L::kRows * L::kChannels, kKept = kCount / L::kSlices;
#pragma unroll
  for (int step = L::kSlices / 2; step > 0; step /= 2) {
    const int half = kCount / L::kSlices * step;
    const bool upper = lane.slice & step;
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      if (i >= half) continue;
      auto &a = rows[i / L::kChannels][i % L::kChannels],
           &b = rows[(i + half) / L::kChannels][(i + half) % L::kChannels];
      const auto sent = upper ? a : b, kept = upper ? b : a;
      a = kept + __shfl_xor_sync(kAllLanes, sent, step * L::kGroup * L::kOwners);
    }
  }
#pragma unroll
  for (int i = 0; i < kKept; i += L::kVector) {
    const int at = lane.slice * kKept + i;
    Vector<typename L::T> x;
#pragma unroll
    for (int e = 0; e < L::kVector; ++e) x.x[e] = rows[(i + e) / L::kChannels][(i + e) % L::kChannels];
    const int row = at / L::kChannels;
    const int channel = (at % L::kChannels / L::kVector * L::kGroup + lane.channel) * L::kVector;
    if (first + row >= points) continue;
    if (adds) {
      typename L::T factor = factors[0];
#pragma unroll
      for (int r = 1; r < L::kRows; ++r) factor = row == r ? factors[r] : factor;
      const auto there = load_vector(to, first + row, channel);
#pragma unroll
      for (int e = 0; e < L::kVector; ++e) x.x[e] += factor * there.x[e];
    }
    store_vector(x, to, first + row, channel);
  }
#pragma unroll
  for (int r = 0; r < L::kRows; ++r)
#pragma unroll
    for (int c = 0; c < L::kChannels; ++c) rows[r][c] = 0;
}

/// Writes factor · (sums + the numbers that are there already, if `adds`), and clears the sums.
template <class L>
__device__ void store_rows(typename L::T (&rows)[L::kRows][L::kChannels], const Lane<L>& lane, std::int64_t first,
                           std::int64_t points, const PointView<typename L::T>& to, bool adds, typename L::T factor) {
  typename L::T factors[L::kRows];
#pragma unroll
  for (int r = 0; r < L::kRows; ++r) {
    factors[r] = factor;
#pragma unroll
    for (int c = 0; c < L::kChannels; ++c) rows[r][c] *= factor;
  }
  store_rows(rows, lane, first, points, to, adds, factors);
}

/// The start of a lane's part of a tile in turn `turn`.
template <class L>
__device__ __forceinline__ int tile_offset(const Lane<L>& lane, int turn) {
  return (turn * L::kTurn + lane.slice) * L::kStride + lane.channel * L::kVector;
}

/// Point of the tile that is number `i` of this lane's step.
template <class L>
__device__ __forceinline__ int tile_point(const Lane<L>& lane, int turn, int i) {
  return turn * L::kTurn + i * L::kSlices + lane.slice;
}

/// Number within its step of the point whose score is this lane's number `u`.
template <class L>
__device__ __forceinline__ int own_point(const Lane<L>& lane, int u) {
  return u * L::kSharers + lane.channel % L::kSharers;
}

/// Sums over the lanes of a group. Of the points of a step, each lane gets the sums of `own_point`.
template <class L>
__device__ __forceinline__ void share_out(const Lane<L>& lane, typename L::T (&sums)[L::kStep][L::kRows],
                                          typename L::T (&own)[L::kOwn][L::kRows]) {
#pragma unroll
  for (int step = L::kSharers / 2; step > 0; step /= 2) {
    const bool upper = lane.channel & step;
#pragma unroll
    for (int i = 0; i < L::kStep; ++i) {
      if (i % L::kSharers >= step) continue;
#pragma unroll
      for (int r = 0; r < L::kRows; ++r) {
        const auto sent = upper ? sums[i][r] : sums[i + step][r], kept = upper ? sums[i + step][r] : sums[i][r];
        sums[i][r] = kept + __shfl_xor_sync(kAllLanes, sent, step * L::kOwners);
      }
    }
  }
#pragma unroll
  for (int u = 0; u < L::kOwn; ++u) {
#pragma unroll
    for (int r = 0; r < L::kRows; ++r) {
      own[u][r] = sums[u * L::kSharers][r];
#pragma unroll
      for (int step = L::kSharers; step < L::kGroup; step *= 2)
        own[u][r] += __shfl_xor_sync(kAllLanes, own[u][r], step * L::kOwners);
    }
  }
}

/// The same sums for one number a row, added in the same order.
template <class L>
__device__ __forceinline__ typename L::T group_sum(typename L::T x) {
#pragma unroll
  for (int step = L::kSharers / 2; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step * L::kOwners);
#pragma unroll
  for (int step = L::kSharers; step < L::kGroup; step *= 2) x += __shfl_xor_sync(kAllLanes, x, step * L::kOwners);
  return x;
}

/// Sum of one number a row over the lanes that have weights of the row.
template <class L>
__device__ __forceinline__ typename L::T row_sum(typename L::T x) {
#pragma unroll
  for (int step = 1; step < L::kSharers; step *= 2) x += __shfl_xor_sync(kAllLanes, x, step * L::kOwners);
#pragma unroll
  for (int step = 1; step < L::kSlices; step *= 2) x += __shfl_xor_sync(kAllLanes, x, step * L::kGroup * L::kOwners);
  return x;
}

/// The value of the lane that owns point `i` of the step.
template <class L>
__device__ __forceinline__ typename L::T of_point(const Lane<L>& lane, typename L::T (&own)[L::kOwn][L::kRows], int i,
                                                  int r) {
  if constexpr (L::kSharers == 1) return own[i][r];
  const int shift = i % L::kSharers - lane.channel % L::kSharers;
  return __shfl_sync(kAllLanes, own[i / L::kSharers][r], lane_id() + shift * L::kOwners);
}

/// Products of the owned rows with the points of a step, Σ |difference| for laplace, summed over the group.
template <class L, bool kLaplace>
__device__ __forceinline__ void scores(const Lane<L>& lane, const typename L::T* tile, int turn,
                                       const typename L::T (&rows)[L::kRows][L::kChannels],
                                       typename L::T (&own)[L::kOwn][L::kRows]) {
  typename L::T sums[L::kStep][L::kRows] = {};
  const typename L::T* at = tile + tile_offset(lane, turn);
#pragma unroll
  for (int i = 0; i < L::kStep; ++i) {
#pragma unroll
    for (int v = 0; v < L::kVectors; ++v) {
      const auto x = *reinterpret_cast<const Vector<typename L::T>*>(at + i * L::kSlices * L::kStride +
                                                                     v * L::kGroup * L::kVector);
#pragma unroll
      for (int e = 0; e < L::kVector; ++e) {
#pragma unroll
        for (int r = 0; r < L::kRows; ++r)
          sums[i][r] +=
              kLaplace ? absolute(x.x[e] - rows[r][v * L::kVector + e]) : x.x[e] * rows[r][v * L::kVector + e];
      }
    }
  }
  share_out(lane, sums, own);
}

/// Adds weight · point for the points of a step. If `kMasked`, skips points for which `sees(i, row)` is false: they
/// have weight 0, but may be NaN.
template <class L, bool kMasked, class Sees>
__device__ __forceinline__ void add_points(const Lane<L>& lane, const typename L::T* tile, int turn,
                                           typename L::T (&weights)[L::kOwn][L::kRows], Sees sees,
                                           typename L::T (&sums)[L::kRows][L::kChannels]) {
  const typename L::T* at = tile + tile_offset(lane, turn);
#pragma unroll
  for (int i = 0; i < L::kStep; ++i) {
    typename L::T weight[L::kRows];
#pragma unroll
    for (int r = 0; r < L::kRows; ++r) weight[r] = of_point(lane, weights, i, r);
#pragma unroll
    for (int v = 0; v < L::kVectors; ++v) {
      const auto x = *reinterpret_cast<const Vector<typename L::T>*>(at + i * L::kSlices * L::kStride +
                                                                     v * L::kGroup * L::kVector);
#pragma unroll
      for (int r = 0; r < L::kRows; ++r) {
        if (kMasked && !sees(i, r)) continue;
#pragma unroll
        for (int e = 0; e < L::kVector; ++e) sums[r][v * L::kVector + e] += weight[r] * x.x[e];
      }
    }
  }
}

/// Adds weight · sign(point − row).
template <class L, bool kMasked, class Sees>
__device__ __forceinline__ void add_signs(const Lane<L>& lane, const typename L::T* tile, int turn,
                                          typename L::T (&weights)[L::kOwn][L::kRows], Sees sees,
                                          const typename L::T (&rows)[L::kRows][L::kChannels],
                                          typename L::T (&sums)[L::kRows][L::kChannels]) {
  using T = typename L::T;
  const T* at = tile + tile_offset(lane, turn);
#pragma unroll
  for (int i = 0; i < L::kStep; ++i) {
#pragma unroll
    for (int r = 0; r < L::kRows; ++r) {
      const T weight = of_point(lane, weights, i, r);
      if (kMasked && !sees(i, r)) continue;
#pragma unroll
      for (int c = 0; c < L::kChannels; ++c) {
        const T x = at[i * L::kSlices * L::kStride + c / L::kVector * L::kGroup * L::kVector + c % L::kVector];
        sums[r][c] += weight * (x > rows[r][c] ? T(1) : x < rows[r][c] ? T(-1) : T(0));
      }
    }
  }
}

/// Returns how many of the `count` points from `first` on are among the first `visible`.
__device__ inline int visible_here(std::int64_t visible, std::int64_t first, int count) {
  return visible <= first ? 0 : static_cast<int>(min(visible - first, std::int64_t{count}));
}

/// The number of keys that each query of a lane group sees, and the largest and the least number of the warp's queries.
/// Rows beyond the last query count as seeing all keys.
template <class L>
struct VisibleKeys {
  template <class T>
  __device__ VisibleKeys(const AttentionForward<T>& p, std::int64_t unit, std::int64_t first) : most(0), least(p.keys) {
#pragma unroll
    for (int r = 0; r < L::kRows; ++r) {
      const bool exists = first + r < p.queries;
      visible[r] = exists ? p.mask.visible(unit / p.heads, first + r, p.keys) : p.keys;
      least = min(least, visible[r]);
      if (exists) most = max(most, visible[r]);
    }
    most = warp_max(most);
    least = -warp_max(-least);
  }

  std::int64_t visible[L::kRows], most, least;
};

/// Returns the largest value of all warps of the block. `memory` holds one number for each warp.
__device__ inline std::int64_t most_of_block(std::int64_t most, std::int64_t* memory) {
  if (lane_id() == 0) memory[warp_id()] = most;
  __syncthreads();
  for (int warp = 0; warp < static_cast<int>(blockDim.x) / kWarp; ++warp) most = max(most, memory[warp]);
  return most;
}

/// Returns the index in (batch, heads, queries) of the row that holds element `i` of (batch, queries, heads · width).
template <class T>
__device__ std::int64_t row_of(const AttentionForward<T>& p, std::int64_t i, std::int64_t width) {
  const std::int64_t point = i / width / p.heads, head = i / width % p.heads;
  return (point / p.queries * p.heads + head) * p.queries + point % p.queries;
}

}  // namespace

}  // namespace npzoo
