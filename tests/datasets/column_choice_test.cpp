#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/datasets/tables/column_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tests/datasets/table_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

const std::string kNoInputs = ", or --inputs none to predict from all columns of a row";

using DimX = std::optional<std::int64_t>;

/// Inputs, `>`, values and the group.
std::string shown(const ColumnChoice& choice) {
  std::string text;
  for (const std::string& name : choice.inputs) text += name + " ";
  text += ">";
  for (const std::string& name : choice.values) text += " " + name;
  return choice.group.empty() ? text : text + " / " + choice.group;
}

std::string chosen(std::string_view text, const ColumnChoice& wishes = {}, DimX dim_x = {}) {
  ReadTable file("t.csv", text);
  return shown(choose_columns(*file, wishes, dim_x));
}

std::string refused(std::string_view text, const ColumnChoice& wishes = {}, DimX dim_x = {}) {
  return refusal([&] { chosen(text, wishes, dim_x); });
}

std::string chosen_by_targets(std::string_view text, std::string_view targets, const ColumnChoice& wishes = {}) {
  ReadTable file("t.csv", text), asked("targets.csv", targets);
  return shown(choose_columns(*file, *asked, wishes));
}

}  // namespace

TEST_CASE("columns: values are the numbers with gaps, the input the dates or the one column of numbers without") {
  CHECK(chosen("x,y\n1,2\n2,\n") == "x > y");
  CHECK(chosen("y,x\n2,1\n-,2\n") == "x > y");
  CHECK(chosen("day,u,n,v,note\n2020-01-01,1,1,,a\n2020-01-02,NA,2,4,\n") == "day > u v");
  CHECK(chosen("note,empty,,x,y\na,,1,1,2\nb,NA,2,2,null\n") == "x > y");  // no name, nothing in it, or text
  CHECK(chosen("x,y\n1,\n2,5\n", {}, 1) == "x > y");
}

TEST_CASE("columns: of a table without gaps all other numbers are values") {
  const auto series = [](std::string_view text, const ColumnChoice& wishes = {}) {
    ReadTable file("t.csv", text);
    return shown(
        choose_series(*file, wishes, {}, [](const std::string& flags) { return "npzoo predict t.csv " + flags; }));
  };
  CHECK(series("day,u,note,v\n2020-01-01,1,a,3\n2020-01-02,2,b,4\n") == "day > u v");
  CHECK(series("id,lat,lon,rain\nA,1,2,3\nB,2,3,4\n") == "lat lon > rain");
  CHECK(series("t,y\n1,2\n2,\n") == "t > y");
  CHECK(series("t,y\n1,2\n2,3\n", {.values = {"y"}}) == "t > y");
  CHECK(series("t,y\n1,2\n2,3\n", {.inputs = {"t"}}) == "t > y");
  CHECK(series("Year,gdp,people\n1,2,3\n2,3,4\n") == "Year > gdp people");
  CHECK(series("x,y\n1,2\n2,3\n") == "x > y");
  CHECK(series("x,y,rain\n1,2,3\n2,3,4\n") == "x y > rain");
  CHECK(refusal([&] {
          series("\"a, in m\",b\n1,2\n2,3\n");
        }).ends_with("such as: npzoo predict t.csv --inputs '\"a, in m\"' --values b"));
  CHECK(refusal([&] { series("a,b\n1,2\n2,3\n"); }) ==
        "[columns] t.csv has the columns of numbers \"a\" and \"b\", expected --inputs and --values to name them, such "
        "as: "
        "npzoo predict t.csv --inputs a --values b");
  CHECK(refusal([&] { series("a,b\nx,p\ny,q\n"); }) ==
        "[columns] t.csv has no column of numbers, expected --values to name one");
  CHECK(refusal([&] { series("a\n1\n2\n", {.inputs = {"a"}}); }) ==
        "[columns] t.csv has no column of numbers, expected --values to name one");
  for (const char* alone : {"co2\n400\n401\n", "co2\n400\nNA\n401\n"})
    CHECK(refusal([&] { series(alone); }) ==
          "[columns] t.csv has no column for an input, expected one of times, or of numbers such as 1, 2, 3 and so on "
          "beside the values");
  const auto complete = [](std::string_view text, const ColumnChoice& wishes = {}) {
    ReadTable file("t.csv", text);
    return misses_nothing(*file, wishes);
  };
  CHECK(complete("day,u\n2020-01-01,1\n2020-01-02,2\n"));
  CHECK(complete("day,u,v\n2020-01-01,1,\n2020-01-02,2,5\n", {.values = {"u"}}));
  CHECK_FALSE(complete("day,u,v\n2020-01-01,1,\n2020-01-02,2,5\n"));
  CHECK(complete("day,address,u\n2020-01-01,1 Main St,1\n2020-01-02,22 Oak Ave,2\n"));
  CHECK_FALSE(complete("day,u\n"));
  CHECK_FALSE(complete("day,u,v\n2020-01-01,1,7\n2020-01-02,2,%\n"));
}

