#include "npzoo/engine/memory.h"
#include "npzoo/ops/masked_attention/tensor_cores.h"
#include "npzoo/ops/masked_attention/tensor_gradients.h"

namespace npzoo {

namespace {

/// The state of a warp's queries.
template <class Format, int kWidth>
struct QueryGradients {
  using Sizes = BackwardSizes<Format, kWidth, 1>;
  using Element = typename Format::Element;
  static constexpr int kTiles = Sizes::kTiles, kPitch = Tiles<Format, kWidth>::kPitch;

  const AttentionForward<float>& p;
  const Place& place;
  float* to;                       // the head's rows of the segment's d_q
  OwnRows<Format, kWidth, 1> own;  // queries and gradients of the output
  RowSums<Format, kWidth> d_q;
  float start[kTiles][2], mean[kTiles][2];
  int visible[kTiles][2];
  bool earlier = false;  // whether spans of keys are done, see kSpanPoints

  __device__ QueryGradients(const AttentionBackward<float>& b, const RowTerms& terms, const Place& of_block)
      : p(b.forward),
        place(of_block),
        to(b.d_q + ((place.segment * p.batch + place.batch) * p.queries * p.heads + place.head % p.heads) * p.width) {
    d_q.clear();
#pragma unroll
    for (int i = 0; i < kTiles * 2; ++i) {
      const int query = place.warp_first + i / 2 * 16 + i % 2 * 8 + lane_id() / 4;
      const bool there = query < p.queries;
      const std::int64_t at = place.head * p.queries + query;
      start[i / 2][i % 2] = there ? terms.start[at] : -infinity<float>();
      mean[i / 2][i % 2] = there && !kExact<Format> ? terms.mean[at] : 0;
      visible[i / 2][i % 2] = there ? static_cast<int>(p.mask.visible(place.batch, query, p.keys)) : 0;
    }
  }

  /// Finds the means, in products of float32, from the same products as the numbers that they are subtracted from:
  /// where a row sees one key, gradients are 0. Writes them for the gradients of keys.
  __device__ void find_means(const AttentionBackward<float>& b, const RowTerms& terms, bool vectors, Element* memory) {
    own.multiply_rows(head_rows(p, p.out, p.queries, place.head).from(place.first), place.rows,
                      static_cast<int>(p.queries) - place.first, static_cast<int>(p.width), vectors, memory, mean);
#pragma unroll
    for (int i = 0; i < kTiles * 2; ++i) {
      const int query = place.warp_first + i / 2 * 16 + i % 2 * 8 + lane_id() / 4;
      const std::int64_t at = place.head * p.queries + query;
      if (query >= p.queries) continue;
      if (b.d_log_sum) mean[i / 2][i % 2] -= b.d_log_sum[at];
      if (place.segment == 0 && lane_id() % 4 == 0) terms.mean[at] = mean[i / 2][i % 2];
    }
  }

  template <bool kMixed>
  __device__ void attend(const Element* keys, const Element* values, int first, bool odd) {
#pragma unroll 1
    for (int c = 0; c < Sizes::kPoints; c += 16) {
      const auto terms = [this](int m, int, int e) { return QueryTerms<float>{start[m][e / 2], mean[m][e / 2]}; };
      Products<Format, kTiles> products;
      products.start(terms);
      own.multiply(keys + c * kPitch, values + c * kPitch, products);
      products.weigh(terms, [&](int m, int n, int e) {
        return kMixed && first + c + n * 8 + lane_id() % 4 * 2 + e % 2 >= visible[m][e / 2];
      });
      d_q.add(products.d_scores, keys + c * kPitch, kMixed && odd);
    }
    // A key that is not finite makes all scores non-finite: its gradient is NaN.
    if (kMixed && odd)
#pragma unroll 1
      for (int key = 0; key < Sizes::kPoints; ++key)
        d_q.add_odd(keys + key * kPitch, 0, [&](int m, int h) { return first + key < visible[m][h]; });
    if (kExact<Format> && (first + Sizes::kPoints) % kSpanPoints == 0) end_span(1);
  }

