#include "npzoo/ops/masked_attention/tensor_queries.h"
#include "npzoo/ops/transformer_layer/kernels.h"
#include "npzoo/ops/transformer_layer/layer_rows.h"

namespace npzoo {

namespace {

constexpr int kLayerWarps = 4;

/// Sizes that registers and shared memory allow: a block's shared memory stays below the 99 KB of consumer cards.
template <class Format, int kWidth, int kHeadWidth>
struct LayerSizes {
  static constexpr int kTiles = sizeof(typename Format::Element) == 2 && kWidth == 64 ? 2 : 1;  // of 16 rows, in a warp
  static constexpr bool kFull = sizeof(typename Format::Element) == 4 && kWidth == 128;         // of registers
  static constexpr int kKeys = 64, kChunk = kHeadWidth == 32 || kFull ? 16 : 32;                // see WarpQueries
  static constexpr bool kInRegisters = true, kOfProduct = true, kFromZero = std::is_same_v<Format, Tf32Pairs>;
  static constexpr int kHidden = 64;  // columns of the hidden layer in shared memory
  // Elements between rows of matrices in shared memory: those of neighbours are in different banks.
  static constexpr int kPitch = kWidth + 8, kHeadPitch = kHeadWidth + 8, kHiddenPitch = kHidden + 8;
  static constexpr int kKeyElements = 4 * kKeys * Tiles<Format, kHeadWidth>::kPitch;
  static constexpr int kAttention = kKeyElements + kHeadWidth * kPitch + kWidth * kHeadPitch;
  static constexpr int kNetwork = kHidden * kPitch + kWidth * kHiddenPitch;
  static constexpr std::size_t kElementBytes =
      static_cast<std::size_t>(kAttention > kNetwork ? kAttention : kNetwork) * sizeof(typename Format::Element);
  static constexpr std::size_t kSharedBytes = kElementBytes + 2 * kMostWarps * sizeof(int);
  static_assert(kSharedBytes <= 99 * 1024);
};

/// The heads of a warp's rows, one after the other.
template <class Format, int kWidth, int kHeadWidth>
struct Heads {
  using Sizes = LayerSizes<Format, kWidth, kHeadWidth>;
  using Rows = LayerRows<Format, kWidth, Sizes::kTiles>;
  using Element = typename Format::Element;

  const TransformerLayerForward<float>& p;
  Place place;
  bool vectors;

  /// rows += what they attend to, by the output layer. `factors` are what the queries are made of.
  __device__ void attend(const typename Rows::Factors& factors, Rows& rows) {
    auto* tiles = shared_memory<Element>();
    Element *query = tiles + Sizes::kKeyElements, *out = query + kHeadWidth * Sizes::kPitch;
    const int heads = static_cast<int>(p.attention.heads);
    for (int h = 0; h < heads; ++h) {
      __syncthreads();
      const int first = h * kHeadWidth;
      stage_matrix<Format>(p.query.weight + first * kWidth, kHeadWidth, kWidth, kWidth, vectors, query, Sizes::kPitch);
      stage_matrix<Format>(p.out.weight + first, kWidth, kHeadWidth, kWidth, vectors, out, Sizes::kHeadPitch);
      __syncthreads();
      WarpQueries<Format, kHeadWidth, Sizes> warp;
      make_queries(factors, query, first, warp);
      warp.start(p.attention, place.batch, place.warp_first);
      place.head = place.batch * heads + h;
      for_key_tiles<Tiles<Format, kHeadWidth>, Sizes::kKeys>(p.attention, place, 16 * Sizes::kTiles, p.attention.keys,
                                                             vectors, tiles, odd(), warp);
      combine(warp, out, rows);
    }
  }

 private:
  __device__ static int* odd() { return reinterpret_cast<int*>(shared_memory<unsigned char>() + Sizes::kElementBytes); }

  template <class Warp>
  __device__ void make_queries(const typename Rows::Factors& factors, const Element* weight, int first, Warp& warp) {
    const auto scale = static_cast<float>(p.attention.scale * kLog2E);
#pragma unroll
    for (int c = 0; c < kHeadWidth / 16; ++c) {
      float q[Sizes::kTiles][2][4];
      factors.multiply(weight + c * 16 * Sizes::kPitch, Sizes::kPitch, p.query.bias, first + c * 16, q);
#pragma unroll
      for (int m = 0; m < Sizes::kTiles; ++m) {
#pragma unroll
        for (int i = 0; i < 8; ++i) q[m][i / 4][i % 4] *= scale;
        Left<Format> columns;
        tensor_core::to_left(columns, q[m][0], q[m][1]);
        warp.queries[m].set(c, columns);
      }
    }
  }