TEST_CASE("columns: two inputs are found by the names of coordinates, or by the model") {
  for (const char* names : {"lon,lat", "lat,lon", "LNG,Lat", "Longitude,LATITUDE", "x,y", "x2,x1", "northing,easting"})
    CHECK(chosen(std::string(names) + ",t\n1,2,3\n2,3,\n").ends_with(" > t"));
  CHECK(chosen("a,b,t\n1,2,3\n2,3,\n", {}, 2) == "a b > t");
  CHECK(chosen("a,b,t\n1,2,3\n2,3,\n", {.inputs = {"b"}}) == "b > t");
  CHECK(chosen("day,a,b,t\n2020-01-01,1,2,3\n2020-01-02,2,3,\n", {.inputs = {"a", "day"}}) == "a day > t");
  CHECK(refused("a,b,t\n1,2,3\n2,3,\n") ==
        R"([columns] t.csv: "a" and "b" might be inputs, expected --inputs to name them)" + kNoInputs);
  CHECK(refused("a,b,t\n1,2,3\n2,3,\n", {}, 1) ==
        R"([columns] t.csv: "a" and "b" might be inputs, expected --inputs to name the 1 of the model)");
  CHECK(refused("x,t\n1,3\n2,\n", {}, 2) ==
        R"([columns] t.csv: "x" might be an input, expected --inputs to name the 2 of the model)");
  CHECK(refused("day,x,t\n2020-01-01,1,3\n2020-01-02,2,\n", {}, 2) ==
        R"([columns] t.csv: "x" might be an input, expected --inputs to name the 2 of the model)");
}

TEST_CASE("columns: named columns are used, each once") {
  const std::string table = "id,day,u,v\n1,1,2,3\n1,2,,4\n2,1,3,\n";
  CHECK(chosen(table, {.group = "id"}) == "day > u v / id");
  CHECK(chosen(table, {.values = {"v"}, .group = "id"}) == "day > v / id");
  CHECK(chosen(table, {.inputs = {"id", "day"}, .values = {"v", "u"}}) == "id day > v u");
  CHECK(chosen(table, {.inputs = {"v"}, .values = {"u"}}) == "v > u");  // what a gap in it means is seen by its reader
  CHECK(refused(table, {.inputs = {"dya"}}) == R"([t.csv:1] has no column "dya", found "id", "day", "u", "v")");
  CHECK(refused(table, {.values = {"U"}}) == R"([t.csv:1] has no column "U", found "id", "day", "u", "v")");
  CHECK(refused(table, {.group = "group"}) == R"([t.csv:1] has no column "group", found "id", "day", "u", "v")");
  CHECK(refused(table, {.group = ""}) ==
        R"([columns] t.csv: "id" and "day" might be inputs, expected --inputs to name them)" + kNoInputs);
  for (const ColumnChoice& twice :
       {ColumnChoice{.inputs = {"u", "u"}}, {.inputs = {"u"}, .values = {"u"}}, {.values = {"u"}, .group = "u"}})
    CHECK(refused(table, twice) ==
          R"([columns] "u" is named twice by --inputs, --values, --covariates, --group and --date)");
}

