#include "npzoo/datasets/tables/calendar_codes.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "npzoo/datasets/tables/column_choice.h"
#include "tests/datasets/table_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

CalendarCodes codes_of(const std::vector<std::string>& cells) {
  CalendarCodes codes;
  for (const std::string& cell : cells) codes.add(cell);
  return codes;
}

/// 40 days from 2024-01-10 on, by `write(month, day)`.
std::vector<std::string> days(auto write) {
  std::vector<std::string> cells;
  for (int i = 0; i < 40; ++i) cells.push_back(i < 22 ? write(1, 10 + i) : write(2, i - 21));
  return cells;
}

/// 30 parts of years from 2020 on, by `write(year, part)`.
std::vector<std::string> parts(int count, auto write) {
  std::vector<std::string> cells;
  for (int i = 0; i < 30 + count; ++i) cells.push_back(write(2020 + i / count, i % count + 1));
  return cells;
}

}  // namespace

TEST_CASE("calendar codes: columns of numbers that go on as dates") {
  using enum CalendarCode;
  const auto code = [](const std::vector<std::string>& cells) { return codes_of(cells).code(); };
  CHECK(code(days([](int m, int d) { return fmt::format("{:02}{:02}2024", d, m); })) == day_month_year);
  CHECK(code(days([](int m, int d) { return fmt::format("{:02}{:02}2024", m, d); })) == month_day_year);
  CHECK(code(days([](int m, int d) { return fmt::format("24{:02}{:02}", m, d); })) == short_day);
  CHECK(code(parts(12, [](int y, int p) { return fmt::format("{:02}{:02}", y % 100, p); })) == short_month);
  CHECK(code(parts(12, [](int y, int p) { return fmt::format("{:02}{}", p, y); })) == month_year);
  CHECK(code(parts(12, [](int y, int p) { return fmt::format("{}{}", y, p); })) == year_month);
  CHECK(code(parts(52, [](int y, int p) { return fmt::format("{}{:02}", y + 1, p); })) == year_week);
  CHECK(code(parts(4, [](int y, int p) { return fmt::format("{}{}", y, p); })) == year_quarter);
  CHECK(code(parts(4, [](int y, int p) { return fmt::format("{}.{}", y, p); })) == point_quarter);
  CHECK(code(parts(4, [](int y, int p) { return fmt::format("{}{:02}", y, p); })) == year_zero_quarter);
  CHECK(code(parts(24, [](int y, int p) { return fmt::format("202401{:02}.{:02}", y - 2010, p - 1); })) == day_hour);
  CHECK(code(parts(24, [](int y, int p) { return fmt::format("2401{:02}{:02}", y - 2010, p - 1); })) == short_hour);
  CHECK(code({"12032024", "28032024", "15042024"}) == day_month_year);  // unequal steps; 28 and 15 are no months
}

TEST_CASE("calendar codes: plain numbers stay plain") {
  const auto plain = [](int first, int step, int count = 60) {
    std::vector<std::string> cells;
    for (int i = 0; i < count; ++i) cells.push_back(std::to_string(first + i * step));
    const CalendarCodes codes = codes_of(cells);
    return codes.code() == CalendarCode::none && !codes.doubtful();
  };
  CHECK(plain(1960, 1));    // years
  CHECK(plain(2000, 10));   // measurements
  CHECK(plain(100, 5));     // depths
  CHECK(plain(45301, 1));   // days of Excel
  CHECK(plain(240110, 1));  // row numbers that leave the calendar
  CHECK(plain(240110, 1, 20));
  CHECK(plain(100001, 1));
  CHECK(plain(1200, 1, 12));
  CHECK(codes_of({"202101", "202102", "202103"}).code() == CalendarCode::none);
}

TEST_CASE("calendar codes: months and days without a year are in doubt") {
  const std::vector<std::string> cells = days([](int m, int d) { return fmt::format("{:02}{:02}", m, d); });
  CHECK(codes_of(cells).code() == CalendarCode::none);
  CHECK(codes_of(cells).doubtful());
  std::string text = "date,y\n", dated = text;
  for (const std::string& cell : cells) text += cell + ",1\n", dated += "24" + cell + ".0,1\n";
  ReadTable file("t.csv", text + "0220,\n"), read("t.csv", dated);
  CHECK(
      refusal([&] { choose_columns(*file, {}, {}); }) ==
      R"([columns] t.csv: the numbers in column "date" jump as dates do, such as "0110", expected whole dates such as )"
      "2024-01-31; if they are plain numbers, use --inputs date");
  const std::size_t column = 0;
  const NumberColumn times = (*read).numbers({&column, 1}, (*read).input_forms({&column, 1}))[0];
  CHECK(times.form.text(times.values[22]) == "2024-02-01");
  CHECK(parse_calendar_code("31012024", 30)->day == day_in_calendar(2024, 1, 31));
  CHECK(!parse_calendar_code("31022024", 30));
}
