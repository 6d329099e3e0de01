#include "npzoo/engine/io/toml.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/engine/text_fixtures.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::string toml_message(std::string_view text) {
  return error_of([&] { parse_toml(text, "[toml] f"); });
}

const std::string kTooManyParts = fmt::format("a key of more than {} parts", kMaxTomlKeyParts);
const std::string kTooNested = fmt::format("more than {} brackets within each other", kMaxTomlNesting);

}  // namespace

TEST_CASE("toml: dots and brackets that are no keys and no nesting are not counted") {
  const std::string openings = repeated("[.", 1000), lines = repeated("[.\n", 1000);
  for (const std::string& text : std::initializer_list<std::string>{
           fmt::format("a = \"{}\"", openings),
           fmt::format("a = '{}'", openings),
           fmt::format("a = \"\"\"\n{}\\\"\"\" \"\"\"\"\"", lines),
           fmt::format("a = '''\n{}'' ''''", lines),
           fmt::format("a = \"\\\\\\\"{}\"", openings),
           fmt::format("a = 1 # {}\nb = 2", openings),
           fmt::format("a = [{}]", repeated("1.5, ", 1000)),
           fmt::format("a = [{}]", repeated("[[]], ", 1000)),
           fmt::format("\"{}\" = 1", openings),
           fmt::format("a{} = 1", repeated(".a", kMaxTomlKeyParts - 1)),
           fmt::format("a = {}{}", repeated("[", kMaxTomlNesting), repeated("]", kMaxTomlNesting)),
       }) {
    CAPTURE(text);
    CHECK(toml_message(text) == "no error");
  }
}

TEST_CASE("toml: nesting is bounded before anything is parsed") {
  const std::string dots = repeated(".a", 300'000);
  for (const std::string& text : std::initializer_list<std::string>{
           fmt::format("a{} = 1", dots),
           fmt::format("[a{}]", dots),
           fmt::format("[[a{}]]", dots),
           fmt::format("a = {{ a{} = 1 }}", dots),
           fmt::format("a{} = 1", repeated(" . a", 200'000)),
           fmt::format("\"a\"{} = 1", repeated(".\"a.b\"", 100'000)),
           fmt::format("''{} = 1", repeated(".''", 200'000)),
           fmt::format("a = {{ b = \"\"\"\"\"\"\", c{} = 1 }}", dots),
           fmt::format("a = {{ b = '''''''', c{} = 1 }}", dots),
           fmt::format("a = \"unfinished\nb{} = 1", dots),
       }) {
    CAPTURE(text.substr(0, 40));
    CHECK(toml_message(text).ends_with(kTooManyParts));
  }
  CHECK(toml_message(fmt::format("x = 1\na{} = 1", dots)) == fmt::format("[toml] f: line 2: {}", kTooManyParts));
  const std::string first = fmt::format("[toml] f: line 1: {}", kTooNested);
  CHECK(toml_message(fmt::format("a = {}", repeated("[", 500'000))) == first);
  CHECK(toml_message(fmt::format("a = {}", repeated("{ a = ", 150'000))) == first);
  CHECK(toml_message(fmt::format("a = {}", repeated("[ { a = ", 100'000))) == first);
}

TEST_CASE("toml: a text as large as is allowed is read") {
  std::string text;
  for (int key = 0; text.size() < kMaxTomlBytes - 16; ++key) text += fmt::format("k{} = {}\n", key, key);
  CHECK(parse_toml(text, "[toml] f")["k60000"].value<int>() == 60000);
}

TEST_CASE("toml: a message has one line where the parser quotes the end of one") {
  const std::string message = toml_message("a = i\nb = 1");
  CHECK(message.find('\n') == message.npos);
  CHECK(message.find("saw 'i\\n'") != message.npos);
}

TEST_CASE("toml: size and characters are bounded") {
  CHECK(toml_message("#" + std::string(kMaxTomlBytes, '.')) ==
        fmt::format("[toml] f: {} bytes of TOML found, expected at most {}", kMaxTomlBytes + 1, kMaxTomlBytes));
  CHECK(toml_message("a = 1\n# \xC3\xA9") ==
        "[toml] f: line 2 holds a character outside ASCII, expected an escape like \\u00e9");
  CHECK(toml_message("a = 1\na = 2").starts_with("[toml] f: line 2, column "));
  CHECK(parse_toml("a.b = 3", "[toml] f")["a"]["b"].value<int>() == 3);
}