TEST_CASE("columns: blank cells of years and places are no values to fill") {
  CHECK(refused("Year,Month,y\n2018,Jan,1\n,Feb,2\n,Mar,\n2019,Jan,3\n") ==
        R"([columns] t.csv: "Year" is blank in 2 of 4 rows, expected a year in each row, or --values to name the )"
        "columns to fill");
  CHECK(refused("lon,lat,t\n1,2,3\n2,3,\n,,4\n3,4,5\n").starts_with(R"([columns] t.csv: "lon" is blank in 1 of 4)"));
}

TEST_CASE("columns: lines above and below the rows have remedies that work") {
  const std::string days = "2024-01-01,1\n2024-01-02,\n2024-01-03,3\n2024-01-04,4\n";
  CHECK(refused("a,b\nc,d\ndate,y\n" + days) ==
        "[columns] t.csv: line 3 holds words alone above numbers or dates, expected a row; if it has the names of the "
        "columns, use --skip-rows 2");
  CHECK(refused("Version,1\nID,2\ndate,y\n" + days).ends_with("use --skip-rows 2"));
  CHECK(refused("Price,Close\nTicker,A\ndate,\n" + days) ==
        R"([columns] t.csv: line 2 has "A" in column "Close", unlike those below: if these are no rows of the )"
        "table, remove the lines from 2 to 3");
  CHECK(refused("date,y\n----,---\n" + days).ends_with("if it is a line between names and rows, remove it"));
  CHECK(refused("date,y\n" + days + "Total,8\n")
            .ends_with("; if it is no row of the table, delete line 6"
                       "; or name the inputs with --inputs"));
}

TEST_CASE("columns: where there is nothing to fill or nothing to go by") {
  CHECK(refused("x,y\n1,2\n2,3\n") ==
        "[columns] t.csv has no column of numbers with some missing, expected rows to fill and --values, or --targets");
  CHECK(refused("x,y\n1,\n2,\n") == R"([columns] t.csv has no value in "y", expected some rows with one)");
  const std::string complete = refused("x,y\n1,2\n2,3\n");
  CHECK(refused("x,y\n") == complete);
  CHECK(refused("x,note\n1,\n2,a\n") == complete + R"(; column "note" has gaps and holds words such as "a", expected )"
                                                   "numbers, such as 0 and 1 for two words");
  CHECK(refused("x,lap\n1,00:20:01\n2,\n3,00:20:03\n") ==
        complete + R"(; column "lap" has gaps and holds times such as "00:20:01", expected numbers, such as seconds)");
  CHECK(refused("x,y\n1,2\n2,3\n", {.values = {"y"}}) ==
        R"([columns] t.csv misses no value of "y", expected rows to fill, or --targets)");
  CHECK(refused("x,y,z\n1,2,3\n2,3,4\n", {.values = {"y", "z"}}) ==
        R"([columns] t.csv misses no value of "y" and "z", expected rows to fill, or --targets)");
  CHECK(chosen("x,y\n1,\n2,\n", {.values = {"y"}}) == "x > y");
  CHECK(refused("note,y\na,2\nb,\n") ==
        "[columns] t.csv has no column of dates, nor of numbers without a gap, for an input, expected --inputs to name "
        R"(it; column "note" holds words such as "a": if rows are in order, number them in a column of their own)");
  CHECK(refused("a,b,y\n2020-01-01,2020-01-01,2\n2020-01-02,2020-01-03,\n") ==
        R"([columns] t.csv has 2 columns of dates, "a" and "b", expected one of them: --inputs a or --inputs b)");
  CHECK(chosen("a,y,n\n2020-01-01,2,1\n,,1\n") == "a > y");  // a date that is missing is told of by its line
}

