#pragma once

// Rows of a warp in the registers of its lanes, and their products with matrices in shared memory. Included by kernel
// sources only.

#include "npzoo/engine/cuda/tensor_core_matrices.h"
#include "npzoo/ops/transformer_layer/kernels.h"

namespace npzoo {

namespace {

/// Returns n numbers, read at once if `vectors` says that addresses allow it.
template <int n>
__device__ tensor_core::Vector<float, n> fetch(const float* from, bool vectors) {
  if (vectors) return *reinterpret_cast<const tensor_core::Vector<float, n>*>(from);
  tensor_core::Vector<float, n> x;
#pragma unroll
  for (int i = 0; i < n; ++i) x.x[i] = from[i];
  return x;
}

/// Copies (rows, columns) of a matrix with rows `stride` apart to shared memory. All threads of the block call it.
template <class Format>
__device__ void stage_matrix(const float* from, int rows, int columns, std::int64_t stride, bool vectors,
                             typename Format::Element* to, int pitch) {
  const int quads = columns / 4;
  for (int i = static_cast<int>(threadIdx.x); i < rows * quads; i += static_cast<int>(blockDim.x)) {
    const int row = i / quads, column = i % quads * 4;
    const auto four = fetch<4>(from + row * stride + column, vectors);
    const auto rounded = tensor_core::round_four(Format{}, four.x);
    *reinterpret_cast<std::remove_const_t<decltype(rounded)>*>(to + row * pitch + column) = rounded;
  }
}

/// The column of a lane's element e of 8 columns that a product of a warp has.
__device__ inline int own_column(int e) { return lane_id() % 4 * 2 + e % 2; }

__device__ inline float activate(float x, bool gelu) {
  constexpr float kRootHalf = 0.70710678118654752440f;
  if (gelu) return x * (0.5f * (1 + error_function(x * kRootHalf)));
  return x <= 0 ? 0 : x;  // NaN stays
}

/// Sum over the lanes that hold parts of the same rows.
__device__ inline float over_row(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

/// product = bias[first, first + 16) + rows · the transposed first 16 rows of a matrix (…, kWidth). `factors.left(m,
/// k)` are the columns [16 k, 16 k + 16) of tile m of the rows.
template <class Format, int kWidth, class Factors, int kTiles>
__device__ void multiply_rows(const Factors& factors, const typename Format::Element* matrix, int pitch,
                              const float* bias, int first, float (&product)[kTiles][2][4]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float b = bias ? bias[first + i / 4 * 8 + own_column(i)] : 0;
#pragma unroll
    for (int m = 0; m < kTiles; ++m) product[m][i / 4][i % 4] = b;
  }
#pragma unroll
  for (int k = 0; k < kWidth / 16; ++k) {
    tensor_core::Right<Format> right[2];
    tensor_core::load_transposed_right_of_product(right, matrix + k * 16, pitch);
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      const tensor_core::Left<Format> left = factors.left(m, k);
      multiply_add(product[m][0], left, right[0]);
      multiply_add(product[m][1], left, right[1]);
    }
  }
}

/// `kTiles` times 16 rows of a warp. A lane holds two columns of 8 in rows `lane / 4` and `lane / 4 + 8` of each tile.
template <class Format, int kColumns, int kTiles>
struct LayerRows {
  using Element = typename Format::Element;
  static constexpr int kWidth = kColumns;

  float x[kTiles][kWidth / 8][4];

  /// Calls f(row, column, pair) for the lane's pairs of neighbouring elements of the rows before `end`.
  template <class F>
  __device__ void for_pairs(int first, int end, const F& f) {
#pragma unroll
    for (int i = 0; i < kTiles * 2; ++i) {
      const int row = first + i / 2 * 16 + i % 2 * 8 + lane_id() / 4;
      if (row >= end) continue;
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n) f(row, n * 8 + own_column(0), x[i / 2][n] + i % 2 * 2);
    }
  }

  /// Rows [first, …) of an array (…, kWidth); 0 behind its end.
  __device__ void load(const float* from, int first, int end, bool vectors) {
#pragma unroll
    for (int i = 0; i < kTiles * kWidth / 2; ++i) x[i / (kWidth / 2)][i / 4 % (kWidth / 8)][i % 4] = 0;
    for_pairs(first, end, [from, vectors](int row, int column, float* pair) {
      const auto two = fetch<2>(from + std::int64_t{row} * kWidth + column, vectors);
      pair[0] = two.x[0];
      pair[1] = two.x[1];
    });
  }
  __device__ void store(float* to, int first, int end, bool vectors) {
    for_pairs(first, end, [to, vectors](int row, int column, const float* pair) {
      float* at = to + std::int64_t{row} * kWidth + column;
      if (vectors) {
        *reinterpret_cast<tensor_core::Vector<float, 2>*>(at) = {{pair[0], pair[1]}};
      } else {
        at[0] = pair[0];
        at[1] = pair[1];
      }
    });
  }

