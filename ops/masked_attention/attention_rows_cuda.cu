#include "npzoo/engine/cuda/column_sums.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/masked_attention/distance_cuda.h"
#include "npzoo/ops/masked_attention/tensor_cores.h"

// Attention by a warp a row, for all that tensor cores do not take: double, heads of any width, every score, biases and
// scans. Points of the other side pass through shared memory, a warp's worth at a time. A lane multiplies the row with
// one of them; then it sums some channels of all of them. Sums of each load begin at zero and are added up in double.

namespace npzoo {

namespace {

constexpr double kLog2E = 1.44269504088896340736;
constexpr int kMostRowWarps = 8;  // of a block; its rows are of one head
constexpr int kSets = 4;          // channels that a lane sums
constexpr int kBlockChannels = kSets * kWarp;

/// The points of one head in an array of (batch, points, heads · width).
template <class T>
struct HeadPoints {
  __device__ HeadPoints(T* array, std::int64_t points, std::int64_t heads, std::int64_t width_of_one, std::int64_t unit)
      : first(array + (unit / heads * points * heads + unit % heads) * width_of_one),
        stride(heads * width_of_one),
        width(static_cast<int>(width_of_one)) {}

  __device__ T* operator[](std::int64_t point) const { return first + point * stride; }

  T* first;
  std::int64_t stride;
  int width;
};

/// The row of a warp. Blocks of rows come first in the grid, then heads. The grid may have more warps than rows.
struct OwnRow {
  __device__ explicit OwnRow(std::int64_t points)
      : block_rows(static_cast<int>(blockDim.x) / kWarp),
        unit(blockIdx.x / divide_up(points, block_rows)),
        block_first(blockIdx.x % divide_up(points, block_rows) * block_rows),
        point(block_first + warp_id()),
        exists(point < points) {}

  int block_rows;
  std::int64_t unit, block_first, point;  // unit: batch element and head
  bool exists;
};

/// Shared memory of a block.
template <class T>
struct PointLoad {
  T points[kWarp][kWarp + 1];  // one column more, so that a column's elements are in different banks
  T own[kMostRowWarps][kWarp], weights[kMostRowWarps][kWarp];
};

/// Loads the channels [channel, channel + kWarp) of `count` points, and of the warp's own row unless it is null. All
/// threads of a block call it together.
template <class T>
__device__ PointLoad<T>& load(const HeadPoints<const T>& from, std::int64_t first, int count, int channel,
                              const T* own) {
  auto& to = *shared_memory<PointLoad<T>>();
  const int lane = lane_id();
  const bool there = channel + lane < from.width;
  __syncthreads();
  for (int i = warp_id(); i < kWarp; i += static_cast<int>(blockDim.x) / kWarp)
    to.points[i][lane] = there && i < count ? from[first + i][channel + lane] : T(0);
  to.own[warp_id()][lane] = there && own ? own[channel + lane] : T(0);
  __syncthreads();
  return to;
}

/// Returns Σ own · point for the lane's point, each times its factor first, or Σ |own − point|.
template <class T>
__device__ T product(const T* own, const HeadPoints<const T>& points, std::int64_t first, int count,
                     bool distance = false, T own_factor = 1, T point_factor = 1) {
  T sum = 0;
  for (int channel = 0; channel < points.width; channel += kWarp) {
    const PointLoad<T>& x = load(points, first, count, channel, own);
    const T *of_point = x.points[lane_id()], *of_own = x.own[warp_id()];
    const int channels = min(kWarp, points.width - channel);
    if (distance)
      for (int c = 0; c < channels; ++c) sum += absolute(of_point[c] - of_own[c]);
    else
      for (int c = 0; c < channels; ++c) sum += (of_own[c] * own_factor) * (of_point[c] * point_factor);
  }
  return sum;
}

/// The score of the warp's row and the lane's point, in units of log 2, without biases. Queries are multiplied with the
/// scale, as on the CPU: large scores then have the same roundings.
template <class T>
__device__ T score_of(const AttentionForward<T>& p, const T* own, const HeadPoints<const T>& points, std::int64_t first,
                      int count, bool own_query) {
  const auto factor = static_cast<T>(p.scale * kLog2E);
  if (p.score == AttentionScore::laplace) return -factor * product(own, points, first, count, true);
  return product(own, points, first, count, false, own_query ? factor : T(1), own_query ? T(1) : factor);
}

/// Sums of those channels of a row that a block of the grid's second axis computes.
template <class T>
struct ChannelSums {
  double of[kSets] = {};

