#include "npzoo/datasets/series/series_calendar.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "npzoo/datasets/tables/date_time.h"
#include "npzoo/engine/random.h"

using namespace npzoo;

namespace {

ColumnForm dates_from(const char* date) {
  return {.kind = ColumnForm::Kind::time, .epoch = parse_date_time(date)->day};
}

double day(const ColumnForm& form, const char* date) { return days_since(form.epoch, *parse_date_time(date)); }

std::vector<double> days(const ColumnForm& form, std::initializer_list<const char*> dates) {
  std::vector<double> all;
  for (const char* date : dates) all.push_back(day(form, date));
  return all;
}

/// The dates of the places 0, 1, ….
std::vector<std::string> first_dates(const SeriesCalendar& c, std::int64_t count) {
  std::vector<std::string> all;
  for (std::int64_t place = 0; place < count; ++place) all.push_back(c.form().text(c.time(place)));
  return all;
}

/// Hours of the days from Monday 2024-01-01 on.
template <typename Open>
std::vector<double> open_hours(int days, const Open& open) {
  std::vector<double> all;
  for (int d = 0; d < days; ++d)
    for (int h = 0; h < 24; ++h)
      if (open(d % 7, h)) all.push_back(d + h / 24.0);
  return all;
}

const ColumnForm kMonday = dates_from("2024-01-01");

}  // namespace

TEST_CASE("calendar: the 1st and 15th, dekads and month ends are equal steps") {
  const ColumnForm form = dates_from("2023-11-15");
  const std::vector<double> halves = days(form, {"2023-11-15", "2023-12-01", "2023-12-15", "2024-01-01", "2024-01-15",
                                                 "2024-02-01", "2024-02-15", "2024-03-15", "2024-04-01"});
  const auto placed = place_on_calendar(halves, form);
  REQUIRE(placed);
  CHECK(placed->calendar.description() == "days 1, 15 of a month");
  CHECK(placed->places == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 8, 9});
  CHECK(placed->moved == 0);
  CHECK(placed->calendar.period("year") == 24);
  CHECK(first_dates(placed->calendar, 4) ==
        std::vector<std::string>{"2023-11-15", "2023-12-01", "2023-12-15", "2024-01-01"});
  CHECK(form.text(placed->calendar.time(-1)) == "2023-11-01");
  std::vector<double> dekads, halves_and_ends;
  for (const char* month : {"2024-01", "2024-02", "2024-03", "2024-04"}) {
    for (const char* d : {"-01", "-11", "-21"}) dekads.push_back(day(kMonday, (std::string(month) + d).c_str()));
    halves_and_ends.push_back(day(kMonday, (std::string(month) + "-15").c_str()));
  }
  for (const char* end : {"2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"})
    halves_and_ends.push_back(day(kMonday, end));
  std::ranges::sort(halves_and_ends);
  CHECK(place_on_calendar(dekads, kMonday)->calendar.period("year") == 36);
  CHECK(place_on_calendar(halves_and_ends, kMonday)->calendar.description() == "days 15, 31 of a month");
}

TEST_CASE("calendar: composites of satellites begin anew each year") {
  const ColumnForm form = dates_from("2021-01-01");
  std::vector<double> times;
  for (const double year : {0.0, 365.0, 730.0})
    for (int i = 0; i < 23; ++i) times.push_back(year + 16 * i);
  const auto placed = place_on_calendar(times, form);
  REQUIRE(placed);
  CHECK(placed->calendar.description() == "16 days from 1 January on");
  CHECK(placed->calendar.period("year") == 23);
  CHECK(placed->places.back() == 68);
  CHECK(form.text(placed->calendar.time(69)) == "2024-01-01");
  for (std::size_t i = 0; i < times.size(); ++i) CHECK(placed->calendar.place(times[i]) == std::int64_t(i));
}

TEST_CASE("calendar: opening hours are steps, and other hours never occur") {
  const auto shop = [](int weekday, int hour) { return weekday < 6 && hour >= 8 && hour < 20; };
  const std::vector<double> times = open_hours(28, shop);
  const auto placed = place_on_calendar(times, kMonday);
  REQUIRE(placed);
  const SeriesCalendar& c = placed->calendar;
  CHECK(c.description() == "1 hour, 72 of the 168 in a week");
  CHECK(c.period("day") == 12);
  CHECK(c.period("week") == 72);
  CHECK(placed->places.back() == std::ssize(times) - 1);
  CHECK_FALSE(c.place(7 + 3.0 / 24));  // at night
  CHECK_FALSE(c.place(6 + 0.5));       // a Sunday
  CHECK(c.place(7 + 8.0 / 24) == 72);
  CHECK(c.form().text(c.time(72 * 4)) == "2024-01-29T08:00:00");
  CHECK(c.position(7 + 8.0 / 24) == doctest::Approx(72));
  const auto nights = place_on_calendar(open_hours(10, [](int, int hour) { return hour >= 6; }), kMonday);
  CHECK(nights->calendar.description() == "1 hour, 18 of the 24 in a day");
  CHECK(nights->calendar.period("week") == 126);
}

