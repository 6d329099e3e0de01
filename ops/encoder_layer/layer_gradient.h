#pragma once

// The gradient of a layer in a block: what all steps share, the feed-forward network and the output layer of attention.
// Included by kernel sources only.

#include "npzoo/ops/encoder_layer/encoder_gradients.h"

namespace npzoo {

namespace {

/// Sums of single blocks, (blocks, …), or of single warps.
struct EncoderParts {
  float *matrices, *vectors;  // vectors of warps
  float* d_keys;              // (blocks, keys, width): gradients of the points as keys and values
};

/// Places of matrices in the shared memory behind keys and values, in elements. Matrices of weights come first.
template <class Sizes>
struct BackwardPlaces {
  static constexpr int kMatrix = Sizes::kMatrix;
  static constexpr int kOfHead = kEncoderRows * Sizes::kHeadPitch, kQuery = Sizes::kHeadWidth * Sizes::kPitch + kOfHead;
  static constexpr int kDAttended = kQuery + kOfHead, kHeadEnd = kDAttended + kOfHead;
  static constexpr int kAttended = kHeadEnd > 2 * kMatrix ? kHeadEnd : 2 * kMatrix, kInput = kAttended;
  static constexpr int kNormal = kAttended + kMatrix, kDQuery = kNormal;
  static constexpr int kRest = kNormal + kMatrix;
  static constexpr int kD = kRest, kActivated = kD + kMatrix, kDHidden = kActivated + kMatrix;
  static constexpr int kWeights = kRest, kPoints = kRest;

  __host__ __device__ static constexpr int weights_pitch(int key_rows) { return key_rows + 8; }
  __host__ __device__ static constexpr int d_scores(int key_rows) {
    return kWeights + kEncoderRows * weights_pitch(key_rows);
  }
  __host__ __device__ static constexpr int end(int key_rows) {
    const int of_scores = 2 * kEncoderRows * weights_pitch(key_rows), of_points = key_rows * Sizes::kPitch;
    const int most = of_scores > of_points ? of_scores : of_points;
    return kRest + (most > 3 * kMatrix ? most : 3 * kMatrix);
  }
  /// Rows' numbers of heads: largest scores, and inverse sums of weights.
  static constexpr int kRowNumbers = 2 * Sizes::kHeads * kEncoderRows;
  __host__ __device__ static constexpr std::size_t bytes(std::int64_t keys) {
    const int rows = Sizes::key_rows(keys);
    return Sizes::bytes(2 * Sizes::key_elements(rows) + end(rows)) + kRowNumbers * sizeof(float);
  }
};

template <class EncoderSizesOfBlock>
struct LayerGradient {
  using Sizes = EncoderSizesOfBlock;
  using Places = BackwardPlaces<Sizes>;
  using Block = EncoderBlock<Sizes>;
  using Format = typename Sizes::Format;
  using Element = typename Format::Element;
  using Rows = typename Block::Rows;
  using Factors = typename Block::Factors;
  static constexpr int kPitch = Sizes::kPitch, kHeadWidth = Sizes::kHeadWidth, kHeadPitch = Sizes::kHeadPitch;

  const EncoderLayerBackward<float>& b;
  const Block& block;
  EncoderParts parts;

  __device__ const TransformerLayerForward<float>& layer() const { return b.forward.layer; }
  __device__ EncoderGradients places() const { return {kEncoderWidth, layer().hidden}; }
  /// The gradient of a matrix in this block, or of a vector in this warp.
  __device__ float* matrix(EncoderParameter which) const {
    return parts.matrices + blockIdx.x * places().matrices() + places().before(which);
  }
  __device__ float* vector(EncoderParameter which) const {
    const std::int64_t warp = std::int64_t{blockIdx.x} * kEncoderWarps + warp_id();
    return parts.vectors + warp * places().vectors() + places().before(which);
  }
  __device__ Element* at(int place) const { return block.room() + place; }
  /// The warp's own rows of a matrix.
  __device__ Element* own(int place, int pitch = kPitch) const { return at(place) + warp_id() * 16 * pitch; }
  /// These rows as factors, from the next barrier on.
  __device__ SharedFactors<Format> shared(int place) const { return {own(place), kPitch}; }
  __device__ float* row_numbers() const { return reinterpret_cast<float*>(at(Places::end(block.key_rows))); }
  __device__ int* notes() const { return reinterpret_cast<int*>(row_numbers() + Places::kRowNumbers); }
  /// The numbers of a lane's rows h and head.
  __device__ float* numbers(int head, int h) const {
    return row_numbers() + 2 * (head * kEncoderRows + warp_id() * 16 + h * 8 + lane_id() / 4);
  }

  __device__ void clear_vectors() const {
    float* all = vector(EncoderParameter::query_bias);
    for (int i = lane_id(); i < places().vectors(); i += kWarp) all[i] = 0;
    __syncwarp();
  }

  /// Reads the block's rows of an array of points, or writes them.
  __device__ void load(const float* from, Rows& rows) const {
    rows.load(from + block.start(), block.warp_first(), block.rows(), block.vectors);
  }
  __device__ void store(Rows& rows, float* to) const {
    rows.store(to + block.start(), block.warp_first(), block.rows(), block.vectors);
  }