  __device__ void end_span(float factor) {
    d_q.store(to, p.heads * p.width, place.warp_first, static_cast<int>(p.queries), static_cast<int>(p.width), factor,
              earlier);
    earlier = true;
  }
};

template <class Format, int kWidth>
__global__ void __launch_bounds__(BackwardSizes<Format, kWidth, 1>::kWarps* kWarp,
                                  BackwardSizes<Format, kWidth, 1>::kBlocks)
    query_gradients_kernel(AttentionBackward<float> b, RowTerms terms, std::int64_t segments, std::int64_t segment_keys,
                           bool vectors) {
  using Sizes = BackwardSizes<Format, kWidth, 1>;
  using Tile = Tiles<Format, kWidth>;
  constexpr int kKeys = Sizes::kPoints, kWarpRows = 16 * Sizes::kTiles;
  const AttentionForward<float>& p = b.forward;
  const Place place(p, p.queries, kWarpRows, segments);
  const int width = static_cast<int>(p.width), queries = static_cast<int>(p.queries);
  auto* tiles = shared_memory<typename Tile::Element>();
  auto* odd = reinterpret_cast<int*>(shared_memory<unsigned char>() +
                                     Sizes::shared_rows(place.rows / kWarpRows) * Tile::kRowBytes);

  QueryGradients<Format, kWidth> warp(b, terms, place);
  warp.own.load(head_rows(p, p.q, p.queries, place.head, static_cast<float>(p.scale * kLog2E)).from(place.first),
                head_rows(p, b.d_out, p.queries, place.head).from(place.first), place.rows, queries - place.first,
                width, vectors, tiles);
  if constexpr (kExact<Format>) warp.find_means(b, terms, vectors && aligned_to_16(p.out), tiles);
  for_key_tiles<Tile, kKeys>(p, place, kWarpRows, segment_keys, vectors, tiles, odd, warp);
  warp.end_span(static_cast<float>(p.scale));
}

/// Queries of a tile, and the numbers of their rows.
template <class Element>
struct QueryTile {
  Element *queries, *d_out;
  int* visible;
  float *start, *mean;
  int* odd;  // of the warps that loaded it
};

/// Tiles of the queries of a segment, in turn in two places of shared memory.
template <class Format, int kWidth>
struct QueryTiles {
  using Sizes = BackwardSizes<Format, kWidth, 2>;
  using Tile = Tiles<Format, kWidth>;
  using Element = typename Format::Element;
  static constexpr int kQueries = Sizes::kPoints;

  const AttentionForward<float>& p;
  const Place& place;
  RowTerms terms;
  HeadRows q, d_out;
  int end, last_key;  // behind the last query, and the last key of the block
  bool vectors;

  __device__ static QueryTile<Element> at(int buffer, int warps) {
    auto* queries = shared_memory<Element>() + buffer * 2 * kQueries * Tile::kPitch;
    auto* odd = reinterpret_cast<int*>(shared_memory<unsigned char>() + Sizes::shared_rows(warps) * Tile::kRowBytes);
    int* visible = odd + 2 * kMostWarps + buffer * 3 * kQueries;
    auto* start = reinterpret_cast<float*>(visible + kQueries);
    return {queries, queries + kQueries * Tile::kPitch, visible, start, start + kQueries, odd + buffer * kMostWarps};
  }

  /// The next tile from `first` on of which a query sees one of the block's keys.
  __device__ int next(int first, VisibleKeys& found) const {
    for (; first < end; first += kQueries) {
      found = visible_keys(p, place.batch, first, min(kQueries, end - first));
      if (first + kQueries > end) found.least = 0;
      if (found.most > place.first) break;
    }
    return first;
  }

  __device__ void load(int first, VisibleKeys keys, const QueryTile<Element>& to) const {
    const int width = static_cast<int>(p.width);
    note(Tile::template load<2>({q.from(first), d_out.from(first)}, kQueries, end - first, width, vectors,
                                keys.least < last_key, to.queries),
         to.odd);
    const int i = static_cast<int>(threadIdx.x), query = first + i;
    if (i >= kQueries) return;
    const bool there = query < end;
    const std::int64_t row = place.head * p.queries + query;
    to.visible[i] = there ? static_cast<int>(p.mask.visible(place.batch, query, p.keys)) : 0;
    to.start[i] = there ? terms.start[row] : -infinity<float>();
    to.mean[i] = there ? terms.mean[row] : 0;
  }
};

/// The state of a warp's keys.
template <class Format, int kWidth>
struct KeyGradients {
  using Sizes = BackwardSizes<Format, kWidth, 2>;
  using Element = typename Format::Element;
  static constexpr int kTiles = Sizes::kTiles, kPitch = Tiles<Format, kWidth>::kPitch;

  OwnRows<Format, kWidth, 2> own;  // keys and values
  RowSums<Format, kWidth> d_k, d_v;

