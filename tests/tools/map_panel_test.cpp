#include "tools/plot/map_panel.h"

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::tools;
using namespace npzoo::testing;
using namespace npzoo::tools::plot;

namespace {

/// The points of columns × rows cells, `step` apart, without those that `left_out` names.
std::vector<double> points_of_grid(int columns, int rows, double step, const std::vector<int>& left_out = {}) {
  std::vector<double> x;
  for (int i = 0; i < columns * rows; ++i)
    if (std::ranges::find(left_out, i) == left_out.end())
      x.insert(x.end(), {step * (i % columns), 7 + step * (i / columns)});
  return x;
}

std::vector<double> scattered(std::size_t count) {
  Random random(1);
  std::vector<double> x;
  for (std::size_t i = 0; i < count; ++i) x.insert(x.end(), {random.uniform(0, 3), random.uniform(0, 2)});
  return x;
}

bool equal(const Color& a, const Color& b) { return a.red == b.red && a.green == b.green && a.blue == b.blue; }

}  // namespace

TEST_CASE("color map: from the first colour to the last, beyond the ends the same") {
  const ColorScale scale{{10, 20}, ColorMap::viridis};
  CHECK(equal(scale(10), {68 / 255.0, 1 / 255.0, 84 / 255.0}));
  CHECK(equal(scale(20), {253 / 255.0, 231 / 255.0, 37 / 255.0}));
  CHECK(equal(scale(-1e300), scale(10)));
  CHECK(equal(scale(kInfinity), scale(20)));
  for (const ColorMap map : {ColorMap::viridis, ColorMap::plasma})
    for (double share = 0; share < 0.995; share += 0.01) {  // each step is lighter than the one before
      const auto light = [&](double at) {
        const Color color = color_of(map, at);
        return 0.2126 * color.red + 0.7152 * color.green + 0.0722 * color.blue;
      };
      CHECK(light(share + 0.01) > light(share));
    }
}

TEST_CASE("map panel: an even grid is found, holes and rounded decimals or not") {
  const auto found = [](const std::vector<double>& x) {
    const auto grid = grid_of(x);
    return grid ? std::pair(grid->columns, grid->rows) : std::pair<std::size_t, std::size_t>();
  };
  using Size = std::pair<std::size_t, std::size_t>;
  CHECK(found(points_of_grid(5, 3, 0.1)) == Size{5, 3});
  CHECK(found(points_of_grid(5, 3, 0.1, {1, 6, 11, 7, 8})) == Size{5, 3});  // a column is missing
  std::vector<double> rounded = points_of_grid(500, 3, 0.009273986655);
  for (double& value : rounded) value = std::round(value * 1e4) / 1e4;
  CHECK(found(rounded) == Size{500, 3});
  const auto grid = grid_of(points_of_grid(5, 3, 0.5));
  REQUIRE(grid);
  CHECK(grid->x.low == doctest::Approx(-0.25));
  CHECK(grid->x.high == doctest::Approx(2.25));
  CHECK(grid->y.low == doctest::Approx(6.75));
  CHECK(grid->y.high == doctest::Approx(8.25));

  CHECK(!grid_of(scattered(1000)));
  CHECK(!grid_of(points_of_grid(5, 1, 1)));
  CHECK(!grid_of({}));
  CHECK(!grid_of(std::vector<double>{0, 0, 1, 0, 0, 1, 3e300, 1}));  // not even
  std::vector<double> diagonal;                                      // on a grid that is empty
  for (int i = 0; i < 50; ++i) diagonal.insert(diagonal.end(), {1.0 * i, 1.0 * i});
  CHECK(!grid_of(diagonal));
}

