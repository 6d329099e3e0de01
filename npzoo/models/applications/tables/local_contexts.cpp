#include "npzoo/models/applications/tables/local_contexts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nanoflann.hpp>
#include <numeric>

#include "npzoo/datasets/tables/outliers.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

/// Maps a column to (x − low) / extent, by halves and clamped, so that neither extents nor squared distances overflow.
struct ColumnScale {
  double low = 0, factor = 0;

  double operator()(double x) const { return std::clamp((x / 2 - low) * factor, -1e100, 1e100); }
};

namespace {

constexpr std::int64_t kPoolPerNeighbour = 4, kRowsOfAPlace = 16;  // a tile takes one in so many rows from a place
constexpr double kReach = 0.5;  // a tile's targets are at most so far from their middle, in radii of the pool
constexpr double kFar = 16;     // a few places so many radii of the others and of the targets away are left out
constexpr std::size_t kFarShare = 16, kLeafPlaces = 16;  // far places: at most one in so many

using Index = std::uint32_t;

/// Looks at the stop token now and then.
void poll_stop() {
  thread_local std::uint32_t calls = 0;
  if (++calls % (1 << 16) == 0) throw_if_stopped();
}

std::vector<ColumnScale> column_scales(std::span<const double> x, std::size_t width) {
  std::vector<ColumnScale> scales(width);
  for (std::size_t d = 0; d < width && !x.empty(); ++d) {
    std::vector<double> column;
    for (std::size_t i = d; i < x.size(); i += width) column.push_back(x[i]);
    const auto far = far_inputs(column);
    const auto [least, largest] = std::ranges::minmax(column);
    const double low = (far ? far->low : least) / 2, high = (far ? far->high : largest) / 2;
    const double factor = 1 / (high - low);
    scales[d] = {low, std::isfinite(factor) ? factor : 0};  // of one value, or as good as one: tells no distances
  }
  return scales;
}

struct Near {
  double distance;  // squared
  Index place;

  auto operator<=>(const Near&) const = default;
};

/// The nearest places in ascending order, equally distant ones by their index: what is found does not depend on the way
/// through the tree. The interface is that of nanoflann's result sets.
class NearestPlaces {
 public:
  using DistanceType = double;

  explicit NearestPlaces(std::size_t capacity) : capacity_(capacity) { heap_.reserve(capacity + 1); }

  std::size_t size() const { return heap_.size(); }
  bool empty() const { return heap_.empty(); }
  bool full() const { return heap_.size() == capacity_; }
  bool addPoint(double distance, Index place) {
    const Near found{distance, place};
    if (full() && !(found < heap_.front())) return true;
    heap_.push_back(found);
    std::ranges::push_heap(heap_);
    if (heap_.size() > capacity_) {
      std::ranges::pop_heap(heap_);
      heap_.pop_back();
    }
    return true;
  }
  /// Nothing that is further away matters. A little more than the exact distance: the tree's bounds are rounded, and
  /// equal distances must not be cut off.
  double worstDist() const {
    constexpr double kSlack = 1 + 1e-9;
    return full() ? heap_.front().distance * kSlack + std::numeric_limits<double>::min()
                  : std::numeric_limits<double>::infinity();
  }
  void sort() {}

  std::vector<Near> take() && {
    std::ranges::sort_heap(heap_);
    return std::move(heap_);
  }

