#include "npzoo/models/applications/tables/local_contexts.h"

#include <array>
#include <map>
#include <numbers>
#include <set>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using Rows = std::vector<std::int64_t>;

std::vector<double> uniform(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> x(count);
  for (double& value : x) value = random.uniform();
  return x;
}

Rows all_rows(std::size_t count) {
  Rows rows(count);
  for (std::size_t i = 0; i < count; ++i) rows[i] = static_cast<std::int64_t>(i);
  return rows;
}

/// The tiles of all targets, group by group as they are asked for.
std::vector<LocalTile> all_tiles(const LocalContexts& contexts, const std::vector<double>& targets,
                                 std::int64_t grain) {
  const Rows order = contexts.order(targets);
  constexpr auto kGroup = static_cast<std::size_t>(LocalContexts::kTileTargets);
  std::vector<std::vector<LocalTile>> groups((order.size() + kGroup - 1) / kGroup);
  thread_pool().for_range(static_cast<std::int64_t>(groups.size()), grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto g = static_cast<std::size_t>(begin); g < static_cast<std::size_t>(end); ++g)
      groups[g] =
          contexts.tiles(targets, std::span(order).subspan(g * kGroup, std::min(kGroup, order.size() - g * kGroup)));
  });
  std::vector<LocalTile> tiles;
  for (const auto& group : groups) tiles.insert(tiles.end(), group.begin(), group.end());
  return tiles;
}

bool equal(const std::vector<LocalTile>& a, const std::vector<LocalTile>& b) {
  return std::ranges::equal(
      a, b, [](const LocalTile& s, const LocalTile& t) { return s.targets == t.targets && s.context == t.context; });
}

/// Points (n, Dx) divided by the extents of `by`.
std::vector<std::vector<double>> scaled(const std::vector<double>& x, const std::vector<double>& by,
                                        std::size_t width) {
  std::vector<std::vector<double>> points(x.size() / width);
  for (std::size_t d = 0; d < width; ++d) {
    double low = kInfinity, high = -kInfinity;
    for (std::size_t i = d; i < by.size(); i += width) {
      low = std::min(low, by[i]);
      high = std::max(high, by[i]);
    }
    for (std::size_t i = 0; i < points.size(); ++i) points[i].push_back((x[i * width + d] - low) / (high - low));
  }
  return points;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return std::sqrt(sum);
}

std::vector<double> middle_of(const std::vector<std::vector<double>>& points) {
  std::vector<double> low = points[0], high = points[0];
  for (const auto& p : points)
    for (std::size_t d = 0; d < p.size(); ++d) {
      low[d] = std::min(low[d], p[d]);
      high[d] = std::max(high[d], p[d]);
    }
  for (std::size_t d = 0; d < low.size(); ++d) low[d] = (low[d] + high[d]) / 2;
  return low;
}

/// What the header says, by sorting all of n distinct places. Sectors by angle.
Rows expected_context(const std::vector<std::vector<double>>& places, const std::vector<std::vector<double>>& targets,
                      std::size_t k) {
  const std::vector<double> middle = middle_of(targets);
  const auto from_middle = [&](std::int64_t i) { return distance(places[static_cast<std::size_t>(i)], middle); };
  Rows pool;
  if (middle.size() == 1) {
    for (const bool left : {true, false}) {
      Rows side;
      for (const std::int64_t i : all_rows(places.size()))
        if ((places[static_cast<std::size_t>(i)][0] < middle[0]) == left) side.push_back(i);
      std::ranges::sort(side, {}, from_middle);
      side.resize(std::min(side.size(), 2 * k));
      pool.insert(pool.end(), side.begin(), side.end());
    }
  } else {
    pool = all_rows(places.size());
  }
  std::ranges::sort(pool, {}, from_middle);
  pool.resize(std::min(pool.size(), 4 * k));
  const auto from_targets = [&](std::int64_t i) {
    double nearest = kInfinity;
    for (const auto& target : targets)
      nearest = std::min(nearest, distance(places[static_cast<std::size_t>(i)], target));
    return nearest;
  };
  Rows near = pool;
  std::ranges::sort(near, {}, from_targets);
  std::set<std::int64_t> chosen(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(std::min(near.size(), k / 2)));
  const auto direction = [&](std::int64_t i) {
    const auto& p = places[static_cast<std::size_t>(i)];
    if (p.size() == 2) {
      const double turns = std::atan2(p[1] - middle[1], p[0] - middle[0]) / (2 * std::numbers::pi);
      return (static_cast<int>(std::floor(turns * 16 + 0.5)) + 16) % 16;
    }
    int orthant = 0;
    for (std::size_t d = 0; d < std::min<std::size_t>(p.size(), 4); ++d) orthant += p[d] > middle[d] ? 1 << d : 0;
    return orthant;
  };
  const std::size_t directions =
      places[0].size() == 2 ? 16 : std::size_t{1} << std::min<std::size_t>(4, places[0].size());
  const std::size_t quota = (k - chosen.size()) / directions;
  std::map<int, std::size_t> counts;
  for (const std::int64_t i : pool)
    if (!chosen.contains(i) && counts[direction(i)] < quota) {
      ++counts[direction(i)];
      chosen.insert(i);
    }
  for (const std::int64_t i : pool)
    if (chosen.size() < k) chosen.insert(i);
  return {chosen.begin(), chosen.end()};
}

}  // namespace

