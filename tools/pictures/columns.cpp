#include "tools/pictures/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace npzoo::tools {

namespace {

/// "3 north: CRPS 41 % less": the number and the name of a column, and its gain on hidden values.
std::string row_label(const ColumnHelp& help, std::size_t column) {
  const ColumnGain& gain = help.columns[column];
  const std::string name = fmt::format("{} {}", column + 1, help.names[column]);
  return gain.alone > 0 ? fmt::format("{}: CRPS {:.0f} % less", name, 100 * (1 - gain.together / gain.alone)) : name;
}

}  // namespace

plot::Figure draw_column_help(const ColumnHelp& help) {
  constexpr double kCell = 24, kLeast = 120, kMost = 720;  // canvas units
  const std::size_t count = help.columns.size();
  plot::Raster shares{.grid = {.columns = count}, .values = {}};
  plot::Panel panel{.title = "columns that help each other",
                    .x_label = "share of column"};
  std::vector<std::size_t> rows;  // from the lowest one on
  for (std::size_t c = std::min(help.values, count); c-- > 0;)
    if (help.columns[c].hidden > 0 && !help.columns[c].from.empty()) rows.push_back(c);
  double most = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::vector<double>& from = help.columns[rows[r]].from;
    for (std::size_t c = 0; c < count; ++c) {
      shares.values.push_back(c == rows[r] ? std::nan("") : from[c]);
      if (c != rows[r]) most = std::max(most, from[c]);
    }
    panel.y_ticks.push_back({static_cast<double>(r) + 1, row_label(help, rows[r])});
  }
  for (std::size_t c = 0; c < count; ++c)
    panel.x_ticks.push_back({static_cast<double>(c) + 1, c < help.values ? fmt::format("{}", c + 1) : help.names[c]});
  const auto edges = [](std::size_t cells) { return plot::Range{0.5, static_cast<double>(cells) + 0.5}; };
  shares.grid.rows = rows.size();
  shares.grid.x = edges(count);
  shares.grid.y = edges(rows.size());
  shares.scale = {.shown = {0, most > 0 ? most : 1}};
  panel.x_range = shares.grid.x;
  panel.y_range = shares.grid.y;
  panel.bar = plot::ColorBar{.scale = shares.scale, .label = "share"};
  panel.layers.push_back(std::move(shares));
  const auto size = [&](std::size_t cells) { return std::clamp(kCell * static_cast<double>(cells), kLeast, kMost); };
  return {.panel_width = std::max(size(count), 2 * kLeast),
          .panel_height = size(rows.size()),
          .legend = plot::LegendPlace::kNone,
          .panels = {std::move(panel)}};
}

}  // namespace npzoo::tools
