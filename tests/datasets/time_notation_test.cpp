#include "npzoo/datasets/tables/time_notation.h"

#include <doctest/doctest.h>

#include "npzoo/datasets/tables/date_notations.h"

using namespace npzoo;

namespace {

constexpr std::int64_t kEpoch = 19'000;  // 2022-01-08
const ColumnForm kTimes{.kind = ColumnForm::Kind::time, .epoch = kEpoch};

TimeNotation notation_of(const std::vector<std::string_view>& cells, const std::vector<double>& days) {
  return TimeNotation(cells, days, kTimes);
}

}  // namespace

TEST_CASE("TimeNotation writes times as the cells of a column do") {
  const double hour = 1.0 / 24;
  struct {
    std::string_view first, second;
    double days;
    std::string next;                                                          // 40 days and 90 minutes after the first
  } const kCases[] = {{"2022-01-08", "2022-01-09", 1, "2022-02-17T01:30:00"},  // days alone cannot show it
                      {"08.01.2022 00:00", "08.01.2022 13:00", 13 * hour, "17.02.2022 01:30"},
                      {"1/8/2022 0:00", "1/8/2022 13:00", 13 * hour, "2/17/2022 1:30"},
                      {"2022-01-08T00:00:00Z", "2022-01-08T13:00:00Z", 13 * hour, "2022-02-17T01:30:00Z"},
                      {"202201080000", "202201081300", 13 * hour, "202202170130"},
                      {"00:00", "13:00", 13 * hour, "01:30"},
                      {"8 o'clock", "9 o'clock", hour, "2022-02-17T01:30:00"}};
  for (const auto& c : kCases) {
    CAPTURE(c.first);
    CHECK(notation_of({c.first, c.second}, {0, c.days}).text(40 + 1.5 * hour) == c.next);
  }
  CHECK(notation_of({"2022-01-08", "2022-01-09"}, {0, 1}).text(40) == "2022-02-17");
  CHECK_FALSE(notation_of({"8 o'clock"}, {0}).found());
  CHECK_FALSE(notation_of({}, {}).found());
}

TEST_CASE("TimeNotation writes months and quarters, and whole dates where these are not enough") {
  const double february = 24, march = 52, day_after = 25;  // days from 2022-01-08
  CHECK(notation_of({"2022-02", "2022-03"}, {february, march}).text(february) == "2022-02");
  CHECK(notation_of({"2022-02", "2022-03"}, {february, march}).text(day_after) == "2022-02-02");
  CHECK(notation_of({"Feb 2022", "Mar 2022"}, {february, march}).text(march) == "Mar 2022");
  CHECK(notation_of({"2022-Q2"}, {83}).text(174) == "2022-Q3");
  CHECK(notation_of({"02.2022", "03.2022"}, {february, march}).text(february) == "02.2022");
  CHECK(notation_of({"Feb-2022", "Mar-2022"}, {february, march}).text(march) == "Mar-2022");
  CHECK(notation_of({"2202", "2203"}, {february, march}).text(march) == "2203");
  CHECK(notation_of({"20222"}, {83}).text(174) == "20223");
  CHECK(notation_of({"08012022", "09012022"}, {0, 1}).text(40) == "17022022");
  CHECK(notation_of({"20220108.0", "20220109.0"}, {0, 1}).text(40) == "20220217.0");
  CHECK(notation_of({"2022-Q2"}, {83}).text(113) == "2022-05-01");
}

TEST_CASE("TimeNotation writes months in the words of the column, weeks and halves of a day") {
  const double february = 24, march = 52, may = 113, hour = 1.0 / 24;  // days from 2022-01-08
  CHECK(notation_of({"1 février 2022", "1 mars 2022"}, {february, march}).text(march) == "1 mars 2022");
  CHECK(notation_of({"1 février 2022", "1 mars 2022"}, {february, march}).text(may) ==
        "2022-05-01");  // no word is known
  CHECK(notation_of({"Februar 2022", "März 2022"}, {february, march}).text(february) == "Februar 2022");
  CHECK(notation_of({"Feb-22", "Mar-22"}, {february, march}).text(may) == "May-22");
  CHECK(notation_of({"01FEB2022", "01MAR2022"}, {february, march}).text(may) == "01MAY2022");
  CHECK(notation_of({"1 February 2022", "1 March 2022"}, {february, march}).text(may) == "1 May 2022");
  CHECK(notation_of({"2022 February", "2022 March"}, {february, march}).text(may) == "2022 May");
  CHECK(notation_of({"Q2 2022"}, {83}).text(174) == "Q3 2022");
  CHECK(notation_of({"2022-W02", "2022-W03"}, {2, 9}).text(16) == "2022-W04");
  CHECK(notation_of({"2022-W02", "2022-W03"}, {2, 9}).text(17) == "2022-01-25");  // a Tuesday
  CHECK(notation_of({"2022-W02", "2022-W03"}, {2, 9}).text(366) == "2023-W02");
  CHECK(notation_of({"1/8/2022 12:00 AM", "1/8/2022 1:00 PM"}, {0, 13 * hour}).text(12.5 * hour) ==
        "1/8/2022 12:30 PM");
}