  __device__ static int channel(int set) { return static_cast<int>(blockIdx.y) * kBlockChannels + set * kWarp; }
  __device__ void scale(double factor) {
    for (double& sum : of) sum *= factor;
  }
  /// Adds Σ weight · point of the points whose bit of `met` is set: others have weight 0, but may be NaN. Lane i holds
  /// the weight of point i. With `signs_from`, the signs of point − signs_from take the place of the points. All
  /// threads of a block call it together.
  __device__ void add(const HeadPoints<const T>& points, std::int64_t first, int count, T weight, unsigned met,
                      const T* signs_from) {
    T* weights = shared_memory<PointLoad<T>>()->weights[warp_id()];
    __syncwarp();
    weights[lane_id()] = weight;
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
      if (channel(set) >= points.width) continue;
      const PointLoad<T>& x = load(points, first, count, channel(set), signs_from);
      const T from = x.own[warp_id()][lane_id()];
      T sum = 0;
      for (int i = 0; i < count; ++i) {
        if (!(met >> i & 1)) continue;
        const T point = x.points[i][lane_id()];
        sum += weights[i] * (!signs_from ? point : point > from ? T(1) : point < from ? T(-1) : T(0));
      }
      of[set] += static_cast<double>(sum);
    }
  }
  __device__ void store(T* row, int width, double factor) const {
#pragma unroll
    for (int set = 0; set < kSets; ++set)
      if (channel(set) + lane_id() < width) row[channel(set) + lane_id()] = static_cast<T>(of[set] * factor);
  }
};

/// Returns how many of the `count` points from `first` on are among the first `visible`.
__device__ inline int visible_here(std::int64_t visible, std::int64_t first, int count) {
  return visible <= first ? 0 : static_cast<int>(min(visible - first, std::int64_t{count}));
}
__device__ inline unsigned first_bits(int count) { return count == 0 ? 0 : kAllLanes >> (kWarp - count); }

/// Keys that a warp's row sees, and those that some row of its block sees.
struct SeenKeys {
  template <class T>
  __device__ SeenKeys(const AttentionForward<T>& p, const OwnRow& row) {
    const std::int64_t batch = row.unit / p.heads, query = row.block_first + lane_id();
    const bool exists = lane_id() < row.block_rows && query < p.queries;
    const std::int64_t of_lane = exists ? p.mask.visible(batch, query, p.keys) : 0;
    of_row = __shfl_sync(kAllLanes, of_lane, warp_id());
    of_block = warp_max(of_lane);
  }

  std::int64_t of_row, of_block;
};

__device__ inline float larger(float a, float b) { return fmaxf(a, b); }
__device__ inline double larger(double a, double b) { return fmax(a, b); }

template <class T>
__global__ void __launch_bounds__(kMostRowWarps* kWarp) attend_row(AttentionForward<T> p) {
  const OwnRow row(p.queries);
  const SeenKeys visible(p, row);
  const HeadPoints<const T> queries(p.q, p.queries, p.heads, p.width, row.unit),
      keys(p.k, p.keys, p.heads, p.width, row.unit), values(p.v, p.keys, p.heads, p.value_width, row.unit);
  const T* q = row.exists ? queries[row.point] : nullptr;
  const bool scan = p.scan_chunk > 0;
  const std::int64_t chunk = scan ? p.scan_chunk : max(visible.of_block, std::int64_t{1});
  T top = scan ? static_cast<T>(kLeastTop * kLog2E) : -infinity<T>();
  double total = 0;
  ChannelSums<T> out;
  for (std::int64_t first = 0, step = 0; first < visible.of_block; first += step) {
    step = min(std::int64_t{kWarp}, min(visible.of_block, (first / chunk + 1) * chunk) - first);
    const int count = static_cast<int>(step), seen = visible_here(visible.of_row, first, count);
    T score = score_of(p, q, keys, first, count, true);
    if (p.biases.count > 0 && lane_id() < seen)
      score += static_cast<T>(kLog2E) * bias_of(p, row.unit, row.point, first + lane_id());
    if (lane_id() >= seen) score = -infinity<T>();
    const T before = top;
    top = larger(warp_max(score), top);
    const T shift = top == -infinity<T>() ? T(0) : top, weight = exponential2(score - shift);
    const auto factor = static_cast<double>(exponential2(before - shift));
    total = total * factor + static_cast<double>(warp_sum(weight));
    out.scale(factor);
    if (scan && seen > 0 && (first + seen) % chunk == 0) total += kScanEpsilon;
    out.add(values, first, count, weight, first_bits(seen), nullptr);
  }
  if (!row.exists) return;
  total += kScanEpsilon * static_cast<double>(chunks_behind(p, visible.of_row));
  out.store(HeadPoints<T>(p.out, p.queries, p.heads, p.value_width, row.unit)[row.point], values.width,
            total == 0 ? 0 : 1 / total);
  if (p.log2_sum && lane_id() == 0 && blockIdx.y == 0)
    p.log2_sum[row.unit * p.queries + row.point] = log2_of_sum(top, static_cast<T>(total));
}

/// The weight of a query and a key, from what a lane has multiplied, and the gradient of its score.
template <class T>
struct ScoredPair {
  T weight = 0, d_score = 0;