 private:
  std::size_t capacity_;
  std::vector<Near> heap_;
};

/// The places that a tile chooses from, in ascending order of their distances.
struct Candidates {
  std::vector<Near> places;
  double radius = std::numeric_limits<double>::infinity();  // all places less far away are in it
};

/// `furthest`: the squared distance of the furthest target.
void drop_far(std::vector<Near>& places, double furthest) {
  if (places.size() < kFarShare) return;
  const double usual = std::max(places[places.size() - 1 - places.size() / kFarShare].distance, furthest);
  const auto begin = std::ranges::upper_bound(places, kFar * kFar * usual, {}, &Near::distance);
  if (usual > 0) places.erase(begin, places.end());
}

constexpr int kMostDirections = 16;

/// Of sixteen equal sectors of the plane; the axes are in the middle of theirs.
int plane_sector(double dx, double dy) {
  constexpr std::array<double, 4> kTangents{0.198912367379658, 0.668178637919299, 1.496605762665489, 5.027339492125846};
  const double x = std::abs(dx), y = std::abs(dy);
  int turn = 0;
  for (const double tangent : kTangents) turn += y > tangent * x;
  if (dx >= 0) return dy >= 0 ? turn : (16 - turn) % 16;
  return dy >= 0 ? 8 - turn : 8 + turn;
}

int directions(std::size_t dim_x) { return dim_x == 2 ? 16 : 1 << std::min<std::size_t>(dim_x, 4); }

int direction(std::span<const double> from, std::span<const double> to) {
  if (from.size() == 2) return plane_sector(to[0] - from[0], to[1] - from[1]);
  int orthant = 0;
  for (std::size_t d = 0; d < std::min<std::size_t>(from.size(), 4); ++d) orthant |= (to[d] > from[d]) << d;
  return orthant;
}

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

/// The axis along which points (n, Dx) spread most, and the middle of the box that holds them.
struct Box {
  std::size_t longest = 0;
  std::vector<double> middle;
};

Box bounding_box(std::span<const double> points, std::size_t width) {
  Box box{0, std::vector<double>(width)};
  double widest = -1;
  for (std::size_t d = 0; d < width; ++d) {
    double low = points[d], high = low;
    for (std::size_t i = d; i < points.size(); i += width) {
      low = std::min(low, points[i]);
      high = std::max(high, points[i]);
    }
    box.middle[d] = low + (high - low) / 2;
    if (high - low > widest) {
      widest = high - low;
      box.longest = d;
    }
  }
  return box;
}

/// Some targets: which rows they are, and their scaled coordinates (rows, Dx).
struct TileTargets {
  std::vector<std::int64_t> rows;
  std::vector<double> points;

  std::span<const double> at(std::size_t i, std::size_t width) const {
    return std::span(points).subspan(i * width, width);
  }
};

}  // namespace

/// Distinct places in lexicographic order, their rows and, beyond 1D, a tree of them.
struct LocalContexts::Places {
  std::size_t width;
  std::int64_t neighbours;
  std::vector<ColumnScale> scales;
  std::vector<double> points;  // (places, Dx), scaled
  std::vector<Index> rows;     // those of the first place, those of the second, …
  std::vector<Index> begins;   // of each place in `rows`, and the end

  using Metric = nanoflann::L2_Simple_Adaptor<double, Places, double, Index>;
  using Tree = nanoflann::KDTreeSingleIndexAdaptor<Metric, Places, -1, Index>;
  std::unique_ptr<Tree> tree;

  Places(std::span<const double> x, std::size_t width, std::int64_t neighbours);

  std::size_t kdtree_get_point_count() const { return begins.size() - 1; }
  double kdtree_get_pt(std::size_t place, std::size_t d) const { return poll_stop(), points[place * width + d]; }
  template <class Bounds>
  bool kdtree_get_bbox(Bounds&) const {
    return false;
  }

  std::span<const double> at(Index place) const { return std::span(points).subspan(place * width, width); }
  std::int64_t rows_of(Index place) const { return begins[place + 1] - begins[place]; }
  Candidates pool(std::span<const double> middle) const;
  Candidates pool_of_sides(double middle) const;
  Candidates pool_around(std::span<const double> middle) const;
  std::vector<double> scaled(std::span<const double> x, std::span<const std::int64_t> rows) const;
  std::vector<std::int64_t> choose(const TileTargets& targets, std::span<const double> middle,
                                   const std::vector<Near>& pool) const;
  void split(TileTargets targets, std::vector<LocalTile>& tiles) const;
};

LocalContexts::Places::Places(std::span<const double> x, std::size_t width, std::int64_t neighbours)
    : width(width), neighbours(neighbours), scales(column_scales(x, width)), rows(x.size() / width) {
  std::iota(rows.begin(), rows.end(), Index{0});
  const auto row = [&](Index i) { return x.subspan(i * width, width); };
  std::ranges::sort(rows, [&](Index a, Index b) {
    poll_stop();
    for (std::size_t d = 0; d < width; ++d)
      if (row(a)[d] != row(b)[d]) return row(a)[d] < row(b)[d];
    return a < b;
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && std::ranges::equal(row(rows[i - 1]), row(rows[i]))) continue;
    begins.push_back(static_cast<Index>(i));
    for (std::size_t d = 0; d < width; ++d) points.push_back(scales[d](row(rows[i])[d]));
  }
  begins.push_back(static_cast<Index>(rows.size()));
  if (width == 1) return;  // they are in order
  tree = std::make_unique<Tree>(static_cast<int>(width), *this, nanoflann::KDTreeSingleIndexAdaptorParams(kLeafPlaces));
}

