#include "npzoo/engine/memory.h"
#include "npzoo/ops/masked_attention/tensor_cores.h"
#include "npzoo/ops/masked_attention/tensor_queries.h"

namespace npzoo {

namespace {

/// Sizes that registers and shared memory allow.
template <class Format, int kWidth>
struct ForwardSizes {
  static constexpr int kBytes = kWidth * static_cast<int>(sizeof(typename Format::Element));  // of a row
  static constexpr int kTiles = kWidth <= 32 ? 2 : 1;  // of 16 queries, in a warp
  static constexpr int kWarps = kWidth <= 64 ? kMostWarps : 4;
  static constexpr int kBlocks = kWidth > 64 ? 3 : kExact<Format> ? 1 : 2;  // on a multiprocessor
  static constexpr int kKeys = kBytes == 512 ? 16 : 64;                     // of a tile
  static constexpr int kChunk = kWidth == 32 || kBytes == 512 ? 16 : 32;
  static constexpr bool kInRegisters = kBytes < 512, kOfProduct = false;

  __host__ __device__ static constexpr std::size_t shared_bytes(int warps) {
    const int queries = warps * 16 * kTiles, tiles = 4 * kKeys;
    const int rows = !kInRegisters ? queries + tiles : queries > tiles ? queries : tiles;
    return static_cast<std::size_t>(rows) * Tiles<Format, kWidth>::kRowBytes + 2 * kMostWarps * sizeof(int);
  }
};

/// A warp's queries and their results.
template <class Format, int kHeadWidth>
struct ForwardQueries : WarpQueries<Format, kHeadWidth, ForwardSizes<Format, kHeadWidth>> {
  using Base = WarpQueries<Format, kHeadWidth, ForwardSizes<Format, kHeadWidth>>;
  using Sizes = ForwardSizes<Format, kHeadWidth>;
  using Element = typename Format::Element;

  const AttentionForward<float>& p;
  const Place place;
  float earlier_top[Base::kTiles][2], earlier_total[Base::kTiles][2];  // of the spans before, see kSpanPoints
  bool earlier = false;                                                // whether there are any; their sums are in p.out

  __device__ ForwardQueries(const AttentionForward<float>& problem, const Place& of_block)
      : p(problem), place(of_block) {
    Base::start(p, place.batch, place.warp_first);
  }

  template <bool kMixed>
  __device__ void attend(const Element* keys, const Element* values, int first, bool odd) {
    Base::template attend<kMixed>(keys, values, first, odd);
    if (kExact<Format> && (first + Sizes::kKeys) % kSpanPoints == 0) end_span(false);
  }

  /// Adds the sums to those of the spans before and begins anew. The `last` time, divides by the weights and writes the
  /// log-sum-exp.
  __device__ void end_span(bool last) {
#pragma unroll
    for (int i = 0; i < 2 * Base::kTiles; ++i) {
      const int m = i / 2, h = i % 2, query = place.warp_first + m * 16 + h * 8 + lane_id() / 4;
      const float top = Base::top[m][h];
      float before = 0, factor = 1;
      if (kExact<Format> && earlier) {
        before = exponential2(earlier_top[m][h] - (top == -infinity<float>() ? 0 : top));
        Base::total[m][h] += before * earlier_total[m][h];
      }
      const float sum = last ? Base::sum_of_weights(m, h) : 0;
      if (last) {
        factor = sum == 0 ? 0 : 1 / sum;
        before *= factor;
      }
      if (query < p.queries) add_row(m, h, query, factor, before);
      if (last && p.log2_sum && query < p.queries && lane_id() % 4 == 0)
        p.log2_sum[(place.segment * p.batch * p.heads + place.head) * p.queries + query] = log2_of_sum(top, sum);
      earlier_top[m][h] = top;
      earlier_total[m][h] = Base::total[m][h];
      Base::total[m][h] = 0;
    }
    earlier = true;
  }

