#pragma once

// The common part of both backward kernels of attention on tensor cores. A warp owns rows of two kinds: queries and
// gradients of the output, or keys and values. It multiplies them with tiles of the other two. Included by kernel
// sources only.

#include "npzoo/ops/masked_attention/tensor_tiles.h"

namespace npzoo {

namespace {

/// Sizes that fit the registers and shared memory of a kernel with one gradient per row, or two.
template <class Format, int kWidth, int kGradients>
struct BackwardSizes {
  static constexpr int kBytes = kWidth * static_cast<int>(sizeof(typename Format::Element));  // of a row
  static constexpr int kTiles = kWidth == 16 ? 2 : 1;                                         // of 16 rows, in a warp
  static constexpr int kWarps = kBytes <= 128 ? kMostWarps : kBytes == 512 ? 2 : 4;
  // On a multiprocessor. Products of pairs take more registers.
  static constexpr int kBlocks = kExact<Format>                               ? (kBytes <= 128 ? 1 : 2)
                                 : kBytes <= 128 || kWidth * kGradients > 128 ? 2
                                                                              : 3;
  static constexpr int kPoints = kBytes == 512 ? 16 : kBytes == 256 ? 32 : 64;  // of a tile
  static constexpr bool kInRegisters = kBytes <= 128 && kWidth * kGradients <= 64;

  /// Returns the rows of shared memory. A block's own rows pass through the room of the tiles, one kind after the
  /// other, if they then stay in registers. Else both kinds have their own room.
  __host__ __device__ static constexpr std::size_t shared_rows(int warps) {
    const std::size_t rows = static_cast<std::size_t>(warps * 16 * kTiles), tiles = 4 * kPoints;
    return !kInRegisters ? 2 * rows + tiles : rows > tiles ? rows : tiles;
  }
  __host__ __device__ static constexpr std::size_t shared_bytes(int warps) {
    return shared_rows(warps) * Tiles<Format, kWidth>::kRowBytes + 2 * (kMostWarps + 3 * kPoints) * sizeof(int);
  }
};

/// The numbers of queries besides their channels, or those of one query.
template <class T>
struct QueryTerms {
  T start;  // −log2_sum; −∞ for a row that sees no key, whose weights are 0
  T mean;   // Σ weight · d_weight − d_log_sum
};
using RowTerms = QueryTerms<float*>;

/// Products of a warp's own rows with 16 points of a tile: scores or weights, and their gradients.
template <class Format, int kTiles>
struct Products {
  float weights[kTiles][2][4], d_scores[kTiles][2][4];

  /// Sets scores and d_weight to what products are added to: terms(m, n, e). In float32 that is 0 and terms are added
  /// at the end, so that a mean meets the bits that it was made of (see multiply_rows).
  template <class Terms>
  __device__ void start(Terms terms) {
#pragma unroll
    for (int i = 0; i < kTiles * 8; ++i) {
      const int m = i / 8, n = i / 4 % 2, e = i % 4;
      weights[m][n][e] = kExact<Format> ? 0 : terms(m, n, e).start;
      d_scores[m][n][e] = kExact<Format> ? 0 : -terms(m, n, e).mean;
    }
  }

  /// Turns scores into weights 2^(score − log2_sum) and d_weight into weight · (d_weight − mean), both 0 where
  /// `unseen(m, n, e)` is true.
  template <class Terms, class Unseen>
  __device__ void weigh(Terms terms, Unseen unseen) {
#pragma unroll
    for (int i = 0; i < kTiles * 8; ++i) {
      const int m = i / 8, n = i / 4 % 2, e = i % 4;
      float& weight = weights[m][n][e];
      float& d_score = d_scores[m][n][e];
      if (kExact<Format>) {
        weight += terms(m, n, e).start;
        d_score -= terms(m, n, e).mean;
      }
      weight = power_of_two<Format>(weight);
      d_score *= weight;
      if (unseen(m, n, e)) weight = d_score = 0;
    }
  }
};

/// The own rows of a warp, of both kinds.
template <class Format, int kWidth, int kGradients>
struct OwnRows {
  using Sizes = BackwardSizes<Format, kWidth, kGradients>;
  using Element = typename Format::Element;
  static constexpr int kTiles = Sizes::kTiles, kPitch = Tiles<Format, kWidth>::kPitch;

  LeftRows<Format, kWidth, Sizes::kInRegisters> x[kTiles], y[kTiles];

  /// Loads the `rows` rows of the whole block. `memory` is the room of the tiles, which is overwritten. All warps of
  /// the block call it together.
  __device__ void load(HeadRows of_x, HeadRows of_y, int rows, int valid, int width, bool vectors, Element* memory) {
    using Tile = Tiles<Format, kWidth>;
    constexpr int kBehind = Sizes::kInRegisters ? 0 : 4 * Sizes::kPoints * kPitch;
    Element* at[] = {memory + kBehind, memory + kBehind + (Sizes::kInRegisters ? 0 : rows * kPitch)};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      Tile::template load<1>({i == 0 ? of_x : of_y}, rows, valid, width, vectors, false, at[i]);
      __syncthreads();
#pragma unroll
      for (int m = 0; m < kTiles; ++m) (i == 0 ? x : y)[m].load(at[i] + (warp_id() * kTiles + m) * 16 * kPitch);
      __syncthreads();
    }
  }