Candidates LocalContexts::Places::pool(std::span<const double> middle) const {
  return width == 1 ? pool_of_sides(middle[0]) : pool_around(middle);
}

Candidates LocalContexts::Places::pool_of_sides(double middle) const {
  const auto places = static_cast<std::int64_t>(points.size()), most = kPoolPerNeighbour * neighbours / 2;
  const std::int64_t right = std::ranges::lower_bound(points, middle) - points.begin();
  const std::int64_t begin = std::max<std::int64_t>(0, right - most), end = std::min(places, right + most);
  Candidates pool;
  for (std::int64_t i = begin; i < end; ++i) {
    const double away = points[static_cast<std::size_t>(i)] - middle;
    pool.places.push_back({away * away, static_cast<Index>(i)});
  }
  if (begin > 0) pool.radius = std::min(pool.radius, middle - points[static_cast<std::size_t>(begin)]);
  if (end < places) pool.radius = std::min(pool.radius, points[static_cast<std::size_t>(end) - 1] - middle);
  std::ranges::sort(pool.places);
  return pool;
}

Candidates LocalContexts::Places::pool_around(std::span<const double> middle) const {
  const auto most = static_cast<std::size_t>(kPoolPerNeighbour * neighbours);
  const std::size_t count = std::min(kdtree_get_point_count(), most);
  if (count == 0) return {};
  NearestPlaces found(count);
  tree->findNeighbors(found, middle.data(), {});
  Candidates pool{std::move(found).take()};
  if (count == most) pool.radius = std::sqrt(pool.places.back().distance);
  return pool;
}

std::vector<double> LocalContexts::Places::scaled(std::span<const double> x,
                                                  std::span<const std::int64_t> of_rows) const {
  std::vector<double> result;
  result.reserve(of_rows.size() * width);
  for (const std::int64_t row : of_rows)
    for (std::size_t d = 0; d < width; ++d) result.push_back(scales[d](x[static_cast<std::size_t>(row) * width + d]));
  return result;
}

/// The rows of the tile's context.
std::vector<std::int64_t> LocalContexts::Places::choose(const TileTargets& targets, std::span<const double> middle,
                                                        const std::vector<Near>& pool) const {
  std::vector<std::int64_t> counts(pool.size(), 0);  // rows taken of each place
  std::int64_t left = neighbours;
  const auto take = [&](std::size_t i, std::int64_t at_most) {
    const std::int64_t more = std::min({rows_of(pool[i].place) - counts[i], at_most, left});
    counts[i] += more;
    left -= more;
    return more;
  };
  const std::int64_t of_a_place = std::max<std::int64_t>(1, neighbours / kRowsOfAPlace);

  std::vector<Near> by_target(pool.size());  // their positions in the pool instead of their places
  for (std::size_t i = 0; i < pool.size(); ++i) {
    by_target[i] = {std::numeric_limits<double>::infinity(), static_cast<Index>(i)};
    for (std::size_t t = 0; t < targets.rows.size(); ++t)
      by_target[i].distance =
          std::min(by_target[i].distance, squared_distance(at(pool[i].place), targets.at(t, width)));
  }
  const std::size_t half = std::min(pool.size(), static_cast<std::size_t>(neighbours / 2));
  std::ranges::partial_sort(by_target, by_target.begin() + static_cast<std::ptrdiff_t>(half));
  for (std::size_t k = 0; k < half && left > neighbours - neighbours / 2; ++k)
    take(by_target[k].place, std::min(of_a_place, left - (neighbours - neighbours / 2)));

  std::array<std::int64_t, kMostDirections> quota;
  quota.fill(left / directions(width));
  for (std::size_t i = 0; i < pool.size(); ++i) {
    std::int64_t& wanted = quota[static_cast<std::size_t>(direction(middle, at(pool[i].place)))];
    if (counts[i] == 0) wanted -= take(i, std::min(of_a_place, wanted));
  }
  for (std::size_t i = 0; i < pool.size() && left > 0; ++i)
    if (counts[i] == 0) take(i, of_a_place);
  for (std::size_t i = 0; i < pool.size() && left > 0; ++i) take(i, left);

  std::vector<std::int64_t> chosen;
  chosen.reserve(static_cast<std::size_t>(neighbours - left));
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const std::int64_t begin = begins[pool[i].place], count = rows_of(pool[i].place);
    for (std::int64_t k = 0; k < counts[i]; ++k)  // spread evenly over the rows of the place
      chosen.push_back(rows[static_cast<std::size_t>(begin + k * count / counts[i])]);
  }
  std::ranges::sort(chosen);
  return chosen;
}

