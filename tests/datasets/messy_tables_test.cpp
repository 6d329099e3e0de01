#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <fstream>
#include <optional>

#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/datasets/tables/date_columns.h"
#include "npzoo/datasets/tables/date_notations.h"
#include "npzoo/datasets/tables/table.h"
#include "tests/datasets/table_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// A table in a file of its own.
class MessyTable {
 public:
  MessyTable(const char* name, std::string_view text, const Table::Options& options = {}) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    table_.emplace(Table::read(directory_ / name, options));
  }
  Table& operator*() { return *table_; }

 private:
  TemporaryDirectory directory_;
  std::optional<Table> table_;
};

/// A date in a notation, as ISO 8601 writes it; "none" if it is not read.
std::string iso(std::string_view text, DateOrder order = DateOrder::unknown, bool short_years = false) {
  const auto found = parse_date_notation(text, order, short_years);
  return found ? format_date_time(found->day, days_since(found->day, *found), found->zoned) : "none";
}

}  // namespace

TEST_CASE("date notations: each is read as its ISO date, or not at all") {
  struct Case {
    const char *text, *expected;
    DateOrder order = DateOrder::unknown;
    bool short_years = false;
  };
  for (const Case& c : std::vector<Case>{{"1960 Q1", "1960-01-01"},
                                         {"2006-Q3", "2006-07-01"},
                                         {"2006Q4", "2006-10-01"},
                                         {"Q2 2006", "2006-04-01"},
                                         {"2006-Q5", "none"},
                                         {"Jan-20", "2020-01-01"},
                                         {"Dec-69", "1969-12-01"},
                                         {"20-Jan", "none"},
                                         {"Jan 2020", "2020-01-01"},
                                         {"2020 January", "2020-01-01"},
                                         {"5 Feb 2020", "2020-02-05"},
                                         {"Feb 5, 2020", "2020-02-05"},
                                         {"30 Feb 2020", "none"},
                                         {"05-Feb-20", "none"},
                                         {"05-Feb-20", "2020-02-05", DateOrder::dmy, true},
                                         {"Mayor 2020", "none"},
                                         {"2020/1/5", "2020-01-05"},
                                         {"2020/13/5", "none"},
                                         {"3.4.2020", "none"},
                                         {"3.4.2020", "2020-04-03", DateOrder::dmy},
                                         {"03/04/2020", "2020-03-04", DateOrder::mdy},
                                         {"03/13/2020", "none", DateOrder::dmy},
                                         {"03.04.20", "none", DateOrder::dmy},
                                         {"03.04.20", "2020-04-03", DateOrder::dmy, true},
                                         {"20-04-03", "2020-04-03", DateOrder::ymd, true},
                                         {"3.4/2020", "none", DateOrder::dmy},
                                         {"3.4.2020 13:05", "2020-04-03T13:05:00", DateOrder::dmy},
                                         {"2022-10-30 00:00 UTC", "2022-10-30T00:00:00Z"},
                                         {"2022-10-30 1:05:00 PM", "2022-10-30T13:05:00"},
                                         {"2022-10-30 12:30 am", "2022-10-30T00:30:00"},
                                         {"2022-10-30 13:00 PM", "none"},
                                         {"2022-10-30 1:00 +02:00", "2022-10-29T23:00:00Z"},
                                         {"1:00 PM", "none"},
                                         {"12", "none"},
                                         {"a-b-c 1", "none"}}) {
    CAPTURE(c.text);
    CHECK(iso(c.text, c.order, c.short_years) == c.expected);
  }
}

TEST_CASE("tables: digits in groups of three where the decimal sign is certain") {
  CHECK(parse("x;y\n1;1.234,5\n2;1.250\n").values == Values{1, 1234.5, 2, 1250});
  CHECK(parse("x;y\n1;1,234.5\n").values == Values{1, 1234.5});
  CHECK(parse("x;y\n1;1.234.567\n").values == Values{1, 1234567});
  CHECK(parse("x,y\n1,\"-12,345,678\"\n1.5,\"1,234\"\n").values == Values{1, -12345678, 1.5, 1234});
  CHECK(parse("x;y\n1;1.234\n").values == Values{1, 1.234});
  const std::string remedy =
      "expected a number without thousands separators, or --decimal . or , to name the decimal sign";
  CHECK(parse_error("x,y\n1,\"1,234\"\n") == R"([t.csv:2] column "y" holds "1,234", )" + remedy);
  CHECK(parse_error("x,y\n1.5,\"1.234,5\"\n") == R"([t.csv:2] column "y" holds "1.234,5", )" + remedy);
  CHECK(parse_error("x;y\n1,5;1,234.5\n") == R"([t.csv:2] column "y" holds "1,234.5", )" + remedy);
}

