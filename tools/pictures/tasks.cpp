#include "tools/pictures/tasks.h"

#include <array>
#include <optional>

#include "tools/plot/band_panel.h"
#include "tools/plot/map_panel.h"

namespace npzoo::tools {

namespace {

constexpr std::int64_t kGridPoints = 400;  // of a curve
constexpr std::int64_t kMapSide = 48;      // cells of a map along each axis
// The same of a model that predicts them jointly: time and memory may grow with their square, and more.
constexpr std::int64_t kJointGridPoints = 100, kJointMapSide = 24;
constexpr double kMapSize = 160;  // canvas units

/// The middles of side × side cells, (n, 2).
std::vector<double> map_grid(const Interval& range, std::int64_t side) {
  const auto at = [&](std::int64_t i) {
    return range.low + (range.high - range.low) * (static_cast<double>(i) + 0.5) / static_cast<double>(side);
  };
  std::vector<double> x;
  for (std::int64_t i = 0; i < side * side; ++i) {
    x.push_back(at(i % side));
    x.push_back(at(i / side));
  }
  return x;
}

/// A row's panel, without what differs between rows.
plot::Panel panel(const TaskRow& row, const std::vector<double>& x, const Said& said, plot::Color color,
                  const std::string& name) {
  plot::Panel panel = plot::make_panel({.name = name,
                                        .x_label = "x",
                                        .y_label = "y",
                                        .color = color,
                                        .x = x,
                                        .mean = said.curve.mean,
                                        .std = said.curve.std,
                                        .samples = said.functions,
                                        .context = {row.xc, row.yc},
                                        .truth = {row.xt, row.yt}});
  panel.x_range = plot::Range{x.front(), x.back()};
  return panel;
}

/// One value at each of some points, as a map.
struct Map {
  std::string title;
  plot::PlaneValues shown;
  plot::Grid cells;
  bool marked;  // shows where the context is
  bool bar = false;
};

}  // namespace

std::vector<double> regular_grid(const Interval& range, std::int64_t points) {
  const auto& [low, high] = range;
  std::vector<double> x(static_cast<std::size_t>(points));
  for (std::int64_t i = 0; i < points; ++i)
    x[static_cast<std::size_t>(i)] = low + (high - low) * static_cast<double>(i) / static_cast<double>(points - 1);
  return x;
}

plot::Figure draw_curves(const TaskPicture& c, const std::vector<Shown>& models, const TaskConfig& data,
                         const Batch& batch) {
  const Interval inputs = data.training_range().inputs;
  const bool several = models.size() > 1;
  plot::Figure figure{.share_y = true};
  if (several) {
    figure.panel_width = 150;
    figure.panel_height = 105;
  }
  const Draws draws(c.seed, Purpose::prediction, 0);
  for (std::int64_t i = 0; i < c.tasks; ++i) {
    const TaskRow row = row_of(batch.task, i);
    const std::size_t before = figure.panels.size();
    const auto add = [&](plot::Panel panel, const std::string& title) {
      if (i == 0) panel.title = title;
      if (several && i + 1 < c.tasks) panel.x_label.clear();
      figure.panels.push_back(std::move(panel));
    };
    for (const Shown& shown : models) {
      const std::vector<double> x = regular_grid(inputs, shown.jointly() ? kJointGridPoints : kGridPoints);
      add(panel(row, x, predict(shown, row, x, draws.from(i), c.samples), plot::palette(0), several ? "" : shown.name),
          shown.name);
    }
    const std::vector<double> x = regular_grid(inputs, kGridPoints);
    if (const auto exact = batch.truth ? batch.truth->curve(batch.task, i, x) : std::nullopt) {
      const std::string truth = batch.truth->name();
      add(panel(row, x, {*exact, {}}, plot::palette(2), truth), truth + " posterior");
    }
    figure.columns = static_cast<int>(figure.panels.size() - before);
  }
  return figure;
}

plot::Figure draw_maps(const TaskPicture& c, const std::vector<Shown>& models, const TaskConfig& data,
                       const Batch& batch) {
  const Interval inputs = data.training_range().inputs;
  const plot::Range axis{inputs.low, inputs.high};
  const plot::Grid coarse{axis, axis, kMapSide / 2, kMapSide / 2};
  plot::Figure figure{.panel_width = kMapSize, .panel_height = kMapSize, .share_y = true};
  const Draws draws(c.seed, Purpose::prediction, 0);
  for (std::int64_t i = 0; i < c.tasks; ++i) {
    const TaskRow row = row_of(batch.task, i);
    const plot::Grid cells = plot::grid_of(row.xt).value_or(coarse);
    std::vector<Map> maps{{"context", {row.xc, row.yc}, cells, true}};
    std::optional<Map> deviations;
    for (const Shown& shown : models) {
      const std::int64_t side = shown.jointly() ? kJointMapSide : kMapSide;
      const plot::Grid fine{axis, axis, static_cast<std::size_t>(side), static_cast<std::size_t>(side)};
      const std::vector<double> x = map_grid(inputs, side);
      const Curve said = predict(shown, row, x, draws.from(i), 0).curve;
      maps.push_back({models.size() > 1 ? shown.name : shown.name + ": mean", {x, said.mean}, fine, true});
      if (models.size() == 1) deviations = Map{"standard deviation", {x, said.std}, fine, true, true};
    }
    plot::Range values = plot::range_of({row.yt});
    for (const Map& map : maps) values = plot::range_of({map.shown.values, std::array{values.low, values.high}});
    if (!(values.low < values.high)) values.high = values.low + 1;
    const std::size_t before = figure.panels.size();
    const auto add = [&](const Map& map, const plot::ColorScale& scale) {
      plot::Panel panel = plot::make_map({.title = i > 0 ? "" : map.title,
                                          .raster = plot::rasterise(map.cells, map.shown, scale),
                                          .marked = map.marked ? row.xc : std::vector<double>(),
                                          .bar_label = map.bar ? std::optional(std::string()) : std::nullopt});
      panel.x_range = panel.y_range = axis;
      figure.panels.push_back(std::move(panel));
    };
    maps.push_back({"targets", {row.xt, row.yt}, cells, false, true});
    for (const Map& map : maps) add(map, {values});
    if (deviations) add(*deviations, {{0, plot::range_of({deviations->shown.values}).high}, plot::ColorMap::plasma});
    figure.columns = static_cast<int>(figure.panels.size() - before);
  }
  return figure;
}

}  // namespace npzoo::tools
