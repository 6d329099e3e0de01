#include "npzoo/engine/memory.h"
#include "npzoo/ops/random_feature_attention/sum_points.h"

namespace npzoo {

namespace {

constexpr int kMergeThreads = 256, kMergeColumns = kWarp, kMergeLanes = kMergeThreads / kMergeColumns;

/// The segments' largest shift, in every thread; `stride` from one segment to the next.
template <class T>
__device__ T largest_shift(const T* shifts, std::int64_t segments, std::int64_t tiles, std::int64_t stride, T* memory) {
  T high = -infinity<T>();
  for (std::int64_t i = threadIdx.x; i < segments * tiles; i += kMergeThreads)
    high = larger(shifts[i / tiles * stride + i % tiles], high);
  high = warp_max(high);
  if (lane_id() == 0) memory[warp_id()] = high;
  __syncthreads();
  for (int warp = 0; warp < kMergeThreads / kWarp; ++warp) high = larger(memory[warp], high);
  return high;
}

/// Grid: batch · heads · tiles of kMergeColumns sums.
template <class T>
__global__ void __launch_bounds__(kMergeThreads)
    merge_segments(PointSums<T> p, std::int64_t segments, T* sums, T* shifts) {
  auto* lanes = shared_memory<double>();  // (lanes, columns)
  const std::int64_t size = p.map.features * (p.map.value_width + 1), columns = divide_up(size, kMergeColumns),
                     tiles = divide_up(p.map.features, kTile), units = p.map.batch * p.map.heads,
                     unit = blockIdx.x / columns, i = blockIdx.x % columns * kMergeColumns + lane_id();
  const T* from = p.shifts + unit * tiles;
  const T shift = largest_shift(from, segments, tiles, units * tiles, reinterpret_cast<T*>(lanes + kMergeThreads));
  double sum = 0;
  for (std::int64_t s = warp_id(); s < segments && i < size; s += kMergeLanes) {
    const T own = from[s * units * tiles + i / (p.map.value_width + 1) / kTile];
    if (own == -infinity<T>()) continue;
    const double factor = own == shift ? 1.0 : exponential(static_cast<double>(own) - static_cast<double>(shift));
    sum += factor * static_cast<double>(p.sums[(s * units + unit) * size + i]);
  }
  lanes[threadIdx.x] = sum;
  __syncthreads();
  if (warp_id() > 0) return;
  for (int lane = 1; lane < kMergeLanes; ++lane) sum += lanes[lane * kMergeColumns + lane_id()];
  if (i < size) sums[unit * size + i] = static_cast<T>(static_cast<double>(p.map.normaliser) * sum);
  if (i == 0) shifts[unit] = shift;
}

/// Exponents become features, which go to memory.features.
template <class T>
__device__ void backward_features(const FeatureMap<T>& map, T shift, int features, int points, Fragment<T>& e,
                                  const Memory<T>& memory) {
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j)
      e[i][j] = row_of(i) < features && point_of(j) < points ? exponential(e[i][j] - shift) * map.normaliser : T(0);
  store(e, memory);
}

/// From products with values to gradients of the exponents, which are added to `totals`; `last` is the last column of
/// d_sums.
template <class T>
__device__ void exponent_gradients(const T* last, std::int64_t stride, int features, const Memory<T>& memory,
                                   Fragment<T>& gradients, T* totals) {
  for (int i = 0; i < kRows; ++i) {
    const T d_sum = row_of(i) < features ? last[row_of(i) * stride] : T(0);
    const Four<T> feature = four(memory.features + row_of(i) * kStride + point_of(0));
    for (int j = 0; j < kColumns; ++j) totals[j] += gradients[i][j] = feature.x[j] * (gradients[i][j] + d_sum);
  }
}

/// Grid of a Place.
template <class T>
__global__ void __launch_bounds__(kThreads, kBackwardBlocks<T>) key_gradients(SummariseKeysBackward<T> p, int bits) {
  const Memory<T> memory;
  const FeatureMap<T>& map = p.map;
  const Place at(map, max(map.width, map.value_width), bits);
  const std::int64_t seen = p.mask.visible(at.batch, 0, map.points) - at.first, stride = map.value_width + 1;
  const int points = static_cast<int>(max(std::int64_t{0}, min(std::int64_t{at.points}, seen)));
  Rows<T> keys = at.rows(map, p.k, map.width), values = at.rows(map, p.v, map.value_width);
  keys.count = values.count = points;
  Fragment<T> d_keys = {}, d_values = {}, e;
  T totals[kColumns] = {};
  for (std::int64_t first = 0; first < map.features && points > 0; first += kTile) {
    const int features = tile_length(first, map.features);
    const T* d_sums = p.d_sums + (at.unit * map.features + first) * stride;
    const Rows<T> d_rows{d_sums, stride, features};
    __syncthreads();
    stage(d_rows.from(at.column), map.value_width - at.column, bits, memory.operand);
    exponents(map, first, keys, false, memory, e);
    backward_features(map, p.shift[at.unit], features, points, e, memory);
    __syncthreads();
    multiply_features(memory, bits, d_values);
    product<T>(d_rows, values, map.value_width, memory, e, nullptr);
    exponent_gradients(d_sums + map.value_width, stride, features, memory, e, totals);
    __syncthreads();
    store(e, memory);
    stage(Rows<T>{map.projection + first * map.width + at.column, map.width, features}, map.width - at.column, bits,
          memory.operand);
    __syncthreads();
    multiply_features(memory, bits, d_keys);
  }
  for (int j = 0; j < kColumns; ++j) {
    totals[j] = sum_of_lanes(totals[j]);
    if (lane_id() < kColumns) memory.points[point_of(j)] = totals[j];
  }
  T *d_v = p.d_v + at.offset(map, map.value_width), *d_k = p.d_k + at.offset(map, map.width);
  combine(d_values, memory, bits, [&](int point, int column, T sum) {
    const std::int64_t c = at.column + column;
    if (point < at.points && c < map.value_width) d_v[point * values.stride + c] = point < points ? sum : T(0);
  });
  combine(d_keys, memory, bits, [&](int point, int column, T sum) {
    const std::int64_t c = at.column + column;
    if (point >= at.points || c >= map.width) return;
    const T x = point < points ? keys.at[point * keys.stride + c] : T(0);
    d_k[point * keys.stride + c] = point < points ? map.root_scale * sum - map.scale * x * memory.points[point] : T(0);
  });
}

}  // namespace

