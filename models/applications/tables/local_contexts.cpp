#include "npzoo/models/applications/tables/local_contexts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr std::size_t kPoolPerNeighbour = 4, kSeenPerNeighbour = 8;
constexpr std::int64_t kRowsOfAPlace = 16;  // a cell takes one in so many rows from a place
constexpr double kReach = 2.8;              // 8 K places reach at least so many radii of a cell
constexpr double kFar = 16;            // a few places so many radii of the others and of the cell away are left out
constexpr std::size_t kFarShare = 16;  // far places: at most one in so many

/// `radius`: the square of the cell's.
void drop_far(std::vector<NearPoint>& places, double radius) {
  if (places.size() < kFarShare) return;
  const double usual = std::max(places[places.size() - 1 - places.size() / kFarShare].distance, radius);
  const auto begin = std::ranges::upper_bound(places, kFar * kFar * usual, {}, &NearPoint::distance);
  if (usual > 0) places.erase(begin, places.end());
}

constexpr int kMostDirections = 16;

/// Returns the number of a sector, of sixteen equal ones of the plane; the axes lie in the middle of sectors.
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

std::int64_t rows_of_a_place(std::int64_t neighbours) { return std::max<std::int64_t>(1, neighbours / kRowsOfAPlace); }

/// Takes rows from the places of a pool until the context is full.
class RowChoice {
 public:
  RowChoice(const ObservedPlaces& places, const std::vector<NearPoint>& pool, std::int64_t most)
      : places_(places), pool_(pool), of_a_place_(rows_of_a_place(most)), left_(most), counts_(pool.size(), 0) {}

  /// From the places that are nearest to the cell; at most `most` rows.
  void take_nearest(const CellBox& cell, std::int64_t most) {
    std::vector<std::tuple<double, std::size_t>> order;  // positions in the pool by their distances from the cell
    for (std::size_t i = 0; i < pool_.size(); ++i) order.emplace_back(cell.square_from(places_.at(pool_[i].index)), i);
    const auto nearest = std::min(std::ssize(order), static_cast<std::ptrdiff_t>(most));
    std::ranges::partial_sort(order, order.begin() + nearest);
    const std::int64_t until = left_ - most;
    for (std::ptrdiff_t k = 0; k < nearest && left_ > until; ++k)
      take(std::get<1>(order[static_cast<std::size_t>(k)]), std::min(of_a_place_, left_ - until));
  }

  /// The same number of rows in each direction from the middle, as far as there are places.
  void take_around(std::span<const double> middle) {
    std::array<std::int64_t, kMostDirections> quota;
    quota.fill(left_ / directions(middle.size()));
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      std::int64_t& wanted = quota[static_cast<std::size_t>(direction(middle, places_.at(pool_[i].index)))];
      if (counts_[i] == 0) wanted -= take(i, std::min(of_a_place_, wanted));
    }
  }

  /// Takes the remaining rows from the nearest other places, and after these from any.
  void take_rest() {
    for (std::size_t i = 0; i < pool_.size() && left_ > 0; ++i)
      if (counts_[i] == 0) take(i, of_a_place_);
    for (std::size_t i = 0; i < pool_.size() && left_ > 0; ++i) take(i, left_);
  }

  /// In ascending order.
  std::vector<std::int64_t> rows() const {
    std::vector<std::int64_t> chosen;
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      const auto rows = places_.rows_of(pool_[i].index);
      for (std::int64_t k = 0; k < counts_[i]; ++k)  // spread evenly over the rows of the place
        chosen.push_back(rows[static_cast<std::size_t>(k * std::ssize(rows) / counts_[i])]);
    }
    std::ranges::sort(chosen);
    return chosen;
  }

 private:
  std::int64_t take(std::size_t i, std::int64_t at_most) {
    const std::int64_t more = std::min({std::ssize(places_.rows_of(pool_[i].index)) - counts_[i], at_most, left_});
    counts_[i] += more;
    left_ -= more;
    return more;
  }

  const ObservedPlaces& places_;
  const std::vector<NearPoint>& pool_;
  std::int64_t of_a_place_, left_;
  std::vector<std::int64_t> counts_;  // rows taken of each place
};

}  // namespace

LocalContexts::LocalContexts(std::span<const double> x, std::int64_t dim_x, std::int64_t neighbours)
    : neighbours_(neighbours) {
  check(neighbours >= 1, "[local contexts] {} neighbours, expected at least 1", neighbours);
  places_ = std::make_unique<const ObservedPlaces>(x, static_cast<std::size_t>(dim_x));
  const auto most = static_cast<std::size_t>(neighbours);
  cells_.emplace(*places_, CellLimits{.most = most,
                                      .of_a_place = static_cast<std::size_t>(rows_of_a_place(neighbours)),
                                      .pool = kSeenPerNeighbour * most,
                                      .reach = kReach});
}

std::vector<std::int64_t> LocalContexts::context(const CellBox& cell) const {
  const std::vector<double> middle = cell.middle();
  std::vector<NearPoint> pool = places_->around(middle, kPoolPerNeighbour * static_cast<std::size_t>(neighbours_));
  drop_far(pool, cell.square_of_radius());
  RowChoice choice(*places_, pool, neighbours_);
  choice.take_nearest(cell, neighbours_ / 2);
  choice.take_around(middle);
  choice.take_rest();
  return choice.rows();
}

}  // namespace npzoo
