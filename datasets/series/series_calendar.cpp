#include "npzoo/datasets/series/series_calendar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace npzoo {

namespace {

constexpr double kYear = 365.25, kWeek = 7, kHour = 1.0 / 24;  // days
constexpr double kOnStep = 0.01;                               // of a step

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

/// Places times by a rule whose place 0 is the first time; none if they do not fit.
std::optional<PlacedTimes> placed(std::span<const double> times, SeriesCalendar calendar) {
  constexpr double kFurthest = 0.4, kMostRms = 0.15, kMostPlacesPerTime = 10;
  PlacedTimes all{.calendar = std::move(calendar)};
  const double step = all.calendar.mean_step();
  double squares = 0, most = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::optional<std::int64_t> place = all.calendar.place(times[i]);
    if (!place || (i > 0 && *place <= all.places.back())) return {};
    const double distance = std::abs(times[i] - all.calendar.time(*place)) / step;
    if (!(distance <= kFurthest)) return {};
    squares += distance * distance;
    all.moved += distance > kOnStep;
    if (distance > most) all.furthest = i;
    most = std::max(most, distance);
    all.places.push_back(*place);
  }
  const auto n = static_cast<double>(times.size());
  if (squares > n * kMostRms * kMostRms || static_cast<double>(all.places.back()) > kMostPlacesPerTime * n) return {};
  return all;
}

/// "1 hour", "15 minutes", "7 days".
std::string duration(double days) {
  struct Unit {
    double days;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits{{{1, "day"}, {kHour, "hour"}, {kHour / 60, "minute"}, {kHour / 3600, "second"}}};
  const auto* unit = kUnits.begin();
  while (unit + 1 != kUnits.end() && days / unit->days < 1 - kOnStep) ++unit;
  const double number = std::round(1e4 * days / unit->days) / 1e4;
  return fmt::format("{:.6g} {}{}", number, unit->name, number == 1 ? "" : "s");
}

/// Periods of these lengths in days, of at least two steps. Short ones are whole numbers of steps, or none.
std::vector<CalendarPeriod> periods_of_time(double step) {
  std::vector<CalendarPeriod> all;
  constexpr double kNear = 0.05, kLong = 20;
  for (const auto& [name, days] : {CalendarPeriod{"hour", kHour}, {"day", 1}, {"week", kWeek}, {"year", kYear}}) {
    const double steps = days / step, whole = std::round(steps);
    if (steps < 2 - kNear) continue;
    if (steps >= kLong || std::abs(steps - whole) < kNear * steps)
      all.push_back({name, std::abs(steps - whole) < 1e-6 * steps || steps < kLong ? whole : steps});
  }
  return all;
}

}  // namespace

double SeriesCalendar::time(std::int64_t place) const {
  return std::visit([place](const auto& rule) { return rule.time(place); }, rule_);
}

std::optional<std::int64_t> SeriesCalendar::place(double time) const {
  return std::visit([time](const auto& rule) { return std::optional<std::int64_t>(rule.place(time)); }, rule_);
}

double SeriesCalendar::position(double at) const {
  auto below = static_cast<std::int64_t>(std::floor((at - time(0)) / mean_step()));
  while (time(below) > at) --below;
  while (time(below + 1) <= at) ++below;
  return static_cast<double>(below) + (at - time(below)) / (time(below + 1) - time(below));
}

double SeriesCalendar::mean_step() const {
  return std::visit(Overloaded{[](const EqualSteps& s) { return s.step; },
                               [](const CalendarStep& s) { return kYear / s.steps_of_year(); },
                               [](const YearStep& s) { return static_cast<double>(s.days); },
                               [](const OpenTimes& s) { return s.cycle / static_cast<double>(s.open.size()); }},
                    rule_);
}

std::vector<CalendarPeriod> SeriesCalendar::periods() const {
  if (form_.kind != ColumnForm::Kind::time) return {};
  std::vector<CalendarPeriod> all = std::visit(
      Overloaded{[](const EqualSteps& s) { return periods_of_time(s.step); },
                 [](const CalendarStep& s) {
                   std::vector<CalendarPeriod> found{{"month", static_cast<double>(s.days.size())}};
                   const double year = s.steps_of_year();
                   if (year == std::round(year)) found.push_back({"year", year});
                   return found;
                 },
                 [](const YearStep& s) {
                   return std::vector<CalendarPeriod>{{"year", static_cast<double>(s.steps_of_year())}};
                 },
                 [](const OpenTimes& s) {
                   std::vector<CalendarPeriod> found;
                   const auto in_cycle = static_cast<double>(s.open.size()), in_week = kWeek / s.cycle * in_cycle;
                   if (const auto in_day = s.open_in_day()) found.push_back({"day", static_cast<double>(*in_day)});
                   found.push_back({"week", in_week});
                   found.push_back({"year", in_week * kYear / kWeek});
                   return found;
                 }},
      rule_);
  std::erase_if(all, [](const CalendarPeriod& p) { return p.steps < 2; });
  return all;
}

std::optional<double> SeriesCalendar::period(std::string_view name) const {
  for (const CalendarPeriod& p : periods())
    if (p.name == name) return p.steps;
  return {};
}

std::string SeriesCalendar::description() const {
  const auto equal = [this](double step) {
    return form_.kind == ColumnForm::Kind::time ? duration(step) : fmt::format("{:.6g}", step);
  };
  return std::visit(Overloaded{[&](const EqualSteps& s) { return equal(s.step); },
                               [](const CalendarStep& s) {
                                 if (s.days.size() > 1)
                                   return fmt::format("days {} of a month", fmt::join(s.days, ", "));
                                 return s.months == 1 ? std::string("1 month") : fmt::format("{} months", s.months);
                               },
                               [](const YearStep& s) { return fmt::format("{} days from 1 January on", s.days); },
                               [](const OpenTimes& s) {
                                 return fmt::format("{}, {} of the {} in a {}", duration(s.step), s.open.size(),
                                                    std::llround(s.cycle / s.step), s.cycle == kWeek ? "week" : "day");
                               }},
                    rule_);
}

std::optional<PlacedTimes> place_on_calendar(std::span<const double> times, const ColumnForm& form,
                                             std::span<const double> rows) {
  if (times.size() < 2) return {};
  const bool dates = form.kind == ColumnForm::Kind::time;
  std::optional<EqualSteps> equal = find_equal_steps(times, dates);
  if (equal) equal->origin = equal->time(equal->place(times[0]));
  const auto fits = [&](const auto& rule) {
    return rule ? placed(times, SeriesCalendar(*rule, form)) : std::optional<PlacedTimes>();
  };
  std::optional<PlacedTimes> best = fits(equal);
  if (!dates) return best;
  const auto take_better = [&best](std::optional<PlacedTimes> other) {
    if (other && (!best || other->moved <= best->moved)) best = std::move(other);
  };
  if (best) take_better(fits(find_open_times(times, rows.empty() ? times : rows, *equal, form.epoch)));
  take_better(fits(find_year_step(times, form.epoch)));
  take_better(fits(find_calendar_step(times, form.epoch)));
  return best;
}

}  // namespace npzoo
