#include "npzoo/models/applications/tables/observed_places.h"

#include <algorithm>
#include <cmath>
#include <nanoflann.hpp>
#include <numeric>

#include "npzoo/datasets/tables/outliers.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

/// Looks at the stop token now and then.
void poll_stop() {
  thread_local std::uint32_t calls = 0;
  if (++calls % (1 << 16) == 0) throw_if_stopped();
}

/// The nearest places in ascending order, equally distant ones by their index: the result does not depend on the way
/// through the tree. The interface is that of nanoflann's result sets.
class NearestPlaces {
 public:
  using DistanceType = double;

  explicit NearestPlaces(std::size_t capacity) : capacity_(capacity) { heap_.reserve(capacity + 1); }

  std::size_t size() const { return heap_.size(); }
  bool empty() const { return heap_.empty(); }
  bool full() const { return heap_.size() == capacity_; }
  bool addPoint(double distance, ObservedPlaces::Index place) {
    const NearPlace found{distance, place};
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

  std::vector<NearPlace> take() && {
    std::ranges::sort_heap(heap_);
    return std::move(heap_);
  }

 private:
  std::size_t capacity_;
  std::vector<NearPlace> heap_;
};

/// Counts rows within a squared distance, and ends the search when there are more than `most`.
class RowCount {
 public:
  using DistanceType = double;

  RowCount(const ObservedPlaces& places, double square, std::size_t most, std::size_t of_a_place)
      : places_(places), square_(square), most_(most), of_a_place_(of_a_place) {}

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  bool full() const { return true; }
  bool addPoint(double distance, ObservedPlaces::Index place) {
    if (distance < square_) count_ += std::min(places_.rows_of(place).size(), of_a_place_);
    return !more();
  }
  double worstDist() const { return square_; }
  void sort() {}

  bool more() const { return count_ > most_; }

 private:
  const ObservedPlaces& places_;
  double square_;
  std::size_t most_, of_a_place_, count_ = 0;
};

}  // namespace

struct ObservedPlaces::Tree {
  static constexpr std::size_t kLeafPlaces = 16;
  using Metric = nanoflann::L2_Simple_Adaptor<double, Tree, double, Index>;
  using Search = nanoflann::KDTreeSingleIndexAdaptor<Metric, Tree, -1, Index>;

  explicit Tree(const ObservedPlaces& places)
      : of(places),
        search(static_cast<int>(places.width()), *this, nanoflann::KDTreeSingleIndexAdaptorParams(kLeafPlaces)) {}

  std::size_t kdtree_get_point_count() const { return of.count(); }
  double kdtree_get_pt(std::size_t place, std::size_t d) const {
    return poll_stop(), of.points_[place * of.width_ + d];
  }
  template <class Bounds>
  bool kdtree_get_bbox(Bounds&) const {
    return false;
  }

  const ObservedPlaces& of;
  Search search;
};

ObservedPlaces::ObservedPlaces(std::span<const double> x, std::size_t width) : width_(width), scales_(width) {
  check(x.size() / width < std::numeric_limits<Index>::max(),
        "[local contexts] {} observed rows, expected fewer than {}", x.size() / width,
        std::numeric_limits<Index>::max());
  for (std::size_t d = 0; d < width && !x.empty(); ++d) {
    std::vector<double> column;
    for (std::size_t i = d; i < x.size(); i += width) column.push_back(x[i]);
    const auto far = far_inputs(column);
    const auto [least, largest] = std::ranges::minmax(column);
    const double low = (far ? far->low : least) / 2, high = (far ? far->high : largest) / 2;  // halves do not overflow
    const double factor = 1 / (high - low);
    scales_[d] = {low, std::isfinite(factor) ? factor : 0};
  }
  gather(x);
  if (width > 1) tree_ = std::make_unique<const Tree>(*this);  // places of one input are in order already
}

ObservedPlaces::~ObservedPlaces() = default;

double ObservedPlaces::scaled(double x, std::size_t d) const {
  return std::clamp((x / 2 - scales_[d].low) * scales_[d].factor, -1e100, 1e100);
}

void ObservedPlaces::gather(std::span<const double> x) {
  rows_.resize(x.size() / width_);
  std::iota(rows_.begin(), rows_.end(), Index{0});
  const auto row = [&](Index i) { return x.subspan(i * width_, width_); };
  std::ranges::sort(rows_, [&](Index a, Index b) {
    poll_stop();
    for (std::size_t d = 0; d < width_; ++d)
      if (row(a)[d] != row(b)[d]) return row(a)[d] < row(b)[d];
    return a < b;
  });
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (i > 0 && std::ranges::equal(row(rows_[i - 1]), row(rows_[i]))) continue;
    begins_.push_back(static_cast<Index>(i));
    for (std::size_t d = 0; d < width_; ++d) points_.push_back(scaled(row(rows_[i])[d], d));
  }
  begins_.push_back(static_cast<Index>(rows_.size()));
}

std::vector<NearPlace> ObservedPlaces::around(std::span<const double> point, std::size_t most) const {
  if (count() == 0) return {};
  if (width_ > 1) {
    NearestPlaces places(std::min(count(), most));
    tree_->search.findNeighbors(places, point.data(), {});
    return std::move(places).take();
  }
  const auto right = static_cast<std::size_t>(std::ranges::lower_bound(points_, point[0]) - points_.begin());
  const std::size_t begin = right - std::min(right, most / 2), end = std::min(count(), right + most / 2);
  std::vector<NearPlace> near;
  for (std::size_t i = begin; i < end; ++i)
    near.push_back({(points_[i] - point[0]) * (points_[i] - point[0]), static_cast<Index>(i)});
  std::ranges::sort(near);
  return near;
}

bool ObservedPlaces::more_within(std::span<const double> point, double radius, std::size_t most,
                                 std::size_t of_a_place) const {
  if (rows_.size() <= most) return false;
  RowCount found(*this, radius * radius, most, of_a_place);
  if (width_ > 1) {
    tree_->search.findNeighbors(found, point.data(), {});
    return found.more();
  }
  const auto begin = std::ranges::upper_bound(points_, point[0] - radius) - points_.begin();
  for (auto place = static_cast<std::size_t>(begin); place < count() && points_[place] < point[0] + radius; ++place)
    if (!found.addPoint(0, static_cast<Index>(place))) return true;
  return false;
}

}  // namespace npzoo