TEST_CASE("columns: an error names the cell that is neither number nor date") {
  const std::string nothing = refused("x,y\n1,2\n2,3\n");
  CHECK(refused("note,x,y\na,1,2\nb,2,\nb,3,5 %\nb,4,abc\n") ==
        nothing + R"(; line 4 has "5 %" in column "y", unlike those before; write 5 in place of 5 %)");
  CHECK(refused("id,day,y\n1,2024-02-28,2\n2b,2024-02-30,\n", {.group = "id"}) ==
        R"([columns] t.csv has dates in column "day" that cannot be read: line 3: column "day" holds "2024-02-30", )"
        "expected a date, like the others of the column; or name the inputs with --inputs");
  CHECK(refused("day,y\n1,2\n2020-01-01,\n")
            .ends_with(R"(it; line 3 has "2020-01-01" in column "day", unlike those before)"));
  CHECK(refused("day,y\n2020-01-01,MM\n2020-01-02,3\n2020-01-03,4\n")
            .ends_with(
                R"(; column "y" begins with "MM" above numbers; if it stands for a missing value, use --missing MM)"));
  CHECK(
      refused("month,y\nJan,2\nFeb,\n")
          .ends_with(R"(expected --inputs to name it; column "month" holds words such as "Jan": if rows are in order, )"
                     "number them in a column of their own"));
  CHECK(refused(",y\n1,2\n2,\n").ends_with("; column 1 has no name: name it to use it as the input"));
}

TEST_CASE("columns: an error names the cell in an unknown notation") {
  const std::string iso = "expected a number, or a date as ISO 8601 writes it: 2020-02-01",
                    time = " or 2020-02-01T12:30", order = "; predict reads other orders with --dates dmy, mdy or ymd";
  const auto by_date = [&](const std::string& first, const std::string& more) {
    return R"([columns] t.csv has dates in column "date" that cannot be read: line 2: column "date" holds ")" + first +
           "\", " + iso + more + "; or name the inputs with --inputs";
  };
  const auto by_odd_cell = [](const std::string&, const std::string&) -> std::string {
    return R"([columns] t.csv has dates in column "date" that cannot be read: line 3: column "date" holds "x", )"
           "expected a date, like the others of the column; or name the inputs with --inputs";
  };
  struct Case {
    std::string first, more;
    bool read = false;
  };
  for (const auto& [first, more, read] : std::vector<Case>{{"13/06/2018", order},
                                                           {"01/02/2026", order},
                                                           {"1:00 PM", time},
                                                           {"2020-01-01T12", "", true},
                                                           {"2022-10-30 00:00 UTC", "", true},
                                                           {"2006-Q1", "", true},
                                                           {"Jan-20", "", true},
                                                           {"1 Feb 2020", "", true}}) {
    const std::string expected = read ? by_odd_cell(first, more) : by_date(first, more);
    CHECK(refused("date,y\n" + first + ",1\nx,\n") == expected);
    CHECK(refused("date,n,y\n" + first + ",5,1\nx,6,\n") == expected);  // no other number takes its place
  }
  for (const auto& [cell, number] : std::vector<std::pair<std::string, std::string>>{{"43.40M", "43400000"},
                                                                                     {"900.0K", "900000"},
                                                                                     {"-1.2345k", "-1234.5"},
                                                                                     {"0.5bn", "500000000"},
                                                                                     {"290.5 K", "290.5"},
                                                                                     {"12 kg", "12"}})
    CHECK(refused("x,y\n1," + cell + "\n2,\n").ends_with(fmt::format("write {} in place of {}", number, cell)));
  CHECK(refused("x,y\n1,2.9±0.1\n2,\n").ends_with("write 2.9 in place of 2.9±0.1, and 0.1 into a column of its own"));
  CHECK(refused("x,y\n1,60 BC\n2,\n").ends_with("write -60 in place of 60 BC"));
  CHECK(refused("x,y\n1,<0.05\n2,\n").find("<0.05 is a limit and no value; leave it blank, or write a number") !=
        std::string::npos);
  const std::string nothing = refused("x,y\n1,2\n2,3\n");
  CHECK(refused("x,y\n1,12%\n2,\n") ==
        nothing + R"(; line 2: column "y" holds "12%", expected a number: write 12 in place of 12%)");
  CHECK(refused("x;y\n1;1.234,5\n2;\n") == "no error");
  CHECK(refused("x,y\n1,\"1,234\"\n2,\n") == "no error");  // its reader refuses it
  const char* unit =
      R"([columns] t.csv: line 2 has "warm" in column "y", unlike those below: if it is a row of units, remove it; )"
      "if it has the names of the columns, use --skip-rows 1";
  CHECK(refused("x,y\n,warm\n1,2\n2,\n3,4\n") == unit);
  CHECK(refused("x,y\n,warm\n1,2\n2,\n3,4\n", {.values = {"y"}}) == unit);
  CHECK(chosen("x,y,note\n1,,start\n2,5,1\n3,4,2\n4,5,3\n") == "x > y");  // a row of data
}