TEST_CASE("tables: names and cells may stand between blanks") {
  CHECK(parse("x   y\n1  2\n  3\t4  \n").values == Values{1, 2, 3, 4});
  CHECK(parse("x\n1\n").values == Values{1});
  CHECK(parse_error("x y\n1 2\n3\n") ==
        "[t.csv:3] found 1 fields, expected 2; use --skip-rows if the names of the columns are not in line 1");
  CHECK(parse_error("Station\nx,y\n1,2\n") ==
        "[t.csv:2] found 2 fields, expected 1; use --skip-rows if the names of the columns are not in line 1");
  MessyTable rows("t.txt", "date \"the y\"\n\"a b\" 2020-01-01 1\nc 2020-01-02 NA\n");  // as R writes them
  CHECK((*rows).header() == std::vector<std::string>{"row", "date", "the y"});
  CHECK((*rows).labels(0).names == std::vector<std::string>{"a b", "c"});
  CHECK((*MessyTable("t.csv", "a time\n2020-01-01 12:00\n2020-01-02 12:00\n")).header().size() == 1);
  CHECK((*MessyTable("t.csv", "a y\n2020-01-01 12.00\n2020-01-02 12.61\n")).header().size() == 2);
}

TEST_CASE("tables: a first column without a name can be called row") {
  MessyTable file("t.csv", ",date,y\n5,2020-01-01,1\n7,2020-01-02,\n");
  CHECK((*file).format().column("row") == 0);
  CHECK((*file).header()[0].empty());
  CHECK(choose_columns(*file, {}, std::nullopt).inputs == std::vector<std::string>{"date"});
}

TEST_CASE("tables: the caller's rules for cells") {
  const auto numbers = [](const char* text, const CellRules& rules) {
    MessyTable file("t.csv", text, {.cells = rules});
    return (*file).numbers(std::array<std::size_t, 1>{1}, {})[0].values;
  };
  const Values read = numbers("x,y\n1,-9999\n2,-9999.0\n3,calm\n4,7\n", {.missing = {"-9999", "calm"}});
  CHECK(std::isnan(read[0]));
  CHECK(std::isnan(read[1]));
  CHECK(std::isnan(read[2]));
  CHECK(read[3] == 7);
  CHECK(numbers("x,y\n1,\"1,234\"\n", {.decimal = '.'}) == Values{1234});
  CHECK(numbers("x,y\n1,\"1,234\"\n", {.decimal = ','}) == Values{1.234});
  CHECK(numbers("x,y\n1,03/04/20\n2,05/04/20\n", {.dates = DateOrder::dmy}) == Values{0, 2});
  CHECK(numbers("x,y\n1,03/04/20\n2,05/04/20\n", {.dates = DateOrder::ymd})[1] == doctest::Approx(731));
  CHECK((*MessyTable("t.csv", "Station 5\nx,y,z\nx,y\n1,2\n", {.skip_rows = 2})).rows() == 1);
}

TEST_CASE("tables: the order of day and month follows from a column that fits only one") {
  const auto order = [](const char* text) {
    MessyTable file("t.csv", text);
    return (*file).input_forms(std::array<std::size_t, 1>{0})[0].order;
  };
  CHECK(order("t,y\n03/04/2020,1\n13/04/2020,1\n") == DateOrder::dmy);
  CHECK(order("t,y\n03/04/2020,1\n04/13/2020,1\n") == DateOrder::mdy);
  CHECK(order("t,y\n03/04/2020,1\n04/03/2020,1\n") == DateOrder::unknown);
  CHECK(order("t,y\n13/04/2020,1\n04/13/2020,1\n") == DateOrder::unknown);
  CHECK(order("t,y\n1.5,1\n2,1\n") == DateOrder::unknown);
  CHECK(order("t,y\n03.04.2020,1\n04.03.2020 10:00,1\n") == DateOrder::dmy);  // points stand behind a day
  CHECK(order("t,y\n03.04.2020,1\n04.13.2020,1\n") == DateOrder::mdy);
  CHECK(order("t,y\n03.04.2020,1\n04/03/2020,1\n") == DateOrder::unknown);
}

