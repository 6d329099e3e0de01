#include "npzoo/datasets/tables/table_reader.h"
#include "npzoo/datasets/tables/table.h"
#include "npzoo/datasets/tables/table_start.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <random>

#include "tests/datasets/table_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;
using namespace std::string_literals;

TEST_CASE("tables: values and names") {
  const Numbers table = parse("x,y\n1,-2.5\n3e-2,+4E+1\n");
  CHECK(table.header == Names{"x", "y"});
  CHECK(table.values == Values{1.0, -2.5, 0.03, 40.0});
  CHECK(table.rows == 2);
}

TEST_CASE("tables: spellings that are accepted") {
  CHECK(parse("x,y\r\n1,2\r\n\r\n \r\n").values == Values{1.0, 2.0});
  CHECK(parse("\xEF\xBB\xBFx\n1").header == Names{"x"});
  CHECK(parse(" x , \"y, in m\" ,\"say \"\"z\"\"\"\n 1 ,\t2, \"3\" \n").header == Names{"x", "y, in m", "say \"z\""});
  CHECK(parse("a,b,c\n 1 ,\t2, \" 3\" \n").values == Values{1.0, 2.0, 3.0});
  CHECK(parse("größe\n.5\n5.").values == Values{0.5, 5.0});
}

TEST_CASE("tables: comments before the header") {
  const Numbers table = parse("\xEF\xBB\xBF# a, \"b\r\n#\n##\nx,y\n1,2\n");
  CHECK(table.header == Names{"x", "y"});
  CHECK(table.values == Values{1.0, 2.0});
  CHECK(parse("\"#x\",#y\n1,2\n").header == Names{"#x", "#y"});
  CHECK(parse("#" + std::string(3 * TableReader::kMaxRowBytes / 4, ' ') + "\n#" +
              std::string(3 * TableReader::kMaxRowBytes / 4, ' ') + "\nx\n1\n")
            .values == Values{1.0});
  CHECK(parse_error("x\n#\n") == R"([t.csv:2] column "x" holds "#", expected a number)");
  CHECK(parse("# a\nx,y\n1,2\n# b\n#\n3,4\n#\n").values == Values{1, 2, 3, 4});
  CHECK(parse_error("# x\n#\nx,y\n1\n") == R"([t.csv:4] column "y" is missing, found 1 fields, expected 2)");
  CHECK(parse("# u, v\n#\n#x,y\n1,2\n").header == Names{"x", "y"});  // names in a comment
  CHECK(parse("# x y\n1 2\n").values == Values{1, 2});
  CHECK(parse_error("#x,y,z\n1,2\n") ==
        "[t.csv:2] holds only numbers, expected column names: add a line of names above it");
  CHECK(parse_error("# x\n") == "[t.csv] is empty after its comments, expected a line of column names");
  CHECK(parse("# x\n\nx\n").header == Names{"x"});
  CHECK(parse_error("#\n#" + std::string(TableReader::kMaxRowBytes, ' ')) ==
        "[t.csv:2] is a line of more than 16777216 bytes");
  TemporaryDirectory directory;
  std::ofstream(directory / "t.csv") << "#\nx\n";
  CHECK(refusal([&] { TableReader(directory / "t.csv").format().column("z"); }) ==
        R"([t.csv:2] has no column "z", found "x")");
}

TEST_CASE("tables: a header alone has no rows") {
  CHECK(parse("x,y").rows == 0);
  CHECK(parse("x,y\n\n").rows == 0);
}

TEST_CASE("tables: columns by name") {
  TemporaryDirectory directory;
  std::ofstream(directory / "t.csv") << "x1,x2,y\n";
  const TableReader reader(directory / "t.csv");
  CHECK(reader.format().column("x2") == 1);
  CHECK(refusal([&] { reader.format().column("z"); }) == R"([t.csv:1] has no column "z", found "x1", "x2", "y")");
}

TEST_CASE("tables: files that cannot be read") {
  TemporaryDirectory directory;
  CHECK(refusal([&] { TableReader(directory / "none.csv"); }) == "[none.csv] cannot open: No such file or directory");
  CHECK(parse_error("") == "[t.csv] is empty, expected a line of column names");
  CHECK(parse_error("\n\n") == "[t.csv] is empty, expected a line of column names");
  CHECK(parse("\nx\n1\n").header == Names{"x"});
  const std::string endless(TableReader::kMaxRowBytes + 1, '1');
  CHECK(parse_error(endless) == "[t.csv:1] is a line of more than 16777216 bytes");
  CHECK(parse_error("x\n1\n" + endless) == "[t.csv:3] is a line of more than 16777216 bytes");
}

TEST_CASE("tables: bad headers") {
  CHECK(parse_error("x,,y\n") == "[t.csv:1] column 2 has no name");
  CHECK(parse_error("x,\n") == "[t.csv:1] column 2 has no name");
  CHECK(parse_error("x,y,x\n") == R"([t.csv:1] has two columns "x")");
  CHECK(parse_error("1,2.5\n3,4\n") ==
        "[t.csv:1] holds only numbers, expected column names: add a line of names above it");
  CHECK(parse_error("x,\"y\n1,2\n") == "[t.csv:1] column 2 has an opening quote and no closing one");
  CHECK(parse_error("x,\"y\"z\n") == R"([t.csv:1] column "y" has text after its closing quote)");
  CHECK(parse_error(std::string_view("x\0,y\n", 5)) ==
        "[t.csv:1] holds a byte of value 0, expected a table as text in UTF-8 (CSV)");
  CHECK(parse_error("x\x1b,y\n") ==
        R"([t.csv:1] column "x?" has a control character in its name, expected UTF-8 text)");
}

TEST_CASE("tables: rows of data are no names") {
  const std::string remedy = ", found data, expected column names: add a line of names above it";
  CHECK(parse_error("A,2024-01-01,5\nA,2024-01-02,6\n") ==
        R"([t.csv:1] has the name "2024-01-01" above dates)" + remedy);
  CHECK(parse_error("A,2.5\nB,1.5\n") == R"([t.csv:1] has the name "2.5" above numbers)" + remedy);
  CHECK(parse("day,0.5,2.5\n1,1.5,1.5\n").header == Names{"day", "0.5", "2.5"});  // depths
  const std::array<std::string_view, 2> row{"A,1.5,2.5,3.5,4.5", "B,1.5,1.5,1.5,1.5"};
  CHECK(!data_among_names("place,0.5,1.5,2.5,3.5", row, ','));
}

TEST_CASE("tables: rows with one cell more than names") {
  const auto header = [](std::string_view text) {
    ReadTable table("t.csv", text);
    return (*table).header();
  };
  CHECK(header("x\ty\na\t1\t2\nb\t3\t4\n") == Names{"", "x", "y"});
  CHECK(header("x,y\n\"1\",1,2\n\"2\",3,4\n") == Names{"", "x", "y"});
  CHECK(header("x,y\n1,2,\n3,4,\n") == Names{"x", "y", ""});
  CHECK(header("x|y\n1|2\n3|4\n") == Names{"x", "y"});
  CHECK(parse_error("x,y\n1,2,5\n2,3,5\n").find("has more fields") != std::string::npos);  // decimal commas
}

TEST_CASE("tables: bad rows") {
  CHECK(parse_error("x,y\n1,2\n3\n") == R"([t.csv:3] column "y" is missing, found 1 fields, expected 2)");
  CHECK(parse_error("x,y\n1,2,3\n") ==
        R"([t.csv:2] has more fields after the last column "y", found 3 fields, expected 2)");
  CHECK(parse("x,y\n1,2\n\n,\n3,4\n\n").values == Values{1, 2, 3, 4});
  CHECK(parse_error("x\n1\n\n3\n") == R"([t.csv:3] is blank between rows, expected column "x")");
  const std::string rows = "x,y\n1,2\n3,4\n", missing = R"( column "y" is missing, found 1 fields, expected 2)";
  CHECK(parse_error(rows + "END\n") == "[t.csv:4]" + missing + "; if the table ends above, delete line 4");
  CHECK(parse_error(rows + "\nNotes:\n1 a, b, c\n") ==
        "[t.csv:5]" + missing + "; if the table ends above, delete the lines from 5 on");
  CHECK(parse_error(rows + "END\n5,6\n") == "[t.csv:4]" + missing);
  CHECK(parse_error(rows + "5\n") == "[t.csv:4]" + missing);
  CHECK(parse_error("x,y\n1, \n") == R"([t.csv:2] column "y" is empty, expected a number)");
  CHECK(parse_error("x,y\n,2\n") == R"([t.csv:2] column "x" is empty, expected a number)");
}

TEST_CASE("tables: bad numbers") {
  for (const char* text : {"abc", "1.2.3", "0x10", "1 2", "--1", "+-1", "1e", "-", "1\u00a0", "1;2"})
    CHECK(parse_error(fmt::format("x,y\n1,2\n1,{}\n", text)) ==
          fmt::format(R"([t.csv:3] column "y" holds "{}", expected a number)", text));
  for (const char* text : {"nan", "NaN", "inf", "-inf", "Infinity"})
    CHECK(parse_error(fmt::format("x\n{}\n", text)) ==
          fmt::format(R"([t.csv:2] column "x" holds "{}", expected a finite number)", text));
  CHECK(parse_error("x\n1e999\n") == R"([t.csv:2] column "x" holds "1e999", expected a number that a double can hold)");
  CHECK(parse_error("x\na\tb\x1b\n") == R"([t.csv:2] column "x" holds "a?b?", expected a number)");
  CHECK(parse_error("x\n" + std::string(39, 'a') + "é\n") ==
        fmt::format(R"([t.csv:2] column "x" holds "{}…", expected a number)", std::string(39, 'a')));
}

TEST_CASE("tables: separators are found from the header") {
  CHECK(parse("x;y\n1;2\n").values == Values{1, 2});
  CHECK(parse("x\ty\n1\t2\n").values == Values{1, 2});
  CHECK(parse("\"a,b\";y\n1;2\n").header == Names{"a,b", "y"});
  CHECK(parse("x,\ty\n1,2\n").header == Names{"x", "y"});
  CHECK(parse("x y\n1\n").header == Names{"x y"});
  CHECK(parse("a,b;c\n1,2\n").header == Names{"a", "b;c"});  // the rows decide
  CHECK(parse("a,b;c\n1,5;2\n").values == Values{1.5, 2});
  CHECK(
      parse_error("a,b;c\n") ==
      R"([t.csv:1] has "," and ";" between its names, expected one separator, and quotes around names that hold another)");
  CHECK(
      parse_error("a\tb;c\n1\t2;3\n") ==
      R"([t.csv:1] has ";" and a tab between its names, expected one separator, and quotes around names that hold another)");
}

TEST_CASE("tables: decimal commas where the separator leaves no doubt") {
  CHECK(parse("x;y\n1,5;-2,25e3\n3;,5\n").values == Values{1.5, -2250, 3, 0.5});
  CHECK(parse("x\ty\n1,234\t+0,5\n").values == Values{1.234, 0.5});
  CHECK(parse("x;y\n1.5;2\n").values == Values{1.5, 2});
  CHECK(parse_error("x;y\n1.5;2,5\n") ==
        R"([t.csv:2] column "y" holds "2,5", expected a decimal point, like the other numbers of the table)");
  CHECK(parse_error("x;y\n1,5;2\n1;2.5\n") ==
        R"([t.csv:3] column "y" holds "2.5", expected a decimal comma, like the other numbers of the table)");
  CHECK(parse_error("x,y\n1,\"2,5\"\n") == R"([t.csv:2] column "y" holds "2,5", expected a number)");
}

TEST_CASE("tables: dates become days") {
  CHECK(parse("t,y\n2020-02-28,1\n2020-03-01 12:00,2\n2020-02-27,3\n").values == Values{0, 1, 2.5, 2, -1, 3});
  CHECK(parse("t,y\n2020-02-28T01:00+01:00,1\n2020-02-28T06:00Z,2\n").values == Values{0, 1, 0.25, 2});
  CHECK(
      parse_error("t,y\n2020-02-28T01:00Z,1\n2020-02-28T06:00,2\n") ==
      R"([t.csv:3] column "t" holds "2020-02-28T06:00", expected a time with a zone (Z or +01:00), like the others of the column)");
  CHECK(
      parse_error("t,y\n2020-02-28,1\n2020-02-28T06:00Z,2\n") ==
      R"([t.csv:3] column "t" holds "2020-02-28T06:00Z", expected a time without a zone, like the others of the column)");
  CHECK(parse_error("t,y\n2020-02-28,1\n5,2\n") ==
        R"([t.csv:3] column "t" holds "5", expected a date, like the others of the column)");
  CHECK(parse_error("t,y\n5,2\n2020-02-28,1\n") ==
        R"([t.csv:3] column "t" holds "2020-02-28", expected a number, like the others of the column)");
  CHECK(parse_error("t,y\n2020-02-28,2\n,1\n") == R"([t.csv:3] column "t" is empty, expected a date)");
  for (const char* text : {"01/02/2020", "1.2.2020"})
    CHECK(parse_error(fmt::format("t\n{}\n", text)) ==
          fmt::format(
              R"([t.csv:2] column "t" holds "{}", expected a number, or a date as ISO 8601 writes it: 2020-02-01; )"
              "predict reads other orders with --dates dmy, mdy or ymd",
              text));
  for (const char* text : {"2020-02-30", "12:30"})
    CHECK(parse_error(fmt::format("t\n{}\n", text)) ==
          fmt::format(
              R"([t.csv:2] column "t" holds "{}", expected a number, or a date as ISO 8601 writes it: 2020-02-01 or )"
              "2020-02-01T12:30",
              text));
}

TEST_CASE("tables: quotes may hold separators, quotes and lines") {
  TemporaryDirectory directory;
  std::ofstream(directory / "t.csv") << "x,name,y\n1,\"a, \"\"b\"\"\nc\",2\r\n3,\"\",4\n5, d\"e ,x\n";
  const Table table = Table::read(directory / "t.csv");
  CHECK(table.rows() == 3);
  CHECK(table.text(0) == "1,\"a, \"\"b\"\"\nc\",2");
  CHECK(table.line(0) == 2);
  CHECK(table.line(1) == 4);
  CHECK(table.line(2) == 5);
  TableReader reader(directory / "t.csv");
  CHECK((reader.next() && reader.cells()[1] == "a, \"b\"\nc"));
  CHECK((reader.next() && reader.cells()[1].empty()));
  CHECK((reader.next() && reader.cells()[1] == "d\"e"));
  CHECK(reader.line() == 5);
  CHECK(parse_error("x,y\n1,\"2\n3,4\n") == R"([t.csv:2] column "y" has an opening quote and no closing one)");
  CHECK(parse_error("x,y\n1,\"2\"3\n") == R"([t.csv:2] column "y" has text after its closing quote)");
  CHECK(parse_error("x\n\"" + std::string(TableReader::kMaxRowBytes, '\n')) ==
        R"([t.csv:2] column "x" has an opening quote and no closing one)");
}

TEST_CASE("tables: the cells of a column decide its kind") {
  TemporaryDirectory directory;
  std::ofstream(directory / "t.csv")
      << "n;d;w;e;m\n1,5;2020-01-01;a;;1\nNA;-;1;NaN;2020-01-01\n2;2020-01-02;null;n/a;\n";
  Table table = Table::read(directory / "t.csv");
  using Kind = ColumnSummary::Kind;
  const std::vector<ColumnSummary> found = table.summaries();
  const Kind kinds[] = {Kind::number, Kind::time, Kind::text, Kind::empty, Kind::text};
  const std::int64_t missing[] = {1, 1, 1, 3, 1};
  for (std::size_t c = 0; c < 5; ++c) {
    CHECK(found[c].kind == kinds[c]);
    CHECK(found[c].missing == missing[c]);
  }
  const std::size_t columns[] = {1, 0};
  const std::vector<NumberColumn> numbers = table.numbers(columns, {});
  CHECK(numbers[0].values[2] == 1);
  CHECK(std::isnan(numbers[0].values[1]));
  CHECK(numbers[0].form.text(1) == "2020-01-02");
  CHECK(numbers[1].values[0] == 1.5);
  CHECK(table.decimal_sign() == ',');
  CHECK(refusal([&] { table.numbers(columns, {}, columns); }) == R"([t.csv:3] column "d" holds "-", expected a date)");
  CHECK(refusal([&] { (void)table.labels(0); }) == R"([t.csv:3] column "n" is empty, expected the name of a group)");
  std::ofstream(directory / "u.csv") << "id\n b\n\"a\"\nb\n";
  const Table::Labels labels = Table::read(directory / "u.csv").labels(0);
  CHECK(labels.names == Names{"b", "a"});
  CHECK(labels.of_rows == std::vector<std::uint32_t>{0, 1, 0});
}

TEST_CASE("tables: mutated files are parsed or refused") {
  TemporaryDirectory directory;
  const std::filesystem::path path = directory / "t.csv";
  const std::vector<std::string> seeds = {"x,y\n1,2\n3,4\n", "\xEF\xBB\xBF\"a\"\"b\",c\r\n-1e-3, +2\r\n\r\n",
                                          "x1,x2,y\n0.5,1e10,-3\n\"4\",5,6\n7,8,9", "t\n\n", "# a\n#b\nx,y\n1,2\n"};
  const std::string alphabet = "0123456789+-.eE,\"\r\n\t xyinfa\xEF\xBB\xBF\xFF;#\0"s;
  std::mt19937 generator(11);
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(generator); };
  int parsed = 0;
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = seeds[below(seeds.size())];
    for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size());
      const std::string piece(1 + below(2), alphabet[below(alphabet.size())]);
      text.replace(at, below(std::min<std::size_t>(3, text.size() - at) + 1), piece);
    }
    std::filesystem::remove(path);  // some file systems flush a file that is written anew, which takes most of the time
    std::ofstream(path, std::ios::binary) << text;
    try {
      const Numbers table = read_table(path);
      REQUIRE(table.values.size() == static_cast<std::size_t>(table.rows) * table.header.size());
      for (const double value : table.values) REQUIRE(std::isfinite(value));
      ++parsed;
    } catch (const Error& error) {
      REQUIRE(std::string_view(error.what()).find('\n') == std::string_view::npos);
      ++refused;
    }
  }
  CHECK(parsed > 1000);
  CHECK(refused > 1000);
}
