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

/// A cell's targets and context.
struct Tile {
  LocalCell cell;
  Rows context;
};

std::vector<Tile> all_tiles(const LocalContexts& contexts, const std::vector<double>& targets) {
  std::vector<Tile> tiles;
  for (LocalCell& cell : contexts.cells(targets)) {
    Rows context = contexts.context(cell.box);
    tiles.push_back({std::move(cell), std::move(context)});
  }
  return tiles;
}

bool equal(const std::vector<Tile>& a, const std::vector<Tile>& b) {
  return std::ranges::equal(a, b, [](const Tile& s, const Tile& t) {
    return s.cell.box.low == t.cell.box.low && s.cell.box.high == t.cell.box.high && s.cell.targets == t.cell.targets &&
           s.context == t.context;
  });
}

Rows context_at(const std::vector<double>& x, std::int64_t dim_x, std::int64_t neighbours,
                const std::vector<double>& target) {
  const std::vector<Tile> tiles = all_tiles(LocalContexts(x, dim_x, neighbours), target);
  REQUIRE(tiles.size() == 1);
  return tiles[0].context;
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

/// The context that the header describes, by sorting all distinct places. Sectors by angle.
Rows expected_context(const std::vector<std::vector<double>>& places, const CellBox& box, std::size_t k) {
  const std::vector<double> middle = box.middle();
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
  const auto from_box = [&](std::int64_t i) {
    std::vector<double> nearest = places[static_cast<std::size_t>(i)];
    for (std::size_t d = 0; d < nearest.size(); ++d) nearest[d] = std::clamp(nearest[d], box.low[d], box.high[d]);
    return distance(places[static_cast<std::size_t>(i)], nearest);
  };
  Rows near = pool;
  std::ranges::stable_sort(near, {}, from_box);
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

TEST_CASE("local contexts: a cell's context is that of a search of all points") {
  for (const std::size_t width : {1, 2, 3, 5}) {
    for (const std::int64_t k : {1, 7, 64, 200}) {
      CAPTURE(width);
      CAPTURE(k);
      std::vector<double> x = uniform(1500 * width, 1), targets = uniform(40 * width, 2);
      for (std::size_t i = 0; i < x.size(); i += width) x[i] *= 1e4;  // another unit
      for (std::size_t i = 0; i < targets.size(); i += width) targets[i] *= 1e4;
      const auto places = scaled(x, x, width);
      for (const Tile& tile : all_tiles(LocalContexts(x, static_cast<std::int64_t>(width), k), targets))
        CHECK(tile.context == expected_context(places, tile.cell.box, static_cast<std::size_t>(k)));
    }
  }
}

TEST_CASE("local contexts: a target is in one cell, whose pool reaches beyond it") {
  for (const std::size_t width : {1, 2, 3}) {
    for (const std::size_t count : {0, 1, 500}) {
      CAPTURE(width);
      CAPTURE(count);
      const std::vector<double> x = uniform(2000 * width, 3), targets = uniform(count * width, 4);
      const LocalContexts contexts(x, static_cast<std::int64_t>(width), 16);
      CHECK(contexts.rows() == 2000);
      Rows seen;
      const auto places = scaled(x, x, width), points = scaled(targets, x, width);
      for (const Tile& tile : all_tiles(contexts, targets)) {
        const CellBox& box = tile.cell.box;
        CHECK(tile.context.size() == 16);
        CHECK(std::ranges::is_sorted(tile.cell.targets));
        seen.insert(seen.end(), tile.cell.targets.begin(), tile.cell.targets.end());
        std::vector<double> radii;
        for (const auto& place : places) radii.push_back(distance(place, box.middle()));
        std::ranges::sort(radii);
        const double radius = std::sqrt(box.square_of_radius());
        CHECK(radius <= radii[16]);
        CHECK(2.8 * radius <= radii[128]);
        for (const std::int64_t row : tile.cell.targets)
          CHECK(box.square_from(points[static_cast<std::size_t>(row)]) == 0);
      }
      std::ranges::sort(seen);
      CHECK(seen == all_rows(count));
    }
  }
}

TEST_CASE("local contexts: a target's cell and context do not depend on its company") {
  for (const std::size_t width : {1, 2, 4}) {
    CAPTURE(width);
    const std::vector<double> x = uniform(1500 * width, 5);
    std::vector<double> targets = uniform(30 * width, 6);
    for (double& t : targets) t = 3 * t - 1;  // outside as well
    for (std::size_t d = 0; d < width; ++d) targets.push_back(1e9);
    const LocalContexts contexts(x, static_cast<std::int64_t>(width), 12);
    for (const Tile& tile : all_tiles(contexts, targets))
      for (const std::int64_t row : tile.cell.targets) {
        const auto at = targets.begin() + row * static_cast<std::ptrdiff_t>(width);
        const std::vector<Tile> alone = all_tiles(contexts, {at, at + static_cast<std::ptrdiff_t>(width)});
        REQUIRE(alone.size() == 1);
        CHECK(alone[0].cell.box.low == tile.cell.box.low);
        CHECK(alone[0].cell.box.high == tile.cell.box.high);
        CHECK(alone[0].context == tile.context);
      }
  }
}

TEST_CASE("local contexts: all sides of a hole are seen, the sparse ones too") {
  // Dense left of a gap, sparse right of it.
  std::vector<double> x;
  for (int i = 0; i < 1000; ++i) x.push_back(0.001 * i);
  for (int i = 0; i < 20; ++i) x.push_back(1.5 + 0.1 * i);
  const Rows in_gap = context_at(x, 1, 32, {1.05});
  CHECK(std::ranges::count_if(in_gap, [](std::int64_t row) { return row >= 1000; }) >= 8);
  CHECK(std::ranges::count_if(in_gap, [](std::int64_t row) { return row < 1000; }) >= 8);

  // A disc without points in a grid, and its middle.
  std::vector<double> grid;
  for (int i = -40; i <= 40; ++i)
    for (int j = -40; j <= 40; ++j)
      if (i * i + j * j > 100) grid.insert(grid.end(), {1.0 * i, 1.0 * j});
  const Rows context = context_at(grid, 2, 128, {1.0, 1.0});
  for (const std::array<double, 2>& side : {std::array{-1.0, 0.0}, {1.0, 0.0}, {0.0, -1.0}, {0.0, 1.0}}) {
    CAPTURE(side[0]);
    CAPTURE(side[1]);
    const auto beyond = [&](std::int64_t row) {
      return side[0] * grid[static_cast<std::size_t>(2 * row)] + side[1] * grid[static_cast<std::size_t>(2 * row) + 1] >
             9;
    };
    CHECK(std::ranges::count_if(context, beyond) >= 4);
  }
}

TEST_CASE("local contexts: beyond the last points a context is that of the last points") {
  std::vector<double> x(2000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  CHECK(context_at(x, 1, 8, {2000.5}) == Rows{1992, 1993, 1994, 1995, 1996, 1997, 1998, 1999});
  CHECK(context_at(x, 1, 8, {1e7}) == Rows{1992, 1993, 1994, 1995, 1996, 1997, 1998, 1999});
}

TEST_CASE("local contexts: few, equal and extreme points") {
  const std::vector<double> three{0, 1, 2};
  CHECK(context_at(three, 1, 8, {1.0}) == Rows{0, 1, 2});
  CHECK(context_at({}, 2, 8, {0.0, 0.0}).empty());
  CHECK(LocalContexts(three, 1, 8).cells({}).empty());

  // A thousand rows at one place, and no others.
  const std::vector<double> one_place(2000, 7.0);
  CHECK(context_at(one_place, 2, 10, {7.0, 7.0}) == Rows{0, 100, 200, 300, 400, 500, 600, 700, 800, 900});
  CHECK(context_at(one_place, 2, 10, {8.0, 1e300}).size() == 10);

  // Two rows of each of many places, a hundred of the one in their middle: no more of it than a sixteenth.
  std::vector<double> x;
  for (int i = 0; i < 100; ++i) x.insert(x.end(), {1.0 * i, 1.0 * i});
  x.insert(x.end(), 98, 50.0);
  const Rows mixed = context_at(x, 1, 32, {50.0});
  CHECK(mixed.size() == 32);
  CHECK(std::ranges::count_if(mixed, [&](std::int64_t r) { return x[static_cast<std::size_t>(r)] == 50; }) == 2);

  // Targets at one place far from all points, and so far that squares overflow.
  for (const double far : {1e9, 1e300, std::numeric_limits<double>::max()}) {
    CAPTURE(far);
    const std::vector<Tile> tiles = all_tiles(LocalContexts(uniform(2000, 5), 2, 16), std::vector<double>(80, far));
    REQUIRE(tiles.size() == 1);
    CHECK(tiles[0].cell.targets.size() == 40);
    CHECK(tiles[0].context.size() == 16);
  }
  const double huge = std::numeric_limits<double>::max();
  CHECK(context_at({-huge, 0.0, huge}, 1, 2, {huge}) == Rows{1, 2});
  CHECK(error_of([] { LocalContexts(std::vector{1.0}, 1, 0); }) ==
        "[local contexts] 0 neighbours, expected at least 1");
}

TEST_CASE("local contexts: points beside one another in a corner end in small cells, points at one spot in one") {
  // All but one of many places fall on one spot beside the far one, which is too near to count as far.
  std::vector<double> x{1.0};
  for (int i = 0; i < 400; ++i) x.push_back(0x1p-60 * i);
  const std::vector<Tile> tiles = all_tiles(LocalContexts(x, 1, 8), x);
  for (const Tile& tile : tiles) CHECK(tile.context.size() == 8);
  std::size_t targets = 0;
  for (const Tile& tile : tiles) targets += tile.cell.targets.size();
  CHECK(targets == x.size());
}

TEST_CASE("local contexts: of a grid full of ties the same in every order of the rows and for any number of threads") {
  std::vector<double> x, targets = uniform(600, 6);
  for (double& t : targets) t = std::floor(t * 40);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 40; ++j) x.insert(x.end(), {1.0 * i, 1.0 * j});
  const std::size_t rows = x.size() / 2;
  const std::vector<Tile> tiles = all_tiles(LocalContexts(x, 2, 24), targets);
  for (const int threads : {1, 2, 3}) {
    const ThreadCount count(threads);
    CHECK(equal(all_tiles(LocalContexts(x, 2, 24), targets), tiles));
  }
  std::vector<double> backwards;
  for (std::size_t i = rows; i-- > 0;) backwards.insert(backwards.end(), {x[2 * i], x[2 * i + 1]});
  std::vector<Tile> turned = all_tiles(LocalContexts(backwards, 2, 24), targets);
  for (Tile& tile : turned) {
    for (std::int64_t& row : tile.context) row = static_cast<std::int64_t>(rows) - 1 - row;
    std::ranges::sort(tile.context);
  }
  CHECK(equal(turned, tiles));
}