TEST_CASE("tables: year, month and day of their own columns are a date") {
  const auto joined = [](const char* text, std::vector<std::size_t> columns) {
    MessyTable file("t.csv", text);
    return (*file).joined_times(columns).values;
  };
  CHECK(joined("y,m,d,v\n2020,2,28,1\n2020,3,1,2\n", {0, 1, 2}) == Values{0, 2});
  CHECK(joined("y,m,d,h,v\n2020,2,28,0,1\n2020,2,28,12,2\n", {0, 1, 2, 3}) == Values{0, 0.5});
  CHECK(joined("day,time,v\n2020-02-28,1:00 AM,1\n2020-02-28,1:00 PM,2\n", {0, 1})[1] == doctest::Approx(13. / 24));
  const auto refused = [&](const char* text, std::vector<std::size_t> columns) {
    return refusal([&] { joined(text, columns); });
  };
  CHECK(refused("y,m,d,v\n2020,2,30,1\n", {0, 1, 2}) ==
        R"([t.csv:2] column "d" holds "30", expected a day of that month)");
  CHECK(refused("y,m,v\n5,2,1\n", {0, 1}) ==
        R"([t.csv:2] the columns of --date hold "5 2", expected a date and a time of day, or year, month and day)");
  CHECK(refused("y,m,v\n2020,2,1\n2020,13,1\n", {0, 1}) ==
        R"([t.csv:3] column "m" holds "13", expected a month from 1 to 12)");
}

TEST_CASE("tables: 01.11.23 is a date wherever the whole column is in order as dates, and else a time of day") {
  const auto form = [](const std::string& cells, const CellRules& rules = {}) {
    MessyTable file("t.csv", "t;y\n" + cells, {.cells = rules});
    return (*file).input_forms(std::array<std::size_t, 1>{0})[0];
  };
  const auto column = [](int days, const char* row) {
    std::string cells;
    for (int day = 1; day <= days; ++day) cells += fmt::format(fmt::runtime(row), day);
    return cells;
  };
  CHECK(form(column(22, "{:02}.11.23;1\n")).order == DateOrder::dmy);
  CHECK(form(column(30, "{}.11.23;1\n")).order == DateOrder::dmy);
  CHECK(form("31.01.24;1\n01.02.24;1\n02.02.24;1\n").order == DateOrder::dmy);
  CHECK(form("02.02.24;1\n01.02.24;1\n31.01.24;1\n").order == DateOrder::dmy);
  CHECK(form(column(30, "23.01.{:02};1\n")).order == DateOrder::ymd);  // days in order, and not 30 years
  CHECK_FALSE(form(column(22, "{:02}.11.23;1\n")).clock);
  CHECK(form("18.00.00;1\n18.00.30;1\n18.01.00;1\n").clock);
  CHECK(form("18.10.11;1\n18.11.10;1\n19.12.09;1\n").clock == false);
  CHECK(form("18.10.11;1\n18.11.10;1\n18.12.60;1\n").order == DateOrder::dmy);
  const std::string twice = "01.11.23;1\n02.11.23;1\n01.11.23;1\n02.11.23;1\n";  // days or years first, in no order
  CHECK(form(twice).kind == ColumnForm::Kind::unknown);
  CHECK(form(twice).order == DateOrder::unknown);
  CHECK(form(twice, {.dates = DateOrder::dmy}).order == DateOrder::dmy);
  CHECK_FALSE(form(twice, {.dates = DateOrder::dmy}).clock);
  MessyTable german("t.csv", "Datum;y\n01.11.23;1,5\n02.11.23;\n04.11.23;2\n");
  CHECK(choose_columns(*german, {}, std::nullopt).inputs == std::vector<std::string>{"Datum"});
  const std::array<std::size_t, 1> first{0};
  const NumberColumn read = (*german).numbers(first, (*german).input_forms(first))[0];
  CHECK(read.values == Values{0, 1, 3});
  CHECK(read.form.text(1) == "2023-11-02");
  MessyTable parts("t.csv", "Datum;Zeit;y\n01.11.23;12:00;1\n02.11.23;18:00;2\n");
  CHECK((*parts).joined_times(std::array<std::size_t, 2>{0, 1}).values == Values{0.5, 1.75});
}

TEST_CASE("tables: dates that are not UTF-8 name the command that converts the file") {
  MessyTable file("t.csv", "date,y\n1 janv. 2024,1\n1 f\xE9vr. 2024,2\n1 mars 2024,\n");
  const std::string message = refusal([&] { choose_columns(*file, {}, std::nullopt); });
  CHECK_MESSAGE(message.find("it is not UTF-8: iconv -f latin1 -t utf8 ") != std::string::npos, message);
  MessyTable utf8("t.csv", "date,y\n1 janv. 2024,1\n1 f\xC3\xA9vx. 2024,2\n1 mars 2024,\n");
  CHECK(refusal([&] { choose_columns(*utf8, {}, std::nullopt); }).find("iconv") == std::string::npos);
}

