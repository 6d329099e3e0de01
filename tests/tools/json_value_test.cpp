#include "tools/cli/json_value.h"

#include <doctest/doctest.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "npzoo/engine/random.h"

using namespace npzoo;
using namespace npzoo::tools;

TEST_CASE("json value: its sources, and how they are printed") {
  CHECK(JsonValue().dump() == "null");
  CHECK(JsonValue(true).dump() == "true");
  CHECK(JsonValue(-3).dump() == "-3");
  CHECK(JsonValue(std::numeric_limits<std::int64_t>::min()).dump() == "-9223372036854775808");
  CHECK(JsonValue(std::numeric_limits<std::uint64_t>::max()).dump() == "18446744073709551615");
  CHECK(JsonValue(std::uintmax_t{7}).dump() == "7");
  CHECK(JsonValue("a text").dump() == R"("a text")");
  CHECK(JsonValue(std::string("another")).dump() == R"("another")");
  CHECK(JsonValue(std::optional<int>(5)).dump() == "5");
  CHECK(JsonValue(std::optional<double>()).dump() == "null");
  CHECK(JsonValue::array().dump() == "[]");
  CHECK(JsonValue::object().dump() == "{}");
  CHECK(JsonValue::array(std::vector<std::string>{"x", "y"}).dump() == R"(["x","y"])");
}

TEST_CASE("json value: numbers are read back as they were, and NaN is null") {
  CHECK(JsonValue(1.0).dump() == "1.0");
  CHECK(JsonValue(-0.0).dump() == "-0.0");
  CHECK(JsonValue(0.1).dump() == "0.1");
  CHECK(JsonValue(1e300).dump() == "1e+300");
  for (const double none : {std::nan(""), std::numeric_limits<double>::infinity(), -HUGE_VAL})
    CHECK(JsonValue(none).dump() == "null");
  Random random(0);
  for (int i = 0; i < 1000; ++i) {
    const double value = random.normal() * std::exp2(100 * random.normal());
    const std::string text = JsonValue(value).dump();
    double found = 0;
    std::from_chars(text.data(), text.data() + text.size(), found);
    CHECK(found == value);
  }
}

TEST_CASE("json value: keys are in alphabetical order, the last value of a key stays") {
  JsonValue row = JsonValue::object({{"b", 1}, {"a", JsonValue::array(std::vector{1, 2})}});
  row.update({{"c", nullptr}, {"b", 2}});
  row.set("B", JsonValue::object({{"deep", true}}));
  row.update(JsonValue::object({{"a", "new"}, {"d", 0.5}}));
  CHECK(row.dump() == R"({"B":{"deep":true},"a":"new","b":2,"c":null,"d":0.5})");
  CHECK(JsonValue::array(std::vector{1}).dump(1) == "[\n 1\n]");
  JsonValue made;
  made.set("of", "null");
  CHECK(made.dump(2) == "{\n  \"of\": \"null\"\n}");
}

TEST_CASE("json value: a copy is a value of its own") {
  JsonValue row = JsonValue::object({{"a", 1}}), rows = JsonValue::array();
  const JsonValue before = row;
  rows.push_back(row);
  row.set("a", 2);
  rows.push_back(row);
  CHECK(before.dump() == R"({"a":1})");
  CHECK(rows.dump() == R"([{"a":1},{"a":2}])");
  row = before;
  CHECK(row.dump() == before.dump());
}

TEST_CASE("json value: texts are escaped, and bytes that are not UTF-8 are replaced") {
  CHECK(JsonValue("\"\\/\n\t\x01 ü").dump() == R"("\"\\/\n\t\u0001 ü")");
  CHECK(JsonValue("a\xff"
                  "b\xc3")
            .dump() ==
        "\"a\xEF\xBF\xBD"
        "b\xEF\xBF\xBD\"");
  CHECK(JsonValue(std::string_view("a\0b", 3)).dump() == R"("a\u0000b")");
  CHECK(JsonValue::object({{"\xfe", 1}}).dump() == "{\"\xEF\xBF\xBD\":1}");
}
