#include "npzoo/ops/set_convolution/axis_weights.h"
#include "npzoo/ops/set_convolution/sorted_points.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kTileRows = 16, kTileColumns = 256;  // nodes that one thread sums at a time
constexpr std::int64_t kGrain = 1 << 12;                    // products: enough work for another thread
constexpr std::int64_t kPart = 256;                         // points that are summed in T

NodeRange common(const NodeRange& a, const NodeRange& b) { return {max(a.begin, b.begin), min(a.end, b.end)}; }

template <class T>
std::int64_t scale_count(const PointsAndGrid<T>& p) {
  return p.scale_of_each ? p.channels : 1;
}

/// Nodes of both axes: those of a tile, or those that a point reaches.
struct Window {
  NodeRange rows, columns;

  bool empty() const { return rows.begin >= rows.end || columns.begin >= columns.end; }
  std::int64_t height() const { return rows.end - rows.begin; }
  std::int64_t width() const { return columns.end - columns.begin; }
};

template <class T>
Window window_of(const PointsAndGrid<T>& p, const T* x, double reach) {
  const RegularGrid& grid = p.grid;
  return {grid.dims() == 1 ? NodeRange{0, 1} : nodes_within(grid.rows(), x[0], reach),
          nodes_within(grid.columns(), x[grid.dims() - 1], reach)};
}

/// The weights of both axes, for all points.
template <class T>
class GridWeights {
 public:
  explicit GridWeights(const PointsAndGrid<T>& p)
      : reach_(reach_of(p)),
        dims_(p.grid.dims()),
        scales_(scale_count(p)),
        memory_(static_cast<std::size_t>(elements(p)) * sizeof(T)),
        inverse_(reinterpret_cast<T*>(memory_.data())),
        rows_(p.grid.rows(), prepared(p), scales_, reach_, inverse_ + scales_),
        columns_(p.grid.columns(), inverse_, scales_, reach_,
                 inverse_ + scales_ + AxisWeights<T>::elements(p.grid.rows(), scales_, reach_)) {}

  double reach() const { return reach_; }
  /// 1 / (2 l²) of each scale.
  const T* inverse() const { return inverse_; }
  /// The weights of the columns of a window around x (dims).
  void columns(const Window& w, const T* x, T* weights) const { columns_(w.columns, x[dims_ - 1], weights); }
  /// Those of its rows: 1 if the grid has one axis.
  void rows(const Window& w, const T* x, T* weights) const {
    if (dims_ == 2) return rows_(w.rows, x[0], weights);
    for (std::int64_t s = 0; s < scales_; ++s) weights[s] = 1;
  }

 private:
  std::int64_t elements(const PointsAndGrid<T>& p) const {
    return scales_ + AxisWeights<T>::elements(p.grid.rows(), scales_, reach_) +
           AxisWeights<T>::elements(p.grid.columns(), scales_, reach_);
  }
  const T* prepared(const PointsAndGrid<T>& p) {
    for (std::int64_t s = 0; s < scales_; ++s) inverse_[s] = inverse_of_scale(p.scales[s]);
    return inverse_;
  }

  double reach_;
  int dims_;
  std::int64_t scales_;
  Buffer memory_;
  T* inverse_;
  AxisWeights<T> rows_, columns_;
};

/// Hands out the working memory of a thread, array by array.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t elements) : buffer_(static_cast<std::size_t>(elements) * sizeof(T)) {
    next_ = reinterpret_cast<T*>(buffer_.data());
  }
  T* take(std::int64_t elements) {
    T* taken = next_;
    next_ += elements;
    return taken;
  }

 private:
  Buffer buffer_;
  T* next_;
};

/// Computes values · column weights (columns, channels).
template <class T>
void spread(const PointsAndGrid<T>& p, const T* values, const T* weights, std::int64_t columns, T* out) {
  for (std::int64_t j = 0; j < columns; ++j, out += p.channels) {
    const T* w = weights + (p.scale_of_each ? j * p.channels : j);
    if (p.scale_of_each)
      for (std::int64_t c = 0; c < p.channels; ++c) out[c] = w[c] * values[c];
    else
      for (std::int64_t c = 0; c < p.channels; ++c) out[c] = *w * values[c];
  }
}

/// to += row weight · from, both (columns, channels).
template <class T>
void add_row(const PointsAndGrid<T>& p, const T* weight, const T* from, std::int64_t columns, T* to) {
  const std::int64_t width = columns * p.channels;
  if (p.grid.dims() == 1) {
    for_row<T>(width, [&](auto get, auto put) { put(to, get(to) + get(from)); });
  } else if (!p.scale_of_each) {
    for_row<T>(width, [&](auto get, auto put) { put(to, get(to) + splat<T>(*weight) * get(from)); });
  } else {
    for (std::int64_t j = 0; j < columns; ++j, to += p.channels, from += p.channels)
      for (std::int64_t c = 0; c < p.channels; ++c) to[c] += weight[c] * from[c];
  }
}

