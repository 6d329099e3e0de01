#include "npzoo/datasets/tables/column_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "npzoo/datasets/tables/text_parts.h"

namespace npzoo {

namespace {

using Kind = ColumnSummary::Kind;

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

/// Whether one of the words of a name is one of `words`. A capital behind a small letter begins a word:
/// decimalLatitude.
bool has_word(std::string_view name, std::span<const std::string_view> words) {
  std::string word;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const bool begins =
        i > 0 && i < name.size() && is_capital(name[i]) && is_letter(name[i - 1]) && !is_capital(name[i - 1]);
    if (begins) {
      if (std::ranges::find(words, word) != words.end()) return true;
      word.clear();
    }
    if (i < name.size() && is_letter(name[i])) {
      word += small_letter(name[i]);
      continue;
    }
    if (std::ranges::find(words, word) != words.end()) return true;
    word.clear();
  }
  return false;
}

}  // namespace

namespace {

constexpr auto kCoordinatePairs = std::to_array<std::array<std::string_view, 2>>({{"lon", "lat"},
                                                                                  {"lng", "lat"},
                                                                                  {"long", "lat"},
                                                                                  {"longitude", "latitude"},
                                                                                  {"x", "y"},
                                                                                  {"x1", "x2"},
                                                                                  {"easting", "northing"},
                                                                                  {"east", "north"}});

std::string in_small_letters(std::string name) {
  std::ranges::transform(name, name.begin(), small_letter);
  return name;
}

/// Whether a column may be one of two coordinates.
bool may_be_coordinate(const std::string& name) {
  const std::string small = in_small_letters(name);
  return std::ranges::any_of(kCoordinatePairs, [&](const auto& pair) { return small == pair[0] || small == pair[1]; });
}

}  // namespace

bool are_coordinates(const std::vector<std::string>& names) {
  if (names.size() != 2) return false;
  const std::array<std::string, 2> small = {in_small_letters(names[0]), in_small_letters(names[1])};
  return std::ranges::any_of(kCoordinatePairs, [&](const auto& pair) {
    return (small[0] == pair[0] && small[1] == pair[1]) || (small[0] == pair[1] && small[1] == pair[0]);
  });
}

double ratio_of_one_unit(const std::vector<std::string>& names) {
  constexpr double kOneUnit = 10, kPerhaps = 2;
  if (names.size() != 2) return 1;
  const bool degrees =
      (is_longitude(names[0]) && is_latitude(names[1])) || (is_latitude(names[0]) && is_longitude(names[1]));
  if (degrees) return kOneUnit;
  const std::string first = in_small_letters(names[0]);
  // x1 and x2 are names of any two inputs.
  if (!are_coordinates(names) || first == "x1" || first == "x2") return 1;
  return first == "x" || first == "y" ? kPerhaps : kOneUnit;
}

bool is_longitude(std::string_view name) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"lon", "lng", "long", "longitude", "longitud", "longitudine", "xlon", "xlong", "länge", "längengrad"});
  return has_word(name, kWords);
}

bool is_latitude(std::string_view name) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"lat", "latitude", "lattitude", "latitud", "latitudine", "xlat", "breite", "breitengrad"});
  return has_word(name, kWords);
}

std::vector<std::string> whole_names(std::span<const std::string> names, const HasColumn& has) {
  std::vector<std::string> whole;
  for (std::size_t begin = 0; begin < names.size();) {
    std::size_t end = begin + 1;
    std::string found = names[begin], text;
    for (std::size_t i = begin; i < names.size() && !has(names[begin]); ++i) {
      text += (i > begin ? "," : "") + names[i];
      const bool quoted = text.size() > 1 && text.front() == '"' && text.back() == '"';
      const std::string name = quoted ? text.substr(1, text.size() - 2) : text;
      if (!quoted && !has(name)) continue;
      found = name;
      end = i + 1;
      break;
    }
    whole.push_back(std::move(found));
    begin = end;
  }
  return whole;
}

std::vector<std::string> group_names(const std::string& group, const HasColumn& has) {
  if (group.empty()) return {};
  if (has(group)) return {group};
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= group.size();) {
    const std::size_t end = std::min(group.find(',', begin), group.size());
    parts.push_back(group.substr(begin, end - begin));
    begin = end + 1;
  }
  return whole_names(parts, has);
}

std::string ColumnChoice::date_name() const { return fmt::format("{}", fmt::join(date, "-")); }

std::vector<std::string> open_columns(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                                      const std::function<bool(const ColumnFacts&)>& accept) {
  const std::vector<std::string> groups = group_names(choice.group, [&](const std::string& name) {
    return std::ranges::find(columns, name, &ColumnFacts::name) != columns.end();
  });
  std::unordered_set<std::string_view> taken{""};
  taken.insert(groups.begin(), groups.end());
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
  const auto times_of = [&](bool clock) {
    return open_columns(columns, choice,
                        [clock](const ColumnFacts& c) { return c.kind == Kind::time && c.clock == clock; });
  };
  std::vector<std::string> times = times_of(false);
  if (times.empty()) times = times_of(true);
  if (times.size() > 1) {
    std::vector<std::string> iso =
        open_columns(columns, choice, [](const ColumnFacts& c) { return c.kind == Kind::time && c.iso && !c.clock; });
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
  std::vector<std::string> some, found;
  std::ranges::copy_if(names, std::back_inserter(some), may_be_coordinate);
  for (std::size_t i = 0; i < some.size(); ++i)
    for (std::size_t j = i + 1; j < some.size(); ++j) {
      std::vector<std::string> pair{some[i], some[j]};
      if (!are_coordinates(pair)) continue;
      if (!found.empty()) return {};
      found = std::move(pair);
    }
  return found;
}

std::vector<std::string> target_inputs(std::span<const std::string> columns, const ColumnChoice& choice) {
  const std::vector<std::string> groups = group_names(
      choice.group, [&](const std::string& name) { return std::ranges::find(columns, name) != columns.end(); });
  std::vector<std::string> names;
  std::ranges::copy_if(columns, std::back_inserter(names), [&](const std::string& name) {
    return std::ranges::find(groups, name) == groups.end() &&
           std::ranges::find(choice.values, name) == choice.values.end() &&
           std::ranges::find(choice.covariates, name) == choice.covariates.end();
  });
  return names;
}

}  // namespace npzoo
