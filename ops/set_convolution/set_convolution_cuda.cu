#include "npzoo/ops/set_convolution/sorted_points_cuda.h"

namespace npzoo {

namespace {

constexpr int kChannels = 4;  // channels of a place that one thread computes
constexpr int kPart = 256;    // points that are summed in T

/// Channels [first, first + count) of one place.
struct Channels {
  std::int64_t first;
  int count;
};

template <class T>
__device__ Channels channels_of(const PointsAndGrid<T>& p, std::int64_t group) {
  const std::int64_t first = group * kChannels, rest = p.channels - first;
  return {first, rest < kChannels ? static_cast<int>(rest) : kChannels};
}

/// The length scales of some channels.
template <class T>
struct Weights {
  T inverse[kChannels];  // 1 / (2 l²)
  int scales;

  __device__ Weights(const PointsAndGrid<T>& p, const Channels& channels)
      : scales(p.scale_of_each ? channels.count : 1) {
    for (int s = 0; s < scales; ++s) inverse[s] = inverse_of_scale(p.scales[p.scale_of_each ? channels.first + s : 0]);
  }
  /// Computes the weight of each channel at a squared distance.
  __device__ void at(T squared, int channels, T (&weights)[kChannels]) const {
    for (int s = 0; s < scales; ++s) weights[s] = exponential(-squared * inverse[s]);
    for (int c = scales; c < channels; ++c) weights[c] = weights[0];
  }
};

/// Sums over points: kPart points are summed in T, and these sums in double, so that a long sum loses no more digits
/// than a short one.
template <class T>
class LongSums {
 public:
  /// Returns the sum of a channel so far in this part.
  __device__ T& operator[](int channel) { return part_[channel]; }
  /// To be called after each point.
  __device__ void end_point() {
    if (++points_ < kPart) return;
    for (int c = 0; c < kChannels; ++c) {
      totals_[c] += static_cast<double>(part_[c]);
      part_[c] = 0;
    }
    points_ = 0;
  }
  __device__ T total(int channel) const {
    return static_cast<T>(totals_[channel] + static_cast<double>(part_[channel]));
  }

 private:
  T part_[kChannels] = {};
  double totals_[kChannels] = {};
  int points_ = 0;
};

/// Sums over the points around a node, for some of its channels.
template <class T>
struct SumOverPoints {
  PointsToGrid<T> p;
  SortedPoints points;
  std::int64_t groups;

  __device__ void operator()(std::int64_t i) const {
    const PointsAndGrid<T>& at = p.at;
    const Channels channels = channels_of(at, i % groups);
    const std::int64_t place = i / groups, nodes = at.grid.nodes(), b = place / nodes, node = place - b * nodes;
    const GridAxis &rows = at.grid.rows(), &columns = at.grid.columns();
    const std::int64_t row = node / columns.count, column = node - row * columns.count;
    const double row_place = rows.node(row), column_place = columns.node(column), reach = reach_of(at);
    const Weights<T> scales(at, channels);
    LongSums<T> sums;
    points.for_near(at, b, row, column, reach, [&](std::int64_t n) {
      const T* x = at.x + n * at.grid.dims();
      const double across = x[at.grid.dims() - 1] - column_place, along = at.grid.dims() == 2 ? x[0] - row_place : 0;
      if (across > reach || across < -reach || along > reach || along < -reach) return;
      T weights[kChannels];
      scales.at(static_cast<T>(across * across + along * along), channels.count, weights);
      const T* values = p.values + n * at.channels + channels.first;
      for (int c = 0; c < channels.count; ++c) sums[c] += weights[c] * values[c];
      sums.end_point();
    });
    T* out = p.nodes + place * at.channels + channels.first;
    for (int c = 0; c < channels.count; ++c) out[c] = sums.total(c);
  }
};

/// Sums over the nodes around a point, for some of its channels.
template <class T>
struct SumOverNodes {
  GridToPoints<T> p;
  std::int64_t groups;

  __device__ void operator()(std::int64_t i) const {
    const PointsAndGrid<T>& at = p.at;
    const Channels channels = channels_of(at, i % groups);
    const std::int64_t n = i / groups, b = n / at.points;
    T values[kChannels] = {}, moments[kChannels] = {};
    if (!at.lengths || n - b * at.points < at.lengths[b]) add_nodes(n, b, channels, values, moments);
    const std::int64_t out = n * at.channels + channels.first;
    for (int c = 0; c < channels.count; ++c) {
      if (p.values) p.values[out + c] = values[c];
      if (p.moments) p.moments[out + c] = moments[c];
    }
  }

