#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace npzoo {

/// A point that was found near to another.
struct NearPoint {
  double distance;  // squared
  std::uint32_t index;

  auto operator<=>(const NearPoint&) const = default;
};

/// A tree of points that finds those near to a place, by nanoflann. Several threads may search at the same time. Long
/// work looks at the caller's stop token.
class NeighbourTree {
 public:
  /// x (n, dims), row-major and finite, with fewer than 2³² rows; the caller keeps it.
  NeighbourTree(std::span<const double> x, std::size_t dims);
  NeighbourTree(NeighbourTree&&) noexcept;
  ~NeighbourTree();

  /// Returns the `count` points nearest to `at` (dims), nearest first and of equal distances the lower index; fewer if
  /// there are fewer points.
  std::vector<NearPoint> nearest(const double* at, std::size_t count) const;
  /// Calls `found` with each point whose squared distance to `at` (dims) is below `square`, in any order, until it
  /// returns false.
  void within(const double* at, double square, const std::function<bool(std::uint32_t index)>& found) const;

 private:
  struct Search;
  std::unique_ptr<const Search> search_;
};

}  // namespace npzoo
