#include "npzoo/models/applications/tables/field_likelihood.h"

#include <algorithm>
#include <cmath>
#include <eigen3/Eigen/Cholesky>
#include <numeric>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/random.h"
#include "npzoo/models/applications/tables/vecchia_kernel.h"

namespace npzoo {

namespace {

using Index = ObservedPlaces::Index;

constexpr std::size_t kNeighbours = 30, kFirst = 1000, kOthers = 3000;
constexpr std::size_t kMostPlaces = 1 << 18;  // with more, a random part is used
constexpr std::uint64_t kSeed = 40;

/// The places in [0, 1]², in random order.
std::vector<Index> shuffled_places(const ObservedPlaces& places, Random& random) {
  std::vector<Index> inside;
  for (Index p = 0; p < places.count(); ++p)
    if (std::ranges::all_of(places.at(p), [](double x) { return 0 <= x && x <= 1; })) inside.push_back(p);
  std::vector<std::int64_t> order(inside.size());
  random.fill_permutation(order);
  order.resize(std::min(order.size(), kMostPlaces));
  std::vector<Index> shuffled;
  for (const std::int64_t i : order) shuffled.push_back(inside[static_cast<std::size_t>(i)]);
  return shuffled;
}

/// Sorts from coarse to fine: the first places are one from each cell of a coarse grid, the next ones one from each
/// cell of a grid of half the width, and so on.
std::vector<Index> coarse_to_fine(const ObservedPlaces& places, std::vector<Index> left) {
  constexpr int kFinest = 20;
  std::vector<Index> order;
  for (int level = 1; level <= kFinest && !left.empty(); ++level) {
    throw_if_stopped();
    std::vector<std::pair<std::uint64_t, std::size_t>> cells;  // and positions in `left`
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto at = places.at(left[i]);
      const auto line = [&](double x) { return static_cast<std::uint64_t>(std::ldexp(x, level)); };
      cells.emplace_back(line(at[0]) << 32 | line(at[1]), i);
    }
    std::ranges::sort(cells);
    std::vector<bool> taken(left.size());
    for (std::size_t c = 0; c < cells.size(); ++c)
      if (c == 0 || cells[c].first != cells[c - 1].first) taken[cells[c].second] = true;
    std::vector<Index> rest;
    for (std::size_t i = 0; i < left.size(); ++i) (taken[i] ? order : rest).push_back(left[i]);
    left = std::move(rest);
  }
  order.insert(order.end(), left.begin(), left.end());
  return order;
}

/// The nearest places before position `row` of the order.
std::vector<Index> earlier_neighbours(const ObservedPlaces& places, std::span<const Index> order,
                                      std::span<const std::uint32_t> position, std::size_t row) {
  const auto here = places.at(order[row]);
  const std::size_t count = places.count();
  std::size_t most = std::max<std::size_t>(2 * kNeighbours, 3 * kNeighbours * count / std::max<std::size_t>(row, 1));
  for (;; most *= 2) {
    std::vector<Index> near;
    if (most >= count / 4) {  // so many that a search costs more than it saves
      std::vector<NearPoint> all;
      for (std::size_t i = 0; i < row; ++i) {
        const auto there = places.at(order[i]);
        const double dx = here[0] - there[0], dy = here[1] - there[1];
        all.push_back({dx * dx + dy * dy, order[i]});
      }
      std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kNeighbours));
      for (std::size_t i = 0; i < kNeighbours; ++i) near.push_back(all[i].index);
      return near;
    }
    for (const NearPoint& found : places.around(here, most))
      if (position[found.index] < row && near.size() < kNeighbours) near.push_back(found.index);
    if (near.size() == kNeighbours) return near;
  }
}

/// Sums over conditionals from which variance and trend follow.
struct Sums {
  double count = 0, log_std = 0, square = 0;
  Eigen::Vector3d product = Eigen::Vector3d::Zero();
  Eigen::Matrix3d matrix = Eigen::Matrix3d::Zero();

  void add(double weight, double log_of_std, double y, const Eigen::Vector3d& trend) {
    count += weight;
    log_std += weight * log_of_std;
    square += weight * y * y;
    product += weight * y * trend;
    matrix += weight * trend * trend.transpose();
  }
  /// −log density of a point.
  double mean_loss() const {
    constexpr double kHalfLogTwoPi = 0.91893853320467274;
    const double left = square - product.dot(matrix.ldlt().solve(product));
    return log_std / count + 0.5 * std::log(left / count) + 0.5 + kHalfLogTwoPi;
  }
};

}  // namespace

