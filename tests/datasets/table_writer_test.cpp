#include "npzoo/datasets/tables/table_writer.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <random>

#include "npzoo/datasets/tables/prediction_rows.h"
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
    CHECK(refusal([&] {
            writer.write("", Values{1.0, std::nan("")});
          }) == R"([t.csv:4] column "y" is nan, expected a finite number)");
  }
  CHECK(directory.count() == 0);
  CHECK(refusal([&] { TableWriter(directory / "t.csv", {}); }) == "[t.csv] has no columns, expected at least one");
  TableWriter writer(directory / "t.csv", header);
  writer.write("", Values{1.0, 0.1});
  writer.write(" 1e300", Values{-3.0});
  writer.commit();
  CHECK(read_text(directory / "t.csv") == "x,y\n1,0.1\n 1e300,-3\n");
}

TEST_CASE("tables: a decimal sign that separates cells as well needs quotes") {
  TemporaryDirectory directory;
  const Names header{"x", "y", "z"};
  TableWriter writer(directory / "t.csv", header, {}, {.separator = ',', .decimal_sign = ','});
  writer.write("\"1,5\"", Values{-0.25, 3});
  writer.write("2", Values{1e-7, 1.5e300});
  writer.commit();
  CHECK(read_text(directory / "t.csv") == "x,y,z\n\"1,5\",\"-0,25\",3\n2,1e-07,\"1,5e+300\"\n");
  TableWriter plain(directory / "u.csv", header, {}, {.separator = ';', .decimal_sign = ','});
  plain.write("1,5", Values{-0.25, 3});
  plain.commit();
  CHECK(read_text(directory / "u.csv") == "x;y;z\n1,5;-0,25;3\n");
}

TEST_CASE("tables: comments of the writer") {
  TemporaryDirectory directory;
  const Names header{"#x", "y"}, comments{"one", "", "x from 1, \"to\" 2"};
  TableWriter writer(directory / "t.csv", header, comments);
  writer.write("", Values{1.0, 2.0});
  CHECK(refusal([&] {
          writer.write("", Values{1.0, kInfinity});
        }) == R"([t.csv:6] column "y" is inf, expected a finite number)");
  writer.commit();
  CHECK(read_text(directory / "t.csv") == "# one\n# \n# x from 1, \"to\" 2\n\"#x\",y\n1,2\n");
  CHECK(read_table(directory / "t.csv").header == header);
  for (const char* text : {"a\nb", "\r"})
    CHECK(refusal([&] { TableWriter(directory / "u.csv", header, Names{text}); }) ==
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
    CHECK(refusal([] { read_table("-"); }) == R"([<stdin>:2] column "x" holds "y", expected a number)");
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

TEST_CASE("predictions: values get the decimals that four digits of their standard deviation have") {
  CHECK(round_to_std(141.1749639, 0.35512345) == 141.175);
  CHECK(round_to_std(0.35512345, 0.35512345) == 0.3551);
  CHECK(round_to_std(11.0573181071, 0.0072472133) == 11.057318);
  CHECK(round_to_std(2813669.4, 5382.4) == 2813669);
  CHECK(round_to_std(2813669.4, 53824) == 2813670);
  CHECK(round_to_std(-2813669.4, 5382412) == -2814000);
  CHECK(round_to_std(1e-9, 53824) == 0);
  CHECK(round_to_std(7, 53824) == 10);
  CHECK(round_to_std(-7, 53824) == -10);
  CHECK(round_to_std(0.9999999, 0.5) == 1);
  CHECK(round_to_std(3e-300, 1.23456e-301) == 3e-300);
  CHECK(round_to_std(1.23456789e300, 1.5e298) == 1.23457e300);
  CHECK(round_to_std(123456789.123456, 1e-3, 9) == 123456789.123456);
  CHECK(round_to_std(0.123456789123, 0.5, 9) == 0.123456789);
  for (const double std : {0.0, -1.0, std::nan(""), HUGE_VAL}) CHECK(round_to_std(1.23456789, std) == 1.23456789);
  CHECK(std::isnan(round_to_std(std::nan(""), 1)));
  CHECK(round_to_std(HUGE_VAL, 1) == HUGE_VAL);
}
