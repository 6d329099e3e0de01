#include <fmt/format.h>

#include <array>

#include "npzoo/datasets/tables/clock_text.h"
#include "npzoo/datasets/tables/column_scan.h"
#include "npzoo/datasets/tables/date_codes.h"
#include "npzoo/datasets/tables/date_notations.h"
#include "npzoo/datasets/tables/date_parts.h"
#include "npzoo/datasets/tables/flag_text.h"
#include "npzoo/datasets/tables/month_names.h"
#include "npzoo/datasets/tables/number_text.h"
#include "npzoo/datasets/tables/table_start.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::string shown(const std::optional<DateTime>& time) {
  return time ? format_date_time(time->day, days_since(time->day, *time), time->zoned) : "none";
}

double value(std::string_view text, char decimal, bool groups = true) {
  return parse_number(text, decimal, groups).value_or(-1);
}

DecimalVote vote_of(std::initializer_list<const char*> cells) {
  DecimalVote vote;
  for (const char* cell : cells) vote.add(cell);
  return vote;
}

ColumnScan scan_of(std::initializer_list<const char*> cells) {
  ColumnScan scan;
  for (const char* cell : cells) scan.add(cell);
  return scan;
}

/// The joined cells of one row, given the names of their columns.
std::string joined(std::vector<std::string> names, std::vector<std::string_view> cells) {
  std::vector<PartScan> scans;
  for (const std::string_view cell : cells) {
    scans.emplace_back(DateOrder::unknown);
    scans.back().add(cell);
  }
  const auto parts = parts_of_date(names, scans);
  if (!parts) return "no date";
  const JoinedDate date = join_date(*parts, cells, DateOrder::unknown, false);
  return date.time ? shown(date.time) : fmt::format("column {}", date.wrong);
}

}  // namespace

TEST_CASE("numbers: what a text shows about the decimal sign") {
  using enum DecimalEvidence;
  struct Case {
    const char* text;
    DecimalEvidence shown;
  };
  for (const auto& [text, shown] : std::vector<Case>{{"950", whole},
                                                     {"-1e5", whole},
                                                     {"1 234", whole},
                                                     {"12\u202f345", whole},
                                                     {"0.5", point},
                                                     {"0.950", point},
                                                     {"1234.567", point},
                                                     {"1.234e5", point},
                                                     {".5", point},
                                                     {"1,234.5", point},
                                                     {"1,234,567", point},
                                                     {"12,34,567", point},
                                                     {"1'234.5", point},
                                                     {"0,5", comma},
                                                     {"1.234,5", comma},
                                                     {"1.234.567", comma},
                                                     {"1 234,567", comma},
                                                     {"1.234", point_or_groups},
                                                     {"-999,000", comma_or_groups},
                                                     {"1,23,4567", no_number},
                                                     {"12.34.567", no_number},
                                                     {"1,2,3", no_number},
                                                     {"1 2", no_number},
                                                     {"1.2.2020", no_number},
                                                     {"1e", no_number},
                                                     {".", no_number},
                                                     {"", no_number},
                                                     {"12 %", no_number}}) {
    const std::string captured(text);
    CAPTURE(captured);
    CHECK(decimal_evidence(text) == shown);
  }
}

TEST_CASE("numbers: each is read with the decimal sign of its table") {
  CHECK(value("1.234", '.') == 1.234);
  CHECK(value("1.234", ',') == 1234);
  CHECK(value("1.234", ',', false) == -1);
  CHECK(value("1,234.5", '.') == 1234.5);
  CHECK(value("-1.234.567,25", ',') == -1234567.25);
  CHECK(value("+1 234", '.') == 1234);
  CHECK(value("1\u00a0234,5", ',') == 1234.5);
  CHECK(value("\u2212"
              "5",
              '.') == -5);
  CHECK(value("1e3", '.') == 1000);
  CHECK(value("1,5", '.') == -1);
  CHECK(value("+-5", '.') == -1);
  CHECK(value("1e999", '.') == -1);
  CHECK(value("nan", '.') == -1);
  CHECK(value(std::string(500, '1'), '.') == -1);
}