TEST_CASE("map panel: as many cells as can be seen, and squares for other points") {
  const Grid small = cells_for(points_of_grid(5, 3, 0.1));
  CHECK(small.columns == 5);
  CHECK(small.rows == 3);
  const Grid large = cells_for(points_of_grid(1201, 2, 1));
  CHECK(large.columns == 401);  // three together, the last with two that are not there
  CHECK(large.x.low == doctest::Approx(-0.5));
  CHECK(large.x.high == doctest::Approx(1202.5));
  CHECK(large.rows == 2);
  std::size_t before = 0;
  for (const std::size_t count : {10, 1000, 100'000}) {
    CAPTURE(count);
    const Grid cells = cells_for(scattered(count));
    const double width = (cells.x.high - cells.x.low) / static_cast<double>(cells.columns);
    const double height = (cells.y.high - cells.y.low) / static_cast<double>(cells.rows);
    CHECK(width / height == doctest::Approx(1).epsilon(0.1));
    CHECK(cells.columns > before);
    CHECK(cells.columns <= 242);
    before = cells.columns;
  }
  for (const std::vector<double>& x :
       {std::vector<double>(), {1, 2}, {1, 2, 1, 2}, {1, 0, 1, 5}, {0, 0, 1e308, -1e308}})
    CHECK(cells_for(x).columns * cells_for(x).rows > 0);
}

TEST_CASE("map panel: a cell shows the mean of its finite values, or nothing") {
  const Grid grid{{0, 2}, {0, 2}, 2, 2};
  const Raster raster =
      rasterise(grid, {{0.5, 0.5, 0.6, 0.4, 1.5, 0.5, 1.5, 1.5, 5, 5, -1e300, 0.5}, {1, 3, kNaN, 7, 99, 99}}, {});
  CHECK(raster.values[0] == 2);
  CHECK(std::isnan(raster.values[1]));
  CHECK(std::isnan(raster.values[2]));
  CHECK(raster.values[3] == 7);
  CHECK(error_of([&] {
          rasterise(grid, {{1, 2, 3}, {1}}, {});
        }) == "[plot] a map has 3 coordinates and 1 values, expected two for each");
}

TEST_CASE("map panel: inputs that are days have axes of dates") {
  Prediction2d shown{.x_label = "day",
                     .y_label = "start",
                     .value_label = "t",
                     .observed = {{0, 10, 40, 50, 80, 90}, {1, 2, 3}},
                     .mean = {{20, 30}, {2}},
                     .std = {0.5}};
  const auto drawn = [&] {
    return draw_figure({.columns = 3, .share_y = true, .panels = make_maps(shown)}, "map.svg");
  };
  const std::string numbers = drawn();
  shown.y_time = TimeAxis{18000};
  const std::string up = drawn();
  for (const Panel& panel : make_maps(shown)) CHECK((!panel.x_time && panel.y_time->epoch == 18000));
  shown.x_time = TimeAxis{18000};
  const std::string both = drawn();
  CHECK(numbers != up);
  CHECK(up != both);
}

TEST_CASE("map panel: three maps of the same cells") {
  Prediction2d shown{.x_label = "lon",
                     .y_label = "lat",
                     .value_label = "t",
                     .observed = {points_of_grid(4, 3, 1, {5}), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
                     .mean = {{1, 8}, {20}},
                     .std = {0.5}};
  for (const bool scattered : {false, true}) {
    CAPTURE(scattered);
    if (scattered) {
      shown.observed.x[0] += 0.3;
      shown.observed.x[3] += 0.4;
    }
    const std::vector<Panel> panels = make_maps(shown);
    REQUIRE(panels.size() == 3);
    const auto raster = [&](std::size_t i) { return std::get<Raster>(panels[i].layers[0]); };
    const auto count = [&](std::size_t i) {
      return std::ranges::count_if(raster(i).values, [](double v) { return std::isfinite(v); });
    };
    CHECK(count(0) == 11);
    CHECK(count(1) == (scattered ? 1 : 12));  // what was observed fills a grid
    CHECK(count(2) == 1);
    if (!scattered) {
      CHECK(std::isnan(raster(0).values[5]));
      CHECK(raster(0).values[4] == 5);
      CHECK(raster(1).values[4] == 5);
      CHECK(raster(1).values[5] == 20);
      CHECK(raster(2).values[5] == 0.5);
    }
    for (const std::size_t i : {0, 1}) {
      CHECK(raster(i).scale.shown.low == 1);
      CHECK(raster(i).scale.shown.high == 20);
    }
    CHECK(raster(2).scale.shown.low == 0);
    CHECK(panels[1].title == (scattered ? "mean" : "observed and mean"));
    CHECK(!panels[0].bar);
    REQUIRE(panels[1].bar);
    CHECK(panels[1].bar->label == "t");
    CHECK(panels[2].bar);
    for (const char* name : {"f.svg", "f.png"})
      CHECK(!draw_figure({.columns = 3, .share_y = true, .panels = panels}, name).empty());
  }
  shown = {};
  CHECK(!draw_figure({.panels = make_maps(shown)}, "f.png").empty());
}

TEST_CASE("map panel: one scale for both axes, unless the map would be too flat") {
  const auto size = [](double width, double height) {
    const Rectangle found = map_size(std::vector<double>{0, 0, width, height});
    return std::pair(found.width, found.height);
  };
  CHECK(size(2, 1) == std::pair(260.0, 130.0));
  CHECK(size(1, 2) == std::pair(130.0, 260.0));
  CHECK(size(1, 1000) == std::pair(260.0, 260.0));
  CHECK(map_size({}).width == 260);
}
