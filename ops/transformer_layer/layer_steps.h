#pragma once

// Steps of a layer on the rows of a warp, with the weights in shared memory. `Sizes` has kTiles, of 16 rows of a warp,
// kPitch, of rows of a layer's width, kHeadPitch, of a head's, kHidden, and kHiddenPitch (see LayerSizes). Included by
// kernel sources only.

#include "npzoo/ops/masked_attention/tensor_queries.h"
#include "npzoo/ops/transformer_layer/layer_rows.h"

namespace npzoo {

namespace {

/// Copies the matrices of a head's queries and outputs to shared memory. All threads of the block call it.
template <class Sizes, class Format, int kHeadWidth, int kWidth>
__device__ void stage_head(const TransformerLayerForward<float>& p, int first, bool vectors,
                           typename Format::Element* query, typename Format::Element* out) {
  stage_matrix<Format>(p.query.weight + first * kWidth, kHeadWidth, kWidth, kWidth, vectors, query, Sizes::kPitch);
  stage_matrix<Format>(p.out.weight + first, kWidth, kHeadWidth, kWidth, vectors, out, Sizes::kHeadPitch);
}

/// Sets the queries of a head, whose first channel is `first`, and calls f(c, q) with their channels [16 c, 16 c + 16),
/// scaled.
template <class Sizes, class Factors, class Element, class Warp, class F>
__device__ void make_queries(const TransformerLayerForward<float>& p, const Factors& factors, const Element* weight,
                             int first, Warp& warp, const F& f) {
  const auto scale = static_cast<float>(p.attention.scale * kLog2E);
#pragma unroll
  for (int c = 0; c < Warp::kWidth / 16; ++c) {
    float q[Sizes::kTiles][2][4];
    factors.multiply(weight + c * 16 * Sizes::kPitch, Sizes::kPitch, p.query.bias, first + c * 16, q);
#pragma unroll
    for (int m = 0; m < Sizes::kTiles; ++m) {
#pragma unroll
      for (int i = 0; i < 8; ++i) q[m][i / 4][i % 4] *= scale;
      std::remove_cvref_t<decltype(warp.queries[m].columns(c))> columns;
      tensor_core::to_left(columns, q[m][0], q[m][1]);
      warp.queries[m].set(c, columns);
    }
    f(c, q);
  }
}

/// Divides what a warp's queries attended to by the sums of weights, adds its product with the output layer's matrix to
/// the rows, and calls f(c, m, left, right) with channels [16 c, 16 c + 16) of the head for tile m, eight in each part.
template <class Sizes, class Format, class Warp, class Rows, class F>
__device__ void combine_head(Warp& warp, const typename Format::Element* weight, Rows& rows, const F& f) {
  float factor[Sizes::kTiles][2];
#pragma unroll
  for (int i = 0; i < 2 * Sizes::kTiles; ++i) {
    const float sum = warp.sum_of_weights(i / 2, i % 2);
    factor[i / 2][i % 2] = sum == 0 ? 0 : 1 / sum;
  }
#pragma unroll
  for (int c = 0; c < Warp::kWidth / 16; ++c) {
    Left<Format> attended[Sizes::kTiles];
#pragma unroll
    for (int m = 0; m < Sizes::kTiles; ++m) {
#pragma unroll
      for (int i = 0; i < 8; ++i) warp.out[m][2 * c + i / 4][i % 4] *= factor[m][i % 4 / 2];
      tensor_core::to_left(attended[m], warp.out[m][2 * c], warp.out[m][2 * c + 1]);
      f(c, m, warp.out[m][2 * c], warp.out[m][2 * c + 1]);
    }
    rows.add_product(attended, weight + c * 16, Sizes::kHeadPitch);
  }
}

/// Copies the matrices of hidden channels [first, first + count) to shared memory, between two barriers.
template <class Sizes, class Format, int kWidth>
__device__ void stage_network(const TransformerLayerForward<float>& p, int first, int count, bool vectors,
                              typename Format::Element* expand, typename Format::Element* contract) {
  __syncthreads();
  stage_matrix<Format>(p.expand.weight + std::int64_t{first} * kWidth, count, kWidth, kWidth, vectors, expand,
                       Sizes::kPitch);
  stage_matrix<Format>(p.contract.weight + first, kWidth, count, p.hidden, vectors, contract, Sizes::kHiddenPitch);
  __syncthreads();
}

/// rows += the feed-forward network's result for `factors`, without its last bias. `room` is shared memory.
template <class Sizes, class Format, class Factors, class Rows>
__device__ void feed_forward(const TransformerLayerForward<float>& p, bool vectors, const Factors& factors, Rows& rows,
                             typename Format::Element* room) {
  auto *expand = room, *contract = expand + Sizes::kHidden * Sizes::kPitch;
  const int hidden = static_cast<int>(p.hidden);
  for (int first = 0; first < hidden; first += Sizes::kHidden) {
    const int count = min(Sizes::kHidden, hidden - first);
    stage_network<Sizes, Format, Rows::kWidth>(p, first, count, vectors, expand, contract);
#pragma unroll 1
    for (int c = 0; c < count; c += 16) {
      float h[Sizes::kTiles][2][4];
      multiply_rows<Format, Rows::kWidth>(factors, expand + c * Sizes::kPitch, Sizes::kPitch, p.expand.bias, first + c,
                                          h);
      Left<Format> activated[Sizes::kTiles];
#pragma unroll
      for (int m = 0; m < Sizes::kTiles; ++m) {
#pragma unroll
        for (int i = 0; i < 8; ++i) h[m][i / 4][i % 4] = activate(h[m][i / 4][i % 4], p.gelu);
        tensor_core::to_left(activated[m], h[m][0], h[m][1]);
      }
      rows.add_product(activated, contract + c, Sizes::kHiddenPitch);
    }
  }
}

}  // namespace

}  // namespace npzoo