/// Sums over points at the nodes of a tile: kPart points are summed in T, and these sums in double, so that a long sum
/// loses no more digits than a short one.
template <class T>
class TileSums {
 public:
  TileSums(const Window& tile, std::int64_t channels)
      : tile_(tile),
        row_(tile.width() * channels),
        channels_(channels),
        part_memory_(static_cast<std::size_t>(tile.height() * row_) * sizeof(T)),
        part_(reinterpret_cast<T*>(part_memory_.data())) {
    clear();
  }

  /// The place of a node of the grid, where the weighted values of a point are to be added.
  T* node(std::int64_t i, std::int64_t j) const {
    return part_ + (i - tile_.rows.begin) * row_ + (j - tile_.columns.begin) * channels_;
  }
  /// To be called after each point.
  void end_point() {
    if (++points_ < kPart) return;
    add_part();
    clear();
  }
  /// Writes the sums to the tile's nodes, whose first is `nodes`; the rows of the grid are `stride` elements apart.
  void store(T* nodes, std::int64_t stride) {
    if (totals_) add_part();
    for (std::int64_t i = 0; i < tile_.height(); ++i)
      for (std::int64_t k = 0; k < row_; ++k)
        nodes[i * stride + k] = totals_ ? static_cast<T>(totals_[i * row_ + k]) : part_[i * row_ + k];
  }

 private:
  std::int64_t size() const { return tile_.height() * row_; }
  void clear() {
    points_ = 0;
    for_row<T>(size(), [&](auto, auto put) { put(part_, Vec<T>{}); });
  }
  void add_part() {
    const bool first = !totals_;
    if (first) {
      total_memory_ = Buffer(static_cast<std::size_t>(size()) * sizeof(double));
      totals_ = reinterpret_cast<double*>(total_memory_.data());
    }
    for (std::int64_t k = 0; k < size(); ++k) totals_[k] = static_cast<double>(part_[k]) + (first ? 0 : totals_[k]);
  }

  Window tile_;
  std::int64_t row_, channels_, points_ = 0;
  Buffer part_memory_, total_memory_;
  T* part_;
  double* totals_ = nullptr;  // none while there was one part only
};

template <class T>
void fill_tile(const PointsToGrid<T>& p, const GridWeights<T>& weigh, const SortedPoints& points, std::int64_t b,
               const Window& tile) {
  const PointsAndGrid<T>& at = p.at;
  const GridAxis& columns = at.grid.columns();
  const std::int64_t scales = scale_count(at), channels = at.channels;
  Scratch<T> scratch(scales * (tile.height() + tile.width()) + tile.width() * channels);
  T *row_weights = scratch.take(tile.height() * scales), *weights = scratch.take(tile.width() * scales),
    *row = scratch.take(tile.width() * channels);
  const double reach = weigh.reach();
  TileSums<T> sums(tile, channels);
  points.for_near(b, tile.rows, tile.columns, reach, [&](std::int64_t n) {
    const T* x = at.x + n * at.grid.dims();
    const Window all = window_of(at, x, reach), w{common(all.rows, tile.rows), common(all.columns, tile.columns)};
    if (w.empty()) return;
    weigh.rows(w, x, row_weights);
    weigh.columns(w, x, weights);
    spread(at, p.values + n * channels, weights, w.width(), row);
    for (std::int64_t i = 0; i < w.height(); ++i)
      add_row(at, row_weights + i * scales, row, w.width(), sums.node(w.rows.begin + i, w.columns.begin));
    sums.end_point();
  });
  const std::int64_t first = b * at.grid.nodes() + tile.rows.begin * columns.count + tile.columns.begin;
  sums.store(p.nodes + first * channels, columns.count * channels);
}

/// Arrays for the sums over the nodes around a point.
template <class T>
struct PointScratch {
  const GridWeights<T>& weigh;
  T *row_weights, *weights, *squares, *sums, *row_moments, *of_channels;

  PointScratch(const PointsAndGrid<T>& p, const GridWeights<T>& grid_weights, Scratch<T>& s) : weigh(grid_weights) {
    const std::int64_t rows = p.grid.rows().count, columns = p.grid.columns().count, scales = scale_count(p);
    row_weights = s.take(rows * scales);
    weights = s.take(columns * scales);
    squares = s.take(columns);
    sums = s.take(columns * p.channels);
    row_moments = s.take(columns * p.channels);
    of_channels = s.take(p.channels);
  }
  static std::int64_t elements(const PointsAndGrid<T>& p) {
    const std::int64_t rows = p.grid.rows().count, columns = p.grid.columns().count;
    return scale_count(p) * (rows + columns) + columns * (1 + 2 * p.channels) + p.channels;
  }
};

