#include "tools/plot/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"

namespace npzoo::tools::plot {
namespace {

constexpr Color kInk{0.15, 0.15, 0.15};
constexpr Stroke kFrameStroke{.color = {0.35, 0.35, 0.35}, .width = 0.8};
constexpr Stroke kGridStroke{.color = {0.90, 0.90, 0.90}, .width = 0.7};

constexpr double line_height(const TextStyle& style) { return 1.45 * style.size; }

constexpr TextStyle kXTickText{.size = 8.0, .color = kInk, .align = Align::kCenter};
constexpr TextStyle kYTickText{.size = 8.0, .color = kInk, .align = Align::kRight};
constexpr TextStyle kBarTickText{.size = 8.0, .color = kInk};
constexpr TextStyle kXLabelText{.size = 9.0, .color = kInk, .align = Align::kCenter};
constexpr TextStyle kYLabelText{.size = 9.0, .color = kInk, .align = Align::kCenter, .upright = true};
constexpr TextStyle kLegendText{.size = 9.0, .color = kInk};
constexpr TextStyle kTitleText{.size = 10.0, .color = kInk, .align = Align::kCenter, .bold = true};
constexpr TextStyle kFigureTitleText{.size = 12.0, .color = kInk, .align = Align::kCenter, .bold = true};

constexpr double kMargin = 12.0;    // around the figure
constexpr double kPanelGap = 18.0;  // between panels, labels included
constexpr double kTickLength = 3.0;
constexpr double kTickGap = 3.0;                                        // from a tick to its label
constexpr double kTicksHeight = kTickLength + line_height(kXTickText);  // below a panel
constexpr double kSwatchWidth = 20.0;
constexpr double kSwatchGap = 6.0;
constexpr double kEntryGap = 18.0;
constexpr double kLegendInset = 6.0;

constexpr double kBarGap = 6.0;
constexpr double kBarWidth = 9.0;

constexpr Range kNoData{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};

Range padded(Range range, double share) {
  const double magnitude = std::max(std::abs(range.low), std::abs(range.high));
  const double width = range.high - range.low;
  const bool is_constant = width <= 1e-9 * magnitude;
  const double padding = !is_constant ? share * width : magnitude > 0.0 ? 0.1 * magnitude : 1.0;
  return range.low > range.high ? range : Range{range.low - padding, range.high + padding};
}

Range given(Range range) {
  check(range.low < range.high && std::isfinite(range.high - range.low),
        "[plot] axis from {} to {}, expected finite ends in ascending order", range.low, range.high);
  return range;
}

int tick_count(double length, double units_per_tick) { return std::max(2, static_cast<int>(length / units_per_tick)); }

std::vector<Tick> ticks_of(Range range, double length, double units_per_tick) {
  return nice_ticks(range, tick_count(length, units_per_tick));
}

constexpr double kXTickUnits = 55.0, kYTickUnits = 35.0;

/// Ticks of numbers, or of times.
std::vector<Tick> ticks_of(const std::optional<TimeAxis>& time, Range range, double length, double units_per_tick) {
  return time ? date_ticks(range, *time, tick_count(length, units_per_tick)) : ticks_of(range, length, units_per_tick);
}

/// The label of an axis, with the years that its ticks do not say.
std::string with_years(const std::string& label, const std::optional<TimeAxis>& time, Range range, int ticks) {
  const std::string years = time ? years_of(range, *time, ticks) : "";
  return years.empty() ? label : label + " (" + years + ")";
}

struct Cell {
  const Panel* panel;
  std::size_t line, column;  // where it stands
  Frame frame;               // `area`: inside the lines around it
  std::vector<Tick> x_ticks, y_ticks, bar_ticks;
  bool y_labelled;
  std::string x_label, y_label;
};

// One label of the legend, with at most one layer of each kind: they are drawn over each other.
struct Entry {
  std::string label;
  std::vector<const Layer*> layers;
};

std::vector<Entry> legend_entries(const Figure& figure) {
  std::vector<Entry> entries;
  const auto add = [&](const Layer& layer) {
    const std::string& label = label_of(layer);
    if (label.empty()) return;
    auto entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.label == label; });
    if (entry == entries.end()) entry = entries.insert(entry, Entry{label, {}});
    const auto same_kind = [&](const Layer* other) { return other->index() == layer.index(); };
    if (std::none_of(entry->layers.begin(), entry->layers.end(), same_kind)) entry->layers.push_back(&layer);
  };
  for (const Panel& panel : figure.panels)
    for (const Layer& layer : panel.layers) add(layer);
  return entries;
}