TEST_CASE("tables: an unordered number takes the place of no index that cannot be read") {
  const auto chosen = [](const std::string& text) {
    MessyTable file("t.csv", text);
    const ColumnChoice choice = choose_columns(*file, {}, std::nullopt);
    return fmt::format("{} > {}", fmt::join(choice.inputs, " "), fmt::join(choice.values, " "));
  };
  const auto by = [](const std::string& name, const std::vector<std::string>& texts, const char* more = "") {
    constexpr std::array kPoints = {"31,9", "12,", "40,7", "22,8"};
    std::string table = name + ",points,goals\n";
    for (std::size_t i = 0; i < texts.size(); ++i) table += fmt::format("{},{}{}\n", texts[i], kPoints[i], more);
    return table;
  };
  for (const auto& c : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"season", {"1990/91", "1991/92", "1992/93", "1993/94"}},
           {"fiscal", {"FY1998", "FY1999", "FY2000", "FY2001"}},
           {"w", {"Week 1", "Week 2", "Week 3", "Week 4"}},
           {"depth", {"0-10", "10-20", "20-30", "30-40"}},
           {"x", {"3. Spieltag", "4. Spieltag", "5. Spieltag", "6. Spieltag"}},
           {"x", {"T0", "T1", "T2", "T5"}},
           {"date", {"01Jxn24", "02Jxn24", "03Jxn24", "04Jxn24"}}}) {
    const std::string message = refusal([&] { chosen(by(c.first, c.second)); });
    CHECK_MESSAGE(message.find(fmt::format("column \"{}\" holds \"{}\"", c.first, c.second[0])) != std::string::npos,
                  message);
    CHECK_MESSAGE(message.find("--inputs points") != std::string::npos, message);
  }
  CHECK(refusal([&] { chosen("fiscal,y\nFY1998,1\nFY1999,\nFY2000,4\n"); }) ==
        R"([t.csv:2] column "fiscal" holds "FY1998", which cannot be read as a date or a number, expected such as )"
        "2024-03-29 or 17: if rows are in order, number them in a column of their own");
  CHECK(chosen(by("town", {"Bonn", "Kiel", "Ulm", "Hof"})) == "points > goals");
  CHECK(chosen(by("sample", {"S1", "S2", "S3", "S4"})) == "points > goals");
  CHECK(chosen("w,x,y\nWeek 1,1,2\nWeek 2,2,\nWeek 3,3,4\n") == "x > y");
  CHECK(chosen("patient,sex,age,hb\nP1,F,50,12\nP2,M,42,\nP3,M,70,13\nP4,F,61,11\n") == " > hb");
  CHECK(chosen("sex,age,hb\nF,50,12\nM,42,\nM,70,13\nF,61,11\n") == "age > hb");
}

TEST_CASE("tables: texts such as 4:35 that go up and down leave their place to ascending numbers") {
  const auto chosen = [](const std::string& text) {
    MessyTable file("t.csv", text);
    const ColumnChoice choice = choose_columns(*file, {}, std::nullopt);
    return fmt::format("{} > {}", fmt::join(choice.inputs, " "), fmt::join(choice.values, " "));
  };
  const char* pace = "km,pace,hr\n1,4:36,141\n2,5:07,145\n3,4:30,146\n4,5:06,\n5,4:10,150\n6,4:50,149\n";
  CHECK(chosen(pace) == "km > hr");
  CHECK(chosen("n,time,y\n1,04:00,1\n2,05:00,\n3,06:00,4\n4,07:00,5\n5,08:00,5\n6,04:00,5\n") == "time > y");
  CHECK(chosen("km,pace,hr\n1,4:36,141\n5,5:07,145\n3,4:30,146\n4,5:06,\n5,4:10,150\n6,4:50,149\n") == "pace > hr");
}

TEST_CASE("tables: 0015 beside a date is a time of day by its name") {
  const auto date_of = [](const std::string& header) {
    MessyTable file("t.csv",
                    header + ",y\n2024-01-01,0015,1\n2024-01-01,0030,\n2024-01-01,2345,4\n2024-01-02,0015,3\n");
    ColumnChoice choice;
    find_date_columns(*file, nullptr, choice);
    return choice.date;
  };
  CHECK(date_of("day,time_utc") == std::vector<std::string>{"day", "time_utc"});
  CHECK(date_of("day,HHMM") == std::vector<std::string>{"day", "HHMM"});
  CHECK(date_of("day,house").empty());
}

TEST_CASE("tables: intervals of dates with points have the day first") {
  const auto rows = [](const std::string& sign) {
    const std::string day = "01" + sign + "03" + sign + "2023 ";
    return "t,y\n" + day + "00:00 - " + day + "01:00,1\n" + day + "01:00 - " + day + "02:00,\n";
  };
  MessyTable points("t.csv", rows(".")), slashes("t.csv", rows("/"));
  CHECK(choose_columns(*points, {}, std::nullopt).inputs == std::vector<std::string>{"t"});
  CHECK(refusal([&] { choose_columns(*slashes, {}, std::nullopt); }).find("--dates") != std::string::npos);
}