TEST_CASE("numbers: a column leaves a doubt, or it does not") {
  CHECK(vote_of({"950", "1.350"}).doubtful(';'));
  CHECK(vote_of({"950", "1.350"}).doubtful(','));
  CHECK(!vote_of({"5", "1.350"}).doubtful(','));
  CHECK(vote_of({"5", "1.350"}).doubtful('\t'));
  CHECK(!vote_of({"1.250", "1.350"}).doubtful(';'));
  CHECK(!vote_of({"0", "1.350"}).doubtful(';'));
  CHECK(!vote_of({"1950", "1.350"}).doubtful(';'));
  CHECK(!vote_of({"950", "1.350", "2.5"}).doubtful(';'));
  CHECK(vote_of({"1,250", "1,350"}).doubtful('\t'));
  CHECK(!vote_of({"1,250", "1,350"}).doubtful(';'));
  CHECK(vote_of({"1.250", "1,350"}).doubtful(';'));
  CHECK(!vote_of({"1.250", "a"}).numbers());
}

TEST_CASE("date codes: each is read as its ISO date, or not at all") {
  struct Case {
    const char *text, *expected;
  };
  for (const auto& [text, expected] : std::vector<Case>{{"2024-W01", "2024-01-01"},
                                                        {"2024W05", "2024-01-29"},
                                                        {"2024-W05-3", "2024-01-31"},
                                                        {"2024W053", "2024-01-31"},
                                                        {"2020-W53", "2020-12-28"},
                                                        {"2024-W53", "none"},
                                                        {"2018U05", "2018-01-29"},
                                                        {"2018-KW05", "2018-01-29"},
                                                        {"2024-020", "2024-01-20"},
                                                        {"2023-366", "none"},
                                                        {"2018M01", "2018-01-01"},
                                                        {"2018-M12", "2018-12-01"},
                                                        {"2018m1", "2018-01-01"},
                                                        {"2018M13", "none"},
                                                        {"2018K3", "2018-07-01"},
                                                        {"2018-S2", "2018-07-01"},
                                                        {"2018H1", "2018-01-01"},
                                                        {"Q3/2018", "2018-07-01"},
                                                        {"3Q 2018", "2018-07-01"},
                                                        {"01/2018", "2018-01-01"},
                                                        {"2018/12", "2018-12-01"},
                                                        {"13/2018", "none"},
                                                        {"20240120T013000Z", "2024-01-20T01:30:00Z"},
                                                        {"20240120T0130+0100", "2024-01-20T00:30:00Z"},
                                                        {"20240120 0130", "2024-01-20T01:30:00"},
                                                        {"20240120 01:30", "2024-01-20T01:30:00"},
                                                        {"20240120_01", "2024-01-20T01:00:00"},
                                                        {"20240120T2500", "none"},
                                                        {"20240132T0000", "none"},
                                                        {"2024-01-20T01", "2024-01-20T01:00:00"},
                                                        {"2024-01-20 12:60", "none"},
                                                        {"01JAN2024", "2024-01-01"},
                                                        {"31jan2024:13:30:00", "2024-01-31T13:30:00"},
                                                        {"31feb2024", "none"},
                                                        {"2024", "none"},
                                                        {"ABC2024", "none"}}) {
    const std::string captured(text);
    CAPTURE(captured);
    CHECK(shown(parse_date_code(text)) == expected);
  }
}

TEST_CASE("date notations: of offices, logs and spreadsheets") {
  struct Case {
    const char *text, *expected;
  };
  for (const auto& [text, expected] :
       std::vector<Case>{{"Mrz 2015", "2015-03-01"},
                         {"KW49/2022", "2022-12-05"},
                         {"KW 49 2022", "2022-12-05"},
                         {"2T2005", "2005-04-01"},
                         {"2005T2", "2005-04-01"},
                         {"Q2-05", "2005-04-01"},
                         {"2Q05", "2005-04-01"},
                         {"Q2'99", "1999-04-01"},
                         {"Q5-05", "none"},
                         {"2018_02", "2018-02-01"},
                         {"2018Feb", "2018-02-01"},
                         {"Feb '19", "2019-02-01"},
                         {"29.03.2024, 13:00", "2024-03-29T13:00:00"},
                         {"29.03.2024 13:00 Uhr", "2024-03-29T13:00:00"},
                         {"29.03.2024 01:00 p. m.", "2024-03-29T13:00:00"},
                         {"2024-03-29 13:00 CET", "2024-03-29T12:00:00Z"},
                         {"2024-03-31 13:00 CEST", "2024-03-31T11:00:00Z"},
                         {"2024-03-29T13:00+01:00[Europe/Berlin]", "2024-03-29T12:00:00Z"},
                         {"Fri Mar 29 13:00:00 2024", "2024-03-29T13:00:00"},
                         {"Fri Mar 29 13:00:00 UTC 2024", "2024-03-29T13:00:00Z"},
                         {"[29/Mar/2024:13:00:00 +0100]", "2024-03-29T12:00:00Z"},
                         {"2024-089T13:00", "2024-03-29T13:00:00"},
                         {"2024/089 13:00", "2024-03-29T13:00:00"},
                         {"2024-03-29_13:00:00", "2024-03-29T13:00:00"},
                         {"20240329:1300", "2024-03-29T13:00:00"},
                         {"FY2005 Q1", "none"},
                         {"2005:1", "none"}}) {
    const std::string captured(text);
    CAPTURE(captured);
    CHECK(shown(parse_date_notation(text, DateOrder::dmy, false)) == expected);
  }
}

