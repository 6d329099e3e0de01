#include "npzoo/datasets/tables/column_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <unordered_set>

namespace npzoo {

namespace {

using Kind = ColumnSummary::Kind;

bool are_coordinates(const std::vector<std::string>& names) {
  constexpr auto kPairs = std::to_array<std::array<std::string_view, 2>>({{"lon", "lat"},
                                                                          {"lng", "lat"},
                                                                          {"long", "lat"},
                                                                          {"longitude", "latitude"},
                                                                          {"x", "y"},
                                                                          {"x1", "x2"},
                                                                          {"easting", "northing"},
                                                                          {"east", "north"}});
  if (names.size() != 2) return false;
  std::array<std::string, 2> small = {names[0], names[1]};
  for (std::string& name : small)
    std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return std::ranges::any_of(kPairs, [&](const auto& pair) {
    return (small[0] == pair[0] && small[1] == pair[1]) || (small[0] == pair[1] && small[1] == pair[0]);
  });
}

bool is_whole_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

std::vector<std::uint32_t> all_rows(std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), std::uint32_t{0});
  return rows;
}

/// True if few different texts or whole numbers are in a column of `rows` rows.
bool are_few(const Table::Labels& labels, Kind kind, std::size_t rows) {
  return labels.names.size() > 1 && 2 * labels.names.size() <= rows &&
         (kind == Kind::text || std::ranges::all_of(labels.names, is_whole_number));
}

}  // namespace

std::string ColumnChoice::date_name() const { return fmt::format("{}", fmt::join(date, "-")); }

std::vector<std::string> open_columns(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                                      const std::function<bool(const ColumnFacts&)>& accept) {
  std::unordered_set<std::string_view> taken{"", choice.group};
  for (const auto* named : {&choice.inputs, &choice.values, &choice.covariates, &choice.date})
    taken.insert(named->begin(), named->end());
  std::vector<std::string> names;
  for (const ColumnFacts& column : columns)
    if (!taken.contains(column.name) && accept(column)) names.push_back(column.name);
  return names;
}

std::vector<std::string> open_values(std::span<const ColumnFacts> columns, const ColumnChoice& choice, bool gaps) {
  return open_columns(columns, choice,
                      [gaps](const ColumnFacts& c) { return c.kind == Kind::number && (!gaps || c.missing > 0); });
}

OpenInputs open_inputs(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                       std::optional<std::int64_t> dim_x) {
  using Doubt = OpenInputs::Doubt;
  std::vector<std::string> times =
      open_columns(columns, choice, [](const ColumnFacts& c) { return c.kind == Kind::time; });
  if (times.size() > 1) {
    std::vector<std::string> iso =
        open_columns(columns, choice, [](const ColumnFacts& c) { return c.kind == Kind::time && c.iso; });
    if (iso.size() != 1) return {std::move(times), Doubt::dates, true};
    times = std::move(iso);
  }
  if (times.size() == 1 && dim_x.value_or(1) == 1) return {std::move(times), Doubt::none, true};
  std::vector<std::string> numbers =
      open_columns(columns, choice, [](const ColumnFacts& c) { return c.kind == Kind::number && c.missing == 0; });
  if (numbers.empty()) return {{}, Doubt::nothing};
  const bool fits =
      dim_x ? std::ssize(numbers) == *dim_x && times.empty() : numbers.size() == 1 || are_coordinates(numbers);
  return {std::move(numbers), fits ? Doubt::none : Doubt::numbers};
}

std::vector<std::string> coordinates_among(std::span<const std::string> names) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = i + 1; j < names.size(); ++j) {
      std::vector<std::string> pair{names[i], names[j]};
      if (!are_coordinates(pair)) continue;
      if (!found.empty()) return {};
      found = std::move(pair);
    }
  return found;
}

std::vector<std::string> target_inputs(std::span<const std::string> columns, const ColumnChoice& choice) {
  std::vector<std::string> names;
  std::ranges::copy_if(columns, std::back_inserter(names), [&](const std::string& name) {
    return name != choice.group && std::ranges::find(choice.values, name) == choice.values.end() &&
           std::ranges::find(choice.covariates, name) == choice.covariates.end();
  });
  return names;
}

std::string SeriesColumn::text(bool dates) const {
  const std::string times = found.most != found.fewest ? "more than once"
                            : found.most == 2          ? "twice"
                                                       : fmt::format("{} times", found.most);
  return fmt::format("{} {} {}", found.places, dates ? "dates" : "places", times);
}

std::optional<SeriesColumn> series_column(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                                          std::span<const double> x,
                                          const std::function<Table::Labels(std::size_t)>& labels) {
  constexpr std::int64_t kLeft = 20;  // one repeated row of so many may stay repeated
  if (!choice.group.empty() || choice.inputs.empty()) return {};
  const std::size_t width = choice.inputs.size(), count = x.size() / width;
  const auto dim_x = static_cast<std::int64_t>(width);
  const std::vector<std::uint32_t> rows = all_rows(count);
  const RepeatedInputs found = repeated_inputs({x}, dim_x, rows);
  if (found.places < 2) return {};
  // Whole numbers may tell a few rows apart by chance.
  const bool many = 2 * found.rows >= static_cast<std::int64_t>(count);
  const auto is_used = [&](const std::string& name) {
    return std::ranges::count(choice.inputs, name) + std::ranges::count(choice.values, name) +
               std::ranges::count(choice.date, name) >
           0;
  };
  int left = 64;  // columns to look at
  for (const auto kind : {Kind::text, Kind::number}) {
    if (kind == Kind::number && !many) return {};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const ColumnFacts& column = columns[c];
      if (column.name.empty() || is_used(column.name) || column.kind != kind || column.missing > 0) continue;
      if (--left < 0) return {};
      const Table::Labels named = labels(c);
      if (!are_few(named, kind, count)) continue;
      if (kLeft * repeated_inputs({x, named.names, named.of_rows}, dim_x, rows).rows > found.rows) continue;
      return SeriesColumn{column.name, found};
    }
  }
  return {};
}

}  // namespace npzoo
