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

std::vector<std::string> distinct(std::span<const std::string> names) {
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (std::ranges::find(found, name) == found.end()) found.push_back(name);
  return found;
}

bool ColumnHelp::together() const { return ColumnsAnswer{.figures = {}, .gaps = gaps}.together(); }

std::string ColumnHelp::name_of(const GapShares& gap) const {
  if (!with_inputs) return "gaps";
  if (gap.kind == GapKind::whole_row) return "whole rows";
  if (gap.kind == GapKind::end) return "ends of series";
  return gap.kind == GapKind::long_gap ? "long gaps" : "short gaps";
}

std::string ColumnHelp::what() const { return of_groups ? "groups" : "columns"; }

std::string ColumnHelp::helpers() const {
  return fmt::format("{}", fmt::join(distinct(std::span(names).subspan(values)), ", "));
}

std::string ColumnHelp::not_used() const { return unused.empty() ? "" : fmt::format("; {}", fmt::join(unused, "; ")); }

std::vector<std::pair<std::string, double>> ColumnHelp::sources(std::size_t column) const {
  const std::vector<double>& from = columns[column].from;
  std::vector<std::pair<std::string, double>> sources;
  for (std::size_t c = 0; c < from.size(); ++c) {
    if (c == column) continue;
    const auto same = std::ranges::find(sources, names[c], &std::pair<std::string, double>::first);
    if (same == sources.end())
      sources.emplace_back(names[c], from[c]);
    else
      same->second += from[c];
  }
  return sources;
}

std::string ColumnHelp::gain_of_each() const {
  constexpr std::size_t kShown = 12;
  std::vector<std::string> each;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].hidden == 0 || columns[c].from.empty()) continue;
    const auto from = sources(c);
    const auto most = std::ranges::max_element(from, {}, &std::pair<std::string, double>::second);
    each.push_back(fmt::format("{} {} (most from {})", names[c], percent(gain_of(columns[c])), most->first));
  }
  const std::size_t shown = std::min(kShown, each.size()), left = each.size() - shown;
  const std::string text = fmt::format("{}", fmt::join(std::span(each).first(shown), ", "));
  return left == 0 ? text : text + fmt::format(", and {} others", left);
}

std::string ColumnHelp::text() const {
  if (!apart.empty()) return what() + " are predicted apart: " + apart;
  const bool whole_rows = std::ranges::count(gaps, GapKind::whole_row, &GapShares::kind) > 0;
  const std::string of_whole_rows = "rows without a value come half from principal components of the rows";
  if (whole_rows && gaps.size() == 1) return of_whole_rows;
  const std::string end = whole_rows ? "; " + of_whole_rows : "";
  if (!together()) return what() + " are predicted apart: together they predict hidden values no better" + end;
  std::string line = fmt::format("{} help each other: on hidden values the CRPS is {} less than {}", what(),
                                 percent(gain_of(columns)), with_inputs ? "apart" : "by mean and deviation");
  if (const std::string each = gain_of_each(); !each.empty()) line += ": " + each;
  if (names.size() > values && !of_groups) line += "; also used: " + helpers();
  for (const GapShares& gap : gaps)
    if (!gap.together) line += fmt::format("; {} are predicted apart", name_of(gap));
  return line + end + not_used();
}

std::string ColumnHelp::summary() const {
  if (by_options) return what() + " are predicted apart: " + apart;
  if (!together()) return "";
  return fmt::format("{} help each other, CRPS on hidden values {} less{}{}", what(), percent(gain_of(columns)),
                     names.size() == values || of_groups ? "" : fmt::format(" (also used: {})", helpers()), not_used());
}

}  // namespace npzoo
