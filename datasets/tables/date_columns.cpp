#include "npzoo/datasets/tables/date_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "npzoo/datasets/tables/column_facts.h"
#include "npzoo/datasets/tables/flag_text.h"
#include "npzoo/datasets/tables/series_columns.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

using Kind = ColumnSummary::Kind;
using Names = std::vector<std::string>;

/// The parts of a date by the names of open columns; none if a part has two.
class NamedParts {
 public:
  NamedParts(const std::vector<ColumnFacts>& facts, const ColumnChoice& choice) {
    for (const std::string& name : open_columns(facts, choice, [](const ColumnFacts& c) { return c.missing == 0; })) {
      DatePart part = part_named(name);
      if (part == DatePart::none) continue;
      if (part == DatePart::month && has(DatePart::month) && has(DatePart::hour))
        part = DatePart::minute;  // MM … hh mm
      std::string& found = names_[static_cast<std::size_t>(part)];
      twice_ = twice_ || !found.empty();
      found = name;
    }
  }

  /// The first of these parts that there is.
  void add(Names& to, std::initializer_list<DatePart> parts) const {
    for (const DatePart part : parts)
      if (const std::string& name = names_[static_cast<std::size_t>(part)]; !name.empty()) {
        to.push_back(name);
        return;
      }
  }
  void add_time(Names& to) const {
    const std::size_t before = to.size();
    add(to, {DatePart::clock, DatePart::hour});
    if (to.size() == before || part_named(to.back()) != DatePart::hour) return;
    if (!has(DatePart::minute)) return;
    add(to, {DatePart::minute});
    add(to, {DatePart::second});
  }
  bool has_twice() const { return twice_; }

 private:
  bool has(DatePart part) const { return !names_[static_cast<std::size_t>(part)].empty(); }

  std::array<std::string, 24> names_;
  bool twice_ = false;
};

class DateFinder {
 public:
  DateFinder(Table& table, const ColumnChoice& choice) : table_(table), choice_(choice) {
    const std::vector<ColumnSummary>& summaries = table.summaries();
    for (std::size_t c = 0; c < summaries.size(); ++c)
      facts_.push_back({.name = table.header()[c],
                        .kind = summaries[c].kind,
                        .missing = summaries[c].missing,
                        .clock = summaries[c].clock});
  }

  /// A date and the only time of day.
  Names with_clock() const {
    const Names dates = times(false), clocks = times(true);
    if (dates.size() != 1 || clocks.size() != 1 || !are_days(dates[0]) || !repeats(dates[0])) return {};
    Names both{dates[0], clocks[0]};
    if (!are_date(both)) return {};
    for (const std::string& name :
         open_columns(facts_, choice_, [](const ColumnFacts& c) { return c.kind == Kind::text && c.missing == 0; })) {
      Names all = both;
      all.push_back(name);
      if (are_date(all)) return all;  // AM and PM
    }
    return both;
  }

  /// A date and an hour, by its name.
  Names with_hour() const {
    const Names dates = times(false);
    const NamedParts named(facts_, choice_);
    if (dates.size() != 1 || named.has_twice() || !are_days(dates[0]) || !repeats(dates[0])) return {};
    Names all{dates[0]};
    named.add_time(all);
    return all.size() > 1 && are_date(all) ? all : Names();
  }

  /// Whether the last of these columns is a time of day such as 0015, which nothing else looks like beside a date.
  bool ends_with_hhmm(const Names& names) const {
    if (names.empty()) return false;
    const DatePart last = (*table_.date_parts(positions(names)))[names.size() - 1];
    return last == DatePart::hhmm || last == DatePart::hhmmss;
  }

  /// A year and its parts, by their names.
  Names with_year() const {
    if (!times(false).empty()) return {};
    const NamedParts named(facts_, choice_);
    Names all;
    named.add(all, {DatePart::year});
    if (all.empty() || named.has_twice()) return {};
    named.add(all, {DatePart::month, DatePart::quarter, DatePart::half_year, DatePart::week, DatePart::day_of_year,
                    DatePart::day});
    if (all.size() == 2 && part_named(all[1]) == DatePart::month) named.add(all, {DatePart::day});
    if (all.size() > 1) named.add_time(all);
    return all.size() > 1 && are_date(all) ? all : Names();
  }

 private:
  Names times(bool clock) const {
    return open_columns(facts_, choice_,
                        [clock](const ColumnFacts& c) { return c.kind == Kind::time && c.clock == clock; });
  }

  std::vector<std::size_t> positions(const Names& names) const {
    std::vector<std::size_t> found;
    for (const std::string& name : names) found.push_back(table_.format().column(name));
    return found;
  }

  bool are_date(const Names& names) const { return table_.date_parts(positions(names)).has_value(); }

