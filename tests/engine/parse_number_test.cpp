#include "npzoo/engine/io/parse_number.h"

#include <doctest/doctest.h>

#include <bit>
#include <clocale>
#include <cstdint>
#include <random>
#include <string>

namespace npzoo {
namespace {

/// The two readers must agree on the end, the error and all bits of the value.
void check_agreement(const std::string& text) {
  CAPTURE(text);
  double expected = -77, found = -77;
  const auto by_library = parse_number(text, expected), by_strtod = parse_number_by_strtod(text, found);
  CHECK(by_strtod.ptr == by_library.ptr);
  CHECK(by_strtod.ec == by_library.ec);
  CHECK(std::bit_cast<std::uint64_t>(found) == std::bit_cast<std::uint64_t>(expected));
}

TEST_CASE("parse number: strtod takes the same texts as std::from_chars") {
  for (const char* text : {"",
                           "-",
                           "+1",
                           " 1",
                           "1 ",
                           "1,5",
                           "-0",
                           "0x10",
                           "1e",
                           "1e+",
                           "1e-",
                           "1e5x",
                           "1.",
                           ".5",
                           ".",
                           "-.5e-3",
                           "..5",
                           "1..5",
                           "inf",
                           "-INF",
                           "infinit",
                           "Infinity",
                           "nan",
                           "NaN",
                           "nan(a1)",
                           "nan(a",
                           "nan(-)",
                           "nano",
                           "1e308",
                           "1e309",
                           "-1e400",
                           "4.9e-324",
                           "--1",
                           "1_000",
                           "1e0005",
                           "00012",
                           "1.5e+03.",
                           "e5",
                           "-e5",
                           "i",
                           "n",
                           "1d5",
                           "1.0f",
                           "123456789012345678901234567890",
                           "0.1000000000000000055511151231257827021181583404541015625",
                           "2.2250738585072011e-308",
                           "9007199254740993",
                           "1.7976931348623159e308",
                           "1e-400",
                           "-1e-323"})
    check_agreement(text);
}

TEST_CASE("parse number: strtod rounds as std::from_chars") {
  std::mt19937_64 random(68);
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 2 == 0 ? "-" : "";
    const int digits = 1 + static_cast<int>(random() % 25), point = static_cast<int>(random() % 25);
    for (int d = 0; d < digits; ++d) {
      if (d == point) text += '.';
      text += static_cast<char>('0' + random() % 10);
    }
    if (i % 3 == 0) text += "e" + std::to_string(static_cast<int>(random() % 500) - 250);
    check_agreement(text);
  }
}

TEST_CASE("parse number: the decimal mark of the locale has no effect") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) {
    MESSAGE("skipped: this machine has no locale de_DE.UTF-8");
    return;
  }
  double found = 0;
  parse_number_by_strtod("2.5", found);
  std::setlocale(LC_NUMERIC, before.c_str());
  CHECK(found == 2.5);
}

}  // namespace
}  // namespace npzoo
