#pragma once

// Products and sums that the gradient of a layer consists of. A warp has one tile of 16 rows. Included by kernel
// sources only.

#include "npzoo/ops/encoder_layer/encoder_block.h"

namespace npzoo {

namespace {

template <class Format>
using EncoderRows = LayerRows<Format, kEncoderWidth, 1>;

template <class Rows>
__device__ void clear(Rows& rows) {
#pragma unroll
  for (int i = 0; i < Rows::kWidth / 2; ++i) rows.x[0][i / 4][i % 4] = 0;
}

template <class Rows>
__device__ void add_rows(Rows& rows, const Rows& more) {
#pragma unroll
  for (int i = 0; i < Rows::kWidth / 2; ++i) rows.x[0][i / 4][i % 4] += more.x[0][i / 4][i % 4];
}

/// sums (16, 8 · n) += left (16, 16) · the first 16 rows of a matrix in shared memory. `finite` leaves out elements
/// that are not.
template <class Format, int n>
__device__ void add_product(float (&sums)[n][4], const Left<Format>& left, const typename Format::Element* matrix,
                            int pitch, bool finite = false) {
#pragma unroll
  for (int i = 0; i < n / 2; ++i) {
    Right<Format> right[2];
    tensor_core::load_right(right, matrix + i * 16, pitch);
    if (finite) {
      keep_finite_part(right[0]);
      keep_finite_part(right[1]);
    }
    multiply_add(sums[2 * i], left, right[0]);
    multiply_add(sums[2 * i + 1], left, right[1]);
  }
}

/// A warp's rows in shared memory as factors of products. Each use reads them again: registers have no room for them.
template <class Format>
struct SharedFactors {
  const typename Format::Element* rows;
  int pitch;

  __device__ Left<Format> left(int /*tile*/, int k) const {
    Left<Format> columns;
    tensor_core::load_left_of_product(columns, rows + k * 16, pitch);
    return columns;
  }
};

/// product (16, 16) = rows · the first 16 columns of a matrix in shared memory with as many rows as there are columns.
template <class Format, class Factors>
__device__ void multiply_columns(const Factors& rows, const typename Format::Element* matrix, int pitch,
                                 float (&product)[2][4]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) product[i / 4][i % 4] = 0;
#pragma unroll
  for (int k = 0; k < kEncoderWidth / 16; ++k)
    add_product<Format>(product, rows.left(0, k), matrix + k * 16 * pitch, pitch);
}

/// 16 rows of the gradient of a matrix: the transposed first 16 columns of `left` · `right`, `rows` of each in shared
/// memory. Writes the first `columns` to rows of the gradient that are `stride` apart.
template <class Format>
__device__ void matrix_gradient(const typename Format::Element* left, int left_pitch,
                                const typename Format::Element* right, int right_pitch, int rows, float* to,
                                std::int64_t stride, int columns) {
  EncoderRows<Format> sum;
  clear(sum);
#pragma unroll 1
  for (int r = 0; r < rows; r += 16) {
    Left<Format> of_rows;
    tensor_core::load_transposed_left(of_rows, left + r * left_pitch, left_pitch);
    add_product<Format>(sum.x[0], of_rows, right + r * right_pitch, right_pitch);
  }
  sum.for_pairs(0, 16, [to, stride, columns](int row, int column, const float* pair) {
    if (column >= columns) return;
    to[row * stride + column] = pair[0];
    to[row * stride + column + 1] = pair[1];
  });
}

/// Adds the sums over a warp's rows of a lane's two columns of 8.
__device__ inline void add_row_sums(float* to, float x, float y) {
#pragma unroll
  for (int step = 4; step < kWarp; step *= 2) {
    x += __shfl_xor_sync(kAllLanes, x, step);
    y += __shfl_xor_sync(kAllLanes, y, step);
  }
  if (lane_id() >= 4) return;
  to[own_column(0)] += x;
  to[own_column(1)] += y;
}
template <int n>
__device__ void add_row_sums(float* to, const float (&x)[n][4]) {
#pragma unroll
  for (int i = 0; i < n; ++i) add_row_sums(to + i * 8, x[i][0] + x[i][2], x[i][1] + x[i][3]);
}

/// Mean and inverse deviation of a warp's rows, the latter 0 for rows from `valid` on.
template <class Rows>
__device__ typename Rows::Moments moments_of(const Rows& x, float eps, int valid) {
  typename Rows::Moments of = x.moments(eps);
#pragma unroll
  for (int h = 0; h < 2; ++h)
    if (h * 8 + lane_id() / 4 >= valid) of.inverse_deviation[0][h] = 0;
  return of;
}

/// Turns the gradients of rows that were normalised into those of the rows x before. Adds the gradients of gain and
/// bias.
template <class Rows>
__device__ void normalise_backward(const Rows& x, float eps, int valid, const float* gain, Rows& d, float* d_gain,
                                   float* d_bias) {
  const typename Rows::Moments of = moments_of(x, eps, valid);
  const auto normal = [&](int n, int e) { return (x.x[0][n][e] - of.mean[0][e / 2]) * of.inverse_deviation[0][e / 2]; };
  float mean[2] = {}, dot[2] = {};
  add_row_sums(d_bias, d.x[0]);
#pragma unroll
  for (int n = 0; n < Rows::kWidth / 8; ++n) {
    float of_gain[2] = {};
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      float& element = d.x[0][n][e];
      of_gain[e % 2] += element * normal(n, e);
      element *= gain[n * 8 + own_column(e)];
      mean[e / 2] += element;
      dot[e / 2] += element * normal(n, e);
    }
    add_row_sums(d_gain + n * 8, of_gain[0], of_gain[1]);
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    mean[h] = over_row(mean[h]) / Rows::kWidth;
    dot[h] = over_row(dot[h]) / Rows::kWidth;
  }
#pragma unroll
  for (int i = 0; i < Rows::kWidth / 2; ++i) {
    const int n = i / 4, e = i % 4;
    d.x[0][n][e] = of.inverse_deviation[0][e / 2] * (d.x[0][n][e] - mean[e / 2] - normal(n, e) * dot[e / 2]);
  }
}

/// The slope of the activation at x.
__device__ inline float activation_slope(float x, bool gelu) {
  constexpr float kRootHalf = 0.70710678118654752440f, kDensityAtZero = 0.39894228040143267794f;
  if (!gelu) return x <= 0 ? 0 : 1;
  return 0.5f * (1 + error_function(x * kRootHalf)) + x * kDensityAtZero * exponential(-0.5f * x * x);
}

}  // namespace

}  // namespace npzoo
