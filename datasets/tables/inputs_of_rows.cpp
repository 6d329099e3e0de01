#include "npzoo/datasets/tables/inputs_of_rows.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "npzoo/datasets/tables/column_hints.h"
#include "npzoo/datasets/tables/text_parts.h"

namespace npzoo {

namespace {

using Kind = ColumnSummary::Kind;

bool is_axis(const std::string& name, std::vector<double> numbers) {
  if (names_time(name)) return false;  // years as columns
  const auto ascends = [&](auto less) {
    return std::ranges::adjacent_find(numbers, [&](double a, double b) { return !less(a, b); }) == numbers.end();
  };
  if (ascends(std::less<>()) || ascends(std::greater<>())) return true;
  if (!is_called_time(name)) return false;
  std::ranges::sort(numbers);
  return ascends(std::less<>());
}

}  // namespace

bool is_called_time(std::string name) {
  constexpr std::string_view kTimes[] = {"year", "time", "t", "day", "hour", "week", "step", "index", "timestamp"};
  std::ranges::transform(name, name.begin(), small_letter);
  return std::ranges::count(kTimes, name) > 0;
}

std::optional<std::vector<std::string>> inputs_of_rows(
    std::span<const ColumnFacts> columns, const ColumnChoice& choice,
    const std::function<std::vector<double>(const std::string& column)>& numbers) {
  if (!choice.group.empty() || !choice.covariates.empty() || !choice.date.empty()) return {};
  if (!open_columns(columns, choice, [](const ColumnFacts& c) { return c.kind == Kind::time; }).empty()) return {};
  std::vector<std::string> complete =
      open_columns(columns, choice, [](const ColumnFacts& c) { return c.kind == Kind::number && c.missing == 0; });
  if (!coordinates_among(complete).empty()) return {};
  const auto of_series = [&](const std::string& name) { return is_called_time(name) && !is_axis(name, numbers(name)); };
  if (std::ranges::any_of(complete, of_series)) return {};
  std::erase_if(complete, [&](const std::string& name) { return !is_axis(name, numbers(name)); });
  if (complete.size() > 1) return {};
  const bool sure = choice.values.size() > 1 || (complete.size() == 1 && is_called_time(complete[0]));
  return sure ? std::optional(std::move(complete)) : std::nullopt;
}

}  // namespace npzoo
