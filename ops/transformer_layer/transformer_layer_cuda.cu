#include "npzoo/ops/transformer_layer/layer_steps.h"

namespace npzoo {

namespace {

constexpr int kLayerWarps = 4;

/// Sizes that registers and shared memory allow: a block's shared memory stays below the 99 KB of consumer cards.
template <class Format, int kWidth, int kHeadWidth>
struct LayerSizes {
  static constexpr int kTiles = sizeof(typename Format::Element) == 2 && kWidth == 64 ? 2 : 1;  // of 16 rows, in a warp
  static constexpr bool kFull = sizeof(typename Format::Element) == 4 && kWidth == 128;         // of registers
  static constexpr int kKeys = 64, kChunk = kHeadWidth == 32 || kFull ? 16 : 32;                // see WarpQueries
  static constexpr bool kInRegisters = true, kOfProduct = true;
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
      stage_head<Sizes, Format, kHeadWidth, kWidth>(p, first, vectors, query, out);
      __syncthreads();
      WarpQueries<Format, kHeadWidth, Sizes> warp;
      make_queries<Sizes>(p, factors, query, first, warp, [](int, const auto&) {});
      warp.start(p.attention, place.batch, place.warp_first);
      place.head = place.batch * heads + h;
      for_key_tiles<Tiles<Format, kHeadWidth>, Sizes::kKeys>(p.attention, place, 16 * Sizes::kTiles, p.attention.keys,
                                                             vectors, tiles, odd(), warp);
      combine_head<Sizes, Format>(warp, out, rows, [](int, int, const float*, const float*) {});
    }
  }

 private:
  __device__ static int* odd() { return reinterpret_cast<int*>(shared_memory<unsigned char>() + Sizes::kElementBytes); }
};

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
  feed_forward<Sizes, Format>(p, vectors, factors, rows, shared_memory<typename Format::Element>());
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