// One range that holds what each of `panels` asks for under `wanted`, or else its data.
Range fit(std::span<const Panel> panels, std::optional<Range> Panel::*wanted, double padding,
          Range (*extent)(const Layer&)) {
  Range range = kNoData;
  for (const Panel& panel : panels) {
    Range own = kNoData;
    for (const Layer& layer : panel.layers) {
      const Range data = extent(layer);
      own = {std::min(own.low, data.low), std::max(own.high, data.high)};
    }
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

double widest(Canvas& ruler, const std::vector<Tick>& ticks) {
  double width = 0.0;
  for (const Tick& tick : ticks) width = std::max(width, ruler.text_width(tick.label, kYTickText));
  return width;
}

// Room for the labels of the y axis, left of the frame.
double left_margin(Canvas& ruler, const Cell& cell) {
  if (!cell.y_labelled) return 0.0;
  const double label = cell.y_label.empty() ? 0.0 : line_height(kYLabelText);
  return widest(ruler, cell.y_ticks) + kTickLength + kTickGap + label;
}

// Room for the colour bar and its labels, right of it.
double right_margin(Canvas& ruler, const Cell& cell) {
  if (!cell.panel->bar) return 0.0;
  const double label = cell.panel->bar->label.empty() ? 0.0 : line_height(kYLabelText);
  return kBarGap + kBarWidth + kTickLength + kTickGap + widest(ruler, cell.bar_ticks) + label;
}

/// How rows of panels are broken: parts of equal length, the last one may be shorter.
struct Lines {
  std::size_t rows, panels;  // of a row
  std::size_t columns;       // panels of a line

  explicit Lines(const Figure& figure)
      : panels(std::clamp<std::size_t>(std::max(figure.columns, 1), 1, figure.panels.size())) {
    const auto most = static_cast<std::size_t>(figure.most_columns), parts = (panels + most - 1) / most;
    rows = (figure.panels.size() + panels - 1) / panels;
    columns = (panels + parts - 1) / parts;
  }
};

std::vector<Cell> make_cells(const Figure& figure, const Lines& lines) {
  const std::span<const Panel> panels(figure.panels);
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    for (const Layer& layer : panels[i].layers) check_lengths(layer);
    const auto alone = panels.subspan(i, 1);
    const std::size_t row = i / lines.panels, in_row = i % lines.panels, first = i - in_row;
    const auto sharing = figure.share_y ? panels.subspan(first, std::min(lines.panels, panels.size() - first)) : alone;
    const Range x = fit(alone, &Panel::x_range, 0.02, x_extent);
    const Range y = fit(sharing, &Panel::y_range, 0.06, y_extent);
    const Panel& panel = panels[i];
    const bool axes = panel.axes;
    const double width = figure.panel_width, height = figure.panel_height;
    const std::vector<Tick> none;
    const std::size_t column = in_row % lines.columns;
    cells.push_back({.panel = &panels[i],
                     .line = in_row / lines.columns * lines.rows + row,
                     .column = column,
                     .frame = {x, y},
                     .x_ticks = !axes                    ? none
                                : !panel.x_ticks.empty() ? panel.x_ticks
                                                         : ticks_of(panel.x_time, x, width, kXTickUnits),
                     .y_ticks = !axes                    ? none
                                : !panel.y_ticks.empty() ? panel.y_ticks
                                                         : ticks_of(panel.y_time, y, height, kYTickUnits),
                     .bar_ticks = panel.bar ? ticks_of(given(panel.bar->scale.shown), height, kYTickUnits) : none,
                     .y_labelled = axes && (!figure.share_y || column == 0),
                     .x_label = with_years(panel.x_label, panel.x_time, x, tick_count(width, kXTickUnits)),
                     .y_label = with_years(panel.y_label, panel.y_time, y, tick_count(height, kYTickUnits))});
  }
  return cells;
}

/// Those that stand in a line, or in a column, from left to right or from top to bottom.
std::vector<Cell*> cells_of(std::vector<Cell>& cells, std::size_t Cell::*place, std::size_t index) {
  std::vector<Cell*> some;
  for (Cell& cell : cells)
    if (cell.*place == index) some.push_back(&cell);
  return some;
}

double place_columns(std::vector<Cell>& cells, const Figure& figure, std::size_t columns, Canvas& ruler) {
  double x = kMargin - kPanelGap;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::vector<Cell*> in_column = cells_of(cells, &Cell::column, column);
    double left = 0.0, right = 0.0;
    for (const Cell* cell : in_column) {
      left = std::max(left, left_margin(ruler, *cell));
      right = std::max(right, right_margin(ruler, *cell));
    }
    x += kPanelGap + left;
    for (Cell* cell : in_column) cell->frame.area = {x, 0.0, figure.panel_width, figure.panel_height};
    x += figure.panel_width + right;
  }
  return x + kMargin;
}

