#include "datasets/tables/table_writer.h"

#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <random>

#include "tests/datasets/table_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("tables: 200,000 rows come back bit for bit") {
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
  TableWriter writer(directory / "t.csv", header);
  for (std::size_t i = 0; i < values.size(); i += 3) writer.write("", std::span(values).subspan(i, 3));
  writer.commit();
  const Numbers table = read_table(directory / "t.csv");
  CHECK(table.rows == 200000);
  CHECK(table.header == header);
  CHECK(table.values == values);
  CHECK(std::signbit(table.values[1]));
}

TEST_CASE("tables: the writer") {
  TemporaryDirectory directory;
  const Names header{"x", "y"};
  {
    TableWriter writer(directory / "t.csv", header);
    writer.write("", Values{1.0, 0.1});
    writer.write("1e300", Values{-3.0});
    CHECK(short_error([&] {
            writer.write("", Values{1.0, std::nan("")});
          }) == R"([t.csv:4] column "y" is nan, expected a finite number)");
  }
  CHECK(directory.count() == 0);
  CHECK(short_error([&] { TableWriter(directory / "t.csv", {}); }) == "[t.csv] has no columns, expected at least one");
  TableWriter writer(directory / "t.csv", header);
  writer.write("", Values{1.0, 0.1});
  writer.write(" 1e300", Values{-3.0});
  writer.commit();
  CHECK(read_text(directory / "t.csv") == "x,y\n1,0.1\n 1e300,-3\n");
}

TEST_CASE("tables: comments of the writer") {
  TemporaryDirectory directory;
  const Names header{"#x", "y"}, comments{"one", "", "x from 1, \"to\" 2"};
  TableWriter writer(directory / "t.csv", header, comments);
  writer.write("", Values{1.0, 2.0});
  CHECK(short_error([&] {
          writer.write("", Values{1.0, kInfinity});
        }) == R"([t.csv:6] column "y" is inf, expected a finite number)");
  writer.commit();
  CHECK(read_text(directory / "t.csv") == "# one\n# \n# x from 1, \"to\" 2\n\"#x\",y\n1,2\n");
  CHECK(read_table(directory / "t.csv").header == header);
  for (const char* text : {"a\nb", "\r"})
    CHECK(short_error([&] { TableWriter(directory / "u.csv", header, Names{text}); }) ==
          fmt::format(R"([u.csv] got the comment "{}", expected one line)", *text == 'a' ? "a?b" : "?"));
  CHECK(directory.count() == 1);
}

TEST_CASE("tables: - is standard input and standard output") {
  TemporaryDirectory directory;
  const Names header{"x"};
  std::fflush(stdout);
  redirected(STDOUT_FILENO, directory / "t.csv", O_WRONLY | O_CREAT, [&] {
    TableWriter writer("-", header);
    writer.write("4", {});
    writer.write("", Values{5.0});
    writer.commit();
  });
  redirected(STDIN_FILENO, directory / "t.csv", O_RDONLY, [] { CHECK(read_table("-").values == Values{4.0, 5.0}); });
  std::ofstream(directory / "bad.csv") << "x\ny\n";
  redirected(STDIN_FILENO, directory / "bad.csv", O_RDONLY, [] {
    CHECK(short_error([] { read_table("-"); }) == R"([<stdin>:2] column "x" holds "y", expected a number)");
  });
}

TEST_CASE("tables: the writer keeps a table's separator and decimal sign") {
  TemporaryDirectory directory;
  const Names header{"a;b", "c,d", "y"};
  TableWriter writer(directory / "t.csv", header, {}, {';', ','});
  writer.write("1,5;text", Values{-2.25e-9});
  writer.commit();
  CHECK(read_text(directory / "t.csv") == "\"a;b\";\"c,d\";y\n1,5;text;-2,25e-09\n");
  CHECK(TableReader(directory / "t.csv").header() == header);
}