  /// Returns the product of row lane / 4 + 8 h of tile m of y with the row at the same place in `of_z`: the bits that
  /// `multiply` would give. `memory` and the caller as in `load`.
  __device__ void multiply_rows(HeadRows of_z, int rows, int valid, int width, bool vectors, Element* memory,
                                float (&result)[kTiles][2]) {
    Tiles<Format, kWidth>::template load<1>({of_z}, rows, valid, width, vectors, false, memory);
    __syncthreads();
    const int row = lane_id() / 4;
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      float all[2][4] = {};
#pragma unroll
      for (int k = 0; k < kWidth / 16; ++k) {
        Right<Format> b[2];
        tensor_core::load_transposed_right(b, memory + (warp_id() * kTiles + m) * 16 * kPitch + 16 * k, kPitch);
        const Left<Format> own = y[m].columns(k);
        multiply_add(all[0], own, b[0]);
        multiply_add(all[1], own, b[1]);
      }
#pragma unroll
      for (int h = 0; h < 2; ++h)
        result[m][h] = __shfl_sync(kAllLanes, row % 2 == 0 ? all[h][2 * h] : all[h][2 * h + 1], row * 4 + row / 2);
    }
    __syncthreads();
  }

  /// Adds the products with 16 rows of two tiles.
  __device__ void multiply(const Element* of_x, const Element* of_y, Products<Format, kTiles>& products) {
#pragma unroll
    for (int k = 0; k < kWidth / 16; ++k) {
      Right<Format> b[2], c[2];
      tensor_core::load_transposed_right(b, of_x + 16 * k, kPitch);
      tensor_core::load_transposed_right(c, of_y + 16 * k, kPitch);
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        const Left<Format> own_x = x[m].columns(k), own_y = y[m].columns(k);
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          if constexpr (kGradients == 1) {
            multiply_add(products.weights[m][n], own_x, b[n]);
            multiply_add(products.d_scores[m][n], own_y, c[n]);
          } else {  // with the bits of the forward pass and of the gradients of queries
            multiply_add_mirrored(products.weights[m][n], own_x, b[n]);
            multiply_add_mirrored(products.d_scores[m][n], own_y, c[n]);
          }
        }
      }
    }
  }
};

/// Sums of a warp's own rows.
template <class Format, int kWidth>
struct RowSums {
  using Element = typename Format::Element;
  static constexpr int kTiles = BackwardSizes<Format, kWidth, 1>::kTiles, kPitch = Tiles<Format, kWidth>::kPitch;

  float x[kTiles][kWidth / 8][4];

  __device__ void clear() {
#pragma unroll
    for (int m = 0; m < kTiles; ++m)
#pragma unroll
      for (int i = 0; i < kWidth / 2; ++i) x[m][i / 4][i % 4] = 0;
  }

  /// Adds the product of `left` (own rows, 16 points) with 16 rows of a tile. `odd` leaves out non-finite elements.
  __device__ void add(const float (&left)[kTiles][2][4], const Element* tile, bool odd) {
    Left<Format> a[kTiles];
#pragma unroll
    for (int m = 0; m < kTiles; ++m) tensor_core::to_left(a[m], left[m][0], left[m][1]);
#pragma unroll
    for (int n = 0; n < kWidth / 16; ++n) {
      Right<Format> b[2];
      tensor_core::load_right(b, tile + n * 16, kPitch);
      if (odd) {
        keep_finite_part(b[0]);
        keep_finite_part(b[1]);
      }
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        multiply_add(x[m][2 * n], a[m], b[0]);
        multiply_add(x[m][2 * n + 1], a[m], b[1]);
      }
    }
  }

  /// Adds factor · element of the non-finite elements of a row to those own rows for which sees(m, half) is true.
  template <class Sees>
  __device__ void add_odd(const Element* row, float factor, Sees sees) {
#pragma unroll
    for (int i = 0; i < kTiles * kWidth / 2; ++i) {
      const int m = i / (kWidth / 2), n = i / 4 % (kWidth / 8), e = i % 4;
      const float element = tensor_core::to_float(row[n * 8 + lane_id() % 4 * 2 + e % 2]);
      if (element - element != 0 && sees(m, e / 2)) x[m][n][e] += factor * element;
    }
  }

  /// Writes factor · (sums + those of the spans before, if `earlier`) to the rows from `first` on of one head in an
  /// array of (batch, points, heads · width). Clears the sums.
  __device__ void store(float* to, std::int64_t stride, int first, int points, int width, float factor, bool earlier) {
#pragma unroll
    for (int i = 0; i < kTiles * 2; ++i) {
      const int row = first + i / 2 * 16 + i % 2 * 8 + lane_id() / 4;
      if (row >= points) continue;
      float* at = to + row * stride + lane_id() % 4 * 2;
#pragma unroll
      for (int c = 0; c < kWidth / 4; ++c)
        if (c / 2 * 8 < width) {
          float sum = x[i / 2][c / 2][i % 2 * 2 + c % 2];
          if (kExact<Format> && earlier) sum += at[c / 2 * 8 + c % 2];
          at[c / 2 * 8 + c % 2] = sum * factor;
        }
    }
    clear();
  }
};

}  // namespace

}  // namespace npzoo
