#include "npzoo/models/applications/tables/column_help.h"

#include <fmt/format.h>

#include <algorithm>

namespace npzoo {

namespace {

double gain_of(const ColumnGain& c) { return c.alone > 0 ? 1 - c.together / c.alone : 0; }

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

double gain_of(const std::vector<ColumnGain>& columns) {
  return ColumnsAnswer{.figures = {}, .columns = columns}.gain();
}

}  // namespace

bool ColumnHelp::together() const { return std::ranges::any_of(gaps, &GapShares::together); }

std::string ColumnHelp::name_of(const GapShares& gap) const {
  if (!with_inputs) return "gaps";
  return gap.kind == GapKind::long_gap ? "long gaps" : "short gaps";
}

std::vector<std::string> ColumnHelp::methods() const {
  if (with_inputs) return {std::begin(kMethodsWithTime), std::end(kMethodsWithTime)};
  return {std::begin(kMethodsOfRows), std::end(kMethodsOfRows)};
}

std::string ColumnHelp::text() const {
  if (!apart.empty()) return "columns are predicted apart: " + apart;
  if (!together()) return "columns are predicted apart: together they predict hidden values no better";
  const std::size_t helpers = names.size() - values;
  std::string line = fmt::format("columns help each other: on hidden values the CRPS is {} less than {}",
                                 percent(gain_of(columns)), with_inputs ? "apart" : "by mean and deviation");
  std::string each;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].hidden == 0 || columns[c].from.empty()) continue;
    const auto most = std::ranges::max_element(columns[c].from) - columns[c].from.begin();
    each += fmt::format("{}{} {} (most from {})", each.empty() ? "" : ", ", names[c], percent(gain_of(columns[c])),
                        names[static_cast<std::size_t>(most)]);
  }
  if (!each.empty()) line += ": " + each;
  if (helpers > 0)
    line += fmt::format("; also used: {}",
                        fmt::join(names.begin() + static_cast<std::ptrdiff_t>(values), names.end(), ", "));
  for (const GapShares& gap : gaps)
    if (!gap.together) line += fmt::format("; {} are predicted apart", name_of(gap));
  return line;
}

std::string ColumnHelp::summary() const {
  if (by_options) return "columns are predicted apart: " + apart;
  if (!together()) return "";
  const std::size_t helpers = names.size() - values;
  return fmt::format(
      "columns help each other, CRPS on hidden values {} less{}", percent(gain_of(columns)),
      helpers == 0 ? ""
                   : fmt::format(" (also used: {})",
                                 fmt::join(names.begin() + static_cast<std::ptrdiff_t>(values), names.end(), ", ")));
}

}  // namespace npzoo