TEST_CASE("calendar: a step that may be missing by chance is not closed") {
  Random random(5);
  const std::vector<double> some = open_hours(21, [&](int, int) { return random.uniform() < 0.7; });
  const auto placed = place_on_calendar(some, kMonday);
  REQUIRE(placed);
  CHECK(placed->calendar.description() == "1 hour");
  const std::vector<double> one_week = open_hours(7, [](int weekday, int hour) { return weekday != 2 && hour > 6; });
  CHECK(place_on_calendar(one_week, kMonday)->calendar.description() != "1 hour, 102 of the 168 in a week");
}

TEST_CASE("calendar: one weekend shows office hours of two weeks") {
  const auto office = [](int weekday, int hour) { return weekday < 5 && hour >= 8 && hour < 18; };
  const auto placed = place_on_calendar(open_hours(12, office), kMonday);
  CHECK(placed->calendar.description() == "1 hour, 50 of the 168 in a week");
  CHECK(placed->calendar.form().text(placed->calendar.time(100)) == "2024-01-15T08:00:00");
  const auto four_days = open_hours(12, [&](int weekday, int hour) { return weekday != 2 && office(weekday, hour); });
  CHECK(place_on_calendar(four_days, kMonday)->calendar.description() != "1 hour, 40 of the 168 in a week");
}

TEST_CASE("calendar: rows without a value keep their times open") {
  const auto office = [](int weekday, int hour) { return weekday < 6 && hour >= 8 && hour < 20; };
  const std::vector<double> rows = open_hours(27, office);
  std::vector<double> known;
  for (const double t : rows)
    if (std::abs(t - std::floor(t) - 0.5) > 0.01 || t < 1) known.push_back(t);  // noon is missing but once
  const auto placed = place_on_calendar(known, kMonday, rows);
  CHECK(placed->calendar.description() == "1 hour, 72 of the 168 in a week");
  CHECK(placed->places.back() == std::ssize(rows) - 1);
  CHECK(place_on_calendar(known, kMonday)->calendar.description() != placed->calendar.description());
}

TEST_CASE("calendar: an hour that is missing three times among others is not closed") {
  Random random(1);
  std::vector<double> times;
  for (int hour = 0; hour < 500; ++hour)
    if (hour % 168 != 10 && random.uniform() > 0.05) times.push_back(hour / 24.0);
  CHECK(place_on_calendar(times, kMonday)->calendar.description() == "1 hour");
}

TEST_CASE("calendar: a clock that jitters and a shifted date are near steps") {
  Random random(6);
  std::vector<double> jitter;
  for (int t = 0; t < 400; ++t)
    if (t % 9 != 4) jitter.push_back((t + 20 * (random.uniform() - 0.5) / 60) / 24.0);
  const auto hours = place_on_calendar(jitter, kMonday);
  REQUIRE(hours);
  CHECK(hours->calendar.description() == "1 hour");
  CHECK(hours->calendar.period("day") == 24);
  CHECK(hours->moved > 300);
  CHECK(hours->places.back() == 399);
  std::vector<double> weeks;
  for (int t = 0; t < 60; ++t) weeks.push_back(7 * t + (t == 0 || t == 31));
  const auto weekly = place_on_calendar(weeks, kMonday);
  REQUIRE(weekly);
  CHECK(weekly->moved == 2);
  CHECK(weekly->calendar.description() == "7 days");
  std::vector<double> months = days(kMonday, {"2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01", "2024-05-02",
                                              "2024-06-01", "2024-07-01", "2024-08-01", "2024-10-01"});
  const auto monthly = place_on_calendar(months, kMonday);
  REQUIRE(monthly);
  CHECK(monthly->calendar.description() == "1 month");
  CHECK(monthly->moved == 1);
  CHECK(monthly->furthest == 4);
}

TEST_CASE("calendar: scattered times have no steps") {
  Random random(7);
  int found = 0;
  for (int series = 0; series < 200; ++series) {
    std::vector<double> times;
    for (int i = 0; i < 12; ++i) times.push_back(100 * random.uniform());
    std::ranges::sort(times);
    found += place_on_calendar(times, kMonday).has_value() + place_on_calendar(times, {}).has_value();
  }
  CHECK(found <= 4);
  CHECK_FALSE(place_on_calendar(std::vector<double>{1}, kMonday));
  CHECK_FALSE(place_on_calendar(std::vector<double>{0, 1, 2, 3, 1000}, {}));  // most places would be empty
}

TEST_CASE("calendar: numbers have steps without the periods of dates") {
  std::vector<double> years;  // as tables have them, with three decimals
  for (int month = 0; month < 48; ++month) years.push_back(std::round(1000 * (1959 + (month + 0.0) / 12)) / 1000);
  const auto placed = place_on_calendar(years, {});
  REQUIRE(placed);
  CHECK(placed->places.back() == 47);
  CHECK(placed->calendar.periods().empty());
  CHECK(placed->calendar.time(48) == doctest::Approx(1963).epsilon(1e-6));
}