// Sets the upper edges of the cells, the first line at `y`; returns the lower end of the last line with its labels.
double place_lines(std::vector<Cell>& cells, double y) {
  const std::size_t last = std::ranges::max(cells, {}, &Cell::line).line;
  for (std::size_t line = 0; line <= last; ++line) {
    const std::vector<Cell*> in_line = cells_of(cells, &Cell::line, line);
    if (in_line.empty()) continue;  // the end of a row that is shorter than the others
    const auto any = [&](auto has) {
      return std::any_of(in_line.begin(), in_line.end(), [&](const Cell* c) { return has(*c->panel); });
    };
    y += line > 0 ? kPanelGap : 0.0;
    y += any([](const Panel& p) { return !p.title.empty(); }) ? 1.2 * line_height(kTitleText) : 0.0;
    for (Cell* cell : in_line) cell->frame.area.y = y;
    y = in_line.front()->frame.area.bottom() +
        (any([](const Panel& p) { return p.axes; }) ? kTicksHeight : kTickLength);
    y += any([](const Panel& p) { return !p.x_label.empty(); }) ? line_height(kXLabelText) : 0.0;
  }
  return y;
}

Plan make_plan(const Figure& figure, Canvas& ruler) {
  const Lines lines(figure);
  Plan plan{.cells = make_cells(figure, lines)};
  plan.width = place_columns(plan.cells, figure, lines.columns, ruler);
  plan.height = kMargin + (figure.title.empty() ? 0.0 : line_height(kFigureTitleText));
  plan.height = place_lines(plan.cells, plan.height);
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
  const Rectangle& area = cell.frame.area;
  const double x_text = area.bottom() + kTickLength + 0.5 * line_height(kXTickText);
  double text_end = area.x - kMargin;
  for (const Tick& tick : cell.x_ticks) {
    const double x = cell.frame.left(tick.value);
    canvas.stroke(std::array{Point{x, area.y}, Point{x, area.bottom()}}, kGridStroke);
    canvas.stroke(std::array{Point{x, area.bottom()}, Point{x, area.bottom() + kTickLength}}, kFrameStroke);
    const double half = 0.5 * canvas.text_width(tick.label, kXTickText);
    if (x - half < text_end || x + half > area.right() + kMargin) continue;  // no room
    canvas.text({x, x_text}, tick.label, kXTickText);
    text_end = x + half + kTickGap;
  }
  const double y_text = area.x - kTickLength - kTickGap;
  for (const Tick& tick : cell.y_ticks) {
    const double y = cell.frame.top(tick.value);
    canvas.stroke(std::array{Point{area.x, y}, Point{area.right(), y}}, kGridStroke);
    canvas.stroke(std::array{Point{area.x - kTickLength, y}, Point{area.x, y}}, kFrameStroke);
    if (cell.y_labelled) canvas.text({y_text, y}, tick.label, kYTickText);
  }
}

