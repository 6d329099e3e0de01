#include "npzoo/models/applications/neighbour_tree.h"

#include <algorithm>
#include <limits>
#include <nanoflann.hpp>

#include "npzoo/engine/cancellation.h"

namespace npzoo {

namespace {

constexpr std::size_t kLeafPoints = 16;

/// The nearest points, equally distant ones by their index: the result does not depend on the way through the tree. The
/// interface is that of nanoflann's result sets.
class NearestPoints {
 public:
  using DistanceType = double;

  explicit NearestPoints(std::size_t capacity) : capacity_(capacity) { heap_.reserve(capacity + 1); }

  std::size_t size() const { return heap_.size(); }
  bool empty() const { return heap_.empty(); }
  bool full() const { return heap_.size() == capacity_; }
  bool addPoint(double distance, std::uint32_t index) {
    const NearPoint found{distance, index};
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

  std::vector<NearPoint> take() && {
    std::ranges::sort_heap(heap_);
    return std::move(heap_);
  }

 private:
  std::size_t capacity_;
  std::vector<NearPoint> heap_;
};

/// The points within a distance, as a result set.
class PointsWithin {
 public:
  using DistanceType = double;

  PointsWithin(double square, const std::function<bool(std::uint32_t)>& found) : square_(square), found_(found) {}

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  bool full() const { return true; }
  bool addPoint(double distance, std::uint32_t index) {
    if (!(distance < square_)) return true;
    ++count_;
    return found_(index);
  }
  double worstDist() const { return square_; }
  void sort() {}

 private:
  double square_;
  const std::function<bool(std::uint32_t)>& found_;
  std::size_t count_ = 0;
};

}  // namespace

struct NeighbourTree::Search {
  using Metric = nanoflann::L2_Simple_Adaptor<double, Search, double, std::uint32_t>;
  using Tree = nanoflann::KDTreeSingleIndexAdaptor<Metric, Search, -1, std::uint32_t>;

  Search(std::span<const double> points, std::size_t width)
      : x(points),
        dims(width),
        tree(static_cast<int>(width), *this, nanoflann::KDTreeSingleIndexAdaptorParams(kLeafPoints)) {}

  std::size_t kdtree_get_point_count() const { return x.size() / dims; }
  double kdtree_get_pt(std::size_t point, std::size_t d) const { return poll_stop(), x[point * dims + d]; }
  template <class Bounds>
  bool kdtree_get_bbox(Bounds&) const {
    return false;
  }

  std::span<const double> x;
  std::size_t dims;
  Tree tree;
};

NeighbourTree::NeighbourTree(std::span<const double> x, std::size_t dims)
    : search_(std::make_unique<const Search>(x, dims)) {}
NeighbourTree::NeighbourTree(NeighbourTree&&) noexcept = default;
NeighbourTree::~NeighbourTree() = default;

std::vector<NearPoint> NeighbourTree::nearest(const double* at, std::size_t count) const {
  const std::size_t most = std::min(count, search_->kdtree_get_point_count());
  if (most == 0) return {};
  NearestPoints points(most);
  search_->tree.findNeighbors(points, at, {});
  return std::move(points).take();
}

void NeighbourTree::within(const double* at, double square,
                           const std::function<bool(std::uint32_t index)>& found) const {
  PointsWithin points(square, found);
  search_->tree.findNeighbors(points, at, {});
}

}  // namespace npzoo
