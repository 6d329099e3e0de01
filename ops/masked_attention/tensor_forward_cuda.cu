#include "npzoo/engine/memory.h"
#include "npzoo/ops/masked_attention/tensor_cores.h"
#include "npzoo/ops/masked_attention/tensor_tiles.h"

namespace npzoo {

namespace {

/// Sizes that registers and shared memory allow.
template <class Format, int kWidth>
struct ForwardSizes {
  static constexpr bool kWide = std::is_same_v<Format, Tf32> && kWidth == 128;
  static constexpr int kTiles = kWidth <= 32 ? 2 : 1;  // of 16 queries, in a warp
  static constexpr int kWarps = kWidth <= 64 ? kMostWarps : 4;
  static constexpr int kBlocks = kWidth <= 64 ? 2 : 3;  // on a multiprocessor
  static constexpr int kKeys = kWide ? 32 : 64;         // of a tile
  static constexpr int kChunk = kWidth == 32 ? 16 : 32;
  static constexpr bool kInRegisters = !kWide;

  __host__ __device__ static constexpr std::size_t shared_bytes(int warps) {
    const std::size_t row = Tiles<Format, kWidth>::kRowBytes, queries = static_cast<std::size_t>(warps * 16 * kTiles);
    const std::size_t tiles = 4 * kKeys;
    return row * (kInRegisters ? max(queries, tiles) : queries + tiles) + 2 * kMostWarps * sizeof(int);
  }
};

/// The state of a warp's queries. A lane holds parts of rows `lane / 4` and `lane / 4 + 8` of each tile.
template <class Format, int kWidth>
struct WarpQueries {
  using Sizes = ForwardSizes<Format, kWidth>;
  using Element = typename Format::Element;
  static constexpr int kTiles = Sizes::kTiles, kPitch = Tiles<Format, kWidth>::kPitch, kChunk = Sizes::kChunk;

  LeftRows<Format, kWidth, Sizes::kInRegisters> queries[kTiles];
  float out[kTiles][kWidth / 8][4];
  float top[kTiles][2], total[kTiles][2];
  int visible[kTiles][2];

  __device__ void start(const AttentionForward<float>& p, int batch, int first, const Element* rows) {
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      queries[m].load(rows + m * 16 * kPitch);
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
        tensor_core::load_transposed_right(b, keys + n * 16 * kPitch + k * 16, kPitch);
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
      factor[m][h] = fast_exp2(top[m][h] - shift);
      same = same && top[m][h] == largest;
      top[m][h] = largest;
      float sum[2] = {};
#pragma unroll
      for (int j = 0; j < kChunk / 4; ++j) {
        float& score = scores[m][j / 2][2 * h + j % 2];
        score = fast_exp2(score - shift);
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

  __device__ void store(const AttentionForward<float>& p, int head, int first) {
    const std::int64_t batch = head / p.heads;
#pragma unroll
    for (int i = 0; i < 2 * kTiles; ++i) {
      const int m = i / 2, h = i % 2, query = first + m * 16 + h * 8 + lane_id() / 4;
      float sum = total[m][h];
      sum += __shfl_xor_sync(kAllLanes, sum, 1);
      sum += __shfl_xor_sync(kAllLanes, sum, 2);
      if (query >= p.queries) continue;
      const float factor = sum == 0 ? 0 : 1 / sum;
      float* row = p.out + ((batch * p.queries + query) * p.heads + head % p.heads) * p.width + lane_id() % 4 * 2;
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n)
        if (n * 8 < p.width) {
          row[n * 8] = out[m][n][2 * h] * factor;
          row[n * 8 + 1] = out[m][n][2 * h + 1] * factor;
        }
      if (p.log2_sum && lane_id() % 4 == 0) p.log2_sum[head * p.queries + query] = log2_of_sum(top[m][h], sum);
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
  WarpQueries<Format, kWidth> warp;
  warp.start(p, place.batch, place.warp_first, query_rows + warp_id() * kWarpRows * Tile::kPitch);
  __syncthreads();
  for_key_tiles<Tile, kKeys>(p, place, kWarpRows, segment_keys, vectors, tiles, odd, warp);
  p.out += place.segment * p.batch * p.queries * p.heads * p.width;
  if (p.log2_sum) p.log2_sum += place.segment * p.batch * p.heads * p.queries;
  warp.store(p, place.head, place.warp_first);
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
  if (!suits_tensor_cores(cuda, p)) return false;
  with_format_and_width(p.width, [&]<class Format, int kWidth>() { attend<Format, kWidth>(cuda, p); });
  return true;
}

}  // namespace npzoo
