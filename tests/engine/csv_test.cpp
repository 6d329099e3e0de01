#include "engine/io/csv.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <random>

#include "tests/testing.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;
using namespace std::string_literals;
using Values = std::vector<double>;
using Names = std::vector<std::string>;

namespace {

struct Table {
  Names header;
  Values values;
  std::int64_t rows = 0;
};

Table read_table(const fs::path& path, std::int64_t rows_at_once = 1000) {
  CsvReader reader(path);
  Table table{reader.header(), {}, 0};
  std::int64_t rows = rows_at_once;
  while (rows == rows_at_once) {
    rows = reader.read(rows_at_once, table.values);
    table.rows += rows;
  }
  return table;
}

Table parse(std::string_view text) {
  TemporaryDirectory directory;
  std::ofstream(directory / "t.csv", std::ios::binary) << text;
  return read_table(directory / "t.csv");
}

// Without the folder of the temporary file.
std::string short_error(const auto& f) {
  std::string message = error_of(f);
  const std::size_t slash = message.rfind('/', message.find(']'));
  if (slash != std::string::npos) message.erase(1, slash);
  return message;
}

std::string parse_error(std::string_view text) {
  return short_error([&] { parse(text); });
}

// Runs `f` while `descriptor` stands for `path`.
void redirected(int descriptor, const fs::path& path, int flags, const auto& f) {
  const Descriptor saved(::dup(descriptor));
  const Descriptor file(::open(path.c_str(), flags, 0666));
  ::dup2(file.get(), descriptor);
  f();
  ::dup2(saved.get(), descriptor);
}

}  // namespace

TEST_CASE("csv: values and names") {
  const Table table = parse("x,y\n1,-2.5\n3e-2,+4E+1\n");
  CHECK(table.header == Names{"x", "y"});
  CHECK(table.values == Values{1.0, -2.5, 0.03, 40.0});
  CHECK(table.rows == 2);
}

TEST_CASE("csv: spellings that are accepted") {
  CHECK(parse("x,y\r\n1,2\r\n\r\n \r\n").values == Values{1.0, 2.0});
  CHECK(parse("\xEF\xBB\xBFx\n1").header == Names{"x"});
  CHECK(parse(" x , \"y, in m\" ,\"say \"\"z\"\"\"\n 1 ,\t2, \"3\" \n").header == Names{"x", "y, in m", "say \"z\""});
  CHECK(parse("a,b,c\n 1 ,\t2, \" 3\" \n").values == Values{1.0, 2.0, 3.0});
  CHECK(parse("größe\n.5\n5.").values == Values{0.5, 5.0});
}

