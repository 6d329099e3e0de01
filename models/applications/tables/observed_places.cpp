#include "npzoo/models/applications/tables/observed_places.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "npzoo/datasets/tables/outliers.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

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
  if (width > 1) tree_.emplace(points_, width);  // places of one input are in order already
}

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

std::vector<NearPoint> ObservedPlaces::around(std::span<const double> point, std::size_t most) const {
  if (count() == 0) return {};
  if (width_ > 1) return tree_->nearest(point.data(), most);
  const auto right = static_cast<std::size_t>(std::ranges::lower_bound(points_, point[0]) - points_.begin());
  const std::size_t begin = right - std::min(right, most / 2), end = std::min(count(), right + most / 2);
  std::vector<NearPoint> near;
  for (std::size_t i = begin; i < end; ++i)
    near.push_back({(points_[i] - point[0]) * (points_[i] - point[0]), static_cast<Index>(i)});
  std::ranges::sort(near);
  return near;
}

bool ObservedPlaces::more_within(std::span<const double> point, double radius, std::size_t most,
                                 std::size_t of_a_place) const {
  if (rows_.size() <= most) return false;
  std::size_t nearer = 0;
  const auto add = [&](Index place) {
    nearer += std::min(rows_of(place).size(), of_a_place);
    return nearer <= most;
  };
  if (width_ > 1) {
    tree_->within(point.data(), radius * radius, add);
    return nearer > most;
  }
  const auto begin = std::ranges::upper_bound(points_, point[0] - radius) - points_.begin();
  for (auto place = static_cast<std::size_t>(begin); place < count() && points_[place] < point[0] + radius; ++place)
    if (!add(static_cast<Index>(place))) return true;
  return false;
}

}  // namespace npzoo