  /// `first` is the first of the warp's keys.
  template <bool kMixed>
  __device__ void attend(const QueryTile<Element>& tile, int first, bool odd) {
    const auto key = [first](int m, int half) { return first + m * 16 + half * 8 + lane_id() / 4; };
#pragma unroll 1
    for (int c = 0; c < Sizes::kPoints; c += 16) {
      const auto query = [c](int n, int e) { return c + n * 8 + lane_id() % 4 * 2 + e % 2; };
      const auto terms = [&](int, int n, int e) {
        return QueryTerms<float>{tile.start[query(n, e)], tile.mean[query(n, e)]};
      };
      Products<Format, kTiles> products;
      products.start(terms);
      own.multiply(tile.queries + c * kPitch, tile.d_out + c * kPitch, products);
      products.weigh(terms, [&](int m, int n, int e) { return kMixed && key(m, e / 2) >= tile.visible[query(n, e)]; });
      d_v.add(products.weights, tile.d_out + c * kPitch, kMixed && odd);
      d_k.add(products.d_scores, tile.queries + c * kPitch, kMixed && odd);
    }
    if (kMixed && odd)
#pragma unroll 1
      for (int query = 0; query < Sizes::kPoints; ++query) {
        const auto sees = [&](int m, int half) { return key(m, half) < tile.visible[query]; };
        d_v.add_odd(tile.d_out + query * kPitch, 1, sees);
        d_k.add_odd(tile.queries + query * kPitch, 0, sees);
      }
  }
};

template <class Format, int kWidth>
__global__ void __launch_bounds__(BackwardSizes<Format, kWidth, 2>::kWarps* kWarp,
                                  BackwardSizes<Format, kWidth, 2>::kBlocks)
    key_gradients_kernel(AttentionBackward<float> b, RowTerms terms, std::int64_t segments,
                         std::int64_t segment_queries, bool vectors) {
  using Streamed = QueryTiles<Format, kWidth>;
  constexpr int kWarpRows = 16 * BackwardSizes<Format, kWidth, 2>::kTiles;
  const AttentionForward<float>& p = b.forward;
  const Place place(p, p.keys, kWarpRows, segments);
  const int width = static_cast<int>(p.width), keys = static_cast<int>(p.keys), warps = place.rows / kWarpRows;
  KeyGradients<Format, kWidth> warp;
  warp.own.load(head_rows(p, p.k, p.keys, place.head).from(place.first),
                head_rows(p, p.v, p.keys, place.head).from(place.first), place.rows, keys - place.first, width, vectors,
                shared_memory<typename Format::Element>());
  warp.d_k.clear();
  warp.d_v.clear();

  const std::int64_t begin = place.segment * segment_queries, end = min(p.queries, begin + segment_queries);
  const Streamed tiles{p,
                       place,
                       terms,
                       head_rows(p, p.q, p.queries, place.head, static_cast<float>(p.scale * kLog2E)),
                       head_rows(p, b.d_out, p.queries, place.head),
                       static_cast<int>(end),
                       min(place.first + place.rows, keys),
                       vectors};
  VisibleKeys now{}, then{};
  int first = tiles.next(static_cast<int>(begin), now);
  if (first < end) tiles.load(first, now, Streamed::at(0, warps));
  __syncthreads();
  const std::int64_t row = p.heads * p.width;
  const std::int64_t to = (place.segment * p.batch + place.batch) * p.keys * row + place.head % p.heads * p.width;
  const auto end_span = [&](float factor, bool earlier) {
    warp.d_k.store(b.d_k + to, row, place.warp_first, keys, width, factor, earlier);
    warp.d_v.store(b.d_v + to, row, place.warp_first, keys, width, 1, earlier);
  };
  int done = 0;  // queries
  for (int buffer = 0; first < end; buffer ^= 1, now = then) {
    first = tiles.next(first + Streamed::kQueries, then);
    if (first < end) tiles.load(first, then, Streamed::at(buffer ^ 1, warps));
    const auto tile = Streamed::at(buffer, warps);
    if (now.least >= min(place.warp_first + kWarpRows, keys))
      warp.template attend<false>(tile, place.warp_first, false);
    else if (now.most > place.warp_first)
      warp.template attend<true>(tile, place.warp_first, noted(tile.odd));
    done += Streamed::kQueries;
    if (kExact<Format> && done % kSpanPoints == 0) end_span(1, done > kSpanPoints);
    __syncthreads();
  }
  end_span(static_cast<float>(kLn2), done >= kSpanPoints);
}

template <class Format>
void find_row_terms(Cuda& cuda, const AttentionBackward<float>& b, const RowTerms& terms) {
  const AttentionForward<float>& p = b.forward;
  for_each(cuda, "attention_row_terms", p.batch * p.queries * p.heads, [b, terms] __device__(std::int64_t i) {
    const AttentionForward<float>& p = b.forward;
    const std::int64_t head = i % p.heads, query = i / p.heads % p.queries, batch = i / p.heads / p.queries;
    const std::int64_t at = (batch * p.heads + head) * p.queries + query;
    if constexpr (!kExact<Format>) {  // see find_means
      float mean = 0;  // of the same rounded factors as the products with values, so that roundings cancel
      for (std::int64_t c = i * p.width; c < (i + 1) * p.width; ++c)
        mean += p.out[c] * tensor_core::rounded(Format{}, b.d_out[c]);
      terms.mean[at] = b.d_log_sum ? mean - b.d_log_sum[at] : mean;
    }
    terms.start[at] = p.log2_sum[at] == -infinity<float>() ? -infinity<float>() : -p.log2_sum[at];
  });
}

void sum_parts(Cuda& cuda, const float* parts, std::int64_t segments, std::int64_t n, float* sum) {
  for_each(cuda, "attention_sum_parts", n, [parts, segments, n, sum] __device__(std::int64_t i) {
    float x = 0;
#pragma unroll 8
    for (std::int64_t s = 0; s < segments; ++s) x += parts[s * n + i];
    sum[i] = x;
  });
}

/// Starts `kernel` for blocks of `points` rows, each with sums over `terms` points, and whatever makes whole sums of
/// those of segments. Sums are written to `sums`, each of `size` numbers.
template <class Format, int kWidth, int kSums>
void launch_segments(Cuda& cuda, const char* name,
                     void (*kernel)(AttentionBackward<float>, RowTerms, std::int64_t, std::int64_t, bool),
                     const AttentionBackward<float>& b, const RowTerms& terms, std::int64_t points, std::int64_t others,
                     float* AttentionBackward<float>::*const (&sums)[kSums]) {
  using Sizes = BackwardSizes<Format, kWidth, kSums>;
  static_assert(Sizes::shared_bytes(Sizes::kWarps) <= kMostShared);
  const AttentionForward<float>& p = b.forward;
  const int warps = block_warps(points, 16 * Sizes::kTiles, Sizes::kWarps);
  const std::int64_t heads = p.batch * p.heads, blocks = heads * divide_up(points, warps * 16 * Sizes::kTiles);
  const std::int64_t segments = count_segments(cuda, blocks, warps, others), size = heads * points * p.width;
  const bool vectors = aligned_to_16(p.q) && aligned_to_16(p.k) && aligned_to_16(p.v) && aligned_to_16(b.d_out);
  const Buffer parts(static_cast<std::size_t>(segments > 1 ? kSums * segments * size : 0) * sizeof(float),
                     Device::cuda);
  auto* part = reinterpret_cast<float*>(parts.data());
  AttentionBackward<float> in_parts = b;
  for (int i = 0; i < kSums && segments > 1; ++i) in_parts.*sums[i] = part + i * segments * size;
  launch(cuda, name, kernel, blocks * segments, warps * kWarp, Sizes::shared_bytes(warps), in_parts, terms, segments,
         segment_points(others, segments), vectors);
  for (int i = 0; i < kSums && segments > 1; ++i)
    sum_parts(cuda, part + i * segments * size, segments, size, b.*sums[i]);
}

template <class Format, int kWidth>
void attend_backward(Cuda& cuda, const AttentionBackward<float>& b) {
  using B = AttentionBackward<float>;
  const AttentionForward<float>& p = b.forward;
  const std::int64_t rows = p.batch * p.heads * p.queries;
  const Buffer memory(static_cast<std::size_t>(2 * rows) * sizeof(float), Device::cuda);
  auto* start = reinterpret_cast<float*>(memory.data());
  const RowTerms terms{start, start + rows};
  find_row_terms<Format>(cuda, b, terms);
  launch_segments<Format, kWidth, 1>(cuda, "attention_query_gradients", query_gradients_kernel<Format, kWidth>, b,
                                     terms, p.queries, p.keys, {&B::d_q});
  launch_segments<Format, kWidth, 2>(cuda, "attention_key_gradients", key_gradients_kernel<Format, kWidth>, b, terms,
                                     p.keys, p.queries, {&B::d_k, &B::d_v});
}

}  // namespace

bool attention_backward_on_tensor_cores(Cuda& cuda, const AttentionBackward<float>& b) {
  if (!suits_tensor_cores(b.forward)) return false;
  with_format_and_width(b.forward.width, [&]<class Format, int kWidth>() { attend_backward<Format, kWidth>(cuda, b); });
  return true;
}

}  // namespace npzoo