TEST_CASE("csv: comments before the header") {
  const Table table = parse("\xEF\xBB\xBF# a, \"b\r\n#\n##\nx,y\n1,2\n");
  CHECK(table.header == Names{"x", "y"});
  CHECK(table.values == Values{1.0, 2.0});
  CHECK(parse("\"#x\",#y\n1,2\n").header == Names{"#x", "#y"});
  CHECK(parse("#" + std::string(3 * CsvReader::kMaxLineBytes / 4, ' ') + "\n#" +
              std::string(3 * CsvReader::kMaxLineBytes / 4, ' ') + "\nx\n1\n")
            .values == Values{1.0});
  CHECK(parse_error("#x\nx\n#\n") == R"([t.csv:3] column "x" holds "#", expected a number)");
  CHECK(parse_error("# x\n#\nx,y\n1\n") == R"([t.csv:4] column "y" is missing, found 1 fields, expected 2)");
  CHECK(parse_error("#x,y\n1,2\n") == "[t.csv:2] holds only numbers, expected column names");
  CHECK(parse_error("# x\n") == "[t.csv] is empty after its comments, expected a line of column names");
  CHECK(parse_error("# x\n\nx\n") == "[t.csv] is empty after its comments, expected a line of column names");
  CHECK(parse_error("#\n#" + std::string(CsvReader::kMaxLineBytes, ' ')) ==
        "[t.csv:2] is a line of more than 1048576 bytes");
  TemporaryDirectory directory;
  std::ofstream(directory / "t.csv") << "#\nx\n";
  CHECK(short_error([&] { CsvReader(directory / "t.csv").column("z"); }) ==
        R"([t.csv:2] has no column "z", found "x")");
}

TEST_CASE("csv: a header alone has no rows") {
  CHECK(parse("x,y").rows == 0);
  CHECK(parse("x,y\n\n").rows == 0);
}

TEST_CASE("csv: rows come in blocks of the size asked for") {
  TemporaryDirectory directory;
  std::ofstream(directory / "t.csv") << "x\n1\n2\n3\n4\n5\n";
  CsvReader reader(directory / "t.csv");
  Values values;
  CHECK(reader.read(0, values) == 0);
  CHECK(reader.read(2, values) == 2);
  CHECK(values == Values{1.0, 2.0});
  CHECK(reader.read(3, values) == 3);
  CHECK(reader.read(3, values) == 0);
  CHECK(values.size() == 5);
}

TEST_CASE("csv: columns by name") {
  TemporaryDirectory directory;
  std::ofstream(directory / "t.csv") << "x1,x2,y\n";
  const CsvReader reader(directory / "t.csv");
  CHECK(reader.column("x2") == 1);
  CHECK(short_error([&] { reader.column("z"); }) == R"([t.csv:1] has no column "z", found "x1", "x2", "y")");
}

TEST_CASE("csv: files that cannot be read") {
  TemporaryDirectory directory;
  CHECK(short_error([&] { CsvReader(directory / "none.csv"); }) == "[none.csv] cannot open: No such file or directory");
  CHECK(parse_error("") == "[t.csv] is empty, expected a line of column names");
  CHECK(parse_error("\n1\n") == "[t.csv] is empty, expected a line of column names");
  const std::string endless(CsvReader::kMaxLineBytes + 1, '1');
  CHECK(parse_error(endless) == "[t.csv:1] is a line of more than 1048576 bytes");
  CHECK(parse_error("x\n1\n" + endless) == "[t.csv:3] is a line of more than 1048576 bytes");
}

TEST_CASE("csv: bad headers") {
  CHECK(parse_error("x,,y\n") == "[t.csv:1] column 2 has no name");
  CHECK(parse_error("x,\n") == "[t.csv:1] column 2 has no name");
  CHECK(parse_error("x,y,x\n") == R"([t.csv:1] has two columns "x")");
  CHECK(parse_error("1,2.5\n3,4\n") == "[t.csv:1] holds only numbers, expected column names");
  CHECK(parse_error("x,\"y\n1,2\n") == "[t.csv:1] column 2 has an opening quote and no closing one");
  CHECK(parse_error("x,\"y\"z\n") == R"([t.csv:1] column "y" goes on after its closing quote)");
  CHECK(parse_error(std::string_view("x\0,y\n", 5)) ==
        R"([t.csv:1] column "x?" has a control character in its name, expected UTF-8 text)");
}

TEST_CASE("csv: bad rows") {
  CHECK(parse_error("x,y\n1,2\n3\n") == R"([t.csv:3] column "y" is missing, found 1 fields, expected 2)");
  CHECK(parse_error("x,y\n1,2,3\n") == R"([t.csv:2] goes on after the last column "y", found 3 fields, expected 2)");
  CHECK(parse_error("x,y\n1,2\n\n3,4\n") == R"([t.csv:3] is blank between rows, expected column "x")");
  CHECK(parse_error("x,y\n1, \n") == R"([t.csv:2] column "y" is empty, expected a number)");
  CHECK(parse_error("x,y\n,2\n") == R"([t.csv:2] column "x" is empty, expected a number)");
}

TEST_CASE("csv: bad numbers") {
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

TEST_CASE("csv: 200,000 rows come back bit for bit") {
  TemporaryDirectory directory;
  std::mt19937_64 generator(7);
  Values values;
  while (values.size() < 600000) {
    const auto value = std::bit_cast<double>(generator());
    if (std::isfinite(value)) values.push_back(value);
  }
  values[0] = std::numeric_limits<double>::denorm_min();
  values[1] = -0.0;
  values[2] = std::numeric_limits<double>::max();
  const Names header{"a", "b, c", "\"d\""};
  CsvWriter writer(directory / "t.csv", header);
  writer.write(std::span(values).first(3000));
  writer.write(std::span(values).subspan(3000));
  writer.commit();
  const Table table = read_table(directory / "t.csv", 777);
  CHECK(table.rows == 200000);
  CHECK(table.header == header);
  CHECK(table.values == values);
  CHECK(std::signbit(table.values[1]));
}

TEST_CASE("csv: the writer") {
  TemporaryDirectory directory;
  const Names header{"x", "y"};
  {
    CsvWriter writer(directory / "t.csv", header);
    writer.write(Values{1.0, 0.1, 1e300, -3.0});
    CHECK(short_error([&] { writer.write(Values{1.0}); }) == "[t.csv] got 1 values, expected a multiple of 2 columns");
    CHECK(short_error([&] {
            writer.write(Values{1.0, std::nan("")});
          }) == R"([t.csv:4] column "y" is nan, expected a finite number)");
  }
  CHECK(directory.count() == 0);
  CHECK(short_error([&] { CsvWriter(directory / "t.csv", {}); }) == "[t.csv] has no columns, expected at least one");
  CsvWriter writer(directory / "t.csv", header);
  writer.write(Values{1.0, 0.1, 1e300, -3.0});
  writer.commit();
  CHECK(read_text(directory / "t.csv") == "x,y\n1,0.1\n1e+300,-3\n");
}

TEST_CASE("csv: comments of the writer") {
  TemporaryDirectory directory;
  const Names header{"#x", "y"}, comments{"one", "", "x from 1, \"to\" 2"};
  CsvWriter writer(directory / "t.csv", header, comments);
  writer.write(Values{1.0, 2.0});
  CHECK(short_error([&] {
          writer.write(Values{1.0, kInfinity});
        }) == R"([t.csv:6] column "y" is inf, expected a finite number)");
  writer.commit();
  CHECK(read_text(directory / "t.csv") == "# one\n# \n# x from 1, \"to\" 2\n\"#x\",y\n1,2\n");
  CHECK(read_table(directory / "t.csv").header == header);
  for (const char* text : {"a\nb", "\r"})
    CHECK(short_error([&] { CsvWriter(directory / "u.csv", header, Names{text}); }) ==
          fmt::format(R"([u.csv] got the comment "{}", expected one line)", *text == 'a' ? "a?b" : "?"));
  CHECK(directory.count() == 1);
}

TEST_CASE("csv: - is standard input and standard output") {
  TemporaryDirectory directory;
  const Names header{"x"};
  std::fflush(stdout);
  redirected(STDOUT_FILENO, directory / "t.csv", O_WRONLY | O_CREAT, [&] {
    CsvWriter writer("-", header);
    writer.write(Values{4.0, 5.0});
    writer.commit();
  });
  redirected(STDIN_FILENO, directory / "t.csv", O_RDONLY, [] { CHECK(read_table("-").values == Values{4.0, 5.0}); });
  std::ofstream(directory / "bad.csv") << "x\ny\n";
  redirected(STDIN_FILENO, directory / "bad.csv", O_RDONLY, [] {
    CHECK(short_error([] { read_table("-"); }) == R"([<stdin>:2] column "x" holds "y", expected a number)");
  });
}

TEST_CASE("csv: mutated files are parsed or refused") {
  TemporaryDirectory directory;
  const fs::path path = directory / "t.csv";
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
    fs::remove(path);  // some file systems flush a file that is written anew, which takes most of the time
    std::ofstream(path, std::ios::binary) << text;
    try {
      const Table table = read_table(path, 2);
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
