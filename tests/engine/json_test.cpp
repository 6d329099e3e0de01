#include "engine/io/json.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;
using nlohmann::json;

namespace {

std::string repeated(std::string_view text, std::int64_t times) {
  std::string result;
  for (std::int64_t i = 0; i < times; ++i) result += text;
  return result;
}

std::string nested(std::string_view open, std::string_view close, std::int64_t levels) {
  return repeated(open, levels) + "1" + repeated(close, levels);
}

std::string message(std::string_view text) {
  return error_of([&] { parse_json(text, "[json] f"); });
}

}  // namespace

TEST_CASE("json: what is JSON is read") {
  CHECK(parse_json(R"({"a": [1, 2.5, null, "[\"{\\"]})", "[json] f") == json{{"a", {1, 2.5, nullptr, "[\"{\\"}}});
  CHECK(parse_json(" 7 ", "[json] f") == 7);
  CHECK(parse_json(nested("[", "]", kMaxJsonDepth), "[json] f").is_array());
  CHECK(parse_json("[" + repeated("[[]],", 10'000) + "{}]", "[json] f").size() == 10'001);
  CHECK(parse_json("\"" + repeated("[{", 1000) + "\"", "[json] f").is_string());
}

TEST_CASE("json: depth and size are bounded before anything is parsed") {
  const std::string expected = fmt::format("[json] f: more than {} levels of JSON at byte ", kMaxJsonDepth);
  CHECK(message(nested("[", "]", kMaxJsonDepth + 1)) == expected + "64");
  CHECK(message(nested("[", "]", 3'000'000)) == expected + "64");
  CHECK(message(nested("{\"a\":", "}", 1'000'000)) == expected + "320");
  CHECK(message(repeated("[{\"\\\"\":", 500'000)) == expected + "224");
  const std::string large = fmt::format("[{}]", std::string(kMaxJsonBytes, ' '));
  CHECK(message(large) ==
        fmt::format("[json] f: {} bytes of JSON found, expected at most {}", kMaxJsonBytes + 2, kMaxJsonBytes));
}

TEST_CASE("json: what is none is refused in one line") {
  using namespace std::string_view_literals;
  for (const auto& [text, expected] : std::initializer_list<std::pair<std::string_view, const char*>>{
           {"", "no JSON from byte 0 on"},
           {"{\"a\":\n", "no JSON from byte 6 on"},
           {"[1, 2", "no JSON from byte 5 on"},
           {"[1] 2", "no JSON from byte 4 on"},
           {"\"\xFF\"", "no JSON from byte 1 on"},
           {"NaN", "no JSON from byte 0 on"},
           {"1\0[[["sv, "no JSON from byte 1 on"},
           {"[1e999]", "a number is larger than any double"},
       }) {
    CAPTURE(text);
    CHECK(message(text) == std::string("[json] f: ") + expected);
    CHECK(parse_json_or_discard(text).is_discarded());
  }
  CHECK(parse_json_or_discard(nested("[", "]", 1'000'000)).is_discarded());
  CHECK(parse_json_or_discard("[1]") == json::array({1}));
}
