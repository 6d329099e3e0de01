#include "npzoo/models/applications/tables/lead_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "npzoo/engine/error.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/applications/tables/own_rows.h"

namespace npzoo {

namespace {

/// The name of a step, and the number of steps of a usual forecast.
struct StepName {
  std::string unit = "steps";
  std::int64_t horizon = 10;
};

StepName name_of_step(const TimeSeries& s) {
  if (s.time_form.kind != ColumnForm::Kind::time || !s.calendar) return {};
  const SeriesCalendar::Rule& rule = s.calendar->rule();
  if (const auto* step = std::get_if<CalendarStep>(&rule); step && step->days.size() == 1)
    return step->months == 1    ? StepName{"months", 12}
           : step->months == 3  ? StepName{"quarters", 8}
           : step->months == 12 ? StepName{"years", 5}
                                : StepName{fmt::format("steps of {} months", step->months), 12};
  if (const auto* open = std::get_if<OpenTimes>(&rule)) {
    constexpr std::int64_t kWorkedDays = 5;
    if (open->step == 1 && open->open_in_cycle() == kWorkedDays) return {"business days", 20};
    return {"open times", open->open_in_day().value_or(open->open_in_cycle())};
  }
  if (!std::holds_alternative<EqualSteps>(rule)) return {"steps", 24};
  constexpr double kSecond = 1.0 / 86'400;
  const struct {
    double days;
    const char* unit;
    std::int64_t horizon;
  } kSteps[] = {{7, "weeks", 12},
                {1, "days", 14},
                {3600 * kSecond, "hours", 24},
                {60 * kSecond, "minutes", 60},
                {kSecond, "seconds", 60}};
  for (const auto& [days, unit, horizon] : kSteps) {
    const double times = s.step / days;
    constexpr double kRounding = 1e-4;
    if (std::abs(times - 1) < kRounding) return {unit, horizon};
    if (times > 1 && std::abs(times - std::round(times)) < kRounding)
      return {fmt::format("steps of {:.0f} {}", times, unit), horizon};
  }
  return {};
}

/// The series of each group; none if one of them has no equal steps.
std::vector<TimeSeries> regular_series(const FillTables& tables) {
  std::vector<TimeSeries> all;
  if (tables.columns.inputs.size() != 1) return {};
  const auto groups = rows_of_groups(tables);
  try {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      all.push_back(times_of(tables, g, groups[g]));
      if (!all.back().calendar) return {};
    }
  } catch (const Error&) {  // one time alone
    return {};
  }
  return all;
}

/// "--grid 100x80" for the shape of the observed places.
std::string grid_flag(const FillTables& tables) {
  constexpr double kLongest = 100, kShortest = 10;
  const auto [west, east] = range_of(tables, 0);
  const auto [south, north] = range_of(tables, 1);
  const double width = east - west, height = north - south, most = std::max(width, height);
  const auto count = [&](double side) { return std::max(kShortest, std::round(kLongest * side / most)); };
  return fmt::format("--grid {:.0f}x{:.0f}", count(width), count(height));
}

}  // namespace

std::optional<AbsentRows> count_absent(const FillTables& tables) {
  AbsentRows found;
  for (const TimeSeries& s : regular_series(tables)) {
    found.steps += s.size();
    found.rows += std::ranges::count(s.known, false);
    found.unit = name_of_step(s).unit;
  }
  return found.rows > 0 ? std::optional(found) : std::nullopt;
}

std::optional<std::string> step_of(const FillTables& tables) {
  const std::vector<TimeSeries> series = regular_series(tables);
  if (series.empty()) return {};
  const TimeSeries& first = series.front();
  const bool named =
      first.time_form.kind == ColumnForm::Kind::time && (std::holds_alternative<EqualSteps>(first.calendar->rule()) ||
                                                         std::holds_alternative<CalendarStep>(first.calendar->rule()));
  return named ? name_of_step(first).unit : first.calendar->description();
}

std::string text(const AbsentRows& absent) {
  return fmt::format("{} of {} {} {} no row", absent.rows, absent.steps, absent.unit,
                     absent.rows == 1 ? "has" : "have");
}

std::string lead_on(const FillTables& tables, const std::string& hint,
                    const std::function<std::string(const std::string&)>& command) {
  const ColumnChoice& c = tables.columns;
  std::string message =
      fmt::format("{} misses no value of {}{}", tables.table.format().name(), fmt::join(c.values, ", "), hint);
  if (c.inputs.size() == 1 && c.covariates.empty()) {
    const std::vector<TimeSeries> series = regular_series(tables);
    const StepName step = series.empty() ? StepName() : name_of_step(series.front());
    constexpr std::int64_t kOften = 4;  // hours of business or of daylight: the others are absent on purpose
    if (const auto absent = count_absent(tables); absent && kOften * absent->rows < absent->steps)
      message += fmt::format(", but {}. To add and fill {}: {}", text(*absent), absent->rows == 1 ? "it" : "them",
                             command("--add-rows"));
    const std::int64_t rows =
        tables.table.rows() / static_cast<std::int64_t>(std::max<std::size_t>(1, tables.groups.size()));
    if (rows < 2) return message + ". To forecast, add more rows: a step ahead needs two times";
    const std::int64_t horizon = std::clamp<std::int64_t>(rows / 2, 2, step.horizon);
    return message + fmt::format(". To forecast the next {} {}{}: {}", horizon, step.unit,
                                 tables.groups.empty() ? "" : " of each group",
                                 command(fmt::format("--horizon {}", horizon)));
  }
  const bool places =
      c.inputs.size() == 2 && c.covariates.empty() &&
      std::ranges::none_of(tables.observed.forms, [](const ColumnForm& f) { return f.kind == ColumnForm::Kind::time; });
  if (places) return message + fmt::format(". To predict a map: {}", command(grid_flag(tables) + " --plot map.svg"));
  return message + fmt::format(". To predict other rows, write their {} into a table ROWS.csv: {}",
                               fmt::join(c.inputs, ", "), command("--targets ROWS.csv"));
}

}  // namespace npzoo
