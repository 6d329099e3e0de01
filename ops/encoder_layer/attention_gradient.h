#pragma once

// The gradient of a layer's attention, and of the projections of queries, keys and values. Included by kernel sources
// only.

#include "npzoo/ops/encoder_layer/layer_gradient.h"

namespace npzoo {

namespace {

template <class EncoderSizesOfBlock>
struct AttentionGradient : LayerGradient<EncoderSizesOfBlock> {
  using Base = LayerGradient<EncoderSizesOfBlock>;
  using Base::at, Base::b, Base::block, Base::kHeadPitch, Base::kHeadWidth, Base::kPitch, Base::layer, Base::load,
      Base::matrix, Base::numbers, Base::own, Base::parts, Base::store, Base::vector;
  using typename Base::Block, typename Base::Element, typename Base::Factors, typename Base::Format,
      typename Base::Places, typename Base::Rows, typename Base::Sizes;

  /// Gradients of what a head's queries attended to, as factors; for each row the mean gradient of its weights.
  struct HeadRowsOfWarp {
    LeftRows<Format, kHeadWidth, true> d_attended;
    float mean[2] = {};
  };

  /// The gradients of what a head's queries attended to, from those in d_x.
  __device__ void attended_gradients(int head, HeadRowsOfWarp& rows) const {
    const Element* out = block.room() + kHeadWidth * kPitch;
    Rows d_rows;
    load(b.d_x, d_rows);
    Factors of_d;
    of_d.set(d_rows);
#pragma unroll
    for (int c = 0; c < kHeadWidth / 16; ++c) {
      float d[2][4];
      multiply_columns<Format>(of_d, out + c * 16, kHeadPitch, d);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const Element* attended = own(Places::kAttended) + (i % 4 / 2 * 8 + lane_id() / 4) * kPitch +
                                  head * kHeadWidth + c * 16 + i / 4 * 8 + own_column(i);
        rows.mean[i % 4 / 2] += tensor_core::rounded(Format{}, d[i / 4][i % 4]) * tensor_core::to_float(*attended);
      }
      Left<Format> columns;
      tensor_core::to_left(columns, d[0], d[1]);
      rows.d_attended.set(c, columns);
      store_columns<Format>(d[0], d[1], block.valid(), own(Places::kDAttended, kHeadPitch) + c * 16, kHeadPitch);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) rows.mean[h] = over_row(rows.mean[h]);
  }