double squared_distance(double x, const GridAxis& axis, std::int64_t i) {
  const double d = x - axis.node(i);
  return d * d;
}

/// Sums over the rows of a window. Writes Σ weight · nodes to s.sums and, if `moments`, Σ weight · of_row(row) · nodes
/// to s.row_moments.
template <class T, class F>
void sum_rows(const PointsAndGrid<T>& p, const T* nodes, const Window& w, const PointScratch<T>& s, bool moments,
              const F& of_row) {
  for (T* to : {s.sums, s.row_moments}) for_row<T>(w.width() * p.channels, [&](auto, auto put) { put(to, Vec<T>{}); });
  for (std::int64_t i = 0; i < w.height(); ++i) {
    const T* from = nodes + (w.rows.begin + i) * p.grid.columns().count * p.channels;
    T* weight = s.row_weights + i * scale_count(p);
    add_row(p, weight, from, w.width(), s.sums);
    if (!moments) continue;
    const T factor = static_cast<T>(of_row(w.rows.begin + i));
    for (std::int64_t k = 0; k < scale_count(p); ++k) weight[k] *= factor;
    add_row(p, weight, from, w.width(), s.row_moments);
  }
}

/// Sums over the columns of a window, in some registers of channels from `c` on; see sum_columns.
template <class T, int registers>
void sum_channels(const PointsAndGrid<T>& p, const T* sums, const T* row_moments, const PointScratch<T>& s,
                  std::int64_t columns, std::int64_t c, T* values, T* moments) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  Vec<T> value[registers]{}, moment[registers]{};
  const auto part = [&](const T* from, std::int64_t j, int r) __attribute__((always_inline)) {
    const T* at = from + j * p.channels + c + r * kLanes;
    return registers > 1 ? load(at) : load_up_to(at, p.channels - c);
  };
  for (std::int64_t j = 0; j < columns; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < registers; ++r) {
      const Vec<T> weight = p.scale_of_each ? part(s.weights, j, r) : splat<T>(s.weights[j]), term = part(sums, j, r);
      value[r] += weight * term;
      if (!moments) continue;
      Vec<T> of_moment = splat<T>(s.squares[j]) * term;
      if (row_moments) of_moment += part(row_moments, j, r);
      moment[r] += weight * of_moment;
    }
  for (int r = 0; r < registers; ++r) {
    const std::int64_t at = c + r * kLanes;
    if (values) store_up_to(values + at, value[r], p.channels - at);
    if (moments) store_up_to(moments + at, moment[r], p.channels - at);
  }
}

/// Sums over the columns of a window. Writes Σ weight · sums to `values` and Σ weight · (d² · sums + row moments) to
/// `moments`, unless they are null. `s.squares` holds d².
template <class T>
void sum_columns(const PointsAndGrid<T>& p, const T* sums, const T* row_moments, const PointScratch<T>& s,
                 std::int64_t columns, T* values, T* moments) {
  constexpr int kRegisters = 4;  // whole lines of memory
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  std::int64_t c = 0;
  for (; c + kRegisters * kLanes <= p.channels; c += kRegisters * kLanes)
    sum_channels<T, kRegisters>(p, sums, row_moments, s, columns, c, values, moments);
  for (; c < p.channels; c += kLanes) sum_channels<T, 1>(p, sums, row_moments, s, columns, c, values, moments);
}

template <class T>
void sum_around(const GridToPoints<T>& p, std::int64_t n, double reach, const PointScratch<T>& s) {
  const PointsAndGrid<T>& at = p.at;
  const std::int64_t channels = at.channels, b = n / at.points;
  T *values = p.values ? p.values + n * channels : nullptr, *moments = p.moments ? p.moments + n * channels : nullptr;
  const T* x = at.x + n * at.grid.dims();
  const GridAxis &row_axis = at.grid.rows(), &axis = at.grid.columns();
  Window w{};
  if (!at.lengths || n % at.points < at.lengths[b]) w = window_of(at, x, reach);
  if (w.empty()) return sum_columns(at, s.sums, s.row_moments, s, 0, values, moments);
  const double place = x[at.grid.dims() - 1];
  s.weigh.columns(w, x, s.weights);
  for (std::int64_t j = 0; moments && j < w.width(); ++j)
    s.squares[j] = static_cast<T>(squared_distance(place, axis, w.columns.begin + j));
  const T* nodes = p.nodes + b * at.grid.nodes() * channels + w.columns.begin * channels;
  if (at.grid.dims() == 1) return sum_columns<T>(at, nodes, nullptr, s, w.width(), values, moments);
  s.weigh.rows(w, x, s.row_weights);
  sum_rows(at, nodes, w, s, moments != nullptr, [&](std::int64_t i) { return squared_distance(x[0], row_axis, i); });
  sum_columns<T>(at, s.sums, s.row_moments, s, w.width(), values, moments);
}

