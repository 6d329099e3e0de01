#include "npzoo/datasets/series/calendar.h"

#include <chrono>
#include <cmath>

namespace npzoo {

namespace {

/// A moment to the second: sums of days are not exact.
struct Moment {
  explicit Moment(double days) {
    constexpr std::int64_t kSecondsOfADay = 86'400;
    const std::int64_t second = std::llround(days * static_cast<double>(kSecondsOfADay));
    day = std::chrono::sys_days(std::chrono::floor<std::chrono::days>(std::chrono::seconds(second)));
    of_day = second - day.time_since_epoch().count() * kSecondsOfADay;
  }
  std::chrono::year_month_day date() const { return day; }

  std::chrono::sys_days day;
  std::int64_t of_day;  // seconds
};

/// One of 0 … last.
double centred(std::int64_t place, std::int64_t last) {
  return static_cast<double>(place) / static_cast<double>(last) - 0.5;
}

double minute_of_hour(double days) { return centred(Moment(days).of_day / 60 % 60, 59); }
double hour_of_day(double days) { return centred(Moment(days).of_day / 3600, 23); }
double day_of_week(double days) {
  return centred(static_cast<std::int64_t>(std::chrono::weekday(Moment(days).day).iso_encoding()) - 1, 6);
}
double day_of_month(double days) {
  return centred(static_cast<std::int64_t>(static_cast<unsigned>(Moment(days).date().day())) - 1, 30);
}
double day_of_year(double days) {
  const Moment moment(days);
  const std::chrono::sys_days new_year = moment.date().year() / std::chrono::January / 1;
  return centred((moment.day - new_year).count(), 365);
}

constexpr CalendarFeature kFeatures[] = {{"minute-of-hour", minute_of_hour},
                                         {"hour-of-day", hour_of_day},
                                         {"day-of-week", day_of_week},
                                         {"day-of-month", day_of_month},
                                         {"day-of-year", day_of_year}};

}  // namespace

std::span<const CalendarFeature> calendar_features() { return kFeatures; }

}  // namespace npzoo