  /// Writes the weights of 16 keys and the gradients of their scores to shared memory; adds to gradients of queries.
  __device__ void weigh(const typename Block::Warp& warp, const HeadRowsOfWarp& rows, int head, int key, bool odd,
                        float (&d_query)[kHeadWidth / 8][4]) const {
    constexpr int kKeyPitch = Sizes::kKeyPitch;
    const Element *keys = block.keys_of(head) + key * kKeyPitch, *values = block.values_of(head) + key * kKeyPitch;
    float weights[2][4], d_scores[2][4];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      weights[i / 4][i % 4] = -numbers(head, i % 4 / 2)[0];
      d_scores[i / 4][i % 4] = -rows.mean[i % 4 / 2];
    }
#pragma unroll
    for (int k = 0; k < kHeadWidth / 16; ++k) {
      Right<Format> of_keys[2], of_values[2];
      tensor_core::load_transposed_right_of_product(of_keys, keys + k * 16, kKeyPitch);
      tensor_core::load_transposed_right_of_product(of_values, values + k * 16, kKeyPitch);
      const Left<Format> query = warp.queries[0].columns(k), d = rows.d_attended.columns(k);
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        multiply_add(weights[n], query, of_keys[n]);
        multiply_add(d_scores[n], d, of_values[n]);
      }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float &weight = weights[i / 4][i % 4], &d_score = d_scores[i / 4][i % 4];
      const int h = i % 4 / 2;
      weight = fast_exp2(weight) * numbers(head, h)[1];
      // Sums for values leave out gradients that are not finite: the weight takes the NaN there.
      if (d_score - d_score != 0) weight = d_score - d_score;
      d_score *= weight;
      if (key + i / 4 * 8 + own_column(i) >= warp.visible[0][h]) weight = d_score = 0;
    }
    Left<Format> left;
    tensor_core::to_left(left, d_scores[0], d_scores[1]);
    add_product<Format>(d_query, left, keys, kKeyPitch, odd);
    store_weights(weights, d_scores, key);
  }

  __device__ void store_weights(const float (&weights)[2][4], const float (&d_scores)[2][4], int key) const {
    const int pitch = Places::weights_pitch(block.key_rows);
    store_columns<Format>(weights[0], weights[1], block.valid(), own(Places::kWeights, pitch) + key, pitch);
    store_columns<Format>(d_scores[0], d_scores[1], block.valid(), own(Places::d_scores(block.key_rows), pitch) + key,
                          pitch);
  }

  /// The gradients of a head's queries; adds what they bring to the gradients of the layer's input.
  __device__ void queries(int head, bool odd, Rows& d_input) const {
    const Element* query = block.room();
    typename Block::Warp warp;
    Factors of_input;
    block.load_factors(block.warp_first(), block.rows(), of_input);
    make_queries<Sizes>(layer(), of_input, query, head * kHeadWidth, warp, [this](int c, const float(&q)[1][2][4]) {
      store_columns<Format>(q[0][0], q[0][1], block.valid(), own(Places::kQuery, kHeadPitch) + c * 16, kHeadPitch);
    });
    warp.start(layer().attention, block.batch, block.warp_first());
    HeadRowsOfWarp rows;
    attended_gradients(head, rows);
    float d_query[kHeadWidth / 8][4] = {};
#pragma unroll 1
    for (int key = 0; key < block.key_rows; key += 16) {
      const float none[2][4] = {};
      if (key < block.of_warp.most)
        weigh(warp, rows, head, key, odd, d_query);
      else
        store_weights(none, none, key);
    }
    const auto scale = static_cast<float>(layer().attention.scale);
#pragma unroll
    for (int i = 0; i < kHeadWidth / 2; ++i) d_query[i / 4][i % 4] *= scale;
    add_row_sums(vector(EncoderParameter::query_bias) + head * kHeadWidth, d_query);
#pragma unroll
    for (int c = 0; c < kHeadWidth / 16; ++c) {
      store_columns<Format>(d_query[2 * c], d_query[2 * c + 1], block.valid(),
                            own(Places::kDQuery) + head * kHeadWidth + c * 16, kPitch);
      Left<Format> left;
      tensor_core::to_left(left, d_query[2 * c], d_query[2 * c + 1]);
      add_product<Format>(d_input.x[0], left, query + c * 16 * kPitch, kPitch);
    }
  }

  /// The gradients of a head's keys and values, which take the places of these.
  __device__ void keys(int head) const {
    const int pitch = Places::weights_pitch(block.key_rows);
#pragma unroll 1
    for (int key = warp_id() * 16; key < block.key_rows; key += kEncoderRows) {
      float d_key[kHeadWidth / 8][4] = {}, d_value[kHeadWidth / 8][4] = {};
#pragma unroll 1
      for (int row = 0; row < kEncoderRows; row += 16) {
        Left<Format> left;
        tensor_core::load_transposed_left(left, at(Places::d_scores(block.key_rows)) + row * pitch + key, pitch);
        add_product<Format>(d_key, left, at(Places::kQuery) + row * kHeadPitch, kHeadPitch, true);
        tensor_core::load_transposed_left(left, at(Places::kWeights) + row * pitch + key, pitch);
        add_product<Format>(d_value, left, at(Places::kDAttended) + row * kHeadPitch, kHeadPitch, true);
      }
#pragma unroll
      for (int i = 0; i < kHeadWidth / 2; ++i) d_key[i / 4][i % 4] *= static_cast<float>(kLn2);
      add_row_sums(vector(EncoderParameter::key_bias) + head * kHeadWidth, d_key);
      add_row_sums(vector(EncoderParameter::value_bias) + head * kHeadWidth, d_value);
#pragma unroll
      for (int c = 0; c < kHeadWidth / 16; ++c) {
        const int place = key * Sizes::kKeyPitch + c * 16;
        store_columns<Format>(d_key[2 * c], d_key[2 * c + 1], 16, block.keys_of(head) + place, Sizes::kKeyPitch);
        store_columns<Format>(d_value[2 * c], d_value[2 * c + 1], 16, block.values_of(head) + place, Sizes::kKeyPitch);
      }
    }
  }

  /// Adds the gradients of the block's rows as input of attention to those of the sum behind it, in d_x.
  __device__ void attention(bool odd) const {
    Rows d;
    clear(d);
#pragma unroll 1
    for (int head = 0; head < Sizes::kHeads; ++head) {
      __syncthreads();
      stage_head<Sizes, Format, kHeadWidth, kEncoderWidth>(layer(), head * kHeadWidth, block.vectors, block.room(),
                                                           block.room() + kHeadWidth * kPitch);
      __syncthreads();
      queries(head, odd, d);
      __syncthreads();
      keys(head);
    }
    if (layer().pre_norm) {
      Rows x;
      load(layer().x, x);
      normalise_backward(x, layer().eps, block.valid(), layer().norm1.weight, d, vector(EncoderParameter::norm1_gain),
                         vector(EncoderParameter::norm1_bias));
    }
    Rows sum;
    load(b.d_x, sum);
    add_rows(d, sum);
    store(d, b.d_x);
  }

  /// Takes the input of attention's projections to shared memory.
  __device__ void stage_input(int first, int end, Element* to) const {
    Rows rows;
    rows.load(layer().x + block.start(), first, end, block.vectors);
    if (layer().pre_norm) rows.normalise(layer().norm1, layer().eps);
    store_matrix<Format>(rows, end - first, to, kPitch);
  }

  /// The gradients of the projections of attention, and of the points as keys and values.
  __device__ void projections() const {
    using enum EncoderParameter;
    Element *of_keys = block.room(), *of_values = of_keys + Places::kMatrix;
    __syncthreads();
    stage_matrix<Format>(b.forward.key.weight, kEncoderWidth, kEncoderWidth, kEncoderWidth, block.vectors, of_keys,
                         kPitch);
    stage_matrix<Format>(b.forward.value.weight, kEncoderWidth, kEncoderWidth, kEncoderWidth, block.vectors, of_values,
                         kPitch);
#pragma unroll 1
    for (int first = warp_id() * 16; first < block.key_rows; first += kEncoderRows)
      stage_input(first, block.of_block.most, at(Places::kPoints) + first * kPitch);
    stage_input(block.warp_first(), block.rows(), own(Places::kInput));
    __syncthreads();
    const int row = warp_id() * 16, in_head = row % kHeadWidth;
    matrix_gradient<Format>(at(Places::kDQuery) + row, kPitch, at(Places::kInput), kPitch, kEncoderRows,
                            matrix(query) + row * kEncoderWidth, kEncoderWidth, kEncoderWidth);
    matrix_gradient<Format>(block.keys_of(row / kHeadWidth) + in_head, Sizes::kKeyPitch, at(Places::kPoints), kPitch,
                            block.key_rows, matrix(key) + row * kEncoderWidth, kEncoderWidth, kEncoderWidth);
    matrix_gradient<Format>(block.values_of(row / kHeadWidth) + in_head, Sizes::kKeyPitch, at(Places::kPoints), kPitch,
                            block.key_rows, matrix(value) + row * kEncoderWidth, kEncoderWidth, kEncoderWidth);
#pragma unroll 1
    for (int first = warp_id() * 16; first < block.key_rows; first += kEncoderRows) points(first, of_keys, of_values);
  }

  /// The gradients of 16 points as keys and values.
  __device__ void points(int first, const Element* of_keys, const Element* of_values) const {
    const int count = static_cast<int>(layer().attention.keys);
    Rows d;
    clear(d);
#pragma unroll 1
    for (int c = 0; c < kEncoderWidth; c += 16) {
      const int place = first * Sizes::kKeyPitch + c % kHeadWidth;
      Left<Format> left;
      tensor_core::load_left_of_product(left, block.keys_of(c / kHeadWidth) + place, Sizes::kKeyPitch);
      add_product<Format>(d.x[0], left, of_keys + c * kPitch, kPitch);
      tensor_core::load_left_of_product(left, block.values_of(c / kHeadWidth) + place, Sizes::kKeyPitch);
      add_product<Format>(d.x[0], left, of_values + c * kPitch, kPitch);
    }
    if (layer().pre_norm) {
      Rows x;
      x.load(layer().x + block.start(), first, block.of_block.most, block.vectors);
      normalise_backward(x, layer().eps, block.of_block.most - first, layer().norm1.weight, d,
                         vector(EncoderParameter::norm1_gain), vector(EncoderParameter::norm1_bias));
    }
    d.store(parts.d_keys + std::int64_t{blockIdx.x} * count * kEncoderWidth, first, count, true);
  }
};

}  // namespace

}  // namespace npzoo