 private:
  __device__ void add_nodes(std::int64_t n, std::int64_t b, const Channels& channels, T (&values)[kChannels],
                            T (&moments)[kChannels]) const {
    const PointsAndGrid<T>& at = p.at;
    const T* x = at.x + n * at.grid.dims();
    const GridAxis &row_axis = at.grid.rows(), &column_axis = at.grid.columns();
    const double row_place = x[0], column_place = x[at.grid.dims() - 1], reach = reach_of(at);
    const NodeRange rows = at.grid.dims() == 2 ? nodes_within(row_axis, row_place, reach) : NodeRange{0, 1},
                    columns = nodes_within(column_axis, column_place, reach);
    const Weights<T> scales(at, channels);
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      const double along = at.grid.dims() == 2 ? row_place - row_axis.node(r) : 0;
      const T* nodes = p.nodes + (b * at.grid.nodes() + r * column_axis.count) * at.channels + channels.first;
      for (std::int64_t k = columns.begin; k < columns.end; ++k) {
        const double across = column_place - column_axis.node(k);
        const T squared = static_cast<T>(along * along + across * across);
        T weights[kChannels];
        scales.at(squared, channels.count, weights);
        for (int c = 0; c < channels.count; ++c) {
          const T term = weights[c] * nodes[k * at.channels + c];
          values[c] += term;
          moments[c] += term * squared;
        }
      }
    }
  }
};

/// Computes the slopes of a point along each input, summed over the channels.
template <class T>
struct SlopesOfPoint {
  PlaceSlopes<T> p;

  __device__ void operator()(std::int64_t n) const {
    const PointsAndGrid<T>& at = p.at;
    const std::int64_t b = n / at.points;
    T along = 0, across = 0;
    if (!at.lengths || n - b * at.points < at.lengths[b])
      for (std::int64_t group = 0; group * kChannels < at.channels; ++group)
        add_nodes(n, b, channels_of(at, group), along, across);
    if (at.grid.dims() == 2) p.d_x[2 * n] = along;
    p.d_x[(n + 1) * at.grid.dims() - 1] = across;
  }

 private:
  __device__ void add_nodes(std::int64_t n, std::int64_t b, const Channels& channels, T& along, T& across) const {
    const PointsAndGrid<T>& at = p.at;
    const T* x = at.x + n * at.grid.dims();
    const GridAxis &row_axis = at.grid.rows(), &column_axis = at.grid.columns();
    const double row_place = x[0], column_place = x[at.grid.dims() - 1], reach = reach_of(at);
    const NodeRange rows = at.grid.dims() == 2 ? nodes_within(row_axis, row_place, reach) : NodeRange{0, 1},
                    columns = nodes_within(column_axis, column_place, reach);
    const Weights<T> scales(at, channels);
    const T* factors = p.factors + n * at.channels + channels.first;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      const double down = at.grid.dims() == 2 ? row_axis.node(r) - row_place : 0;
      const T* nodes = p.nodes + (b * at.grid.nodes() + r * column_axis.count) * at.channels + channels.first;
      for (std::int64_t k = columns.begin; k < columns.end; ++k) {
        const double right = column_axis.node(k) - column_place;
        T weights[kChannels];
        scales.at(static_cast<T>(down * down + right * right), channels.count, weights);
        T sum = 0;
        for (int c = 0; c < channels.count; ++c)
          sum += factors[c] * 2 * scales.inverse[scales.scales > 1 ? c : 0] * weights[c] * nodes[k * at.channels + c];
        along += sum * static_cast<T>(down);
        across += sum * static_cast<T>(right);
      }
    }
  }
};

}  // namespace

template <class T>
void points_to_grid(Cuda& cuda, const PointsToGrid<T>& p) {
  const std::int64_t groups = divide_up(p.at.channels, kChannels);
  const PointSorter sorter(cuda, p.at);
  for_each(cuda, "points_to_grid", p.at.batch * p.at.grid.nodes() * groups,
           SumOverPoints<T>{p, sorter.sorted(), groups});
}

template <class T>
void grid_to_points(Cuda& cuda, const GridToPoints<T>& p) {
  const std::int64_t groups = divide_up(p.at.channels, kChannels);
  for_each(cuda, "grid_to_points", p.at.batch * p.at.points * groups, SumOverNodes<T>{p, groups});
}

template <class T>
void place_slopes(Cuda& cuda, const PlaceSlopes<T>& p) {
  for_each(cuda, "place_slopes", p.at.batch * p.at.points, SlopesOfPoint<T>{p});
}

NPZOO_INSTANTIATE(points_to_grid, PointsToGrid);
NPZOO_INSTANTIATE(grid_to_points, GridToPoints);
NPZOO_INSTANTIATE(place_slopes, PlaceSlopes);

}  // namespace npzoo
