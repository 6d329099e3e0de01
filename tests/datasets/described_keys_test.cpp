#include "npzoo/datasets/described_keys.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "npzoo/datasets/toml_reader.h"
#include "npzoo/engine/error.h"

using namespace npzoo;

namespace {

/// "name: type; meaning; default; optional; condition", the last three as far as there are any.
std::string lines_of(const std::vector<DescribedKey>& keys) {
  std::string lines;
  for (const DescribedKey& key : keys)
    lines += fmt::format("{}: {}; {}{}{}{}\n", key.name, key.type, key.meaning,
                         key.default_value.empty() ? "" : "; default " + key.default_value,
                         key.optional ? "; optional" : "", key.condition.empty() ? "" : "; if " + key.condition);
  return lines;
}

void read_shape(TomlReader shape) {
  const std::string form = shape.choice("form", "form", {"disc", "box", "star"});
  if (form != "box") shape.number("radius", "radius in mm", kPositive);
  if (form == "box") {
    const auto [low, high] = shape.two_numbers("sides", "sides in mm", kPositive);
    shape.expect(low < high, "sides", "in a wrong order", "ascending ones");
  }
  if (form == "star") shape.integer("rays", "rays", 5, 12);
  shape.finish();
}

}  // namespace

TEST_CASE("described keys: types, bounds, conditions and what is optional, in the order of reading") {
  const auto read = [] {
    TomlReader reader("", "[test]");
    const std::int64_t points = reader.integer("points", "points", 2, 4096);
    reader.integer("targets", "targets", 1, points - 1);
    read_shape(reader.table("shape", "shape"));
    if (reader.has("seed")) reader.integer("seed", "seed", 0);
    for (TomlReader& test : reader.tables("tests", "tests")) test.text("name", "name of the test");
    reader.finish();
  };
  CHECK(lines_of(described_keys(read)) ==
        R"(points: integer from 2 to 4096; points
targets: integer from 1 to 4095; targets
shape: table; shape
shape.form: "disc", "box", "star"; form
shape.radius: number > 0; radius in mm; if shape.form = disc or star
shape.sides: [a, b], each number > 0; sides in mm; if shape.form = box
shape.rays: integer from 5 to 12; rays; if shape.form = star
seed: integer >= 0; seed; optional
tests: array of tables; tests
tests[].name: text; name of the test
)");
}

TEST_CASE("described keys: either of two keys, and values of several forms") {
  const auto read = [] {
    TomlReader reader("", "[test]");
    if (reader.has("end"))
      reader.number("end", "end in s", kPositive);
    else
      reader.integer("events", "events", 1, 9);
    reader.any_form("shares", "shares of tests", "a number, or [validation, test]");
    if (reader.is_array("shares"))
      reader.two_numbers("shares", kPartOfForm, kShare);
    else
      reader.number("shares", kPartOfForm, kShare);
  };
  CHECK(lines_of(described_keys(read)) ==
        R"(end: number > 0; end in s; optional
events: integer from 1 to 9; events; if without end
shares: number, or [validation, test]; shares of tests
)");
}

TEST_CASE("described keys: options of models have defaults, and nothing is made of the examples") {
  bool made = false;
  const ModelConfig sizes{{"dim_x", std::int64_t{2}}};
  const auto read = [&] {
    ConfigReader reader(sizes, "m");
    CHECK(reader.size("dim_x", "inputs") == 2);
    if (reader.get<bool>("deep", "whether it is deep", false)) reader.depth("layers", "layers");
    const std::string head = reader.choice("head", "head", {"exp", "softplus"}, "exp");
    reader.expect(head == "none", "[m] head {} found", head);
    reader.number("rate", "rate in Hz", kNonNegative, 0.5);
    reader.finish();
    made = true;
  };
  CHECK(lines_of(described_keys(read)) == R"(deep: true or false; whether it is deep; default false
layers: integer from 1 to 1024; layers; if deep = true
head: "exp", "softplus"; head; default exp
rate: number >= 0; rate in Hz; default 0.5
)");
  CHECK(!made);
}

TEST_CASE("described keys: readers read files again afterwards") {
  described_keys([] { TomlReader("", "").text("a", "a"); });
  TomlReader reader("a = \"b\"", "[test]");
  CHECK(reader.text("a", "a") == "b");
  CHECK_THROWS_AS(reader.text("c", "c"), Error);
}