  __device__ ScoredPair() = default;
  __device__ ScoredPair(const AttentionForward<T>& p, std::int64_t unit, std::int64_t query, std::int64_t key, T score,
                        T d_weight, T mean) {
    const T log2_sum = p.log2_sum[unit * p.queries + query];
    if (p.biases.count > 0) score += static_cast<T>(kLog2E) * bias_of(p, unit, query, key);
    weight = exponential2(score - (log2_sum == -infinity<T>() ? infinity<T>() : log2_sum));
    d_score = weight * (d_weight - mean);
  }
};

/// d_q, and `means` (batch, heads, queries): Σ out · d_out less the gradient of the log-sum-exp. `bias_rows` is (batch,
/// queries, heads, columns of the biases): the gradients of their parameters from one row each; null if nobody needs
/// them.
template <class T>
__global__ void __launch_bounds__(kMostRowWarps* kWarp)
    row_query_gradient(AttentionBackward<T> b, T* means, T* bias_rows) {
  const AttentionForward<T>& p = b.forward;
  const OwnRow row(p.queries);
  const SeenKeys visible(p, row);
  const HeadPoints<const T> queries(p.q, p.queries, p.heads, p.width, row.unit),
      keys(p.k, p.keys, p.heads, p.width, row.unit), values(p.v, p.keys, p.heads, p.value_width, row.unit),
      outs(p.out, p.queries, p.heads, p.value_width, row.unit),
      d_outs(b.d_out, p.queries, p.heads, p.value_width, row.unit);
  const T *q = nullptr, *d_out = nullptr;
  T mean = 0, *slopes = nullptr;
  if (row.exists) {
    q = queries[row.point];
    d_out = d_outs[row.point];
    const T* out = outs[row.point];
    for (int c = 0; c < values.width; ++c) mean += d_out[c] * out[c];  // in the order of the products that it meets
    const std::int64_t at = row.unit * p.queries + row.point;
    if (b.d_log_sum) mean -= b.d_log_sum[at];
    if (lane_id() == 0 && blockIdx.y == 0) means[at] = mean;
    const std::int64_t columns = p.biases.columns();
    if (bias_rows && blockIdx.y == 0)
      slopes = bias_rows + ((row.unit / p.heads * p.queries + row.point) * p.heads + row.unit % p.heads) * columns;
    for (std::int64_t c = lane_id(); slopes && c < columns; c += kWarp) slopes[c] = 0;
    __syncwarp();
  }
  double total = 0;
  ChannelSums<T> d_q;
  for (std::int64_t first = 0; first < visible.of_block; first += kWarp) {
    const int count = visible_here(visible.of_block, first, kWarp), seen = visible_here(visible.of_row, first, count);
    const T score = score_of(p, q, keys, first, count, true), d_weight = product(d_out, values, first, count);
    ScoredPair<T> pair;
    if (lane_id() < seen) pair = ScoredPair<T>(p, row.unit, row.point, first + lane_id(), score, d_weight, mean);
    if (slopes) add_bias_slopes(p, row.unit, row.point, first + lane_id(), pair.d_score, slopes);
    total += static_cast<double>(warp_sum(pair.weight));
    d_q.add(keys, first, count, pair.d_score, first_bits(seen), p.score == AttentionScore::laplace ? q : nullptr);
  }
  // The weights of a softmax add up to 1 but for the rounding of the log-sum-exp, which they share: their sum removes
  // it.
  const double sum = p.scan_chunk > 0 ? 1 : total;
  if (row.exists)
    d_q.store(HeadPoints<T>(b.d_q, p.queries, p.heads, p.width, row.unit)[row.point], keys.width,
              sum == 0 ? 0 : p.scale / sum);
}

/// d_k and d_v.
template <class T>
__global__ void __launch_bounds__(kMostRowWarps* kWarp) row_key_gradient(AttentionBackward<T> b, const T* means) {
  const AttentionForward<T>& p = b.forward;
  const OwnRow row(p.keys);
  const HeadPoints<const T> queries(p.q, p.queries, p.heads, p.width, row.unit),
      keys(p.k, p.keys, p.heads, p.width, row.unit), values(p.v, p.keys, p.heads, p.value_width, row.unit),
      d_outs(b.d_out, p.queries, p.heads, p.value_width, row.unit);
  const T *k = row.exists ? keys[row.point] : nullptr, *v = row.exists ? values[row.point] : nullptr;
  ChannelSums<T> d_k, d_v;
  for (std::int64_t first = 0; first < p.queries; first += kWarp) {
    const int count = visible_here(p.queries, first, kWarp);
    const std::int64_t query = first + lane_id();
    const std::int64_t visible = lane_id() < count ? p.mask.visible(row.unit / p.heads, query, p.keys) : 0;
    if (warp_max(visible) <= row.block_first) continue;  // in all warps of the block
    const bool sees = row.exists && visible > row.point;
    const T score = score_of(p, k, queries, first, count, false), d_weight = product(v, d_outs, first, count);
    ScoredPair<T> pair;
    if (sees) pair = ScoredPair<T>(p, row.unit, query, row.point, score, d_weight, means[row.unit * p.queries + query]);
    const unsigned met = __ballot_sync(kAllLanes, sees);
    d_v.add(d_outs, first, count, pair.weight, met, nullptr);
    d_k.add(queries, first, count, pair.d_score, met, p.score == AttentionScore::laplace ? k : nullptr);
  }
  if (!row.exists) return;
  d_v.store(HeadPoints<T>(b.d_v, p.keys, p.heads, p.value_width, row.unit)[row.point], values.width, 1);
  d_k.store(HeadPoints<T>(b.d_k, p.keys, p.heads, p.width, row.unit)[row.point], keys.width, p.scale);
}

/// Starts a kernel for a warp a row of `points`, whose sums have `width` channels.
template <class T, class... Parameters, class... Arguments>
void launch_rows(Cuda& cuda, const char* name, void (*kernel)(Parameters...), const AttentionForward<T>& p,
                 std::int64_t points, std::int64_t width, const Arguments&... arguments) {
  int warps = 1;
  while (warps < kMostRowWarps && warps < points) warps *= 2;
  launch(cuda, name, kernel,
         {p.batch * p.heads * divide_up(points, warps), max(std::int64_t{1}, divide_up(width, kBlockChannels))},
         warps * kWarp, sizeof(PointLoad<T>), arguments...);
}

/// Visits rows of numbers, to add up their columns.
template <class T>
struct RowsToSum {
  const T* rows;
  std::int64_t width;