template <class T>
void summarise_keys_forward(Cuda& cuda, const SummariseKeysForward<T>& p) {
  const FeatureMap<T>& map = p.map;
  const int bits = column_bits(map.value_width);
  const std::int64_t length = segment_length(cuda, map, bits),
                     segments = max(std::int64_t{1}, divide_up(map.points, length)), units = map.batch * map.heads,
                     size = map.features * (map.value_width + 1), tiles = divide_up(map.features, kTile);
  const Buffer sums(static_cast<std::size_t>(segments * units * size) * sizeof(T), Device::cuda),
      shifts(static_cast<std::size_t>(segments * units * tiles) * sizeof(T), Device::cuda);
  const PointSums<T> partial{.map = map,
                             .mask = p.mask,
                             .x = p.k,
                             .values = p.v,
                             .summary_shift = nullptr,
                             .totals = {},
                             .bits = bits,
                             .length = length,
                             .sums = reinterpret_cast<T*>(sums.data()),
                             .shifts = reinterpret_cast<T*>(shifts.data())};
  launch_sum_points<T, false>(cuda, "summarise_keys", partial, segments);
  launch(cuda, "summarise_keys, merge", merge_segments<T>, units * divide_up(size, kMergeColumns), kMergeThreads,
         (kMergeThreads + kMergeThreads / kWarp) * sizeof(double), partial, segments, p.sums, p.shift);
}

template <class T>
void summarise_keys_backward(Cuda& cuda, const SummariseKeysBackward<T>& p) {
  const std::int64_t width = max(p.map.width, p.map.value_width);
  const int bits = column_bits(width);
  launch(cuda, "summarise_keys, backward", key_gradients<T>, place_blocks(p.map, width, bits), kThreads,
         Memory<T>::bytes(bits), p, bits);
}

template <class T>
void merge_shifts(Cuda& cuda, const MergeShifts<T>& p) {
  for_each(cuda, "merge_shifts", p.n, [p] __device__(std::int64_t i) {
    const T a = p.a[i], b = p.b[i], high = larger(a, b);
    p.larger[i] = high;
    p.factor_a[i] = a == -infinity<T>() ? T(0) : exponential(a - high);
    p.factor_b[i] = b == -infinity<T>() ? T(0) : exponential(b - high);
  });
}

NPZOO_INSTANTIATE(summarise_keys_forward, SummariseKeysForward);
NPZOO_INSTANTIATE(summarise_keys_backward, SummariseKeysBackward);
NPZOO_INSTANTIATE(merge_shifts, MergeShifts);

}  // namespace npzoo