TEST_CASE("columns: dates in a notation that is not read have a remedy") {
  for (const std::string cell : {"FY2005 Q1", "2022-49", "49/2022"})
    CHECK(refused("date,y\n" + cell + ",1\n" + cell + ",\n") ==
          R"([t.csv:2] column "date" holds ")" + cell +
              R"(", a notation of dates that is not read, expected )"
              "2024-03-29 or 2024-03-29T13:00");
  CHECK(refused("year,y\n60 BC,1\n50 BC,\n40 BC,4\n").ends_with(": write -60 in place of 60 BC"));
  CHECK(refused("week,y\nWeek 1,1\nWeek 1,\nWeek 2,4\n")
            .ends_with(": if rows are in order, number them in a column of "
                       "their own"));
  CHECK(refused("year,y\n1999/00,1\n2000/01,\n2001/02,4\n").ends_with(": write 1999 for 1999/00"));
}

TEST_CASE("columns: whole columns of YYYYMMDD are dates") {
  CHECK(chosen("date,n,y\n20200125,1,2\n20200208,2,\n") == "date > y");
  CHECK(refused("date,n,y\n20200125,1,2\n20200230,2,\n").find("might be inputs") != std::string::npos);
  CHECK(refused("date,n,y\n12340125,1,2\n12340126,2,\n").find("might be inputs") != std::string::npos);
}

TEST_CASE("columns: numbers of six digits are dates by their name, or if they are the only input") {
  CHECK(chosen("t,y\n202312,1\n202401,\n202402,3\n") == "t > y");
  CHECK(chosen("n,month,y\n1,202312,1\n2,202401,\n3,202402,3\n") == "month > y");
  CHECK(refused("n,zip,y\n1,202312,1\n2,202401,\n3,202402,3\n") ==
        R"([columns] t.csv: "n" and "zip" might be inputs, expected --inputs to name them)" + kNoInputs);
  CHECK(chosen("date,code,y\n2024-01-01,202312,1\n2024-01-02,202401,\n2024-01-03,202402,3\n") == "date > y");
}

TEST_CASE("columns: names with commas, and groups of several columns") {
  const HasColumn has = [](const std::string& name) { return name == "a" || name == "b, c" || name == "d"; };
  const std::vector<std::string> split{"a", "b", " c", "\"b", " c\"", "x"};
  CHECK(whole_names(split, has) == std::vector<std::string>{"a", "b, c", "b, c", "x"});
  CHECK(group_names("b, c", has) == std::vector<std::string>{"b, c"});
  CHECK(group_names("a,b, c,d", has) == std::vector<std::string>{"a", "b, c", "d"});
  CHECK(group_names("", has).empty());
  for (const char* name : {"Station_Lat (deg)", "lat_deg", "latitude (deg)", "Lat.", "stop_lat", "LAT_DD",
                           "decimalLatitude", "latitud", "Latitudine", "geoBreite", "XLAT"})
    CHECK_MESSAGE(is_latitude(name), name);
  for (const char* name : {"LONGITUDE", "lon_deg", "longitude (deg)", "Long.", "stop_lon", "LON_DD", "decimalLongitude",
                           "longitud", "Longitudine", "Länge", "xlong"})
    CHECK_MESSAGE(is_longitude(name), name);
  for (const char* name : {"plate", "along", "Flat", "longest"})
    CHECK_MESSAGE((!is_latitude(name) && !is_longitude(name)), name);
  ReadTable file("t.csv", "a,b,y\nx,1,2\nx,2,3\nx,1,4\n");
  const Table::Labels labels = (*file).labels(std::array<std::size_t, 2>{0, 1});
  CHECK(labels.names == std::vector<std::string>{"x, 1", "x, 2"});
  CHECK(labels.of_rows == std::vector<std::uint32_t>{0, 1, 0});
}

