#include "tools/pictures/optimise.h"

#include <algorithm>
#include <cmath>

#include "tools/plot/band_panel.h"
#include "tools/plot/map_panel.h"

namespace npzoo::tools {

namespace {

constexpr double kLowest = 0.1;  // share of a map's acquisitions that have the colour of the lowest

/// A coordinate as it is drawn: the exponent on logarithmic axes.
double shown_of(const Axis& axis, double value) { return axis.logarithmic ? std::log10(value) : value; }

plot::Range range_of(const Axis& axis) { return {shown_of(axis, axis.low), shown_of(axis, axis.high)}; }

std::string label_of(const Axis& axis) { return axis.logarithmic ? "log10 " + axis.name : axis.name; }

/// From the least to the greatest value, and wide enough to be drawn.
plot::Range range_of_values(std::vector<double> values, double lowest) {
  std::ranges::sort(values);
  const double low = values[static_cast<std::size_t>(lowest * static_cast<double>(values.size()))],
               high = values.back();
  return high - low > 1e-9 * std::abs(high) ? plot::Range{low, high} : plot::Range{low - 0.5, high + 0.5};
}

/// Wide enough that points on the edge are drawn in full.
plot::Range with_margin(const plot::Range& edges) {
  const double margin = 0.02 * (edges.high - edges.low);
  return {edges.low - margin, edges.high + margin};
}

plot::Figure draw_maps(const SearchSpace& space, const Beliefs& beliefs, const std::vector<ProposedPoint>& proposals) {
  const BeliefMap& map = *beliefs.map;
  const Axis &across = space.axes()[map.across], &up = space.axes()[map.up];
  const plot::Grid grid{range_of(across), range_of(up), map.columns.size(), map.rows.size()};
  plot::Markers evaluated{.x = {}, .y = {}, .label = "evaluated"},
      proposed{.x = {}, .y = {}, .color = plot::palette(1), .radius = 4, .label = "proposed"};
  const auto mark = [&](std::span<const double> point, plot::Markers& markers) {
    markers.x.push_back(shown_of(across, point[map.across]));
    markers.y.push_back(shown_of(up, point[map.up]));
  };
  const std::size_t axes = space.axes().size();
  for (std::size_t i = 0; i < beliefs.points.size(); i += axes)
    mark(std::span(beliefs.points).subspan(i, axes), evaluated);
  for (const ProposedPoint& point : proposals) mark(space.places(point.unit), proposed);
  plot::Figure figure{.title = beliefs.surrogate, .columns = 3, .panel_width = 220, .panel_height = 220};
  const auto add = [&](std::string title, const std::vector<double>& values, const plot::ColorScale& scale) {
    plot::Panel panel = plot::make_map({.title = std::move(title), .raster = {grid, values, scale}, .bar_label = ""});
    panel.x_label = label_of(across);
    panel.x_range = with_margin(grid.x);
    panel.y_range = with_margin(grid.y);
    panel.layers.emplace_back(evaluated);
    panel.layers.emplace_back(proposed);
    figure.panels.push_back(std::move(panel));
  };
  const auto& [mean, std, acquisition] = map.values;
  add("mean", mean, {range_of_values(mean, 0)});
  add("standard deviation", std, {{0, range_of_values(std, 0).high}, plot::ColorMap::plasma});
  add(std::string("acquisition, ") + std::string(to_string(beliefs.acquisition)), acquisition,
      {range_of_values(acquisition, kLowest)});
  figure.panels.front().y_label = label_of(up);
  return figure;
}

/// The names of choices as ticks.
std::vector<plot::Tick> ticks_of(const Axis& axis) {
  std::vector<plot::Tick> ticks;
  for (const std::string& choice : axis.choices) ticks.push_back({static_cast<double>(ticks.size()), choice});
  return ticks;
}

/// Acquisitions are below the predictions, or beside them if there are many axes.
plot::Figure draw_lines(const SearchSpace& space, const Beliefs& beliefs) {
  constexpr std::size_t kMostBeside = 6;
  const bool many = beliefs.lines.size() > kMostBeside;
  plot::Figure figure{
      .columns = many ? 2 : static_cast<int>(beliefs.lines.size()), .panel_width = 260, .panel_height = 170};
  std::vector<plot::Panel> below;
  for (const BeliefLine& line : beliefs.lines) {
    const Axis& axis = space.axes()[line.axis];
    plot::BandPanel panel{.name = beliefs.surrogate,
                          .x_label = label_of(axis),
                          .y_label = "value",
                          .x = {},
                          .mean = line.values.mean,
                          .std = line.values.std,
                          .context = {}};
    for (const double at : line.at) panel.x.push_back(shown_of(axis, at));
    for (std::size_t i = 0; i < beliefs.values.size(); ++i)
      panel.context.x.push_back(shown_of(axis, beliefs.points[i * space.axes().size() + line.axis]));
    panel.context.y = beliefs.values;
    plot::Panel predicted = plot::make_panel(panel);
    predicted.x_ticks = ticks_of(axis);
    plot::Panel worth{.x_label = panel.x_label, .y_label = std::string(to_string(beliefs.acquisition))};
    worth.layers.push_back(
        plot::Line{.x = panel.x, .y = line.values.acquisition, .color = plot::palette(1), .label = "acquisition"});
    worth.x_ticks = predicted.x_ticks;
    figure.panels.push_back(std::move(predicted));
    (many ? figure.panels : below).push_back(std::move(worth));
  }
  std::ranges::move(below, std::back_inserter(figure.panels));
  return figure;
}

}  // namespace

plot::Figure draw_beliefs(const SearchSpace& space, const Beliefs& beliefs,
                          const std::vector<ProposedPoint>& proposals) {
  return beliefs.map ? draw_maps(space, beliefs, proposals) : draw_lines(space, beliefs);
}

}  // namespace npzoo::tools
