#include "npzoo/datasets/tables/date_time.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kHour = 3'600'000'000'000, kMinute = kHour / 60, kSecond = kMinute / 60;

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_of(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
}

}  // namespace

TEST_CASE("dates: every day of a thousand years, counted one by one") {
  std::int64_t day = 0;  // since 1600-01-01
  const std::int64_t offset = parse_date_time("1600-01-01")->day;
  CHECK(offset == -135140);
  for (int year = 1600; year < 2600; ++year)
    for (int month = 1; month <= 12; ++month) {
      for (int d = 1; d <= days_of(year, month); ++d, ++day) {
        const std::string text = fmt::format("{:04}-{:02}-{:02}", year, month, d);
        const auto found = parse_date_time(text);
        REQUIRE(found);
        REQUIRE(found->day == offset + day);
        REQUIRE(format_date_time(0, static_cast<double>(found->day), false) == text);
      }
      REQUIRE(!parse_date_time(fmt::format("{:04}-{:02}-{:02}", year, month, days_of(year, month) + 1)));
    }
}

TEST_CASE("dates: times of day and zones") {
  const auto at = [](std::string_view text) {
    const auto found = parse_date_time(text);
    REQUIRE(found);
    return *found;
  };
  CHECK(at("1970-01-01").nanosecond == 0);
  CHECK(at("1970-01-02").day == 1);
  CHECK(at("2024-05").day == at("2024-05-01").day);
  CHECK(at("1970-01-01 12:30").nanosecond == 12 * kHour + 30 * kMinute);
  CHECK(at("1970-01-01T12:30:15").nanosecond == 12 * kHour + 30 * kMinute + 15 * kSecond);
  CHECK(at("1970-01-01T00:00:00.000000001").nanosecond == 1);
  CHECK(at("1970-01-01T00:00:00,5").nanosecond == kSecond / 2);
  CHECK(at("1970-01-01T00:00:00.1234567899").nanosecond == 123456789);
  CHECK(at("1970-01-01T24:00").day == 1);
  CHECK(!at("1970-01-01T12:30").zoned);
  for (const char* text : {"1970-01-01T12:30Z", "1970-01-01 14:30+02:00", "1970-01-01T14:30:00.0+0200",
                           "1970-01-01T14:30+02", "1970-01-01T07:00:00-05:30", "1970-01-02T00:30+12"}) {
    CAPTURE(text);
    CHECK(at(text).zoned);
    CHECK(at(text).day == 0);
    CHECK(at(text).nanosecond == 12 * kHour + 30 * kMinute);
  }
  CHECK(at("1970-01-01T00:00+01:00").day == -1);
  CHECK(at("1970-01-01T23:30-01:00").day == 1);
}

TEST_CASE("dates: texts that are no dates") {
  for (const char* text : {"",
                           "2020",
                           "2020-1-1",
                           "2020-13-01",
                           "2020-00-01",
                           "2020-01-00",
                           "2021-02-29",
                           "1900-02-29",
                           "20200101",
                           "2020-01-01T",
                           "2020-01-01 ",
                           "2020-01-01T5:00",
                           "2020-01-01T05",
                           "2020-01-01T05:30:.5",
                           "2020-01-01T5:30:00.5",
                           "2020-01-01T25:00",
                           "2020-01-01T24:01",
                           "2020-01-01T24:00:00.1",
                           "2020-01-01T12:60",
                           "2020-01-01T12:30:60",
                           "2020-01-01T12:30:15.",
                           "2020-01-01T12:30z1",
                           "2020-01-01T12:30 ",
                           "2020-01-01T12:30+1",
                           "2020-01-01T12:30+24:00",
                           "2020-01-01T12:30+01:60",
                           "2020-01-01T12:30+01:",
                           "2020-01-01Z",
                           "2020-01T12:30",
                           "02020-01-01",
                           "-2020-01-01",
                           "2020/01/01",
                           "2020-01-01x",
                           "2020-01-01T12:30UTC",
                           "2020-W01-1",
                           "2020-01-01T12:30:.155",
                           "2020-01-01T1:30:15.5",
                           "2020-01-01T12:x0:15.25"}) {
    CAPTURE(text);
    CHECK(!parse_date_time(text));
  }
}

TEST_CASE("dates: as text they come back, to the microsecond") {
  std::mt19937_64 generator(3);
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t day = std::uniform_int_distribution<std::int64_t>(-300'000, 300'000)(generator);
    const std::int64_t epoch = day - std::uniform_int_distribution<std::int64_t>(0, 10'000)(generator);
    const std::int64_t us = std::uniform_int_distribution<std::int64_t>(0, 86'399'999'999)(generator);
    const bool zoned = i % 2 == 0;
    const double days = days_since(epoch, {day, us * 1000, zoned});
    const auto found = parse_date_time(format_date_time(epoch, days, zoned));
    REQUIRE(found);
    const std::int64_t off = (found->day - day) * 86'400'000'000 + found->nanosecond / 1000 - us;
    REQUIRE(std::abs(off) <= 1);  // 10,000 days have a resolution of 0.16 µs
    REQUIRE(found->zoned == zoned);
  }
  CHECK(format_date_time(0, 0.5, false) == "1970-01-01T12:00:00");
  CHECK(format_date_time(0, 1, true) == "1970-01-02T00:00:00Z");
  CHECK(format_date_time(0, 0.5 + 0.25 / 86400, true) == "1970-01-01T12:00:00.25Z");
  CHECK(format_date_time(0, std::nextafter(1.0, 0.0), false) == "1970-01-02");
  CHECK(format_date_time(0, 1e300, false) == "1e+300 days");
}
