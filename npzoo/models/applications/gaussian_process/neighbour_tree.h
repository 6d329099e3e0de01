#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace npzoo {

/// Finds the nearest of many points: a tree of boxes that are halved along their widest side.
class NeighbourTree {
 public:
  /// x (n, dims), row-major and finite; the caller keeps it.
  NeighbourTree(std::span<const double> x, std::size_t dims);

  /// Returns the rows of the `count` points nearest to `at` (dims), nearest first and of equal distances the lower row;
  /// fewer if there are fewer points. May be called by several threads.
  std::vector<std::uint32_t> nearest(const double* at, std::size_t count) const;

 private:
  struct Node {
    std::uint32_t begin, end;             // of the rows in order_
    std::int32_t below = -1, above = -1;  // children; −1: a leaf
    std::size_t side = 0;
    double cut = 0;
  };
  struct Search;

  std::int32_t build(std::uint32_t begin, std::uint32_t end);
  void visit(std::int32_t node, Search& search) const;

  std::span<const double> x_;
  std::size_t dims_;
  std::vector<std::uint32_t> order_;
  std::vector<Node> nodes_;
};

}  // namespace npzoo