FieldLikelihood::FieldLikelihood(const ObservedPlaces& places, std::span<const double> y) {
  Random random(kSeed);
  const std::vector<Index> order = coarse_to_fine(places, shuffled_places(places, random));
  if (order.size() <= 2 * kNeighbours) return;
  std::vector<std::size_t> rows;  // positions in the order
  for (std::size_t row = kNeighbours; row < std::min(order.size(), kFirst); ++row) rows.push_back(row);
  weights_.assign(rows.size(), 1);
  if (order.size() > kFirst) {
    std::vector<std::int64_t> others(order.size() - kFirst);
    random.fill_permutation(others);
    others.resize(std::min(others.size(), kOthers));
    std::ranges::sort(others);
    for (const std::int64_t i : others) rows.push_back(kFirst + static_cast<std::size_t>(i));
    weights_.resize(rows.size(), static_cast<double>(order.size() - kFirst) / static_cast<double>(others.size()));
  }
  gather(places, y, order, rows);
}

void FieldLikelihood::gather(const ObservedPlaces& places, std::span<const double> y, std::span<const Index> order,
                             std::span<const std::size_t> rows) {
  std::vector<std::uint32_t> position(places.count(), std::numeric_limits<std::uint32_t>::max());
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<std::uint32_t>(i);
  constexpr std::size_t kPoints = kNeighbours + 1, kLanes = kVecchiaLanes;
  groups_ = (std::ssize(rows) + kVecchiaLanes - 1) / kVecchiaLanes;
  x_.resize(static_cast<std::size_t>(groups_) * kPoints * 2 * kLanes);
  y_.resize(static_cast<std::size_t>(groups_) * kPoints * kLanes);
  thread_pool().for_range(groups_, 4, [&](std::int64_t first, std::int64_t last) {
    for (auto c = static_cast<std::size_t>(first) * kLanes; c < static_cast<std::size_t>(last) * kLanes; ++c) {
      throw_if_stopped();
      const std::size_t row = rows[std::min(c, rows.size() - 1)];  // the last one fills the lanes that are left
      std::vector<Index> points = earlier_neighbours(places, order, position, row);
      points.push_back(order[row]);
      for (std::size_t i = 0; i < kPoints; ++i) {
        const std::size_t at = (c / kLanes * kPoints + i) * kLanes + c % kLanes;
        y_[at] = y[points[i]];
        for (std::size_t d = 0; d < 2; ++d)
          x_[((c / kLanes * kPoints + i) * 2 + d) * kLanes + c % kLanes] = places.at(points[i])[d];
      }
    }
  });
}

FieldLikelihood::Value FieldLikelihood::evaluate(const FieldKernel& kernel) const {
  throw_if_stopped();
  constexpr std::size_t kLanes = kVecchiaLanes;
  std::vector<double> white(static_cast<std::size_t>(groups_) * 4 * kLanes),
      log_std(static_cast<std::size_t>(groups_) * kLanes);
  with_cpu([&](const Backend& cpu) {
    vecchia_whiten<double>(cpu, {.groups = groups_,
                                 .points = kNeighbours + 1,
                                 .x = x_.data(),
                                 .y = y_.data(),
                                 .metric = {kernel.metric[0], kernel.metric[1], kernel.metric[2]},
                                 .short_rate = 1 / kernel.short_length,
                                 .long_rate = 1 / kernel.long_length,
                                 .share = kernel.share,
                                 .noise = kernel.noise,
                                 .white = white.data(),
                                 .log_std = log_std.data()});
  });
  Sums weighted, plain;
  for (std::size_t c = 0; c < weights_.size(); ++c) {
    const auto at = [&](std::size_t column) { return white[(c / kLanes * 4 + column) * kLanes + c % kLanes]; };
    const Eigen::Vector3d trend(at(1), at(2), at(3));
    weighted.add(weights_[c], log_std[c], at(0), trend);
    plain.add(1, log_std[c], at(0), trend);
  }
  const Value value{weighted.mean_loss(), -plain.mean_loss() * plain.count};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return std::isfinite(value.mean_loss) && std::isfinite(value.log_density) ? value : Value{kInfinity, -kInfinity};
}

}  // namespace npzoo
