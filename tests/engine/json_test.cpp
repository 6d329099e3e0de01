#include "npzoo/engine/io/json.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/engine/text_fixtures.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;
using nlohmann::json;

namespace {

std::string nested(std::string_view open, std::string_view close, std::int64_t levels) {
  return repeated(open, levels) + "1" + repeated(close, levels);
}

std::string json_message(std::string_view text) {
  return error_of([&] { parse_json(text, "[json] f"); });
}

}  // namespace

TEST_CASE("json: reads valid JSON") {
  CHECK(parse_json(R"({"a": [1, 2.5, null, "[\"{\\"]})", "[json] f") == json{{"a", {1, 2.5, nullptr, "[\"{\\"}}});
  CHECK(parse_json(" 7 ", "[json] f") == 7);
  CHECK(parse_json(nested("[", "]", kMaxJsonDepth), "[json] f").is_array());
  CHECK(parse_json("[" + repeated("[[]],", 10'000) + "{}]", "[json] f").size() == 10'001);
  CHECK(parse_json("\"" + repeated("[{", 1000) + "\"", "[json] f").is_string());
}

TEST_CASE("json: depth and size are bounded before anything is parsed") {
  const std::string expected = fmt::format("[json] f: more than {} levels of JSON at byte ", kMaxJsonDepth);
  CHECK(json_message(nested("[", "]", kMaxJsonDepth + 1)) == expected + "64");
  CHECK(json_message(nested("[", "]", 3'000'000)) == expected + "64");
  CHECK(json_message(nested("{\"a\":", "}", 1'000'000)) == expected + "320");
  CHECK(json_message(repeated("[{\"\\\"\":", 500'000)) == expected + "224");
  const std::string large = fmt::format("[{}]", std::string(kMaxJsonBytes, ' '));
  CHECK(json_message(large) ==
        fmt::format("[json] f: {} bytes of JSON found, expected at most {}", kMaxJsonBytes + 2, kMaxJsonBytes));
}

TEST_CASE("json: invalid JSON is a one-line error") {
  using namespace std::string_view_literals;
  struct Case {
    std::string_view text;
    const char* expected;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"", "invalid JSON at byte 0"},
           {"{\"a\":\n", "invalid JSON at byte 6"},
           {"[1, 2", "invalid JSON at byte 5"},
           {"[1] 2", "invalid JSON at byte 4"},
           {"\"\xFF\"", "invalid JSON at byte 1"},
           {"NaN", "invalid JSON at byte 0"},
           {"1\0[[["sv, "invalid JSON at byte 1"},
           {"[1e999]", "a number is larger than any double"},
       }) {
    CAPTURE(c.text);
    CHECK(json_message(c.text) == std::string("[json] f: ") + c.expected);
    CHECK(parse_json_or_discard(c.text).is_discarded());
  }
  CHECK(parse_json_or_discard(nested("[", "]", 1'000'000)).is_discarded());
  CHECK(parse_json_or_discard("[1]") == json::array({1}));
}

TEST_CASE("json: members are read strictly") {
  const json object =
      parse_json(R"({"i": -3, "u": 18446744073709551615, "big": 1180591620717411303424, "f": 1.5, "t": true,
                                     "s": "7", "n": null, "long": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})",
                 "[json] f");
  const JsonReader reader(object, "[json] f");
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(), kMax = -1 - kMin;
  CHECK(reader.has("i"));
  CHECK_FALSE(reader.has("j"));
  CHECK(reader.integer("i", -3, 0) == -3);
  CHECK(reader.number("i") == -3);
  CHECK(reader.text("s") == "7");
  CHECK(error_of([&] { reader.text("i"); }) == "[json] f: i is -3, expected a string");
  CHECK(reader.number("f") == 1.5);
  CHECK(reader.unsigned_integer("u") == std::numeric_limits<std::uint64_t>::max());
  CHECK(JsonReader(json{{"made", 7}}, "").unsigned_integer("made") == 7);

  const auto integer = [&](const char* key, std::int64_t low, std::int64_t high) {
    return error_of([&] { reader.integer(key, low, high); });
  };
  CHECK(integer("j", 0, 9) == "[json] f: j is missing, expected an integer from 0 to 9");
  CHECK(integer("i", -2, 9) == "[json] f: i is -3, expected an integer from -2 to 9");
  CHECK(integer("i", -9, -4) == "[json] f: i is -3, expected an integer from -9 to -4");
  for (const char* key : {"u", "big", "f", "t", "s", "n", "long"})
    CHECK(integer(key, kMin, kMax).starts_with(fmt::format("[json] f: {} is ", key)));
  for (const char* key : {"i", "big", "f", "t", "s", "n"})
    CHECK(error_of([&] { reader.unsigned_integer(key); }).starts_with(fmt::format("[json] f: {} is ", key)));
  for (const char* key : {"t", "s", "n"})
    CHECK(error_of([&] { reader.number(key); }).starts_with(fmt::format("[json] f: {} is ", key)));
  CHECK(error_of([&] { reader.number("long"); }) ==
        "[json] f: long is \"" + std::string(39, 'a') + "…, expected a finite number");
  CHECK(error_of([&] { JsonReader(json::array(), "[json] f"); }) == "[json] f: array found, expected a JSON object");
}
