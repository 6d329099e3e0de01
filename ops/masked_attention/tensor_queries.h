#pragma once

// Attention of a warp's queries to tiles of keys and values in shared memory. Included by kernel sources only.

#include "npzoo/ops/masked_attention/tensor_tiles.h"

namespace npzoo {

namespace {

/// The state of a warp's queries of one head. A lane holds parts of rows `lane / 4` and `lane / 4 + 8` of each tile.
/// `Sizes` has kTiles, of 16 queries; kKeys, those of a tile, and kChunk, those at a time; kInRegisters, where queries
/// are; and kOfProduct: they are a product made by `to_left`.
template <class Format, int kHeadWidth, class Sizes>
struct WarpQueries {
  using Element = typename Format::Element;
  static constexpr int kTiles = Sizes::kTiles, kChunk = Sizes::kChunk, kWidth = kHeadWidth,
                       kPitch = Tiles<Format, kWidth>::kPitch;

  LeftRows<Format, kHeadWidth, Sizes::kInRegisters> queries[kTiles];
  float out[kTiles][kWidth / 8][4];
  float top[kTiles][2], total[kTiles][2];
  int visible[kTiles][2];

  /// Begins with no keys for queries `first` and on.
  __device__ void start(const AttentionForward<float>& p, int batch, int first) {
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int query = first + m * 16 + h * 8 + lane_id() / 4;
        visible[m][h] = query < p.queries ? static_cast<int>(p.mask.visible(batch, query, p.keys)) : 0;
        top[m][h] = -infinity<float>();
        total[m][h] = 0;
      }
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) out[m][n][e] = 0;
    }
  }

  /// Takes in a tile of keys, `first` being the first of them. Where `kMixed`, some rows may not see some of them;
  /// where `odd` as well, some values are not finite, and a weight of 0 does not silence those.
  template <bool kMixed>
  __device__ void attend(const Element* keys, const Element* values, int first, bool odd) {
#pragma unroll 1
    for (int c = 0; c < Sizes::kKeys; c += kChunk) {
      float scores[kTiles][kChunk / 8][4];
      multiply_keys(keys + c * kPitch, scores);
      if (kMixed) hide(first + c, scores);
      weigh(scores);
      add_values(values + c * kPitch, scores, kMixed && odd);
    }
    if (kMixed && odd) add_odd_values(values, first);
  }

  __device__ void multiply_keys(const Element* keys, float (&scores)[kTiles][kChunk / 8][4]) {
#pragma unroll
    for (int n = 0; n < kChunk / 16; ++n) {
#pragma unroll
      for (int i = 0; i < kTiles * 8; ++i) scores[i / 8][2 * n + i / 4 % 2][i % 4] = 0;
#pragma unroll
      for (int k = 0; k < kWidth / 16; ++k) {
        Right<Format> b[2];
        const Element* of_keys = keys + n * 16 * kPitch + k * 16;
        if constexpr (Sizes::kOfProduct)
          tensor_core::load_transposed_right_of_product(b, of_keys, kPitch);
        else
          tensor_core::load_transposed_right(b, of_keys, kPitch);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          const Left<Format> a = queries[m].columns(k);
          multiply_add(scores[m][2 * n], a, b[0]);
          multiply_add(scores[m][2 * n + 1], a, b[1]);
        }
      }
    }
  }

  /// −∞ for the keys that a row does not see.
  __device__ void hide(int first, float (&scores)[kTiles][kChunk / 8][4]) {
#pragma unroll
    for (int m = 0; m < kTiles; ++m)
#pragma unroll
      for (int n = 0; n < kChunk / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (first + n * 8 + lane_id() % 4 * 2 + e % 2 >= visible[m][e / 2]) scores[m][n][e] = -infinity<float>();
  }

  /// Turns scores into weights relative to the new maxima, and rescales the sums so far.
  __device__ void weigh(float (&scores)[kTiles][kChunk / 8][4]) {
    float factor[kTiles][2];
    bool same = true;
#pragma unroll
    for (int i = 0; i < 2 * kTiles; ++i) {
      const int m = i / 2, h = i % 2;
      // A NaN is not in the maximum, but its weight is NaN: no need to treat it here.
      float largest = top[m][h];
#pragma unroll
      for (int j = 0; j < kChunk / 4; ++j) largest = fmaxf(largest, scores[m][j / 2][2 * h + j % 2]);
      largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 2));
      const float shift = largest == -infinity<float>() ? 0 : largest;
      factor[m][h] = power_of_two<Format>(top[m][h] - shift);
      same = same && top[m][h] == largest;
      top[m][h] = largest;
      float sum[2] = {};
#pragma unroll
      for (int j = 0; j < kChunk / 4; ++j) {
        float& score = scores[m][j / 2][2 * h + j % 2];
        score = power_of_two<Format>(score - shift);
        sum[j % 2] += score;
      }
      total[m][h] = total[m][h] * factor[m][h] + (sum[0] + sum[1]);
    }
    if (__all_sync(kAllLanes, same)) return;
#pragma unroll
    for (int m = 0; m < kTiles; ++m)
#pragma unroll
      for (int i = 0; i < kWidth / 2; ++i) out[m][i / 4][i % 4] *= factor[m][i % 4 / 2];
  }

  __device__ void add_values(const Element* values, const float (&weights)[kTiles][kChunk / 8][4], bool odd) {
#pragma unroll
    for (int k = 0; k < kChunk / 16; ++k) {
      Left<Format> a[kTiles];
#pragma unroll
      for (int m = 0; m < kTiles; ++m) tensor_core::to_left(a[m], weights[m][2 * k], weights[m][2 * k + 1]);
#pragma unroll
      for (int n = 0; n < kWidth / 16; ++n) {
        Right<Format> b[2];
        tensor_core::load_right(b, values + k * 16 * kPitch + n * 16, kPitch);
        if (odd) {
          keep_finite_part(b[0]);
          keep_finite_part(b[1]);
        }
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          multiply_add(out[m][2 * n], a[m], b[0]);
          multiply_add(out[m][2 * n + 1], a[m], b[1]);
        }
      }
    }
  }

  /// A non-finite value stays non-finite whatever its weight is: rows that see it get it as it is.
  __device__ void add_odd_values(const Element* values, int first) {
#pragma unroll 1
    for (int key = 0; key < Sizes::kKeys; ++key)
#pragma unroll
      for (int m = 0; m < kTiles; ++m)
#pragma unroll
        for (int i = 0; i < kWidth / 2; ++i) {
          const float x = tensor_core::to_float(values[key * kPitch + i / 4 * 8 + lane_id() % 4 * 2 + i % 2]);
          if (first + key < visible[m][i % 4 / 2] && x - x != 0) out[m][i / 4][i % 4] += x;
        }
  }

  /// Σ weight of row `h` of a tile, the same in each lane that holds parts of it.
  __device__ float sum_of_weights(int m, int h) const {
    float sum = total[m][h];
    sum += __shfl_xor_sync(kAllLanes, sum, 1);
    return sum + __shfl_xor_sync(kAllLanes, sum, 2);
  }
};

}  // namespace

}  // namespace npzoo