TEST_CASE("columns: marks of missing values and wide tables have remedies") {
  ReadTable marks("t.csv", "x,y\n1,2\n2,n/e\n3,4\n4,***\n5,\n");
  CHECK(refusal([&] { check_marks(*marks, std::vector<std::string>{"y"}); }) ==
        R"([t.csv:3] column "y" holds "n/e", expected a number; if it stands for a missing value, use --missing n/e )"
        "--missing '***'");
  std::string rare = "x,y\n1,n.d.\n2,<LOD\n3,tr.\n4,#REF!\n5,nil\n";
  for (int row = 6; row < 60; ++row) rare += fmt::format("{},{}\n", row, row % 7);
  ReadTable many("t.csv", rare);
  CHECK(missing_hint(*many, 1) ==
        "; if it stands for a missing value, use --missing n.d. --missing '<LOD' --missing tr. --missing '#REF!' "
        "--missing nil");
  ReadTable far("t.csv", "x,y\n1,2\n2,-999\n3,4\n4,3\n5,2\n");
  CHECK(far_number_hint(*far, std::vector<std::string>{"y"}) ==
        R"(; "y" is -999 in 1 row, far from all others: use --missing -999 if it stands for a missing value)");
  CHECK(refused("place,2018,2019,2020,n\na,1,2,,5\nb,2,3,4,6\n")
            .ends_with(R"("2018", "2019" and "2020" name times: put them into a column of their own, with the values )"
                       "beside them (pandas.melt)"));
  CHECK(
      refused("place,2018,2019,2020\na,1,2,5\nb,2,7,\n")
          .starts_with(R"([columns] t.csv: "2018" and "2019" might be inputs, expected --inputs to name them, or )"
                       R"(--inputs none to predict from all columns of a row; "2018", "2019" and "2020" name times)"));
  CHECK(refused("place,2018,2019,2020\na,1,,5\nb,2,,\n", {.values = {"2020"}}) ==
        R"([columns] t.csv: no column but "2018" might be an input, expected --inputs to name one; "2018", "2019" and )"
        R"("2020" name times: put them into a column of their own, with the values beside them (pandas.melt))");
  CHECK(chosen("place,2018,2019,2020\na,1,2,\nb,2,,4\n") == "> 2019 2020");
  CHECK(
      refused("place,2016,2017,2018,2019,2020\na,1,2,,4,5\nb,2,3,,5,6\n") ==
      R"([columns] t.csv has no value in "2018", expected some rows with one; 5 columns such as "2016" name times: put )"
      "them into a column of their own, with the values beside them (pandas.melt)");
}

TEST_CASE("columns: of many the first ones are listed") {
  std::string header = "y", row = "1", gap = "";
  for (int i = 0; i < 12; ++i) {
    header += ",c" + std::to_string(i);
    row += ",1";
    gap += ",1";
  }
  CHECK(refused(header + "\n" + row + "\n" + gap + "\n") ==
        R"([columns] t.csv: "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7" and 4 more might be inputs, )"
        "expected --inputs to name them" +
            kNoInputs);
}