TEST_CASE("local contexts: neighbours are those of a search of all points") {
  for (const std::size_t width : {1, 2, 3, 5}) {
    for (const std::int64_t k : {1, 7, 64, 200}) {
      CAPTURE(width);
      CAPTURE(k);
      std::vector<double> x = uniform(1500 * width, 1), targets = uniform(100 * width, 2);
      for (std::size_t i = 0; i < x.size(); i += width) x[i] *= 1e4;  // another unit
      for (std::size_t i = 0; i < targets.size(); i += width) targets[i] *= 1e4;
      const LocalContexts contexts(x, static_cast<std::int64_t>(width), k);
      const auto places = scaled(x, x, width), points = scaled(targets, x, width);
      for (const LocalTile& tile : all_tiles(contexts, targets, 1)) {
        std::vector<std::vector<double>> own;
        for (const std::int64_t row : tile.targets) own.push_back(points[static_cast<std::size_t>(row)]);
        CHECK(tile.context == expected_context(places, own, static_cast<std::size_t>(k)));
      }
    }
  }
}

TEST_CASE("local contexts: each target is in one tile, and what is near to it is in the tile's pool") {
  for (const std::size_t width : {1, 2, 3}) {
    for (const std::size_t count : {0, 1, 31, 32, 33, 1000}) {
      CAPTURE(width);
      CAPTURE(count);
      const std::vector<double> x = uniform(2000 * width, 3), targets = uniform(count * width, 4);
      const LocalContexts contexts(x, static_cast<std::int64_t>(width), 16);
      CHECK(contexts.rows() == 2000);
      Rows order = contexts.order(targets), seen;
      std::ranges::sort(order);
      CHECK(order == all_rows(count));
      const auto places = scaled(x, x, width), points = scaled(targets, x, width);
      for (const LocalTile& tile : all_tiles(contexts, targets, 1)) {
        CHECK(tile.targets.size() <= static_cast<std::size_t>(LocalContexts::kTileTargets));
        CHECK(tile.context.size() == 16);
        CHECK(std::ranges::is_sorted(tile.targets));
        seen.insert(seen.end(), tile.targets.begin(), tile.targets.end());
        std::vector<std::vector<double>> own;
        for (const std::int64_t row : tile.targets) own.push_back(points[static_cast<std::size_t>(row)]);
        std::vector<double> radii;
        for (const auto& place : places) radii.push_back(distance(place, middle_of(own)));
        std::ranges::sort(radii);
        for (const auto& target : own) CHECK(distance(target, middle_of(own)) <= radii[63] / 2 * (1 + 1e-12));
      }
      std::ranges::sort(seen);
      CHECK(seen == all_rows(count));
    }
  }
}