/// Computes the gradient with respect to each input of point n. Here `squares` holds distances, not their squares.
template <class T>
void slopes_around(const PlaceSlopes<T>& p, std::int64_t n, double reach, const PointScratch<T>& s) {
  const PointsAndGrid<T>& at = p.at;
  const std::int64_t channels = at.channels, dims = at.grid.dims(), b = n / at.points;
  const T *x = at.x + n * dims, *factors = p.factors + n * channels;
  T* d_x = p.d_x + n * dims;
  for (std::int64_t i = 0; i < dims; ++i) d_x[i] = 0;
  if (at.lengths && n % at.points >= at.lengths[b]) return;
  const Window w = window_of(at, x, reach);
  if (w.empty()) return;
  const GridAxis &row_axis = at.grid.rows(), &axis = at.grid.columns();
  const double place = x[dims - 1];
  s.weigh.columns(w, x, s.weights);
  for (std::int64_t j = 0; j < w.width(); ++j) s.squares[j] = static_cast<T>(axis.node(w.columns.begin + j) - place);
  const auto of_channels = [&] {
    T sum = 0;
    for (std::int64_t c = 0; c < channels; ++c)
      sum += factors[c] * s.of_channels[c] * 2 * s.weigh.inverse()[at.scale_of_each ? c : 0];
    return sum;
  };
  const T *nodes = p.nodes + (b * at.grid.nodes() + w.columns.begin) * channels, *sums = nodes;
  if (dims == 2) {
    s.weigh.rows(w, x, s.row_weights);
    sum_rows(at, nodes, w, s, true, [&](std::int64_t i) { return row_axis.node(i) - static_cast<double>(x[0]); });
    sum_columns<T>(at, s.row_moments, nullptr, s, w.width(), s.of_channels, nullptr);
    d_x[0] = of_channels();
    sums = s.sums;
  }
  sum_columns<T>(at, sums, nullptr, s, w.width(), nullptr, s.of_channels);
  d_x[dims - 1] = of_channels();
}

/// Calls f(point, reach, arrays) for each point; `arrays` belong to the thread.
template <class T, class Cpu, class F>
void for_points(Cpu& cpu, const PointsAndGrid<T>& at, const F& f) {
  const std::int64_t products = at.grid.nodes() * at.channels;
  const GridWeights<T> weigh(at);
  cpu.parallel_for(at.batch * at.points, kGrain / (products + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch(PointScratch<T>::elements(at));
    const PointScratch<T> arrays(at, weigh, scratch);
    for (std::int64_t n = begin; n < end; ++n) f(n, weigh.reach(), arrays);
  });
}

}  // namespace

template <class T>
void points_to_grid(Cpu& cpu, const PointsToGrid<T>& p) {
  const GridAxis &rows = p.at.grid.rows(), &columns = p.at.grid.columns();
  const GridTiles tiles(p.at.grid, kTileRows, kTileColumns);
  const SortedPoints points(cpu, p.at, tiles);
  const GridWeights<T> weigh(p.at);
  const std::int64_t wide = tiles.wide(), count = tiles.high() * wide;
  cpu.parallel_for(p.at.batch * count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t tile = begin; tile < end; ++tile) {
      const std::int64_t i = tile % count / wide * kTileRows, j = tile % wide * kTileColumns;
      fill_tile(p, weigh, points, tile / count,
                {{i, min(i + kTileRows, rows.count)}, {j, min(j + kTileColumns, columns.count)}});
    }
  });
}

template <class T>
void grid_to_points(Cpu& cpu, const GridToPoints<T>& p) {
  for_points(cpu, p.at, [&](std::int64_t n, double reach, const PointScratch<T>& s) { sum_around(p, n, reach, s); });
}

template <class T>
void place_slopes(Cpu& cpu, const PlaceSlopes<T>& p) {
  for_points(cpu, p.at, [&](std::int64_t n, double reach, const PointScratch<T>& s) { slopes_around(p, n, reach, s); });
}

NPZOO_INSTANTIATE(points_to_grid, PointsToGrid);
NPZOO_INSTANTIATE(grid_to_points, GridToPoints);
NPZOO_INSTANTIATE(place_slopes, PlaceSlopes);

}  // namespace npzoo