  __device__ T read(std::int64_t row, std::int64_t column) const { return rows[row * width + column]; }
  __device__ void add(std::int64_t, std::int64_t, T x, T (&sums)[1][1]) const { sums[0][0] += x; }
};

template <class T>
void row_gradients(Cuda& cuda, const AttentionBackward<T>& b) {
  const AttentionForward<T>& p = b.forward;
  const std::int64_t columns = b.d_biases ? p.heads * p.biases.columns() : 0, points = p.batch * p.queries;
  const Buffer mean_buffer(static_cast<std::size_t>(points * p.heads) * sizeof(T), Device::cuda),
      bias_buffer(static_cast<std::size_t>(points * columns) * sizeof(T), Device::cuda);
  auto* means = reinterpret_cast<T*>(mean_buffer.data());
  T* bias_rows = columns > 0 ? reinterpret_cast<T*>(bias_buffer.data()) : nullptr;
  launch_rows(cuda, "attention_rows_d_q", row_query_gradient<T>, p, p.queries, p.width, b, means, bias_rows);
  visit_and_sum<T, 1, 1>(cuda, "attention_d_biases", points, columns, RowsToSum<T>{bias_rows, columns},
                         ColumnSums<T, 1>{{b.d_biases}});
  launch_rows(cuda, "attention_rows_d_kv", row_key_gradient<T>, p, p.keys, max(p.width, p.value_width), b,
              static_cast<const T*>(means));
}

template <class T>
void clear(Cuda& cuda, std::int64_t n, T* x) {
  for_each(cuda, "clear_gradient", n, [x] __device__(std::int64_t i) { x[i] = 0; });
}

}  // namespace

template <class T>
void attention_forward(Cuda& cuda, const AttentionForward<T>& p) {
  if constexpr (std::is_same_v<T, float>)
    if (attention_forward_on_tensor_cores(cuda, p)) return;
  AttentionForward<T> simple = p;
  if (p.score == AttentionScore::uniform) simple.width = 0;  // without channels all products are 0
  launch_rows(cuda, "attention_rows", attend_row<T>, simple, p.queries, p.value_width, simple);
}

template <class T>
void attention_backward(Cuda& cuda, const AttentionBackward<T>& b) {
  if constexpr (std::is_same_v<T, float>)
    if (attention_backward_on_tensor_cores(cuda, b)) return;
  AttentionBackward<T> simple = b;
  AttentionForward<T>& p = simple.forward;
  if (p.score == AttentionScore::uniform) {
    clear(cuda, p.batch * p.queries * p.heads * p.width, b.d_q);
    clear(cuda, p.batch * p.keys * p.heads * p.width, b.d_k);
    p.width = 0;
  }
  row_gradients(cuda, simple);
}

NPZOO_INSTANTIATE(attention_forward, AttentionForward);
NPZOO_INSTANTIATE(attention_backward, AttentionBackward);

}  // namespace npzoo