TEST_CASE("dates of digits alone: all cells of a column have one shape") {
  const auto shape = [](std::initializer_list<const char*> cells) {
    return static_cast<int>(scan_of(cells).date_shape());
  };
  CHECK(shape({"202312", "202401", "202402"}) == 6);
  CHECK(shape({"202312", "202413", "202402"}) == 0);
  CHECK(shape({"202312", "202401"}) == 0);  // too few
  CHECK(shape({"20240229", "20240301"}) == 8);
  CHECK(shape({"20230229", "20240301"}) == 0);
  CHECK(shape({"2024030100", "2024030124"}) == 10);
  CHECK(shape({"2024030125", "2024030124"}) == 0);
  CHECK(shape({"202403010030", "202403010100"}) == 12);
  CHECK(shape({"20240301003059", "20240301010000"}) == 14);
  CHECK(shape({"20240301", "2024030100"}) == 0);
  CHECK(shape({"20240229.0", "20240301.0"}) == 8);  // as pandas writes a column with gaps
  CHECK(shape({"2018.01", "2018.1", "2018.11"}) != 0);
  CHECK(shape({"2018.01", "2018.13", "2018.11"}) == 0);
  CHECK(shape({"01.2018", "02.2018", "12.2018"}) != 0);
  CHECK(shape({"123401", "123402", "123403"}) == 0);  // before 1800
  CHECK(shown(parse_number_date("2018.1")->time) == "2018-10-01");
  CHECK(shown(parse_number_date("2024060")->time) == "2024-02-29");
  CHECK(shape({"2024060", "2024061"}) == 0);
}

TEST_CASE("clocks: times of day as ISO 8601 writes them") {
  struct Case {
    const char *text, *expected;
  };
  for (const auto& [text, expected] : std::vector<Case>{{"9:05", "09:05"},
                                                        {"1:05:00 PM", "13:05:00"},
                                                        {"12:30 a.m.", "00:30"},
                                                        {"13:00 PM", ""},
                                                        {"18.00.00", "18:00:00"},
                                                        {"13h05", "13:05"},
                                                        {"7h", "07:00"},
                                                        {"5 PM", "17:00"},
                                                        {"0100 UTC", "01:00Z"},
                                                        {"13:05 GMT", "13:05Z"},
                                                        {"13:05+02:00", "13:05+02:00"},
                                                        {"13:05 -05:00", "13:05-05:00"},
                                                        {"13:00 - 14:00", "13:00"},
                                                        {"18.00", ""},
                                                        {"0100", ""},
                                                        {"x", ""},
                                                        {"", ""}}) {
    const std::string captured(text);
    CAPTURE(captured);
    CHECK(iso_clock(text) == expected);
  }
  constexpr double kSecond = 1e9;
  const auto seconds = [](const char* text) { return static_cast<double>(parse_elapsed(text).value_or(-1)) / kSecond; };
  CHECK(seconds("00:00:20") == 20);
  CHECK(seconds("25:00:00") == 90000);
  CHECK(seconds("0 days 00:00:20.5") == 20.5);
  CHECK(seconds("1 day, 02:00:00") == 93600);
  CHECK(seconds("-0:30") == -1800);
  CHECK(seconds("24:00") == 86400);
  CHECK(seconds("24:15:00") == 87300);
  CHECK(seconds("100:30:00") == 361800);
  CHECK(seconds("00:00.5") == 0.5);  // minutes and seconds
  CHECK(seconds("90:01.5") == 5401.5);
  CHECK(seconds("1d 2h") == 93600);
  CHECK(seconds("PT90M") == 5400);
  CHECK(seconds("P1DT1H") == 90000);
  CHECK(!parse_elapsed("5m"));  // metres
  CHECK(!parse_elapsed("1h 2d"));
  CHECK(!parse_elapsed("P1"));
  CHECK(!parse_elapsed("13:05Z"));
  CHECK(!parse_elapsed("12:60"));
  CHECK(!parse_elapsed("x days"));
  CHECK(format_elapsed(0.5) == "12:00:00");
  CHECK(format_elapsed(-1.25) == "-1 day 06:00:00");
  CHECK(format_elapsed(2 + 20.5 / 86400) == "2 days 00:00:20.5");
  CHECK(format_elapsed(1e300) == "1e+300 days");
}

