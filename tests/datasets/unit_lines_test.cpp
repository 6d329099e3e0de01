#include "npzoo/datasets/tables/unit_lines.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tests/datasets/table_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

Table table_of(const std::string& text) {
  TemporaryDirectory directory;
  std::ofstream(directory / "t.csv", std::ios::binary) << text;
  return Table::read(directory / "t.csv");
}

}  // namespace

TEST_CASE("lines of units: units and notations of dates") {
  for (const char* unit : {"°C", "mm", "kg/m3", "W m-2", "m^3·s⁻¹", "µg/m³", "%", "[anything]", "(deg N)", "yyyy-mm-dd",
                           "YYYY-MM-DD hh:mm", "UTC", "EUR/MWh", "kWh", "Avg", " mg/l "})
    CHECK_MESSAGE(is_unit(unit), unit);
  for (const char* word : {"", "warm", "north", "time", "value", "2024-01-01", "3", "mm per", "a b c d e", "/", "m//s"})
    CHECK_MESSAGE(!is_unit(word), word);
}

TEST_CASE("lines of units: they are skipped, and lines are counted from the file") {
  const Table one = table_of("time,air,rain\n,°C,mm\n2024-01-01,3,0\n2024-01-02,,1\n");
  CHECK(one.unit_lines() == 1);
  CHECK(one.rows() == 2);
  CHECK(one.line(0) == 3);
  const Table two = table_of("TIMESTAMP;T;WS\nTS;\"°C\";m/s\n;Avg;Smp\n01.02.2024 10:00;3;0\n01.02.2024 10:10;4;1\n");
  CHECK(two.unit_lines() == 2);
  CHECK(two.line(1) == 5);
}

TEST_CASE("lines of units: rows of data are none") {
  for (const char* text : {"sex,y\nm,\nf,3\nm,4\n",                 // a word above words
                           "t,y\n-,-\n1,3\n2,4\n",                  // nothing
                           "t,y\n1,mm\n2,3\n3,4\n",                 // a number beside it
                           "t,y\nday,warm\n1,3\n2,4\n",             // a word that is no unit
                           "state,y\ns,m\nopen,3\nshut,4\ns,m\n"})  // a unit further down
    CHECK_MESSAGE(table_of(text).unit_lines() == 0, text);
}

TEST_CASE("units of cells: columns of numbers with one unit are read without it") {
  const auto values = [](const std::string& cells, std::size_t column = 1) {
    std::string text = "t;y\n";
    for (std::size_t begin = 0, row = 0; begin <= cells.size(); ++row) {
      const std::size_t end = std::min(cells.find('|', begin), cells.size());
      text += std::to_string(row) + ";" + cells.substr(begin, end - begin) + "\n";
      begin = end + 1;
    }
    Table table = table_of(text);
    CHECK((table.summaries()[column].kind == ColumnSummary::Kind::number));
    Values found = table.numbers({&column, 1}, {})[0].values;
    std::erase_if(found, [](double y) { return std::isnan(y); });
    return std::pair{table.unit(column), found};
  };
  CHECK(values("12 %|3.5%||-4 %") == std::pair{std::string("%"), Values{12, 3.5, -4}});
  CHECK(values("12,5 mm|3,25 mm||4 mm") == std::pair{std::string("mm"), Values{12.5, 3.25, 4}});
  CHECK(values("1.234,50 €|2 €||3,5 €") == std::pair{std::string("€"), Values{1234.5, 2, 3.5}});
  CHECK(values("$12|$3.50||$4") == std::pair{std::string("$"), Values{12, 3.5, 4}});
  CHECK(values("1|2||3").first.empty());
}

TEST_CASE("units of cells: other texts with numbers stay texts") {
  for (const char* cells :
       {"12 %|3 mm|4 mm", "12 %|3|4", "3A|4A|5A", "43.4M|2M|3M", "12 %|3 %", "12-|3-|4-", "1 apple|2 apple|3 apple"}) {
    std::string text = "y\n" + std::string(cells) + "\n";
    std::ranges::replace(text, '|', '\n');
    Table table = table_of(text);
    CHECK_MESSAGE((table.summaries()[0].kind == ColumnSummary::Kind::text), cells);
  }
}