  template <class Warp>
  __device__ void combine(Warp& warp, const Element* weight, Rows& rows) {
    float factor[Sizes::kTiles][2];
#pragma unroll
    for (int i = 0; i < 2 * Sizes::kTiles; ++i) {
      const float sum = warp.sum_of_weights(i / 2, i % 2);
      factor[i / 2][i % 2] = sum == 0 ? 0 : 1 / sum;
    }
#pragma unroll
    for (int c = 0; c < kHeadWidth / 16; ++c) {
      Left<Format> attended[Sizes::kTiles];
#pragma unroll
      for (int m = 0; m < Sizes::kTiles; ++m) {
#pragma unroll
        for (int i = 0; i < 8; ++i) warp.out[m][2 * c + i / 4][i % 4] *= factor[m][i % 4 / 2];
        tensor_core::to_left(attended[m], warp.out[m][2 * c], warp.out[m][2 * c + 1]);
      }
      rows.add_product(attended, weight + c * 16, Sizes::kHeadPitch);
    }
  }
};

/// rows += the feed-forward network's result for `factors`, without its last bias.
template <class Sizes, class Format, class Rows>
__device__ void feed_forward(const TransformerLayerForward<float>& p, bool vectors,
                             const typename Rows::Factors& factors, Rows& rows) {
  auto* expand = shared_memory<typename Format::Element>();
  auto* contract = expand + Sizes::kHidden * Sizes::kPitch;
  const int hidden = static_cast<int>(p.hidden);
  for (int first = 0; first < hidden; first += Sizes::kHidden) {
    const int count = min(Sizes::kHidden, hidden - first);
    __syncthreads();
    stage_matrix<Format>(p.expand.weight + std::int64_t{first} * Rows::kWidth, count, Rows::kWidth, Rows::kWidth,
                         vectors, expand, Sizes::kPitch);
    stage_matrix<Format>(p.contract.weight + first, Rows::kWidth, count, hidden, vectors, contract,
                         Sizes::kHiddenPitch);
    __syncthreads();
#pragma unroll 1
    for (int c = 0; c < count; c += 16) {
      float h[Sizes::kTiles][2][4];
      factors.multiply(expand + c * Sizes::kPitch, Sizes::kPitch, p.expand.bias, first + c, h);
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

/// A block takes some rows of one batch element through the whole layer.
template <class Format, int kWidth, int kHeadWidth>
__global__ void __launch_bounds__(kLayerWarps* kWarp, 2) layer_kernel(TransformerLayerForward<float> p, bool vectors) {
  using Sizes = LayerSizes<Format, kWidth, kHeadWidth>;
  using Rows = LayerRows<Format, kWidth, Sizes::kTiles>;
  AttentionForward<float> of_batch = p.attention;  // blocks are not of single heads
  of_batch.heads = 1;
  const Place place(of_batch, p.attention.queries, 16 * Sizes::kTiles, 1);
  const int queries = static_cast<int>(p.attention.queries);
  const std::int64_t start = place.batch * p.attention.queries * kWidth;

  Rows rows;
  rows.load(p.x + start, place.warp_first, queries, vectors);
  typename Rows::Factors factors;
  if (p.pre_norm)
    factors.set_normal(rows, p.norm1, p.eps);
  else
    factors.set(rows);
  rows.add(p.out.bias);
  Heads<Format, kWidth, kHeadWidth>{p, place, vectors}.attend(factors, rows);
  if (p.pre_norm) {
    factors.set_normal(rows, p.norm2, p.eps);
  } else {
    rows.normalise(p.norm1, p.eps);
    factors.set(rows);
  }
  rows.add(p.contract.bias);
  feed_forward<Sizes, Format>(p, vectors, factors, rows);
  if (!p.pre_norm) rows.normalise(p.norm2, p.eps);
  rows.store(p.result + start, place.warp_first, queries, vectors);
}

template <class Format, int kWidth, int kHeadWidth>
void start_layer(Cuda& cuda, const TransformerLayerForward<float>& p) {
  using Sizes = LayerSizes<Format, kWidth, kHeadWidth>;
  const std::int64_t blocks = p.attention.batch * divide_up(p.attention.queries, kLayerWarps * 16 * Sizes::kTiles);
  bool vectors = true;
  for (const float* array : {p.attention.k, p.attention.v, p.x, static_cast<const float*>(p.result), p.query.weight,
                             p.out.weight, p.expand.weight, p.contract.weight})
    vectors = vectors && aligned_to_16(array);
  launch(cuda, "transformer_layer", layer_kernel<Format, kWidth, kHeadWidth>, blocks, kLayerWarps * kWarp,
         Sizes::kSharedBytes, p, vectors);
}

template <class Format>
void start_layer_of_width(Cuda& cuda, const TransformerLayerForward<float>& p) {
  const bool wide = p.width == 128, wide_heads = p.attention.width == 32;
  if (wide && wide_heads) return start_layer<Format, 128, 32>(cuda, p);
  if (wide) return start_layer<Format, 128, 16>(cuda, p);
  if (wide_heads) return start_layer<Format, 64, 32>(cuda, p);
  start_layer<Format, 64, 16>(cuda, p);
}

}  // namespace

template <>
void transformer_layer_forward(Cuda& cuda, const TransformerLayerForward<float>& p) {
  switch (matmul_precision()) {
    case Precision::float32: return start_layer_of_width<Tf32Pairs>(cuda, p);
    case Precision::tf32: return start_layer_of_width<Tf32>(cuda, p);
    case Precision::bf16: return start_layer_of_width<Bf16>(cuda, p);
  }
}

}  // namespace npzoo
