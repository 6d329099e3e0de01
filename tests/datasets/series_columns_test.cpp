#include "npzoo/datasets/tables/series_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "npzoo/datasets/tables/column_choice.h"
#include "tests/datasets/table_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// The message about rows of several series.
std::string doubt_of_series(std::string_view text, const ColumnChoice& choice) {
  ReadTable file("t.csv", text);
  const std::size_t column = (*file).format().column(choice.inputs[0]);
  Table::Labels groups;
  if (!choice.group.empty()) groups = (*file).labels((*file).format().column(choice.group));
  return refusal([&] {
    const std::vector<NumberColumn> x = (*file).numbers(std::array{column}, (*file).input_forms(std::array{column}));
    check_one_series(*file, choice, {x[0].values, groups.names, groups.of_rows}, x[0].form);
  });
}

}  // namespace

TEST_CASE("columns: several columns that tell series apart") {
  std::string sales = "day,store,item,y\n", places = "day,lat,lon,height,y\n";
  for (int day = 0; day < 6; ++day)
    for (int k = 0; k < 4; ++k) {
      sales += fmt::format("{},{},{},{}\n", day, k / 2 + 1, k % 2 + 1, 10 * k + day);
      places += fmt::format("{},{},{},{},{}\n", day, 50.5 + k / 2, 8.25 + k % 2, 100 * k, day);
    }
  const std::string none = "; if all rows are one series, use --group none";
  CHECK(doubt_of_series(sales, {{"day"}, {"y"}}) ==
        R"([columns] t.csv has 6 places 4 times; if "store" and "item" name the series, use --group store,item)" +
            none);
  CHECK(doubt_of_series(sales, {{"day"}, {"y"}, "store"}) ==
        R"([columns] t.csv has 12 places twice in a group; if "item" names the series, use --group store,item)" + none);
  CHECK(doubt_of_series(sales, {{"day"}, {"y"}, "", {"store", "item"}}) == "no error");  // covariates tell them apart
  const std::string walks = "animal,t,y\na,1,1\na,2,2\na,5,1\nb,1.5,1\nb,3,2\nb,4.5,\n";
  CHECK(
      doubt_of_series(walks, {{"t"}, {"y"}}) ==
      R"([columns] t.csv has times that begin anew where "animal" changes; if it names the series, use --group animal)" +
          none);
  CHECK(doubt_of_series("kind,t,y\na,1,1\nb,2,2\na,5,1\nb,1.5,1\na,3,2\nb,4.5,\n", {{"t"}, {"y"}}) == "no error");
  CHECK(doubt_of_series(places, {{"day"}, {"y"}}).find(R"("lat" and "lon" name the series, use --group lat,lon)") !=
        std::string::npos);
  CHECK(
      doubt_of_series("t,y\n2024-01-01,1\n2024-01-01,2\n2024-01-01,\n", {{"t"}, {"y"}}) ==
      R"([columns] t.csv has 3 rows of one date, 2024-01-01 in "t", expected rows of different dates, or --inputs to )"
      "name others");
  CHECK(
      doubt_of_series("t,y\n22:00,1\n23:00,2\n00:00,3\n", {{"t"}, {"y"}}) ==
      R"([t.csv:4] the times in column "t" begin anew, expected their dates, too: --date and the columns of date and time)");
  CHECK(
      doubt_of_series("t,y\n2024-01-01 00:00-01:00,1\n2024-01-01 01:00-02:00,2\n2024-01-01 02:00-03:00,3\n",
                      {{"t"}, {"y"}}) ==
      R"([t.csv:2] column "t" holds the intervals "2024-01-01 00:00-01:00" and so on, expected their beginnings alone)");
}

