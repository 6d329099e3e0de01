#include "npzoo/datasets/tables/degree_text.h"

#include <doctest/doctest.h>

#include "tests/datasets/table_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("degrees: angles with their sign are numbers") {
  const struct {
    const char* text;
    double degrees;
  } angles[] = {{"52°31'12\"N", 52.52},     {"52°31'12\"\"N", 52.52}, {"13° 24.6′ W", -13.41},  {"N 52.52°", 52.52},
                {"-33°51'", -33.85},        {"33°51'36\"S", -33.86},  {"0°30''", 30.0 / 3600},  {"7,5° E", 7.5},
                {"120º 15’ 36” E", 120.26}, {"12.5°", 12.5},          {"52°31′12.36″", 52.5201}};
  for (const auto& angle : angles) {
    const auto found = parse_degrees(angle.text);
    REQUIRE_MESSAGE(found.has_value(), angle.text);
    CHECK(*found == doctest::Approx(angle.degrees).epsilon(1e-12));
  }
  for (const char* other : {"", "12", "12 °C", "°C", "52°61'N", "52°31'72\"", "400°", "N 5° S", "-5° W", "5°N5'", "x°",
                            "1.2.3°", "5° North"})
    CHECK_MESSAGE(!parse_degrees(other), other);
}

TEST_CASE("degrees: columns of a table") {
  const Numbers table = parse("lat,lon\n52°31'12\"N,13°30'W\n52.52° N,-13.5°\n");
  REQUIRE(table.rows == 2);
  for (std::size_t row = 0; row < 2; ++row) {
    CHECK(table.values[2 * row] == doctest::Approx(52.52));
    CHECK(table.values[2 * row + 1] == doctest::Approx(-13.5));
  }
}