  /// Computes the layer up to the sum behind attention, which goes to d_x.
  __device__ void attend(bool odd) const {
    Factors factors;
    Rows sum;
    block.load_factors(block.warp_first(), block.rows(), factors);
    load(layer().x, sum);
    sum.add(layer().out.bias);
    block.attend(
        factors, odd, sum,
        [this](int head, const auto& warp) {
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const float total = warp.sum_of_weights(0, h);
            if (lane_id() % 4 > 0) continue;
            float* to = numbers(head, h);
            to[0] = total == 0 ? 0 : warp.top[0][h];
            to[1] = total == 0 ? 0 : 1 / total;
          }
        },
        [this](int head, int c, const float* left, const float* right) {
          store_columns<Format>(left, right, block.valid(), own(Places::kAttended) + head * kHeadWidth + c * 16,
                                kPitch);
        });
    store(sum, b.d_x);
  }

  /// Turns the sum behind attention, in d_x, into its gradients. Adds those of the network and of the output layer.
  __device__ void network() const {
    using enum EncoderParameter;
    const bool pre = layer().pre_norm;
    const LayerWeights<float>& between = pre ? layer().norm2 : layer().norm1;
    Rows sum, d;
    load(b.d_x, sum);
    sum.normalise(between, layer().eps);
    store_matrix<Format>(sum, block.valid(), own(Places::kNormal), kPitch);
    if (!pre) {
      sum.add(layer().contract.bias);
      feed_forward<Sizes, Format>(layer(), block.vectors, shared(Places::kNormal), sum, block.room());
    }
    load(b.d_result, d);
    if (!pre)
      normalise_backward(sum, layer().eps, block.valid(), layer().norm2.weight, d, vector(norm2_gain),
                         vector(norm2_bias));
    store_matrix<Format>(d, block.valid(), own(Places::kD), kPitch);
    add_row_sums(vector(contract_bias), d.x[0]);
    if (pre) clear(d);
    hidden_channels(d);
    load(b.d_x, sum);
    normalise_backward(sum, layer().eps, block.valid(), between.weight, d, vector(pre ? norm2_gain : norm1_gain),
                       vector(pre ? norm2_bias : norm1_bias));
    if (pre) {
      load(b.d_result, sum);
      add_rows(d, sum);
    }
    store(d, b.d_x);
    output_layer(d);
  }

  /// Adds to the gradients of the network's input from those of its result, both in shared memory.
  __device__ void hidden_channels(Rows& d_normal) const {
    using enum EncoderParameter;
    const SharedFactors<Format> of_normal = shared(Places::kNormal), of_d = shared(Places::kD);
    const int hidden = static_cast<int>(layer().hidden);
    Element *expand_rows = block.room(), *contract_columns = expand_rows + Places::kMatrix;
#pragma unroll 1
    for (int first = 0; first < hidden; first += Sizes::kHidden) {
      const int count = min(Sizes::kHidden, hidden - first);
      stage_network<Sizes, Format, kEncoderWidth>(layer(), first, count, block.vectors, expand_rows, contract_columns);
#pragma unroll 1
      for (int c = 0; c < count; c += 16) {
        float x[1][2][4], d_x[2][4], y[2][4];
        multiply_rows<Format, kEncoderWidth>(of_normal, expand_rows + c * kPitch, kPitch, layer().expand.bias,
                                             first + c, x);
        multiply_columns<Format>(of_d, contract_columns + c, kPitch, d_x);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          y[i / 4][i % 4] = activate(x[0][i / 4][i % 4], layer().gelu);
          d_x[i / 4][i % 4] *= activation_slope(x[0][i / 4][i % 4], layer().gelu);
        }
        store_columns<Format>(y[0], y[1], block.valid(), own(Places::kActivated) + c, kPitch);
        store_columns<Format>(d_x[0], d_x[1], block.valid(), own(Places::kDHidden) + c, kPitch);
        add_row_sums(vector(expand_bias) + first + c, d_x);
        Left<Format> left;
        tensor_core::to_left(left, d_x[0], d_x[1]);
        add_product<Format>(d_normal.x[0], left, expand_rows + c * kPitch, kPitch);
      }
      __syncthreads();
      const int row = warp_id() * 16;
      if (row < count)
        matrix_gradient<Format>(at(Places::kDHidden) + row, kPitch, at(Places::kNormal), kPitch, kEncoderRows,
                                matrix(expand) + std::int64_t{first + row} * kEncoderWidth, kEncoderWidth,
                                kEncoderWidth);
      matrix_gradient<Format>(at(Places::kD) + row, kPitch, at(Places::kActivated), kPitch, kEncoderRows,
                              matrix(contract) + std::int64_t{row} * hidden + first, hidden, count);
    }
  }

  /// The gradients of the output layer, from gradients d of its result.
  __device__ void output_layer(const Rows& d) const {
    __syncthreads();
    store_matrix<Format>(d, block.valid(), own(Places::kD), kPitch);
    add_row_sums(vector(EncoderParameter::out_bias), d.x[0]);
    __syncthreads();
    const int row = warp_id() * 16;
    matrix_gradient<Format>(at(Places::kD) + row, kPitch, at(Places::kAttended), kPitch, kEncoderRows,
                            matrix(EncoderParameter::out) + row * kEncoderWidth, kEncoderWidth, kEncoderWidth);
  }
};

}  // namespace

}  // namespace npzoo