TEST_CASE("local contexts: all sides of a hole are seen, the sparse ones too") {
  // Dense left of a gap, sparse right of it.
  std::vector<double> x;
  for (int i = 0; i < 1000; ++i) x.push_back(0.001 * i);
  for (int i = 0; i < 20; ++i) x.push_back(1.5 + 0.1 * i);
  const LocalContexts line(x, 1, 32);
  const std::vector<LocalTile> in_gap = line.tiles(std::vector{1.05}, Rows{0});
  REQUIRE(in_gap.size() == 1);
  CHECK(std::ranges::count_if(in_gap[0].context, [](std::int64_t row) { return row >= 1000; }) == 8);
  CHECK(std::ranges::count_if(in_gap[0].context, [](std::int64_t row) { return row < 1000; }) == 24);

  // A disc without points in a grid.
  std::vector<double> grid;
  for (int i = -40; i <= 40; ++i)
    for (int j = -40; j <= 40; ++j)
      if (i * i + j * j > 400) grid.insert(grid.end(), {1.0 * i, 1.0 * j});
  const LocalContexts plane(grid, 2, 128);
  const LocalTile tile = plane.tiles(std::vector{3.0, 1.0}, Rows{0})[0];
  for (const std::array<double, 2>& side : {std::array{-1.0, 0.0}, {1.0, 0.0}, {0.0, -1.0}, {0.0, 1.0}}) {
    CAPTURE(side[0]);
    CAPTURE(side[1]);
    const auto beyond = [&](std::int64_t row) {
      return side[0] * grid[static_cast<std::size_t>(2 * row)] + side[1] * grid[static_cast<std::size_t>(2 * row) + 1] >
             18;
    };
    CHECK(std::ranges::count_if(tile.context, beyond) >= 4);
  }
}

TEST_CASE("local contexts: few, equal and extreme points") {
  const std::vector<double> three{0, 1, 2};
  CHECK(LocalContexts(three, 1, 8).tiles(three, all_rows(3))[0].context == Rows{0, 1, 2});
  CHECK(LocalContexts({}, 2, 8).tiles(std::vector<double>{0, 0}, Rows{0})[0].context.empty());
  CHECK(LocalContexts(three, 1, 8).tiles(three, Rows{}).empty());
  CHECK(LocalContexts(three, 1, 8).order({}).empty());

  // A thousand rows at one place, and no others.
  const std::vector<double> one_place(2000, 7.0);
  const LocalTile alone = LocalContexts(one_place, 2, 10).tiles(std::vector{7.0, 7.0}, Rows{0})[0];
  CHECK(alone.context == Rows{0, 100, 200, 300, 400, 500, 600, 700, 800, 900});

  // Two rows of each of many places, a hundred of the one in their middle: no more of it than a sixteenth.
  std::vector<double> x;
  for (int i = 0; i < 100; ++i) x.insert(x.end(), {1.0 * i, 1.0 * i});
  x.insert(x.end(), 98, 50.0);
  const LocalTile tile = LocalContexts(x, 1, 32).tiles(std::vector{50.0}, Rows{0})[0];
  CHECK(tile.context.size() == 32);
  CHECK(std::ranges::count_if(tile.context, [&](std::int64_t r) { return x[static_cast<std::size_t>(r)] == 50; }) == 2);

  // Targets at one place far from all points, and so far that squares overflow.
  for (const double far : {1e9, 1e300, std::numeric_limits<double>::max()}) {
    CAPTURE(far);
    const std::vector<double> targets(80, far);
    const std::vector<LocalTile> tiles = all_tiles(LocalContexts(uniform(2000, 5), 2, 16), targets, 1);
    CHECK(tiles.size() == 2);
    for (const LocalTile& t : tiles) CHECK(t.context.size() == 16);
  }
  const double huge = std::numeric_limits<double>::max();
  CHECK(LocalContexts(std::vector{-huge, 0.0, huge}, 1, 2).tiles(std::vector{huge}, Rows{0})[0].context == Rows{1, 2});
  CHECK(error_of([] { LocalContexts(std::vector{1.0}, 1, 0); }) ==
        "[local contexts] 0 neighbours, expected at least 1");
}

TEST_CASE("local contexts: of a grid full of ties the same in every order of the rows and for any number of threads") {
  std::vector<double> x, targets = uniform(600, 6);
  for (double& t : targets) t = std::floor(t * 40);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 40; ++j) x.insert(x.end(), {1.0 * i, 1.0 * j});
  const std::size_t rows = x.size() / 2;
  const std::vector<LocalTile> tiles = all_tiles(LocalContexts(x, 2, 24), targets, 1);
  for (const int threads : {1, 2, 3}) {
    const ThreadCount count(threads);
    CHECK(equal(all_tiles(LocalContexts(x, 2, 24), targets, 2), tiles));
  }
  std::vector<double> backwards;
  for (std::size_t i = rows; i-- > 0;) backwards.insert(backwards.end(), {x[2 * i], x[2 * i + 1]});
  std::vector<LocalTile> turned = all_tiles(LocalContexts(backwards, 2, 24), targets, 1);
  for (LocalTile& tile : turned) {
    for (std::int64_t& row : tile.context) row = static_cast<std::int64_t>(rows) - 1 - row;
    std::ranges::sort(tile.context);
  }
  CHECK(equal(turned, tiles));
}