  /// Adds a vector, if it is there, to each row.
  __device__ void add(const float* bias) {
    if (!bias) return;
#pragma unroll
    for (int i = 0; i < kWidth / 2; ++i) {
      const float b = bias[i / 4 * 8 + own_column(i)];
#pragma unroll
      for (int m = 0; m < kTiles; ++m) x[m][i / 4][i % 4] += b;
    }
  }

  /// Mean and inverse deviation of each row that a lane has parts of.
  struct Moments {
    float mean[kTiles][2], inverse_deviation[kTiles][2];
  };
  __device__ Moments moments(float eps) const {
    Moments found;
#pragma unroll
    for (int i = 0; i < kTiles * 2; ++i) {
      const float(&row)[kWidth / 8][4] = x[i / 2];
      const int h = i % 2 * 2;
      float total = 0, squares = 0;
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n) total += row[n][h] + row[n][h + 1];
      const float mean = over_row(total) / kWidth;
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n)
        squares += (row[n][h] - mean) * (row[n][h] - mean) + (row[n][h + 1] - mean) * (row[n][h + 1] - mean);
      found.mean[i / 2][i % 2] = mean;
      found.inverse_deviation[i / 2][i % 2] = 1 / square_root(over_row(squares) / kWidth + eps);
    }
    return found;
  }
  /// Element `e` of the n-th 8 columns of tile m, normalised.
  __device__ float normal(const Moments& of, const LayerWeights<float>& norm, int m, int n, int e) const {
    const int column = n * 8 + own_column(e);
    return (x[m][n][e] - of.mean[m][e / 2]) * of.inverse_deviation[m][e / 2] * norm.weight[column] + norm.bias[column];
  }
  __device__ void normalise(const LayerWeights<float>& norm, float eps) {
    const Moments of = moments(eps);
#pragma unroll
    for (int i = 0; i < kTiles * kWidth / 2; ++i) {
      const int m = i / (kWidth / 2), n = i / 4 % (kWidth / 8), e = i % 4;
      x[m][n][e] = normal(of, norm, m, n, e);
    }
  }

  /// rows += left (16 columns) · the transposed first 16 columns of a matrix (kWidth, …) in shared memory.
  __device__ void add_product(const tensor_core::Left<Format> (&left)[kTiles], const Element* matrix, int pitch) {
#pragma unroll
    for (int n = 0; n < kWidth / 16; ++n) {
      tensor_core::Right<Format> right[2];
      tensor_core::load_transposed_right_of_product(right, matrix + n * 16 * pitch, pitch);
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        multiply_add(x[m][2 * n], left[m], right[0]);
        multiply_add(x[m][2 * n + 1], left[m], right[1]);
      }
    }
  }

  /// The rows as factors of products.
  struct Factors {
    tensor_core::Left<Format> columns[kTiles][kWidth / 16];

    __device__ void set(const LayerRows& rows) {
#pragma unroll
      for (int i = 0; i < kTiles * kWidth / 16; ++i) {
        const int m = i / (kWidth / 16), k = i % (kWidth / 16);
        tensor_core::to_left(columns[m][k], rows.x[m][2 * k], rows.x[m][2 * k + 1]);
      }
    }

    __device__ void set_normal(const LayerRows& rows, const LayerWeights<float>& norm, float eps) {
      const Moments of = rows.moments(eps);
#pragma unroll
      for (int i = 0; i < kTiles * kWidth / 16; ++i) {
        const int m = i / (kWidth / 16), k = i % (kWidth / 16);
        float sixteen[2][4];
#pragma unroll
        for (int j = 0; j < 8; ++j) sixteen[j / 4][j % 4] = rows.normal(of, norm, m, 2 * k + j / 4, j % 4);
        tensor_core::to_left(columns[m][k], sixteen[0], sixteen[1]);
      }
    }

    __device__ const tensor_core::Left<Format>& left(int m, int k) const { return columns[m][k]; }

    /// See multiply_rows.
    __device__ void multiply(const Element* matrix, int pitch, const float* bias, int first,
                             float (&product)[kTiles][2][4]) const {
      multiply_rows<Format, kWidth>(*this, matrix, pitch, bias, first, product);
    }
  };
};

}  // namespace

}  // namespace npzoo