void paint_labels(Canvas& canvas, const Cell& cell, double left) {
  const Rectangle& area = cell.frame.area;
  const double middle = area.x + 0.5 * area.width;
  const double ticks = cell.panel->axes ? kTicksHeight : kTickLength;
  const double x_label = area.bottom() + ticks + 0.5 * line_height(kXLabelText);
  canvas.text({middle, area.y - 0.6 * line_height(kTitleText)}, cell.panel->title, kTitleText);
  canvas.text({middle, x_label}, cell.x_label, kXLabelText);
  if (cell.y_labelled) canvas.text({left, area.y + 0.5 * area.height}, cell.y_label, kYLabelText);
}

void paint_bar(Canvas& canvas, const Cell& cell) {
  const Rectangle& area = cell.frame.area;
  const ColorBar& bar = *cell.panel->bar;
  const Frame frame{{0, 1}, bar.scale.shown, {area.right() + kBarGap, area.y, kBarWidth, area.height}};
  constexpr std::size_t kSteps = 256;
  const double low = bar.scale.shown.low, step = (bar.scale.shown.high - low) / kSteps;
  Raster colors{{frame.x, frame.y, 1, kSteps}, {}, bar.scale};
  for (std::size_t i = 0; i < kSteps; ++i) colors.values.push_back(low + step * (static_cast<double>(i) + 0.5));
  draw(canvas, frame, colors);
  canvas.stroke(frame.area, kFrameStroke);
  const double right = frame.area.right();
  for (const Tick& tick : cell.bar_ticks) {
    const double y = frame.top(tick.value);
    canvas.stroke(std::array{Point{right, y}, Point{right + kTickLength, y}}, kFrameStroke);
    canvas.text({right + kTickLength + kTickGap, y}, tick.label, kBarTickText);
  }
  const double text = right + kTickLength + kTickGap + widest(canvas, cell.bar_ticks) + 0.5 * line_height(kYLabelText);
  canvas.text({text, area.y + 0.5 * area.height}, bar.label, kYLabelText);
}

void paint_panel(Canvas& canvas, const Cell& cell, double left) {
  paint_axes(canvas, cell);
  canvas.clip(cell.frame.area);
  for (const Layer& layer : cell.panel->layers) draw(canvas, cell.frame, layer);
  canvas.unclip();
  canvas.stroke(cell.frame.area, kFrameStroke);
  paint_labels(canvas, cell, left);
  if (cell.panel->bar) paint_bar(canvas, cell);
}

void paint_entry(Canvas& canvas, const Entry& entry, Point start) {
  for (const Layer* layer : entry.layers) draw_swatch(canvas, start, kSwatchWidth, *layer);
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
  const Rectangle& area = plan.cells.front().frame.area;
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
    paint_panel(canvas, cell, cell.frame.area.x - left_margin(ruler, cell) + 0.5 * line_height(kYLabelText));
  if (figure.legend != LegendPlace::kNone && !plan.legend.empty()) paint_legend(canvas, plan, figure.legend);
  return canvas.finish();
}

void write_figure(const Figure& figure, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(draw_figure(figure, path));
  file.commit();
}

}  // namespace npzoo::tools::plot