TEST_CASE("date parts: columns are a date together, by their cells and names") {
  CHECK(joined({"Date", "Time"}, {"2024-03-14", "13:05"}) == "2024-03-14T13:05:00");
  CHECK(joined({"Date", "Hour"}, {"2024-03-14", "24"}) == "2024-03-15");
  CHECK(joined({"Date", "Hour"}, {"2024-03-14", "H05"}) == "2024-03-14T05:00:00");
  CHECK(joined({"Date", "Hour"}, {"2024-03-14", "23 - 00"}) == "2024-03-14T23:00:00");
  CHECK(joined({"Date", "Time"}, {"20240314", "0105"}) == "2024-03-14T01:05:00");
  CHECK(joined({"Date", "Time"}, {"20240314", "105"}) == "2024-03-14T01:05:00");
  CHECK(joined({"Date", "Time"}, {"20240314", "153000"}) == "2024-03-14T15:30:00");
  CHECK(joined({"Date", "Time"}, {"2024-03-14", "13:00-14:00"}) == "2024-03-14T13:00:00");
  CHECK(joined({"Date", "Time"}, {"2024-03-14", "01:00 UTC"}) == "2024-03-14T01:00:00Z");
  CHECK(joined({"Date", "h", "m", "s"}, {"2024-03-14", "1", "2", "3.5"}) == "2024-03-14T01:02:03.5");
  CHECK(joined({"y", "m", "d", "t"}, {"2024", "3", "1", "05:00"}) == "2024-03-01T05:00:00");
  CHECK(joined({"y", "m"}, {"2024", "March"}) == "2024-03-01");
  CHECK(joined({"Day", "Month", "Year"}, {"1", "3", "2024"}) == "2024-03-01");
  CHECK(joined({"year", "doy"}, {"2024", "60"}) == "2024-02-29");
  CHECK(joined({"year", "week"}, {"2024", "5"}) == "2024-01-29");
  CHECK(joined({"year", "quarter"}, {"2024", "Q2"}) == "2024-04-01");
  CHECK(joined({"Jahr", "Monat"}, {"2024", "M02"}) == "2024-02-01");
  CHECK(joined({"y", "m", "d"}, {"2024", "2", "30"}) == "column 2");
  CHECK(joined({"Date", "Time"}, {"03/04/2024", "13:05"}) == "column 0");
  CHECK(joined({"Date", "Time", "AM/PM"}, {"2024-03-14", "12:30", "AM"}) == "2024-03-14T00:30:00");
  CHECK(joined({"Date", "Time", "AM/PM"}, {"2024-03-14", "1:30", "p.m."}) == "2024-03-14T13:30:00");
  CHECK(joined({"Date", "Time", "AM/PM"}, {"2024-03-14", "13:30", "PM"}) == "column 2");
  CHECK(joined({"Year", "Half"}, {"2024", "H2"}) == "2024-07-01");
  CHECK(joined({"Year", "Half"}, {"2024", "2"}) == "2024-07-01");
  CHECK(joined({"a", "b"}, {"5", "2"}) == "no date");
  CHECK(joined({"Date", "b"}, {"2024-03-14", "x"}) == "no date");
  CHECK(part_named("Time [UTC]") == DatePart::clock);
  CHECK(part_named("HH") == DatePart::hour);
  CHECK(part_named("day_of_year") == DatePart::day_of_year);
  CHECK(part_named("temperature") == DatePart::none);
  CHECK(month_of("Sept") == 9);
  CHECK(month_of("Mär") == 3);
  CHECK(month_of("mayor") == 0);
}

