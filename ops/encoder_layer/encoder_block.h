#pragma once

// A block takes some rows of a batch element through a layer, and computes the keys and values of all heads that they
// see, in shared memory. Included by kernel sources only.

#include "npzoo/ops/encoder_layer/kernels.h"
#include "npzoo/ops/transformer_layer/layer_steps.h"

namespace npzoo {

namespace {

constexpr int kEncoderWarps = 4, kEncoderWidth = 64, kEncoderRows = 16 * kEncoderWarps;

/// Sizes of the layer's steps (see LayerSizes), and the places of matrices in shared memory, in elements.
template <class ElementFormat, int kHead>
struct EncoderSizes {
  using Format = ElementFormat;
  static constexpr int kHeadWidth = kHead, kHeads = kEncoderWidth / kHead;
  static constexpr int kTiles = 1, kKeys = 32, kChunk = kHead == 32 ? 16 : 32;
  static constexpr bool kInRegisters = true, kOfProduct = true;
  static constexpr int kHidden = kEncoderWidth;
  static constexpr int kPitch = kEncoderWidth + 8, kHeadPitch = kHead + 8, kHiddenPitch = kPitch;
  static constexpr int kKeyPitch = Tiles<Format, kHead>::kPitch;
  static constexpr int kMatrix = kEncoderRows * kPitch;  // a block's rows, or a matrix of weights

  /// Rows of a tile of keys, of which a warp takes kKeys at a time.
  __host__ __device__ static constexpr int key_rows(std::int64_t keys) {
    return static_cast<int>(divide_up(keys, kKeys)) * kKeys;
  }
  /// The keys of all heads; as many elements are for the values.
  __host__ __device__ static constexpr int key_elements(int rows) { return kHeads * rows * kKeyPitch; }
  __host__ __device__ static constexpr std::size_t bytes(int elements) {
    return static_cast<std::size_t>(elements) * sizeof(typename Format::Element) + kEncoderWarps * sizeof(int);
  }
  __host__ __device__ static constexpr std::size_t forward_bytes(std::int64_t keys) {
    return bytes(2 * key_elements(key_rows(keys)) + 2 * kMatrix);
  }
};

/// Writes 16 columns of a warp's 16 rows to a matrix in shared memory. Rows from `valid` on become 0. Returns whether
/// this lane met a number that is not finite.
template <class Format>
__device__ bool store_columns(const float* left, const float* right, int valid, typename Format::Element* to,
                              int pitch) {
  bool odd = false;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = i % 2 * 8 + lane_id() / 4;
    const float* pair = (i < 2 ? left : right) + i % 2 * 2;
    const float x = row < valid ? pair[0] : 0, y = row < valid ? pair[1] : 0;
    const float a = tensor_core::rounded(Format{}, x), b = tensor_core::rounded(Format{}, y);
    odd = odd || a - a != 0 || b - b != 0;
    tensor_core::store_pair(Format{}, to + row * pitch + i / 2 * 8 + own_column(0), x, y);
  }
  return odd;
}

template <class Format, class Rows>
__device__ void store_matrix(const Rows& rows, int valid, typename Format::Element* to, int pitch) {
#pragma unroll
  for (int n = 0; n < Rows::kWidth / 16; ++n)
    store_columns<Format>(rows.x[0][2 * n], rows.x[0][2 * n + 1], valid, to + n * 16, pitch);
}

template <class EncoderSizesOfBlock>
struct EncoderBlock {
  using Sizes = EncoderSizesOfBlock;
  using Format = typename Sizes::Format;
  using Element = typename Format::Element;
  using Rows = LayerRows<Format, kEncoderWidth, Sizes::kTiles>;
  using Factors = typename Rows::Factors;
  using Warp = WarpQueries<Format, Sizes::kHeadWidth, Sizes>;

  const EncoderLayerForward<float>& p;
  bool vectors;
  int slices, batch, first, key_rows;  // `first` is the block's first row
  VisibleKeys of_warp, of_block;

  __device__ EncoderBlock(const EncoderLayerForward<float>& arguments, bool in_vectors)
      : p(arguments),
        vectors(in_vectors),
        slices(static_cast<int>(divide_up(p.layer.attention.queries, kEncoderRows))),
        batch(static_cast<int>(blockIdx.x) / slices),
        first(static_cast<int>(blockIdx.x) % slices * kEncoderRows),
        key_rows(Sizes::key_rows(p.layer.attention.keys)),
        of_warp(visible_keys(p.layer.attention, batch, warp_first(), min(16, valid()))),
        of_block(visible_keys(p.layer.attention, batch, first, min(kEncoderRows, rows() - first))) {}

  __device__ int rows() const { return static_cast<int>(p.layer.attention.queries); }
  __device__ int warp_first() const { return first + warp_id() * 16; }
  /// The number of rows from the warp's first one on; 0 or less behind the end.
  __device__ int valid() const { return rows() - warp_first(); }
  __device__ std::int64_t start() const { return std::int64_t{batch} * rows() * kEncoderWidth; }