 private:
  /// row = factor · sums + before · row.
  __device__ void add_row(int m, int h, int query, float factor, float before) {
    const std::int64_t at = (place.segment * p.batch + place.batch) * p.queries + query;
    float* row = p.out + (at * p.heads + place.head % p.heads) * p.width + lane_id() % 4 * 2;
#pragma unroll
    for (int i = 0; i < kHeadWidth / 4; ++i) {
      const int n = i / 2, e = i % 2;
      if (n * 8 >= p.width) continue;
      float sum = Base::out[m][n][2 * h + e] * factor;
      if (kExact<Format> && earlier) sum += before * row[n * 8 + e];
      row[n * 8 + e] = sum;
      Base::out[m][n][2 * h + e] = 0;
    }
  }
};

/// Blocks of queries, then segments of keys, then heads. Each segment writes a result of its own behind the one before.
template <class Format, int kWidth>
__global__ void __launch_bounds__(ForwardSizes<Format, kWidth>::kWarps* kWarp, ForwardSizes<Format, kWidth>::kBlocks)
    attend_kernel(AttentionForward<float> p, std::int64_t segments, std::int64_t segment_keys, bool vectors) {
  using Sizes = ForwardSizes<Format, kWidth>;
  using Tile = Tiles<Format, kWidth>;
  constexpr int kKeys = Sizes::kKeys, kWarpRows = 16 * Sizes::kTiles;
  const Place place(p, p.queries, kWarpRows, segments);
  const int width = static_cast<int>(p.width), queries = static_cast<int>(p.queries);

  auto* tiles = shared_memory<typename Tile::Element>();  // two of keys and values
  auto* query_rows = tiles + (Sizes::kInRegisters ? 0 : 4 * kKeys * Tile::kPitch);
  auto* odd = reinterpret_cast<int*>(shared_memory<unsigned char>() + Sizes::shared_bytes(place.rows / kWarpRows)) -
              2 * kMostWarps;

  const HeadRows q = head_rows(p, p.q, p.queries, place.head, static_cast<float>(p.scale * kLog2E)).from(place.first);
  Tile::template load<1>({q}, place.rows, queries - place.first, width, vectors, false, query_rows);
  __syncthreads();
  ForwardQueries<Format, kWidth> warp(p, place);
#pragma unroll
  for (int m = 0; m < Sizes::kTiles; ++m)
    warp.queries[m].load(query_rows + (warp_id() * kWarpRows + m * 16) * Tile::kPitch);
  __syncthreads();
  for_key_tiles<Tile, kKeys>(p, place, kWarpRows, segment_keys, vectors, tiles, odd, warp);
  warp.end_span(true);
}

constexpr int kMergeThreads = 128;

/// A warp puts one row together from those of the segments.
__global__ void __launch_bounds__(kMergeThreads)
    merge_rows(AttentionForward<float> p, std::int64_t segments, const float* outs, const float* log2_sums) {
  const std::int64_t rows = p.batch * p.heads * p.queries;
  const std::int64_t row = std::int64_t{blockIdx.x} * (kMergeThreads / kWarp) + warp_id();  // (batch, query, head)
  if (row >= rows) return;
  const std::int64_t head = row % p.heads, query = row / p.heads % p.queries, batch = row / p.heads / p.queries;
  const std::int64_t at = (batch * p.heads + head) * p.queries + query;
  float top = -infinity<float>(), total = 0;
  for (std::int64_t s = lane_id(); s < segments; s += kWarp) top = fmaxf(top, log2_sums[s * rows + at]);
  top = warp_max(top);
  if (top == -infinity<float>()) top = 0;
  for (std::int64_t s = lane_id(); s < segments; s += kWarp) total += exponential2(log2_sums[s * rows + at] - top);
  total = warp_sum(total);
  for (std::int64_t c = 0; c < p.width; c += 4) {
    float sum[4] = {};
    for (std::int64_t s = lane_id(); s < segments; s += kWarp) {
      const float weight = exponential2(log2_sums[s * rows + at] - top);
      const auto x = *reinterpret_cast<const Vector<float, 4>*>(outs + (s * rows + row) * p.width + c);
      for (int i = 0; i < 4; ++i) sum[i] += weight * x.x[i];
    }
    for (float& x : sum) x = warp_sum(x);
    if (lane_id() < 4) {
      const float x = lane_id() < 2 ? (lane_id() == 0 ? sum[0] : sum[1]) : (lane_id() == 2 ? sum[2] : sum[3]);
      p.out[row * p.width + c + lane_id()] = total == 0 ? 0 : x / total;
    }
  }
  if (p.log2_sum && lane_id() == 0) p.log2_sum[at] = log2_of_sum(top, total);
}

template <class Format, int kWidth>
void attend(Cuda& cuda, const AttentionForward<float>& p) {
  using Sizes = ForwardSizes<Format, kWidth>;
  static_assert(Sizes::shared_bytes(Sizes::kWarps) <= kMostShared);
  const int warps = block_warps(p.queries, 16 * Sizes::kTiles, Sizes::kWarps);
  const std::int64_t heads = p.batch * p.heads, blocks = heads * divide_up(p.queries, warps * 16 * Sizes::kTiles);
  const std::int64_t segments = count_segments(cuda, blocks, warps, p.keys), rows = heads * p.queries;
  const bool vectors = aligned_to_16(p.q) && aligned_to_16(p.k) && aligned_to_16(p.v);
  const Buffer parts(static_cast<std::size_t>(segments > 1 ? segments * rows * (p.width + 1) : 0) * sizeof(float),
                     Device::cuda);
  AttentionForward<float> part = p;
  if (segments > 1) {
    part.out = reinterpret_cast<float*>(parts.data());
    part.log2_sum = part.out + segments * rows * p.width;
  }
  launch(cuda, "attention_forward", attend_kernel<Format, kWidth>, blocks * segments, warps * kWarp,
         Sizes::shared_bytes(warps), part, segments, segment_points(p.keys, segments), vectors);
  if (segments > 1)
    launch(cuda, "attention_forward_merge", merge_rows, divide_up(rows, kMergeThreads / kWarp), kMergeThreads, 0, p,
           segments, part.out, part.log2_sum);
}

}  // namespace

bool attention_forward_on_tensor_cores(Cuda& cuda, const AttentionForward<float>& p) {
  if (!suits_tensor_cores(p)) return false;
  with_format_and_width(p.width, [&]<class Format, int kWidth>() { attend<Format, kWidth>(cuda, p); });
  return true;
}

}  // namespace npzoo
