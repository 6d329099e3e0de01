#include "npzoo/models/applications/tables/regular_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/datasets/series/season_places.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/models/applications/tables/transform_choice.h"

namespace npzoo {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double period_in_steps(const std::string& text, const SeriesCalendar& calendar) {
  double number = 0;
  const auto [unit, error] = parse_number(text, number);
  const std::string_view name(unit, static_cast<std::size_t>(text.data() + text.size() - unit));
  const auto bad = [&] {
    fail(
        "[predict] the period {} found, expected two or more steps, such as 12, or of dates a time such as 1y, 3m, 7d "
        "or 24h",
        text);
  };
  if (error != std::errc() || !std::isfinite(number)) bad();
  if (!name.empty()) {
    constexpr double kYear = 365.25;
    const double days = name == "y" ? kYear : name == "m" ? kYear / 12 : name == "d" ? 1 : name == "h" ? 1.0 / 24 : 0;
    if (days == 0 || calendar.form().kind != ColumnForm::Kind::time) bad();
    number *= days;
    // A period that the calendar has is its own: a day of opening hours is no day of 24 hours.
    std::optional<double> known;
    for (const auto& [name_of, length] : {CalendarPeriod{"day", 1}, {"week", 7}, {"year", kYear}})
      if (const auto steps = calendar.period(name_of); steps && number == length) known = *steps;
    number = known.value_or(number / calendar.mean_step());
    if (std::abs(number - std::round(number)) < 1e-6) number = std::round(number);
  }
  if (!(number >= 2)) bad();
  return number;
}

struct KnownValue {
  double x = 0, y = 0;
};

/// The known values of a series in order.
std::vector<KnownValue> sorted_values(const TableQuestion& q, std::size_t column, std::span<const std::int64_t> rows) {
  std::vector<KnownValue> all;
  for (const std::int64_t i : rows)
    if (const double y = q.y[column][static_cast<std::size_t>(i)]; !std::isnan(y))
      all.push_back({q.x[static_cast<std::size_t>(i)], y});
  std::ranges::sort(all,
                    [](const KnownValue& a, const KnownValue& b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  return all;
}

/// Calls f(values) for the values of each time.
template <class F>
void for_each_time(std::span<const KnownValue> sorted, const F& f) {
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && sorted[end].x == sorted[begin].x) ++end;
    f(sorted.subspan(begin, end - begin));
  }
}

double mean_of(std::span<const KnownValue> values) {
  double sum = 0;
  for (const KnownValue& v : values) sum += v.y;
  return sum / static_cast<double>(values.size());
}

/// The known values of a series in order, those of equal inputs as their mean.
std::vector<KnownValue> known_values(std::span<const KnownValue> sorted) {
  std::vector<KnownValue> means;
  for_each_time(sorted, [&](std::span<const KnownValue> values) { means.push_back({values[0].x, mean_of(values)}); });
  return means;
}

/// The variance of single values, transformed, that the means of equal times do not show: that of values of one time,
/// by the share of it that their mean lacks.
double variance_within(std::vector<KnownValue> sorted, const ValueTransform& transform) {
  if (transform.active())
    for (KnownValue& v : sorted) v.y = transform.forward(v.y);
  double squares = 0, degrees = 0, lacking = 0, times = 0;
  for_each_time(sorted, [&](std::span<const KnownValue> values) {
    const double mean = mean_of(values), count = static_cast<double>(values.size());
    for (const KnownValue& v : values) squares += (v.y - mean) * (v.y - mean);
    degrees += count - 1;
    lacking += 1 - 1 / count;
    ++times;
  });
  return degrees > 0 ? squares / degrees * lacking / times : 0;
}

/// The times of rows of a series from its first known value to its last one, with a value or without.
std::vector<double> times_of_rows(const TableQuestion& q, std::span<const std::int64_t> rows,
                                  std::span<const double> known) {
  std::vector<double> times;
  for (const std::int64_t i : rows)
    if (const double x = q.x[static_cast<std::size_t>(i)]; x >= known.front() && x <= known.back()) times.push_back(x);
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

/// The text of the time that is furthest from equal steps, if all but a few times are near them.
std::optional<std::string> furthest_time(std::span<const double> times, const ColumnForm& form) {
  constexpr double kNear = 0.15, kFew = 0.02;  // of a step; of the times
  const std::optional<EqualSteps> steps = find_equal_steps(times, form.kind == ColumnForm::Kind::time);
  if (!steps) return {};
  const auto distance = [&](double t) { return std::abs(t - steps->time(steps->place(t))) / steps->step; };
  const auto far = std::ranges::count_if(times, [&](double t) { return distance(t) > kNear; });
  if (far == 0 || static_cast<double>(far) > std::max(1.0, kFew * static_cast<double>(times.size()))) return {};
  return form.text(*std::ranges::max_element(times, {}, distance));
}

/// Values that are never negative, and often but not always 0, stay at 0 or above.
ValueTransform floor_of(std::span<const KnownValue> known) {
  constexpr std::int64_t kOften = 10;  // one in so many
  const auto zeros = std::ranges::count(known, 0.0, &KnownValue::y);
  const bool negative = std::ranges::any_of(known, [](const KnownValue& v) { return v.y < 0; });
  const bool often = kOften * zeros >= std::ssize(known) && zeros < std::ssize(known);
  return {.low = !negative && often ? 0 : -std::numeric_limits<double>::infinity()};
}

/// Transforms the values of a series of a column without a transform.
void take_own_transform(std::span<const KnownValue> known, const std::string& name, bool usual, RegularSeries& s) {
  s.transform = floor_of(known);
  if (!usual) return;
  const TransformOptions options = usual_transform(s.y);
  if (!options.any()) return;
  s.transform = named_transform(options, s.y, name);
  for (double& y : s.y) y = std::isnan(y) ? y : s.transform.forward(y);
}

/// Puts the rows that are asked to the steps without a known value; `known` are times with one, ascending. If times of
/// the series are between steps, so may these be, and the nearest step is theirs.
void place_rows(const TableQuestion& q, std::span<const std::int64_t> rows, std::span<const double> known,
                RegularSeries& s) {
  constexpr double kOnStep = 0.01, kFurthest = 10;
  const double last = known.back();
  std::vector<SeasonPlaces> seasons;
  for (const double period : s.given.empty() ? s.likely : s.given)
    if (2 * period <= static_cast<double>(s.steps())) seasons.emplace_back(s.y, period);
  for (const std::int64_t i : rows) {
    const double x = q.targets[static_cast<std::size_t>(i)];
    if (x > last && (x - last) / s.calendar.mean_step() > kFurthest * static_cast<double>(s.steps())) {
      ++s.far;
      continue;
    }
    if (x < s.calendar.time(0)) continue;
    AskedRow asked{i, s.calendar.position(x)};
    const double nearest = std::round(asked.position);
    if (s.moved > 0 || std::abs(asked.position - nearest) < kOnStep) asked.position = nearest;
    asked.closed = !s.calendar.place(x) && !std::ranges::binary_search(known, x);
    if (x > last) {
      if (asked.position <= static_cast<double>(s.steps() - 1)) continue;  // the step of the last value
      asked.closed |= std::ranges::any_of(
          seasons, [&](const SeasonPlaces& season) { return season.never_has_value(std::round(asked.position)); });
      s.behind.push_back(asked);
    } else if (asked.position >= 0) {
      const auto place = static_cast<std::size_t>(std::min<std::int64_t>(std::llround(asked.position), s.steps() - 1));
      if (asked.closed || std::isnan(s.y[place])) s.inside.push_back(asked);
    }
  }
  std::ranges::stable_sort(s.behind, {}, &AskedRow::position);
}

/// Rows at times at which their series never has a value, and the first of them.
struct ClosedRows {
  std::int64_t count = 0;
  double first = 0;
  const RegularSeries* series = nullptr;  // of the first one

  void add(const RegularSeries& s, std::span<const AskedRow> asked, const TableQuestion& q) {
    for (const AskedRow& r : asked)
      if (r.closed && count++ == 0) first = q.targets[static_cast<std::size_t>(r.row)], series = &s;
  }
  Warning warning(const std::string& name, const ColumnForm& form, const char* answer) const {
    return {name, fmt::format("{} at times at which the series never has a value, such as {} (its steps are {}): {}",
                              count == 1 ? "1 row is" : fmt::format("{} rows are", count), form.text(first),
                              series->calendar.description(), answer)};
  }
};

std::string counted(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

std::int64_t RegularSeries::known() const {
  return std::ranges::count_if(y, [](double v) { return !std::isnan(v); });
}

SeriesOfCalendar find_regular_series(const TableQuestion& q, const ColumnForm& form,
                                     std::span<const std::string> periods, bool usual) {
  constexpr std::int64_t kFewest = 8;
  const auto groups = static_cast<std::size_t>(q.group_count);
  std::vector<std::vector<std::int64_t>> observed(groups), asked(groups);
  for (std::int64_t i = 0; i < std::ssize(q.x); ++i)
    observed[q.groups.empty() ? 0 : q.groups[static_cast<std::size_t>(i)]].push_back(i);
  for (std::int64_t i = 0; i < std::ssize(q.targets); ++i)
    asked[q.target_groups.empty() ? 0 : q.target_groups[static_cast<std::size_t>(i)]].push_back(i);
  SeriesOfCalendar all;
  for (std::size_t column = 0; column < q.y.size(); ++column)
    for (std::size_t g = 0; g < groups; ++g) {
      const std::vector<KnownValue> sorted = sorted_values(q, column, observed[g]), known = known_values(sorted);
      if (known.empty()) continue;
      std::vector<double> times;
      for (const KnownValue& v : known) times.push_back(v.x);
      const bool few = std::ssize(known) < kFewest;
      std::optional<PlacedTimes> placed =
          few ? std::nullopt : place_on_calendar(times, form, times_of_rows(q, observed[g], times));
      if (!placed) {
        const bool open = std::ranges::any_of(
            asked[g], [&](std::int64_t i) { return q.targets[static_cast<std::size_t>(i)] > times.back(); });
        if (open)
          all.irregular.push_back(
              {column, static_cast<std::int64_t>(g), few, few ? std::nullopt : furthest_time(times, form)});
        continue;
      }
      RegularSeries& s = all.regular.emplace_back(
          RegularSeries{.column = column, .group = static_cast<std::int64_t>(g), .calendar = placed->calendar});
      s.y.assign(static_cast<std::size_t>(placed->places.back() + 1), kNan);
      for (std::size_t i = 0; i < known.size(); ++i) s.y[static_cast<std::size_t>(placed->places[i])] = known[i].y;
      for (const CalendarPeriod& p : s.calendar.periods()) s.likely.push_back(p.steps);
      for (const std::string& text : periods) s.given.push_back(period_in_steps(text, s.calendar));
      std::ranges::sort(s.given);
      if (q.transforms.empty() || !q.transforms[column].active())
        take_own_transform(known, q.y_names[column], usual, s);
      else
        s.transform = q.transforms[column];
      s.averaged = std::ssize(sorted) - std::ssize(known);
      if (s.averaged > 0) s.within = variance_within(sorted, s.transform);
      s.moved = placed->moved;
      if (s.moved > 0) s.furthest = form.text(times[placed->furthest]);
      place_rows(q, asked[g], times, s);
    }
  return all;
}

double truth_of(const TableQuestion& q, std::size_t column, std::int64_t row) {
  return q.truth.empty() ? kNan : q.truth[column][static_cast<std::size_t>(row)];
}

std::vector<Warning> calendar_warnings(const SeriesOfCalendar& series, const TableQuestion& q, const ColumnForm& form) {
  std::int64_t averaged = 0, moved = 0, irregular = std::ssize(series.irregular), few = 0;
  ClosedRows behind, inside;
  const RegularSeries* first_moved = nullptr;
  for (const RegularSeries& s : series.regular) {
    if (s.behind.empty() && s.inside.empty()) continue;  // nothing is asked of it
    averaged += s.averaged;
    moved += s.moved;
    if (s.moved > 0 && !first_moved) first_moved = &s;
    behind.add(s, s.behind, q);
    // Between equal steps rows are not closed: the weights interpolate.
    if (std::holds_alternative<OpenTimes>(s.calendar.rule())) inside.add(s, s.inside, q);
  }
  std::string reason = "its times have no steps in common";
  for (const IrregularEnd& e : series.irregular) {
    few += e.few;
    if (e.furthest && reason.back() != ')') reason += fmt::format(" ({} is furthest from a step)", *e.furthest);
  }
  std::vector<Warning> all;
  if (averaged > 0)
    all.push_back({"averaged values",
                   fmt::format("{} at a time that another row of the series has: forecasts and seasons use the mean",
                               averaged == 1 ? "1 value is" : fmt::format("{} values are", averaged))});
  if (moved > 0)
    all.push_back({"moved times",
                   fmt::format("{} between the steps of {}: forecasts and seasons use the nearest step ({} is furthest "
                               "from it)",
                               moved == 1 ? "1 time is" : fmt::format("{} times are", moved),
                               first_moved->calendar.description(), *first_moved->furthest)});
  if (behind.count > 0)
    all.push_back(behind.warning(
        "closed times", form, "predicted from neighbouring times, with a std that includes the spread of the season"));
  if (inside.count > 0)
    all.push_back(inside.warning("closed times between values", form, "filled by the weights alone, without a season"));
  std::int64_t far = 0;
  for (const RegularSeries& s : series.regular) far += s.far;
  if (far > 0)
    all.push_back(
        {"far rows", fmt::format("{} further after the end than ten times the length of the series: predicted "
                                 "by the weights alone",
                                 far == 1 ? "1 row is" : fmt::format("{} rows are", far))});
  if (irregular > 0 && form.kind == ColumnForm::Kind::time)
    all.push_back({"weights alone",
                   fmt::format("the end of {} is forecast by the weights alone, without smoothing and seasons: {}",
                               irregular == 1 ? "a series" : counted(irregular, "series", "series"),
                               few == irregular ? "it has fewer than eight values" : reason)});
  return all;
}

}  // namespace npzoo
