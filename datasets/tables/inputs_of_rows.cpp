#include "npzoo/datasets/tables/inputs_of_rows.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "npzoo/datasets/tables/column_facts.h"
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
    const std::function<std::vector<double>(const std::string& column)>& numbers, bool named_rows) {
  if (!choice.group.empty() || !choice.covariates.empty() || !choice.date.empty()) return {};
  if (!open_columns(columns, choice, [](const ColumnFacts& c) { return c.kind == Kind::time; }).empty()) return {};
  std::vector<std::string> complete =
      open_columns(columns, choice, [](const ColumnFacts& c) { return c.kind == Kind::number && c.missing == 0; });
  if (!coordinates_among(complete).empty()) return {};
  const auto of_series = [&](const std::string& name) { return is_called_time(name) && !is_axis(name, numbers(name)); };
  if (std::ranges::any_of(complete, of_series)) return {};
  std::erase_if(complete, [&](const std::string& name) { return !is_axis(name, numbers(name)); });
  if (complete.size() > 1) return {};
  const bool sure = choice.values.size() > 1 || (named_rows && complete.empty()) ||
                    (complete.size() == 1 && is_called_time(complete[0]));
  return sure ? std::optional(std::move(complete)) : std::nullopt;
}

std::optional<std::string> input_beside_clocks(Table& table, const ColumnChoice& choice) {
  using Names = std::vector<std::string>;
  constexpr std::ptrdiff_t kMostTurns = 5;  // one in so many
  const auto read = [&](const std::string& name) {
    const std::array column{table.format().column(name)};
    return std::move(table.numbers(column, table.input_forms(column))[0].values);
  };
  const auto turns = [](const std::vector<double>& places, auto less) {
    std::ptrdiff_t count = 0;
    for (std::size_t i = 1; i < places.size(); ++i) count += less(places[i], places[i - 1]) ? 1 : 0;
    return count;
  };
  const std::vector<ColumnFacts> facts = facts_of(table);
  const Names times = open_columns(facts, choice, [](const ColumnFacts& c) { return c.kind == Kind::time; });
  const Names clocks =
      open_columns(facts, choice, [](const ColumnFacts& c) { return c.kind == Kind::time && c.clock; });
  if (times.size() != 1 || clocks.size() != 1 || !choice.group.empty()) return {};
  const std::vector<double> clock = read(clocks[0]);
  const std::ptrdiff_t most = std::ssize(clock) / kMostTurns;
  if (turns(clock, std::less<>()) <= most || turns(clock, std::greater<>()) <= most) return {};
  Names numbers =
      open_columns(facts, choice, [](const ColumnFacts& c) { return c.kind == Kind::number && c.missing == 0; });
  std::erase_if(numbers, [&](const std::string& name) { return turns(read(name), std::less_equal<>()) > 0; });
  return numbers.size() == 1 ? std::optional(numbers[0]) : std::nullopt;
}

}  // namespace npzoo