TEST_CASE("columns: the columns of a table of targets are the inputs") {
  const std::string table = "id,day,u,note,v\na,1,2,x,\nb,2,,y,4\n";
  CHECK(chosen_by_targets(table, "day\n3\n") == "day > u v");
  CHECK(chosen_by_targets(table, "id,day\na,3\n", {.group = "id"}) == "day > u v / id");
  CHECK(chosen_by_targets(table, "v,day\n,3\n", {.values = {"v"}}) == "day > v");
  CHECK(chosen_by_targets(table, "note,day\n,3\n", {.inputs = {"day"}, .values = {"u"}}) == "day > u");
  CHECK(chosen_by_targets("x,y\n1,2\n", "x\n") == "x > y");  // nothing is asked for
  const auto error = [&](std::string_view targets, const ColumnChoice& wishes) {
    return refusal([&] { chosen_by_targets(table, targets, wishes); });
  };
  CHECK(error("day,hour\n3,1\n", {}) ==
        R"([t.csv:1] has no column "hour", which targets.csv has; to ignore it, use --inputs day)");
  CHECK(chosen_by_targets(table, "place,day\nhill,3\n") == "day > u v");  // a name
  CHECK(error("day,\n3,1\n", {}) == "[targets.csv:1] column 2 has no name");
  CHECK(error("id\na\n", {.group = "id"}) == "[columns] targets.csv has no column for an input");
  CHECK(error("day\n3\n", {.inputs = {"v"}}) == R"([targets.csv:1] has no column "v", found "day")");
  CHECK(error("day\n3\n", {.group = "id"}) == R"([targets.csv:1] has no column "id", found "day")");
  CHECK(refusal([] { chosen_by_targets("x,note\n1,a\n", "x\n1\n"); }) ==
        "[columns] t.csv has no column of numbers besides the inputs, expected --values to name one");
}

TEST_CASE("columns: a column of cells that come from no file is read as one of a file") {
  const std::vector<std::string> days{"13/06/2018", "", "15/06/2018 12:00"};
  Table table = Table::of_column("day", days);
  CHECK(table.rows() == 3);
  CHECK(table.summaries()[0].kind == ColumnSummary::Kind::time);
  CHECK(table.summaries()[0].missing == 1);
  const std::size_t column = 0;
  const NumberColumn read = table.numbers({&column, 1}, table.input_forms({&column, 1}))[0];
  CHECK(read.values[2] - read.values[0] == 2.5);
  CHECK(std::isnan(read.values[1]));
  const std::vector<std::string> cells{"2018-06-13", "a \"quoted\"\ncell"};
  Table odd = Table::of_column("2018", cells);  // no header is numbers alone
  CHECK(odd.summaries()[0].kind == ColumnSummary::Kind::text);
  CHECK(error_of([&] {
          odd.numbers({&column, 1}, odd.input_forms({&column, 1}));
        }) ==
        R"([row:1] column "column 2018" holds "a "quoted"?cell", expected a date, like the others of the column)");
  Table ordered = Table::of_column("day", std::vector<std::string>{"01/02/2018"}, {.dates = DateOrder::dmy});
  CHECK(ordered.numbers({&column, 1}, {}).at(0).form.epoch == parse_date_time("2018-02-01")->day);
}

TEST_CASE("columns: rules for tables of any kind") {
  using Kind = ColumnSummary::Kind;
  using Doubt = OpenInputs::Doubt;
  const std::vector<ColumnFacts> columns{{"a", Kind::time, 0, false}, {"b", Kind::time, 0, true},
                                         {"u", Kind::number, 0},      {"v", Kind::number, 2},
                                         {"w", Kind::empty, 9},       {"", Kind::number, 0}};
  CHECK(open_values(columns, {}, true) == std::vector<std::string>{"v"});
  CHECK(open_values(columns, {.values = {"v"}}, false) == std::vector<std::string>{"u"});
  CHECK(open_inputs(columns, {}, {}).names == std::vector<std::string>{"b"});
  CHECK(open_inputs(columns, {}, 1).dates);
  CHECK(open_inputs(columns, {.covariates = {"b"}}, {}).names == std::vector<std::string>{"a"});
  CHECK(open_inputs(columns, {.group = "a"}, 2).doubt == Doubt::numbers);
  CHECK(open_inputs(std::span(columns).subspan(3), {}, {}).doubt == Doubt::nothing);
  const std::vector<ColumnFacts> both{{"a", Kind::time, 0, true}, {"b", Kind::time, 0, true}};
  CHECK(open_inputs(both, {}, {}).doubt == Doubt::dates);
  CHECK(open_inputs(both, {}, {}).names == std::vector<std::string>{"a", "b"});
  const std::vector<std::string> targets{"x", "y", "g", "c"};
  CHECK(target_inputs(targets, {.values = {"y"}, .group = "g", .covariates = {"c"}}) == std::vector<std::string>{"x"});
}