  /// Whether all dates of a column are without a time of day.
  bool are_days(const std::string& name) const {
    const std::vector<std::size_t> column = positions({name});
    if (table_.summaries()[column[0]].missing > 0) return false;
    const NumberColumn days = table_.numbers(column, table_.input_forms(column))[0];
    return std::ranges::all_of(days.values, [](double day) { return day == std::floor(day); });
  }

  /// Whether several rows of a group have one date.
  bool repeats(const std::string& name) const {
    Names columns =
        group_names(choice_.group, [&](const std::string& n) { return table_.format().find(n).has_value(); });
    columns.push_back(name);
    std::unordered_set<std::string> seen;
    std::vector<Table::Labels> labels;
    for (const std::string& n : columns)
      if (const auto at = table_.format().find(n)) labels.push_back(table_.labels(*at));
    for (std::size_t row = 0; row < static_cast<std::size_t>(table_.rows()); ++row) {
      std::string key;
      for (const Table::Labels& one : labels) key += std::to_string(one.of_rows[row]) + ' ';
      if (!seen.insert(std::move(key)).second) return true;
    }
    return false;
  }

  Table& table_;
  const ColumnChoice& choice_;
  std::vector<ColumnFacts> facts_;
};

}  // namespace

void find_date_columns(Table& table, const Table* targets, ColumnChoice& choice) {
  if (!choice.inputs.empty() || !choice.date.empty() || table.rows() == 0) return;
  const DateFinder finder(table, choice);
  const auto in_targets = [&](const Names& names) {
    return targets == nullptr || std::ranges::all_of(names, [&](const std::string& name) {
             return targets->format().find(name).has_value();
           });
  };
  const Names with_hour = finder.with_hour();
  for (const Names& names : {finder.with_clock(), finder.ends_with_hhmm(with_hour) ? with_hour : Names()}) {
    if (names.empty() || !in_targets(names)) continue;
    choice.date = names;
    return;
  }
  for (const Names& names : {with_hour, finder.with_year()})
    if (!names.empty() && in_targets(names))
      fail("[columns] {}: {} are a date together, expected --date {}", table.format().name(), quoted_list(names),
           flag_list(names));
}

namespace {

/// Whether a part of a day may be nothing else. Numbers of hours may be those of stores.
bool is_sure_time(DatePart part) {
  return part == DatePart::clock || part == DatePart::clock_interval || part == DatePart::half_day;
}

/// The columns that are a date together with the input, so that no two rows of a group have one time.
std::optional<Names> date_of_rows(Table& table, const ColumnChoice& choice, const RowKeys& rows) {
  Names known = choice.date.empty() ? choice.inputs : choice.date;
  for (const std::string& name : open_columns(
           facts_of(table), choice, [](const ColumnFacts& c) { return c.missing == 0 && c.kind != Kind::empty; })) {
    Names all = known;
    all.push_back(name);
    std::vector<std::size_t> columns;
    for (const std::string& one : all) columns.push_back(table.format().column(one));
    const auto parts = table.date_parts(columns);
    if (!parts || (*parts)[all.size() - 1] < DatePart::hour) continue;
    const bool every_hour =
        (*parts)[all.size() - 1] == DatePart::hour && table.labels(columns.back()).names.size() == 24;
    if ((*parts)[all.size() - 1] == DatePart::hour && !every_hour) continue;
    const NumberColumn times = table.joined_times(columns);
    std::vector<std::pair<std::uint32_t, double>> places;
    for (std::size_t i = 0; i < times.values.size(); ++i)
      places.emplace_back(rows.of_rows.empty() ? 0U : rows.of_rows[i], times.values[i]);
    std::ranges::sort(places);
    if (std::ranges::adjacent_find(places) == places.end()) return all;
  }
  return {};
}

/// The advice for such rows.
std::string date_advice(Table& table, const ColumnChoice& choice, const RowKeys& rows) {
  const auto date = date_of_rows(table, choice, rows);
  if (!date) return "";
  std::vector<std::size_t> columns;
  for (const std::string& one : *date) columns.push_back(table.format().column(one));
  const DatePart part = (*table.date_parts(columns))[date->size() - 1];
  if (is_sure_time(part))
    return fmt::format("{} is a part of the date, use --date {}", in_quotes(date->back()), flag_list(*date));
  return fmt::format("if {} counts the parts of a day, use --date {}; if it names the series, use --group {}",
                     in_quotes(date->back()), flag_list(*date), flag_list({&date->back(), 1}));
}

}  // namespace

void check_parts_of_date(Table& table, const ColumnChoice& choice, const RowKeys& rows) {
  if (choice.inputs.size() != 1 || rows.x.empty()) return;
  std::vector<std::uint32_t> all(rows.x.size());
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  const SeriesColumns series{{}, repeated_inputs(rows, 1, all)};
  if (series.found.places == 0) return;
  const std::string advice = date_advice(table, choice, rows);
  check(advice.empty(), "[columns] {} has {}{}; {}", table.format().name(), series.text(true),
        choice.group.empty() ? "" : " in a group", advice);
}

}  // namespace npzoo