TEST_CASE("columns: a column that tells the times of a day apart names no series") {
  std::string hours = "Datum,von,y\n", periods = "date,half_hour,y\n";
  for (int day = 1; day < 4; ++day)
    for (int k = 0; k < 48; ++k) {
      if (k < 24) hours += fmt::format("2024-01-0{},{:02}:00,1\n", day, k);
      periods += fmt::format("2024-01-0{},{},1\n", day, k);
    }
  CHECK(doubt_of_series(hours, {{"Datum"}, {"y"}}) ==
        R"([columns] t.csv has 3 dates 24 times; "von" is a part of the date, use --date Datum,von)");
  CHECK(doubt_of_series(periods, {{"date"}, {"y"}}) ==
        R"([columns] t.csv has 3 dates 48 times; if "half_hour" counts the parts of a day, use --date date,half_hour; )"
        "if it names the series, use --group half_hour");
  CHECK(doubt_of_series("day,y\nJan 29,1\nJan 30,1\nJan 31,2\nFeb 01,3\n", {{"day"}, {"y"}}) ==
        R"([t.csv:2] column "day" holds "Jan 29", a day of a month or a month of a year, expected whole years: )"
        "10 Jan 2024 or Jan 2010");
  for (const char* sign : {"-", "/", "."}) {
    const std::string text = fmt::format("day,y\nJan{0}29,1\nJan{0}30,1\nJan{0}31,2\nFeb{0}01,3\n", sign);
    CHECK(doubt_of_series(text, {{"day"}, {"y"}}).find("a day of a month or a month of a year") != std::string::npos);
  }
  CHECK(doubt_of_series("day,y\nJan-19,1\nFeb-19,1\nMar-19,2\nApr-19,3\n", {{"day"}, {"y"}}) == "no error");
  CHECK(doubt_of_series("day;y\n01.01.2024;10.064\n02.01.2024;9.500\n13.01.2024;11.000\n", {{"y"}, {"day"}})
            .find("--decimal . or , to name the decimal sign") != std::string::npos);
}

TEST_CASE("columns: rows of several series are not taken for one") {
  const char* mixed =
      "date,station,temp\n2026-01-01,A,0\n2026-01-01,B,100\n2026-01-02,A,1\n2026-01-02,B,\n2026-01-03,A,\n2026-01-03,B,"
      "102\n";
  CHECK(
      doubt_of_series(mixed, {{"date"}, {"temp"}, ""}) ==
      R"([columns] t.csv has 3 dates twice; if "station" names the series, use --group station; if all rows are one series, use --group none)");
  CHECK(doubt_of_series(mixed, {{"date"}, {"temp"}, "station"}) == "no error");
  CHECK(doubt_of_series("x,id,y\n1,7,0\n1,8,\n2,7,1\n2,8,2\n2,9,2\n2,7,3\n", {{"x"}, {"y"}, ""}) ==
        "no error");  // not apart
  CHECK(
      doubt_of_series("x,id,y\n1,7,0\n1,8,\n2,7,1\n2,8,2\n2,9,2\n1,9,3\n", {{"x"}, {"y"}, ""}) ==
      R"([columns] t.csv has 2 places 3 times; if "id" names the series, use --group id; if all rows are one series, use --group none)");
  // Series that share few places: texts tell these apart, numbers may do so by chance.
  const std::string few = "x,id,y\n1,a,0\n2,a,1\n3,a,\n4,a,3\n5,a,4\n6,a,5\n7,a,6\n5,b,9\n6,b,9\n";
  CHECK(
      doubt_of_series(few, {{"x"}, {"y"}, ""}) ==
      R"([columns] t.csv has 2 places twice; if "id" names the series, use --group id; if all rows are one series, use --group none)");
  std::string numbers = few;
  std::ranges::replace(numbers, 'a', '1');
  std::ranges::replace(numbers, 'b', '2');
  CHECK(doubt_of_series(numbers, {{"x"}, {"y"}, ""}) == "no error");
  CHECK(doubt_of_series("x,note,y\n1,a,0\n1,b,\n2,c,1\n2,d,2\n", {{"x"}, {"y"}, ""}) == "no error");  // notes
  CHECK(doubt_of_series("x,y\n1,0\n1,\n2,1\n2,2\n", {{"x"}, {"y"}, ""}) == "no error");               // replicates
}

TEST_CASE("columns: runs along an input that begin anew") {
  const auto runs = [](std::vector<double> x) { return runs_of_input({x}); };
  const std::vector<double> twice{0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
  REQUIRE(runs(twice));
  CHECK(runs(twice)->count == 2);
  CHECK(runs(twice)->second == 5);
  CHECK(runs({9, 8, 6, 5, 4, 9, 8, 7, 6, 5, 9, 8, 7, 4, 3})->count == 3);
  CHECK_FALSE(runs({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  CHECK_FALSE(runs({0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));     // short
  CHECK_FALSE(runs({0, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9}));     // a clock that is put back
  CHECK_FALSE(runs({0, 0, 1, 1, 2, 2, 3, 3, 4, 4}));           // replicates
  CHECK_FALSE(runs({3, 1, 4, 1.5, 9, 2, 6, 5, 3.5, 8, 9.7}));  // no order
  const std::vector<std::uint32_t> groups{0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  CHECK_FALSE(runs_of_input({twice, {}, groups}));
}
