#include "npzoo/datasets/kinds/table_tasks/masks.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace npzoo {

namespace {

struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  double share(double x) const { return high > low ? (x - low) / (high - low) : 0.5; }
};

/// Returns the extent of each column.
std::vector<Extent> extents(std::span<const double> x, std::int64_t dim_x) {
  std::vector<Extent> found(static_cast<std::size_t>(dim_x));
  for (std::size_t i = 0; i < x.size(); ++i) {
    Extent& extent = found[i % found.size()];
    extent = {std::min(extent.low, x[i]), std::max(extent.high, x[i])};
  }
  return found;
}

/// Every column from 0 to 1.
std::vector<double> stretched(std::span<const double> x, std::int64_t dim_x) {
  const std::vector<Extent> of = extents(x, dim_x);
  std::vector<double> shares(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) shares[i] = of[i % of.size()].share(x[i]);
  return shares;
}

double squared_distance(std::span<const double> x, std::int64_t i, std::span<const double> place) {
  double sum = 0;
  for (std::size_t j = 0; j < place.size(); ++j) {
    const double d = x[static_cast<std::size_t>(i) * place.size() + j] - place[j];
    sum += d * d;
  }
  return sum;
}

/// The `count` places nearest to one, which comes first; ties by position.
std::vector<std::int64_t> nearest(std::span<const double> x, std::int64_t dim_x, std::span<const double> place,
                                  std::int64_t count) {
  const auto n = std::ssize(x) / dim_x;
  std::vector<std::pair<double, std::int64_t>> order;
  for (std::int64_t i = 0; i < n; ++i) order.emplace_back(squared_distance(x, i, place), i);
  count = std::min<std::int64_t>(count, n);
  std::ranges::partial_sort(order, order.begin() + count);
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < count; ++i) found.push_back(order[static_cast<std::size_t>(i)].second);
  return found;
}

std::span<const double> row_of(std::span<const double> x, std::int64_t dim_x, std::int64_t row) {
  return x.subspan(static_cast<std::size_t>(row * dim_x), static_cast<std::size_t>(dim_x));
}

std::vector<std::int64_t> once(std::vector<std::int64_t> positions) {
  std::ranges::sort(positions);
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

}  // namespace

std::vector<std::int64_t> window_around(const GroupColumn& column, std::int64_t dim_x, std::int64_t row,
                                        std::int64_t points) {
  const auto rows = std::ssize(column.y);
  if (rows <= points || dim_x == 1) {
    const std::int64_t count = std::min<std::int64_t>(rows, points);
    std::vector<std::int64_t> window(static_cast<std::size_t>(count));
    std::iota(window.begin(), window.end(), std::clamp<std::int64_t>(row - count / 2, 0, rows - count));
    return window;
  }
  const std::vector<double> x = stretched(column.x, dim_x);
  return once(nearest(x, dim_x, row_of(x, dim_x, row), points));
}

std::vector<std::int64_t> random_window(const GroupColumn& column, std::int64_t dim_x, std::int64_t points,
                                        Random& random) {
  return window_around(column, dim_x, random.integer(0, std::ssize(column.y)), points);
}

std::vector<std::int64_t> scattered_mask(std::int64_t n, Random& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  random.fill_permutation(order);
  const auto share = random.uniform(0.1, 0.8);
  order.resize(
      static_cast<std::size_t>(std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(n)))));
  return once(std::move(order));
}

std::vector<std::int64_t> gap_mask(std::span<const double> x, std::int64_t dim_x, Random& random) {
  const auto n = std::ssize(x) / dim_x;
  const std::vector<double> places = stretched(x, dim_x);
  std::vector<std::int64_t> hidden;
  const std::int64_t gaps = random.integer(1, 4);
  for (std::int64_t g = 0; g < gaps; ++g) {
    const auto size =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(random.uniform(0.02, 0.25) * static_cast<double>(n)));
    const bool at_end = dim_x == 1 && random.uniform() < 0.2;
    const std::int64_t middle = at_end ? n - 1 : random.integer(0, n);
    for (const std::int64_t i : nearest(places, dim_x, row_of(places, dim_x, middle), size)) hidden.push_back(i);
  }
  return once(std::move(hidden));
}

std::vector<std::int64_t> hole_mask(std::span<const double> x, std::int64_t dim_x, const GroupColumn& donor,
                                    std::int64_t points, Random& random) {
  const std::int64_t hole = donor.missing[static_cast<std::size_t>(random.integer(0, std::ssize(donor.missing)))];
  // In the middle of its window is where a hole comes from, but not where it has to be.
  const std::int64_t shift = dim_x == 1 ? random.integer(-points / 2, points / 2 + 1) : 0;
  const std::int64_t middle = std::clamp<std::int64_t>(hole + shift, 0, std::ssize(donor.y) - 1);
  const std::vector<std::int64_t> window = window_around(donor, dim_x, middle, points);
  std::vector<double> donor_x;
  for (const std::int64_t row : window) {
    const auto place = row_of(donor.x, dim_x, row);
    donor_x.insert(donor_x.end(), place.begin(), place.end());
  }
  const std::vector<double> from = stretched(donor_x, dim_x), to = stretched(x, dim_x);
  std::vector<std::int64_t> hidden;
  for (std::int64_t i = 0; i < std::ssize(window); ++i)
    if (std::ranges::binary_search(donor.missing, window[static_cast<std::size_t>(i)]))
      hidden.push_back(nearest(to, dim_x, row_of(from, dim_x, i), 1)[0]);
  return once(std::move(hidden));
}

}  // namespace npzoo
