#include "tools/optimise/picture.h"

#include <algorithm>
#include <cmath>

#include "tools/plot/band_panel.h"
#include "tools/plot/map_panel.h"

namespace npzoo {

namespace {

constexpr std::int64_t kSlicePoints = 200;
constexpr std::size_t kMapCells = 64;     // along each axis
constexpr std::size_t kRowsTogether = 8;  // of a map, that are asked for at a time
constexpr double kLowest = 0.1;           // of a map's acquisitions, that share a colour

/// Of points of the cube, in the units of the values.
struct Believed {
  std::vector<double> mean, std, worth;
};

const double& best_value(const BeliefPicture& p) { return *std::ranges::min_element(p.seen.y); }

std::span<const double> best_point(const BeliefPicture& p) {
  const auto best = static_cast<std::size_t>(&best_value(p) - p.seen.y.data()),
             dims = static_cast<std::size_t>(p.seen.dims);
  return std::span(p.seen.x).subspan(best * dims, dims);
}

Believed believe(const BeliefPicture& p, std::span<const double> x) {
  const Belief belief = p.surrogate.believe(x);
  const auto bound = [&](double width) {
    return acquire({.kind = AcquisitionKind::confidence_bound, .width = width}, belief, std::span(&best_value(p), 1));
  };
  Believed all{bound(0), bound(1), acquire(p.acquisition, belief, std::span(&best_value(p), 1))};
  for (std::size_t i = 0; i < all.mean.size(); ++i) {
    all.std[i] -= all.mean[i];
    all.mean[i] *= p.maximise ? 1 : -1;
  }
  return all;
}

/// The cube's points along input `d` through `through`.
std::vector<double> slice_along(std::span<const double> through, std::size_t d) {
  std::vector<double> x;
  for (std::int64_t i = 0; i <= kSlicePoints; ++i) {
    x.insert(x.end(), through.begin(), through.end());
    x[x.size() - through.size() + d] = static_cast<double>(i) / kSlicePoints;
  }
  return x;
}

/// What an axis shows of the point: logarithmic ones their exponent.
double shown_of(const Axis& axis, double unit) {
  const double low = axis.logarithmic ? std::log10(axis.low) : axis.low;
  const double high = axis.logarithmic ? std::log10(axis.high) : axis.high;
  return low + unit * (high - low);
}

std::string label_of(const Axis& axis) { return axis.logarithmic ? "log10 " + axis.name : axis.name; }

/// The two inputs that maps are of; empty where there are more or fewer that are not held.
std::vector<std::size_t> mapped_inputs(const SearchSpace& space) {
  std::vector<std::size_t> free;
  for (std::int64_t d = 0; d < space.dims(); ++d)
    if (!space.is_held(d)) free.push_back(static_cast<std::size_t>(d));
  return free.size() == 2 ? free : std::vector<std::size_t>{};
}

/// The middle of a cell, of the cube.
double middle_of(std::size_t cell) { return (static_cast<double>(cell) + 0.5) / kMapCells; }

/// At the middles of the cells, rows ascending; other inputs are where they are held.
Believed believe_map(const BeliefPicture& p, const std::vector<std::size_t>& inputs) {
  const std::vector<double> held = p.space.nearest(best_point(p));
  Believed all;
  for (std::size_t first = 0; first < kMapCells; first += kRowsTogether) {
    std::vector<double> x;
    for (std::size_t cell = 0; cell < kRowsTogether * kMapCells; ++cell) {
      x.insert(x.end(), held.begin(), held.end());
      double* const point = x.data() + x.size() - held.size();
      point[inputs[0]] = middle_of(cell % kMapCells);
      point[inputs[1]] = middle_of(first + cell / kMapCells);
    }
    const Believed some = believe(p, x);
    for (const auto part : {&Believed::mean, &Believed::std, &Believed::worth})
      (all.*part).insert((all.*part).end(), (some.*part).begin(), (some.*part).end());
  }
  return all;
}

/// From the least to the greatest; wide enough to be shown.
plot::Range range_of_values(std::vector<double> values, double lowest) {
  std::ranges::sort(values);
  const double low = values[static_cast<std::size_t>(lowest * static_cast<double>(values.size()))],
               high = values.back();
  return high - low > 1e-9 * std::abs(high) ? plot::Range{low, high} : plot::Range{low - 0.5, high + 0.5};
}

/// So that points on the edge are seen in full.
plot::Range with_margin(const plot::Range& edges) {
  const double margin = 0.02 * (edges.high - edges.low);
  return {edges.low - margin, edges.high + margin};
}

/// Points of the cube, onto a map.
void mark(const SearchSpace& space, std::span<const double> x, plot::Markers points, plot::Panel& panel) {
  const std::vector<std::size_t> inputs = mapped_inputs(space);
  const auto shown = [&](std::size_t i, std::size_t d) {
    return shown_of(space.input(static_cast<std::int64_t>(inputs[d])), x[i + inputs[d]]);
  };
  for (std::size_t i = 0; i < x.size(); i += static_cast<std::size_t>(space.dims())) {
    points.x.push_back(shown(i, 0));
    points.y.push_back(shown(i, 1));
  }
  panel.layers.emplace_back(std::move(points));
}

plot::Figure draw_maps(const BeliefPicture& p, const std::vector<std::size_t>& inputs) {
  const Axis &across = p.space.input(static_cast<std::int64_t>(inputs[0])),
             &up = p.space.input(static_cast<std::int64_t>(inputs[1]));
  const Believed all = believe_map(p, inputs);
  const plot::Grid grid{
      {shown_of(across, 0), shown_of(across, 1)}, {shown_of(up, 0), shown_of(up, 1)}, kMapCells, kMapCells};
  const double most = range_of_values(all.std, 0).high;
  plot::Figure figure{.title = p.surrogate.name(), .columns = 3, .panel_width = 220, .panel_height = 220};
  const auto add = [&](std::string title, const std::vector<double>& values, const plot::ColorScale& scale) {
    plot::Panel panel = plot::make_map({.title = std::move(title), .raster = {grid, values, scale}, .bar_label = ""});
    panel.x_label = label_of(across);
    panel.x_range = with_margin(grid.x);
    panel.y_range = with_margin(grid.y);
    mark(p.space, p.seen.x, {.x = {}, .y = {}, .label = "evaluated"}, panel);
    figure.panels.push_back(std::move(panel));
  };
  add("mean", all.mean, {range_of_values(all.mean, 0)});
  add("standard deviation", all.std, {{0, most}, plot::ColorMap::plasma});
  add(std::string("acquisition, ") + std::string(to_string(p.acquisition.kind)), all.worth,
      {range_of_values(all.worth, kLowest)});
  figure.panels.front().y_label = label_of(up);
  return figure;
}

plot::Figure draw_lines(const BeliefPicture& p) {
  const auto dims = static_cast<std::size_t>(p.space.dims());
  plot::Figure figure{.columns = static_cast<int>(dims), .panel_width = 260, .panel_height = 170};
  std::vector<plot::Panel> below;
  for (std::size_t d = 0; d < dims; ++d) {
    const Axis& axis = p.space.input(static_cast<std::int64_t>(d));
    const std::vector<double> x = slice_along(best_point(p), d);
    Believed all = believe(p, x);
    plot::BandPanel panel{.name = p.surrogate.name(),
                          .x_label = label_of(axis),
                          .y_label = "value",
                          .x = {},
                          .mean = std::move(all.mean),
                          .std = std::move(all.std),
                          .context = {}};
    for (std::size_t i = 0; i < panel.mean.size(); ++i) panel.x.push_back(shown_of(axis, x[i * dims + d]));
    for (std::size_t i = 0; i < p.seen.y.size(); ++i) {
      panel.context.x.push_back(shown_of(axis, p.seen.x[i * dims + d]));
      panel.context.y.push_back(p.maximise ? -p.seen.y[i] : p.seen.y[i]);
    }
    figure.panels.push_back(plot::make_panel(panel));
    plot::Panel worth{.x_label = panel.x_label, .y_label = std::string(to_string(p.acquisition.kind))};
    worth.layers.push_back(
        plot::Line{.x = panel.x, .y = std::move(all.worth), .color = plot::palette(1), .label = "acquisition"});
    below.push_back(std::move(worth));
  }
  std::ranges::move(below, std::back_inserter(figure.panels));
  return figure;
}

}  // namespace

plot::Figure draw_beliefs(const BeliefPicture& p) {
  const std::vector<std::size_t> inputs = mapped_inputs(p.space);
  return inputs.empty() ? draw_lines(p) : draw_maps(p, inputs);
}

void mark_proposals(const SearchSpace& space, const std::vector<Proposal>& proposals, plot::Figure& figure) {
  if (mapped_inputs(space).empty()) return;
  std::vector<double> x;
  for (const Proposal& proposal : proposals) x.insert(x.end(), proposal.x.begin(), proposal.x.end());
  for (plot::Panel& panel : figure.panels)
    mark(space, x, {.x = {}, .y = {}, .color = plot::palette(1), .radius = 4, .label = "proposed"}, panel);
}

}  // namespace npzoo
