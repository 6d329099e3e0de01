#include "npzoo/engine/cuda/pack.h"
#include "npzoo/ops/gather/kernels.h"

namespace npzoo {

namespace {

template <int size, class T>
void copy_packs(Cuda& cuda, const GatherForward<T>& p) {
  const std::int64_t packs = p.width / size;
  for_each(cuda, "gather", p.batch * p.picks * packs, [p, packs] __device__(std::int64_t i) {
    const std::int64_t row = i / packs, column = (i - row * packs) * size;
    const std::int64_t point = row / p.picks * p.points + p.index[row];
    store(p.out + row * p.width + column, load<size>(p.x + point * p.width + column));
  });
}

constexpr int kWarps = 8, kThreads = kWarps * kWarp;
constexpr int kTile = 64;                     // points of a block
constexpr int kSegment = 4 * kWarp;           // picks that a warp searches for these points at a time
constexpr int kSearched = kWarps * kSegment;  // picks that the block searches at a time
constexpr int kColumns = 4;                   // of a lane

/// Picks of the block's points among kSearched consecutive picks. Each segment has `count` hits, in the order of the
/// picks. A hit is (index of the point in the tile) · kSearched + (index of the pick).
struct Hits {
  int hit[kSearched];
  int count[kWarps];
};

/// Searches the segment of this warp. `index` points to the first of the kSearched picks.
__device__ void find_hits(const std::int64_t* index, std::int64_t picks, std::int64_t first_point, Hits& hits) {
  int* segment = hits.hit + warp_id() * kSegment;
  int count = 0;
  for (int i = lane_id(); i < kSegment; i += kWarp) {
    const int pick = warp_id() * kSegment + i;
    const std::int64_t place = pick < picks ? index[pick] - first_point : -1;
    const bool is_hit = 0 <= place && place < kTile;
    const unsigned found = __ballot_sync(kAllLanes, is_hit);
    if (is_hit) segment[count + __popc(found & ((1u << lane_id()) - 1))] = static_cast<int>(place) * kSearched + pick;
    count += __popc(found);
  }
  if (lane_id() == 0) hits.count[warp_id()] = count;
}

/// Sums the gradient of one point, a few columns in each lane, and stores it before it starts with the next point.
template <class T>
struct PointSum {
  T* d_x;  // of the tile, from the first column on
  std::int64_t width, columns;
  int place = -1;
  T sum[kColumns] = {};

  template <class F>
  __device__ void for_columns(const F& f) {
    for (int k = 0; k < kColumns; ++k)
      if (const int column = k * kWarp + lane_id(); column < columns) f(sum[k], column);
  }
  __device__ void finish() {
    if (place >= 0) for_columns([this](T& s, int column) { d_x[place * width + column] = s; });
  }
  __device__ void add(int to, const T* d_out) {
    if (to != place) {
      finish();
      place = to;
      for_columns([this](T& s, int column) { s = d_x[place * width + column]; });
    }
    for_columns([d_out](T& s, int column) { s += d_out[column]; });
  }
};

/// Adds the hits to the gradients. Each warp takes every eighth point of the tile. `d_out` belongs to the first pick.
template <class T>
__device__ void add_hits(const Hits& hits, const T* d_out, PointSum<T> sum) {
  for (int segment = 0; segment < kWarps; ++segment) {
    const int count = hits.count[segment];
    for (int first = 0; first < count; first += kWarp) {
      const int i = first + lane_id(), hit = i < count ? hits.hit[segment * kSegment + i] : -1;
      unsigned mine = __ballot_sync(kAllLanes, hit >= 0 && hit / kSearched % kWarps == warp_id());
      for (; mine != 0; mine &= mine - 1) {
        const int next = __shfl_sync(kAllLanes, hit, __ffs(mine) - 1);
        sum.add(next / kSearched, d_out + next % kSearched * sum.width);
      }
    }
  }
  sum.finish();
}

/// A block owns the points of a tile: grid (batch · tiles). It adds gradients in the order of the picks.
template <class T>
__global__ void __launch_bounds__(kThreads) add_picks(GatherBackward<T> p) {
  Hits& hits = *shared_memory<Hits>();
  const std::int64_t tiles = divide_up(p.points, kTile), b = blockIdx.x / tiles;
  const std::int64_t first_point = blockIdx.x % tiles * kTile,
                     points = min(std::int64_t{kTile}, p.points - first_point);
  T* d_x = p.d_x + (b * p.points + first_point) * p.width;
  if (!p.accumulate)
    for (std::int64_t i = threadIdx.x; i < points * p.width; i += kThreads) d_x[i] = 0;
  for (std::int64_t pick = 0; pick < p.picks; pick += kSearched) {
    __syncthreads();
    find_hits(p.index + b * p.picks + pick, p.picks - pick, first_point, hits);
    __syncthreads();
    const T* d_out = p.d_out + (b * p.picks + pick) * p.width;
    for (std::int64_t column = 0; column < p.width; column += kColumns * kWarp)
      add_hits(hits, d_out + column, PointSum<T>{d_x + column, p.width, p.width - column});
  }
}

}  // namespace

template <class T>
void gather_forward(Cuda& cuda, const GatherForward<T>& p) {
  const bool packed = starts_packs(p.x, p.out) && whole_packs<T>(p.width);
  packed ? copy_packs<kPack<T>>(cuda, p) : copy_packs<1>(cuda, p);
}

template <class T>
void gather_backward(Cuda& cuda, const GatherBackward<T>& p) {
  launch(cuda, "gather_backward", add_picks<T>, p.batch * divide_up(p.points, kTile), kThreads, sizeof(Hits), p);
}

NPZOO_INSTANTIATE(gather_forward, GatherForward);
NPZOO_INSTANTIATE(gather_backward, GatherBackward);

}  // namespace npzoo
