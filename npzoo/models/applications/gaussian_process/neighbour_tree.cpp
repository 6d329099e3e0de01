#include "npzoo/models/applications/gaussian_process/neighbour_tree.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace npzoo {

namespace {

constexpr std::uint32_t kLeaf = 16;

}  // namespace

struct NeighbourTree::Search {
  const double* at;
  std::size_t count;
  std::vector<std::pair<double, std::uint32_t>> found{};  // a heap, the furthest on top

  double reach() const { return found.size() < count ? std::numeric_limits<double>::infinity() : found.front().first; }
  void add(double square, std::uint32_t row) {
    const std::pair one(square, row);
    if (found.size() == count) {
      if (!(one < found.front())) return;
      std::ranges::pop_heap(found);
      found.pop_back();
    }
    found.push_back(one);
    std::ranges::push_heap(found);
  }
};

NeighbourTree::NeighbourTree(std::span<const double> x, std::size_t dims)
    : x_(x), dims_(dims), order_(x.size() / dims) {
  std::iota(order_.begin(), order_.end(), std::uint32_t{0});
  if (!order_.empty()) build(0, static_cast<std::uint32_t>(order_.size()));
}

std::int32_t NeighbourTree::build(std::uint32_t begin, std::uint32_t end) {
  const auto number = static_cast<std::int32_t>(nodes_.size());
  nodes_.push_back({begin, end});
  if (end - begin <= kLeaf) return number;
  std::size_t side = 0;
  double widest = -1;
  for (std::size_t d = 0; d < dims_; ++d) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::uint32_t i = begin; i < end; ++i) {
      low = std::min(low, x_[order_[i] * dims_ + d]);
      high = std::max(high, x_[order_[i] * dims_ + d]);
    }
    if (high - low > widest) {
      widest = high - low;
      side = d;
    }
  }
  if (widest == 0) return number;  // all are at one place
  const std::uint32_t middle = begin + (end - begin) / 2;
  const auto key = [&](std::uint32_t row) { return std::pair(x_[row * dims_ + side], row); };
  std::ranges::nth_element(order_.begin() + begin, order_.begin() + middle, order_.begin() + end, {}, key);
  nodes_[static_cast<std::size_t>(number)].side = side;
  nodes_[static_cast<std::size_t>(number)].cut = x_[order_[middle] * dims_ + side];
  const std::int32_t below = build(begin, middle), above = build(middle, end);
  nodes_[static_cast<std::size_t>(number)].below = below;
  nodes_[static_cast<std::size_t>(number)].above = above;
  return number;
}

void NeighbourTree::visit(std::int32_t number, Search& search) const {
  const Node& node = nodes_[static_cast<std::size_t>(number)];
  if (node.below < 0) {
    for (std::uint32_t i = node.begin; i < node.end; ++i) {
      double square = 0;
      for (std::size_t d = 0; d < dims_; ++d) {
        const double off = x_[order_[i] * dims_ + d] - search.at[d];
        square += off * off;
      }
      search.add(square, order_[i]);
    }
    return;
  }
  const double off = search.at[node.side] - node.cut;
  visit(off < 0 ? node.below : node.above, search);
  if (off * off <= search.reach()) visit(off < 0 ? node.above : node.below, search);
}

std::vector<std::uint32_t> NeighbourTree::nearest(const double* at, std::size_t count) const {
  Search search{at, std::min(count, order_.size())};
  if (search.count > 0) visit(0, search);
  std::ranges::sort_heap(search.found);
  std::vector<std::uint32_t> rows;
  for (const auto& [square, row] : search.found) rows.push_back(row);
  return rows;
}

}  // namespace npzoo