  __device__ Element* keys_of(int head) const { return shared_memory<Element>() + head * key_rows * Sizes::kKeyPitch; }
  __device__ Element* values_of(int head) const { return keys_of(Sizes::kHeads + head); }
  /// The shared memory behind keys and values, but for `notes`.
  __device__ Element* room() const { return keys_of(2 * Sizes::kHeads); }

  /// The input of attention's projections for rows from `from` on, before `end`.
  __device__ void load_factors(int from, int end, Factors& factors) const {
    Rows x;
    x.load(p.layer.x + start(), from, end, vectors);
    if (p.layer.pre_norm)
      factors.set_normal(x, p.layer.norm1, p.layer.eps);
    else
      factors.set(x);
  }

  /// Computes the keys and values that a row sees; those behind them are 0. Returns whether one of them is not finite.
  __device__ bool project(int* notes) const {
    Element *of_keys = room(), *of_values = of_keys + Sizes::kMatrix;
    stage_matrix<Format>(p.key.weight, kEncoderWidth, kEncoderWidth, kEncoderWidth, vectors, of_keys, Sizes::kPitch);
    stage_matrix<Format>(p.value.weight, kEncoderWidth, kEncoderWidth, kEncoderWidth, vectors, of_values,
                         Sizes::kPitch);
    __syncthreads();
    bool odd = false;
#pragma unroll 1
    for (int row = warp_id() * 16; row < key_rows; row += kEncoderRows) {
      Factors factors;
      load_factors(row, of_block.most, factors);
#pragma unroll 1
      for (int c = 0; c < kEncoderWidth; c += 16) {
        const int at = row * Sizes::kKeyPitch + c % Sizes::kHeadWidth;
        float product[1][2][4];
        factors.multiply(of_keys + c * Sizes::kPitch, Sizes::kPitch, p.key.bias, c, product);
        odd |= store_columns<Format>(product[0][0], product[0][1], of_block.most - row,
                                     keys_of(c / Sizes::kHeadWidth) + at, Sizes::kKeyPitch);
        factors.multiply(of_values + c * Sizes::kPitch, Sizes::kPitch, p.value.bias, c, product);
        odd |= store_columns<Format>(product[0][0], product[0][1], of_block.most - row,
                                     values_of(c / Sizes::kHeadWidth) + at, Sizes::kKeyPitch);
      }
    }
    note(odd, notes);
    __syncthreads();
    return noted(notes);
  }

  /// rows += what they attend to, by the output layer. `factors` are what the queries are made of. Calls f(head, warp)
  /// with the warp's state at the end of each head, and g(head, c, left, right) with what it attended to.
  template <class F, class G>
  __device__ void attend(const Factors& factors, bool odd, Rows& to, const F& f, const G& g) const {
    Element *query = room(), *out = query + Sizes::kHeadWidth * Sizes::kPitch;
#pragma unroll 1
    for (int h = 0; h < Sizes::kHeads; ++h) {
      const int channel = h * Sizes::kHeadWidth;
      __syncthreads();
      stage_head<Sizes, Format, Sizes::kHeadWidth, kEncoderWidth>(p.layer, channel, vectors, query, out);
      __syncthreads();
      Warp warp;
      make_queries<Sizes>(p.layer, factors, query, channel, warp, [](int, const auto&) {});
      warp.start(p.layer.attention, batch, warp_first());
#pragma unroll 1
      for (int key = 0; key < of_warp.most; key += Sizes::kKeys) {
        const Element *keys = keys_of(h) + key * Sizes::kKeyPitch, *values = values_of(h) + key * Sizes::kKeyPitch;
        if (key + Sizes::kKeys <= of_warp.least)
          warp.template attend<false>(keys, values, key, false);
        else
          warp.template attend<true>(keys, values, key, odd);
      }
      f(h, warp);
      combine_head<Sizes, Format>(warp, out, to,
                                  [h, &g](int c, int, const float* left, const float* right) { g(h, c, left, right); });
    }
  }
};

inline bool encoder_vectors(const EncoderLayerForward<float>& p) {
  for (const float* array :
       {p.layer.x, static_cast<const float*>(p.layer.result), p.layer.query.weight, p.layer.out.weight,
        p.layer.expand.weight, p.layer.contract.weight, p.key.weight, p.value.weight})
    if (!aligned_to_16(array)) return false;
  return true;
}

/// Calls f<Sizes>() for the precision in use and the width of heads.
template <class F>
void with_encoder_sizes(std::int64_t head_width, const F& f) {
  const auto with_format = [&]<class Format>() {
    if (head_width == 32) return f.template operator()<EncoderSizes<Format, 32>>();
    f.template operator()<EncoderSizes<Format, 16>>();
  };
  switch (matmul_precision()) {
    case Precision::float32: return with_format.template operator()<Tf32Pairs>();
    case Precision::tf32: return with_format.template operator()<Tf32>();
    case Precision::bf16: return with_format.template operator()<Bf16>();
  }
}

inline std::int64_t encoder_blocks(const EncoderLayerForward<float>& p) {
  return p.layer.attention.batch * divide_up(p.layer.attention.queries, kEncoderRows);
}

}  // namespace

}  // namespace npzoo