TEST_CASE("date parts: half-hours and quarters of an hour of a day are all there") {
  const auto part_of = [](int first, int last) {
    PartScan scan(DateOrder::unknown);
    for (int i = first; i <= last; ++i) scan.add(std::to_string(i));
    for (const DatePart part : {DatePart::hhmm, DatePart::half_hour, DatePart::half_hour_from_0, DatePart::quarter_hour,
                                DatePart::quarter_hour_from_0})
      if (scan.may_be(part)) return part;
    return DatePart::none;
  };
  CHECK(part_of(1, 48) == DatePart::half_hour);
  CHECK(part_of(0, 47) == DatePart::half_hour_from_0);
  CHECK(part_of(1, 96) == DatePart::quarter_hour);
  CHECK(part_of(0, 95) == DatePart::quarter_hour_from_0);
  CHECK(part_of(1, 47) == DatePart::none);
}

TEST_CASE("columns: months with two digits are days if these run on") {
  CHECK(scan_of({"Jan 30", "Jan 31", "Feb 01", "Feb 02"}).days_without_year());
  CHECK(!scan_of({"Jan 19", "Feb 19", "Mar 19", "Apr 19"}).days_without_year());
  CHECK(!scan_of({"Dec-19", "Dec-20", "Dec-21", "Dec-22"}).days_without_year());
  CHECK(!scan_of({"Dec-98", "Dec-99", "Dec-00", "Dec-01"}).days_without_year());
  CHECK(scan_of({"Jan-30", "Jan-31", "Feb-01", "Feb-02"}).days_without_year());
}

TEST_CASE("files: what their first lines are") {
  const auto kind = [](const char* head) { return kind_of_other_file(head).value_or("a table"); };
  CHECK(kind("[{\"date\": 1}]") == "JSON");
  CHECK(kind("\n { \"a\": 1}\n{\"a\": 2}") == "JSON");
  CHECK(kind("[[1, 2], [3, 4]]") == "JSON");
  CHECK(kind("{\"type\": \"FeatureCollection\"}") == "GeoJSON");
  CHECK(kind("[time],[value]\n1,2\n") == "a table");
  CHECK(kind("<!DOCTYPE html><html>") == "an HTML page");
  CHECK(kind("<table><tr>") == "an HTML page");
  CHECK(kind("<?xml version=\"1.0\"?><a/>") == "XML");
  CHECK(kind("<DATE>,<CLOSE>\n20240102,5\n") == "a table");
  CHECK(kind("%PDF-1.7") == "a PDF file");
  CHECK(kind("version https://git-lfs.github.com/spec/v1\n").starts_with("a pointer of Git LFS"));
  CHECK(kind("date,y\n1,2\n") == "a table");
  CHECK(kind("") == "a table");
}

TEST_CASE("files: lines before a table") {
  const auto before = [](const char* text) { return lines_before_table(text).value_or(0); };
  const std::string rows = "date;y;z\n2024-01-01;1;2\n2024-01-02;2;3\n2024-01-03;3;4\n";
  CHECK(before(rows.c_str()) == 0);
  CHECK(before(("Station;Lund\n\n" + rows).c_str()) == 2);
  CHECK(before(("made by, a logger\r\nLAT:;5\r\nLON:;6\r\n" + rows).c_str()) == 3);
  CHECK(before(("title\n" + rows + "\n\n").c_str()) == 1);
  CHECK(before("a b c\nx y\n1 2\n3 4\n5 6\n") == 1);
  CHECK(before("a,b\nc\nd,e\nf,g\n") == 0);  // no data
  CHECK(before("") == 0);
  CHECK(ends_within_quotes("a,\"b"));
  CHECK(!ends_within_quotes("a,\"b\""));
  CHECK(!ends_within_quotes("5\" pipe,a"));
  CHECK(date_and_time_words("7 2024-01-01 01:00 5") == 1u);
  CHECK(!date_and_time_words("2024-01-01 5 01:00"));
}

TEST_CASE("files: flags as a shell takes them") {
  CHECK(flag_value("a,b") == "a,b");
  CHECK(flag_value("a b") == "'a b'");
  CHECK(flag_value("it's") == "'it'\\''s'");
  CHECK(flag_value("") == "''");
  CHECK(flag_list(std::array<std::string, 2>{"Temp, C", "y"}) == "'\"Temp, C\",y'");
}
