#include "tools/plot/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "engine/error.h"
#include "engine/io/file.h"

namespace npzoo::plot {
namespace {

constexpr Color kInk{0.15, 0.15, 0.15};
constexpr Stroke kFrameStroke{.color = {0.35, 0.35, 0.35}, .width = 0.8};
constexpr Stroke kGridStroke{.color = {0.90, 0.90, 0.90}, .width = 0.7};

constexpr TextStyle kXTickText{.size = 8.0, .color = kInk, .align = Align::kCenter};
constexpr TextStyle kYTickText{.size = 8.0, .color = kInk, .align = Align::kRight};
constexpr TextStyle kXLabelText{.size = 9.0, .color = kInk, .align = Align::kCenter};
constexpr TextStyle kYLabelText{.size = 9.0, .color = kInk, .align = Align::kCenter, .upright = true};
constexpr TextStyle kLegendText{.size = 9.0, .color = kInk};
constexpr TextStyle kTitleText{.size = 10.0, .color = kInk, .align = Align::kCenter, .bold = true};
constexpr TextStyle kFigureTitleText{.size = 12.0, .color = kInk, .align = Align::kCenter, .bold = true};

constexpr double kMargin = 12.0;    // around the figure
constexpr double kPanelGap = 18.0;  // between panels, labels included
constexpr double kTickLength = 3.0;
constexpr double kTickGap = 3.0;  // from a tick to its label
constexpr double kSwatchWidth = 20.0;
constexpr double kSwatchGap = 6.0;
constexpr double kEntryGap = 18.0;
constexpr double kLegendInset = 6.0;

constexpr Range kNoData{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};

double line_height(const TextStyle& style) { return 1.45 * style.size; }

void include(Range& range, std::span<const double> values) {
  constexpr double kLargest = 1e100;  // so that the width of a range is a number as well
  for (const double value : values) {
    if (!(std::abs(value) < kLargest)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
}

using Curves = std::vector<std::span<const double>>;

Curves curves(const Band& band) { return {band.lower, band.upper}; }

Curves curves(const auto& line_or_points) { return {line_or_points.y}; }

// What has to be as long as x.
Curves paired(const auto& layer) { return curves(layer); }

Curves paired(const Cells& cells) { return {cells.y, cells.values}; }

void check_lengths(const Panel& panel) {
  const auto check_layer = [](const auto& layer) {
    for (const auto y : paired(layer))
      check(y.size() == layer.x.size(), "[plot] series \"{}\" has {} x and {} y values, expected as many", layer.label,
            layer.x.size(), y.size());
  };
  for (const Layer& layer : panel.layers) std::visit(check_layer, layer);
}

Range padded(Range range, double share) {
  const double magnitude = std::max(std::abs(range.low), std::abs(range.high));
  const double width = range.high - range.low;
  const bool is_constant = width <= 1e-9 * magnitude;
  const double padding = !is_constant ? share * width : magnitude > 0.0 ? 0.1 * magnitude : 1.0;
  return range.low > range.high ? range : Range{range.low - padding, range.high + padding};
}

Color between(const Color& from, const Color& to, double share) {
  const auto mixed = [share](double a, double b) { return a + share * (b - a); };
  return {mixed(from.red, to.red), mixed(from.green, to.green), mixed(from.blue, to.blue)};
}

Range given(Range range) {
  check(range.low < range.high && std::isfinite(range.high - range.low),
        "[plot] axis from {} to {}, expected finite ends in ascending order", range.low, range.high);
  return range;
}

struct Axis {
  Range range;
  std::vector<Tick> ticks;

  Axis(Range range, double length, double units_per_tick)
      : range(range), ticks(nice_ticks(range, std::max(2, static_cast<int>(length / units_per_tick)))) {}

  double share(double value) const { return (value - range.low) / (range.high - range.low); }
};

struct Cell {
  const Panel* panel;
  Axis x;
  Axis y;
  bool y_labelled;
  Rectangle area{};  // inside the frame

  double left(double value) const { return area.x + x.share(value) * area.width; }
  double top(double value) const { return area.bottom() - y.share(value) * area.height; }
  Point at(double vx, double vy) const { return {left(vx), top(vy)}; }
};

// One label of the legend, with at most one layer of each kind: they are drawn over each other.
struct Entry {
  std::string label;
  std::vector<const Layer*> layers;
};

void draw(Canvas& canvas, const Cell& cell, const Band& band) {
  const std::size_t count = band.x.size();
  const auto is_gap = [&](std::size_t i) { return !std::isfinite(band.x[i] + band.lower[i] + band.upper[i]); };
  std::vector<Point> outline;
  for (std::size_t begin = 0, end = 0; begin < count; begin = end + 1) {
    for (end = begin; end < count && !is_gap(end);) ++end;
    outline.clear();
    for (std::size_t i = begin; i < end; ++i) outline.push_back(cell.at(band.x[i], band.upper[i]));
    for (std::size_t i = end; i-- > begin;) outline.push_back(cell.at(band.x[i], band.lower[i]));
    canvas.fill(outline, band.color);
  }
}

void draw(Canvas& canvas, const Cell& cell, const Line& line) {
  std::vector<Point> points(line.x.size());
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = cell.at(line.x[i], line.y[i]);
  canvas.stroke(points, {line.color, line.width, line.dashed});
}

void draw_marker(Canvas& canvas, Point at, const Markers& points) {
  canvas.circle(at, points.radius, points.color, {kWhite, 0.25 * points.radius});
}

void draw(Canvas& canvas, const Cell& cell, const Markers& points) {
  for (std::size_t i = 0; i < points.x.size(); ++i) draw_marker(canvas, cell.at(points.x[i], points.y[i]), points);
}

// Each a little larger than it is, so that no seams show between neighbours.
void draw(Canvas& canvas, const Cell& cell, const Cells& cells) {
  constexpr double kOverlap = 0.3;
  const auto& [low, high] = cells.shown;
  for (std::size_t i = 0; i < cells.x.size(); ++i) {
    const double x = cells.x[i], y = cells.y[i], value = cells.values[i];
    if (!std::isfinite(x + y + value)) continue;
    const double share = std::clamp((value - low) / (high - low), 0.0, 1.0);
    const Point from = cell.at(x - 0.5 * cells.width, y + 0.5 * cells.height);
    const Point to = cell.at(x + 0.5 * cells.width, y - 0.5 * cells.height);
    canvas.fill(Rectangle{from.x, from.y, to.x - from.x + kOverlap, to.y - from.y + kOverlap},
                between(kWhite, cells.color, share));
  }
}

void draw_swatch(Canvas& canvas, Point start, const Cells& cells) {
  canvas.fill(Rectangle{start.x, start.y - 4.5, kSwatchWidth, 9.0}, cells.color);
}

void draw_swatch(Canvas& canvas, Point start, const Band& band) {
  canvas.fill(Rectangle{start.x, start.y - 4.5, kSwatchWidth, 9.0}, band.color);
}

void draw_swatch(Canvas& canvas, Point start, const Line& line) {
  canvas.stroke(std::array{start, Point{start.x + kSwatchWidth, start.y}}, {line.color, line.width, line.dashed});
}

void draw_swatch(Canvas& canvas, Point start, const Markers& points) {
  draw_marker(canvas, {start.x + 0.5 * kSwatchWidth, start.y}, points);
}

std::vector<Entry> legend_entries(const Figure& figure) {
  std::vector<Entry> entries;
  const auto add = [&](const Layer& layer, const std::string& label) {
    if (label.empty()) return;
    auto entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.label == label; });
    if (entry == entries.end()) entry = entries.insert(entry, Entry{label, {}});
    const auto same_kind = [&](const Layer* other) { return other->index() == layer.index(); };
    if (std::none_of(entry->layers.begin(), entry->layers.end(), same_kind)) entry->layers.push_back(&layer);
  };
  for (const Panel& panel : figure.panels)
    for (const Layer& layer : panel.layers) std::visit([&](const auto& l) { add(layer, l.label); }, layer);
  return entries;
}

// One range that holds what each of `panels` asks for under `wanted`, or else its data.
Range fit(std::span<const Panel> panels, std::optional<Range> Panel::*wanted, double padding, auto curves_of) {
  Range range = kNoData;
  for (const Panel& panel : panels) {
    Range own = kNoData;
    const auto include_layer = [&](const auto& layer) {
      for (const auto values : curves_of(layer)) include(own, values);
    };
    for (const Layer& layer : panel.layers) std::visit(include_layer, layer);
    own = panel.*wanted ? given(*(panel.*wanted)) : padded(own, padding);
    range = {std::min(range.low, own.low), std::max(range.high, own.high)};
  }
  return range.low < range.high ? range : Range{};
}

struct Plan {
  std::vector<Cell> cells;
  std::vector<std::vector<Entry>> legend{};  // in rows
  double width = 0.0;
  double height = 0.0;
  double legend_top = 0.0;
};

double text_width(Canvas& ruler, const Entry& entry) {
  return kSwatchWidth + kSwatchGap + ruler.text_width(entry.label, kLegendText);
}

// Room for the labels of the y axis, left of the frame.
double left_margin(Canvas& ruler, const Cell& cell) {
  if (!cell.y_labelled) return 0.0;
  double widest = 0.0;
  for (const Tick& tick : cell.y.ticks) widest = std::max(widest, ruler.text_width(tick.label, kYTickText));
  return widest + kTickLength + kTickGap + (cell.panel->y_label.empty() ? 0.0 : line_height(kYLabelText));
}

std::vector<Cell> make_cells(const Figure& figure, std::size_t columns) {
  const std::span<const Panel> panels(figure.panels);
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    check_lengths(panels[i]);
    const auto alone = panels.subspan(i, 1);
    const std::size_t row = i / columns * columns;
    const auto sharing = figure.share_y ? panels.subspan(row, std::min(columns, panels.size() - row)) : alone;
    const Range x = fit(alone, &Panel::x_range, 0.02, [](const auto& layer) { return Curves{layer.x}; });
    const Range y = fit(sharing, &Panel::y_range, 0.06, [](const auto& layer) { return curves(layer); });
    cells.push_back({.panel = &panels[i],
                     .x = Axis(x, figure.panel_width, 55.0),
                     .y = Axis(y, figure.panel_height, 35.0),
                     .y_labelled = !figure.share_y || i == row});
  }
  return cells;
}

// Sets the left edges and the sizes of the cells; returns the width of the figure.
double place_columns(std::vector<Cell>& cells, const Figure& figure, std::size_t columns, Canvas& ruler) {
  double x = kMargin - kPanelGap;
  for (std::size_t column = 0; column < columns; ++column) {
    double margin = 0.0;
    for (std::size_t i = column; i < cells.size(); i += columns)
      margin = std::max(margin, left_margin(ruler, cells[i]));
    x += kPanelGap + margin;
    for (std::size_t i = column; i < cells.size(); i += columns)
      cells[i].area = {x, 0.0, figure.panel_width, figure.panel_height};
    x += figure.panel_width;
  }
  return x + kMargin;
}

// Sets the upper edges of the cells, the first row at `y`; returns the lower end of the last row with its labels.
double place_rows(std::vector<Cell>& cells, std::size_t columns, double y) {
  for (std::size_t row = 0; row < cells.size(); row += columns) {
    const auto in_row = std::span(cells).subspan(row, std::min(columns, cells.size() - row));
    const auto any = [&](auto member) {
      return std::any_of(in_row.begin(), in_row.end(), [&](const Cell& c) { return !(c.panel->*member).empty(); });
    };
    y += row > 0 ? kPanelGap : 0.0;
    y += any(&Panel::title) ? 1.2 * line_height(kTitleText) : 0.0;
    for (Cell& cell : in_row) cell.area.y = y;
    y = in_row.front().area.bottom() + kTickLength + line_height(kXTickText);
    y += any(&Panel::x_label) ? line_height(kXLabelText) : 0.0;
  }
  return y;
}

Plan make_plan(const Figure& figure, Canvas& ruler) {
  const auto columns = std::clamp<std::size_t>(std::max(figure.columns, 1), 1, figure.panels.size());
  Plan plan{.cells = make_cells(figure, columns)};
  plan.width = place_columns(plan.cells, figure, columns, ruler);
  plan.height = kMargin + (figure.title.empty() ? 0.0 : line_height(kFigureTitleText));
  plan.height = place_rows(plan.cells, columns, plan.height);
  plan.legend_top = plan.height + kLegendInset;
  double room = 0.0;
  for (Entry& entry : legend_entries(figure)) {
    const double needed = kEntryGap + text_width(ruler, entry);
    // Below, entries stand side by side as far as they fit; inside, one under the other.
    if (needed > room || figure.legend == LegendPlace::kInside) {
      plan.legend.emplace_back();
      room = plan.width - 2.0 * kMargin + kEntryGap;
    }
    plan.legend.back().push_back(std::move(entry));
    room -= needed;
  }
  if (figure.legend == LegendPlace::kBelow && !plan.legend.empty())
    plan.height = plan.legend_top + static_cast<double>(plan.legend.size()) * line_height(kLegendText);
  plan.height += kMargin;
  return plan;
}

void paint_axes(Canvas& canvas, const Cell& cell) {
  const Rectangle& area = cell.area;
  const double x_text = area.bottom() + kTickLength + 0.5 * line_height(kXTickText);
  double text_end = area.x - kMargin;
  for (const Tick& tick : cell.x.ticks) {
    const double x = cell.left(tick.value);
    canvas.stroke(std::array{Point{x, area.y}, Point{x, area.bottom()}}, kGridStroke);
    canvas.stroke(std::array{Point{x, area.bottom()}, Point{x, area.bottom() + kTickLength}}, kFrameStroke);
    const double half = 0.5 * canvas.text_width(tick.label, kXTickText);
    if (x - half < text_end || x + half > area.right() + kMargin) continue;  // no room
    canvas.text({x, x_text}, tick.label, kXTickText);
    text_end = x + half + kTickGap;
  }
  const double y_text = area.x - kTickLength - kTickGap;
  for (const Tick& tick : cell.y.ticks) {
    const double y = cell.top(tick.value);
    canvas.stroke(std::array{Point{area.x, y}, Point{area.right(), y}}, kGridStroke);
    canvas.stroke(std::array{Point{area.x - kTickLength, y}, Point{area.x, y}}, kFrameStroke);
    if (cell.y_labelled) canvas.text({y_text, y}, tick.label, kYTickText);
  }
}

void paint_labels(Canvas& canvas, const Cell& cell, double left) {
  const Rectangle& area = cell.area;
  const double middle = area.x + 0.5 * area.width;
  const double x_label = area.bottom() + kTickLength + line_height(kXTickText) + 0.5 * line_height(kXLabelText);
  canvas.text({middle, area.y - 0.6 * line_height(kTitleText)}, cell.panel->title, kTitleText);
  canvas.text({middle, x_label}, cell.panel->x_label, kXLabelText);
  if (cell.y_labelled) canvas.text({left, area.y + 0.5 * area.height}, cell.panel->y_label, kYLabelText);
}

void paint_panel(Canvas& canvas, const Cell& cell, double left) {
  paint_axes(canvas, cell);
  canvas.clip(cell.area);
  for (const Layer& layer : cell.panel->layers) std::visit([&](const auto& l) { draw(canvas, cell, l); }, layer);
  canvas.unclip();
  canvas.stroke(cell.area, kFrameStroke);
  paint_labels(canvas, cell, left);
}

void paint_entry(Canvas& canvas, const Entry& entry, Point start) {
  for (const Layer* layer : entry.layers) std::visit([&](const auto& l) { draw_swatch(canvas, start, l); }, *layer);
  canvas.text({start.x + kSwatchWidth + kSwatchGap, start.y}, entry.label, kLegendText);
}

double row_width(Canvas& ruler, const std::vector<Entry>& row) {
  double width = -kEntryGap;
  for (const Entry& entry : row) width += kEntryGap + text_width(ruler, entry);
  return width;
}

Rectangle legend_box(Canvas& ruler, const Plan& plan, LegendPlace place) {
  double width = 0.0;
  for (const auto& row : plan.legend) width = std::max(width, row_width(ruler, row));
  const double height = static_cast<double>(plan.legend.size()) * line_height(kLegendText);
  if (place == LegendPlace::kBelow) return {0.5 * (plan.width - width), plan.legend_top, width, height};
  const Rectangle& area = plan.cells.front().area;
  return {area.right() - width - 3.0 * kLegendInset, area.y + kLegendInset, width + 2.0 * kLegendInset, height};
}

void paint_legend(Canvas& canvas, const Plan& plan, LegendPlace place) {
  const Rectangle box = legend_box(canvas, plan, place);
  if (place == LegendPlace::kInside) {
    canvas.fill(box, kWhite.with_alpha(0.85));
    canvas.stroke(box, kGridStroke);
  }
  double y = box.y + 0.5 * line_height(kLegendText);
  for (const auto& row : plan.legend) {
    double x = box.x + (place == LegendPlace::kInside ? kLegendInset : 0.5 * (box.width - row_width(canvas, row)));
    for (const Entry& entry : row) {
      paint_entry(canvas, entry, {x, y});
      x += text_width(canvas, entry) + kEntryGap;
    }
    y += line_height(kLegendText);
  }
}

}  // namespace

std::string draw_figure(const Figure& figure, const std::filesystem::path& path) {
  check(!figure.panels.empty(), "[{}] is a figure without panels, expected at least one", path.string());
  Canvas ruler(path, 1.0, 1.0);  // measures text before the size of the figure is known
  const Plan plan = make_plan(figure, ruler);
  Canvas canvas(path, plan.width, plan.height);
  canvas.text({0.5 * plan.width, kMargin + 0.5 * line_height(kFigureTitleText)}, figure.title, kFigureTitleText);
  for (const Cell& cell : plan.cells)
    paint_panel(canvas, cell, cell.area.x - left_margin(ruler, cell) + 0.5 * line_height(kYLabelText));
  if (figure.legend != LegendPlace::kNone && !plan.legend.empty()) paint_legend(canvas, plan, figure.legend);
  return canvas.finish();
}

void write_figure(const Figure& figure, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(draw_figure(figure, path));
  file.commit();
}

}  // namespace npzoo::plot