/// Makes tiles of targets, halving them where they leave the reach of a pool.
void LocalContexts::Places::split(TileTargets targets, std::vector<LocalTile>& tiles) const {
  const Box box = bounding_box(targets.points, width);
  Candidates around = pool(box.middle);
  const std::size_t count = targets.rows.size();
  double furthest = 0;
  for (std::size_t t = 0; t < count; ++t)
    furthest = std::max(furthest, squared_distance(targets.at(t, width), box.middle));
  if (count == 1 || furthest == 0 || std::sqrt(furthest) <= kReach * around.radius) {
    drop_far(around.places, furthest);
    std::vector<std::int64_t> context = choose(targets, box.middle, around.places);
    std::ranges::sort(targets.rows);
    tiles.push_back({std::move(targets.rows), std::move(context)});
    return;
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {},
                    [&](std::size_t t) { return std::pair(targets.points[t * width + box.longest], targets.rows[t]); });
  for (const auto part : {std::span(order).first(count / 2), std::span(order).subspan(count / 2)}) {
    TileTargets some;
    for (const std::size_t t : part) {
      some.rows.push_back(targets.rows[t]);
      some.points.insert(some.points.end(), targets.at(t, width).begin(), targets.at(t, width).end());
    }
    split(std::move(some), tiles);
  }
}

LocalContexts::LocalContexts(std::span<const double> x, std::int64_t dim_x, std::int64_t neighbours) {
  const auto width = static_cast<std::size_t>(dim_x);
  check(x.size() / width < std::numeric_limits<Index>::max(),
        "[local contexts] {} observed rows, expected fewer than {}", x.size() / width,
        std::numeric_limits<Index>::max());
  check(neighbours >= 1, "[local contexts] {} neighbours, expected at least 1", neighbours);
  places_ = std::make_unique<const Places>(x, width, neighbours);
}

LocalContexts::LocalContexts(LocalContexts&&) noexcept = default;
LocalContexts::~LocalContexts() = default;

std::int64_t LocalContexts::rows() const { return static_cast<std::int64_t>(places_->rows.size()); }

std::vector<std::int64_t> LocalContexts::order(std::span<const double> targets) const {
  const std::size_t width = places_->width;
  std::vector<std::int64_t> order(targets.size() / width);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto coordinate = [&](std::int64_t row, std::size_t d) {
    return places_->scales[d](targets[static_cast<std::size_t>(row) * width + d]);
  };
  // Halves by full tiles, along the axis on which the targets spread most.
  const auto halve = [&](const auto& self, std::span<std::int64_t> part) -> void {
    const auto tiles = (static_cast<std::int64_t>(part.size()) + kTileTargets - 1) / kTileTargets;
    if (tiles < 2) return;
    throw_if_stopped();
    std::size_t longest = 0;
    double widest = -1;
    for (std::size_t d = 0; d < width; ++d) {
      const auto [low, high] = std::ranges::minmax(part, {}, [&](std::int64_t row) { return coordinate(row, d); });
      const double extent = coordinate(high, d) - coordinate(low, d);
      if (extent > widest) {
        widest = extent;
        longest = d;
      }
    }
    const auto middle = static_cast<std::size_t>(tiles / 2 * kTileTargets);
    std::ranges::nth_element(part, part.begin() + static_cast<std::ptrdiff_t>(middle), {},
                             [&](std::int64_t row) { return std::pair(coordinate(row, longest), row); });
    self(self, part.first(middle));
    self(self, part.subspan(middle));
  };
  halve(halve, order);
  for (std::size_t begin = 0; begin < order.size(); begin += kTileTargets)
    std::ranges::sort(std::span(order).subspan(begin, std::min<std::size_t>(kTileTargets, order.size() - begin)));
  return order;
}

std::vector<LocalTile> LocalContexts::tiles(std::span<const double> targets, std::span<const std::int64_t> rows) const {
  std::vector<LocalTile> tiles;
  if (rows.empty()) return tiles;
  places_->split({{rows.begin(), rows.end()}, places_->scaled(targets, rows)}, tiles);
  return tiles;
}

}  // namespace npzoo
