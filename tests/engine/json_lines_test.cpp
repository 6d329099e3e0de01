#include "npzoo/engine/io/json_lines.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/engine/text_fixtures.h"
#include "tests/testing.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;
using nlohmann::json;

TEST_CASE("json lines: each object is visible at once and the file is continued") {
  TemporaryDirectory directory;
  const fs::path path = directory / "metrics.jsonl";
  {
    JsonLinesWriter writer(path);
    writer.append({{"step", 1}, {"loss", 0.5}});
    CHECK(read_text(path) == "{\"loss\":0.5,\"step\":1}\n");
  }
  JsonLinesWriter(path).append({{"step", 2}});
  CHECK(read_text(path) == "{\"loss\":0.5,\"step\":1}\n{\"step\":2}\n");
}

TEST_CASE("json lines: values without a spelling in JSON") {
  TemporaryDirectory directory;
  JsonLinesWriter writer(directory / "m.jsonl");
  writer.append({{"loss", std::numeric_limits<double>::quiet_NaN()}, {"note", "\xFF\n"}});
  CHECK(read_text(directory / "m.jsonl") == "{\"loss\":null,\"note\":\"\uFFFD\\n\"}\n");
}

TEST_CASE("json lines: errors of the writer") {
  TemporaryDirectory directory;
  const std::string missing = directory / "missing/m.jsonl";
  CHECK(error_of([&] { JsonLinesWriter writer(missing); }) ==
        "[" + missing + "] cannot open: No such file or directory");
  CHECK(error_of([] { JsonLinesWriter("/dev/null").append(json::array()); }) ==
        "[/dev/null] got a JSON array, expected an object");
  CHECK(error_of([] {
          JsonLinesWriter("/dev/full").append({{"step", 1}});
        }) == "[/dev/full] cannot write: No space left on device");
}

TEST_CASE("json lines: a resumed run drops the lines after its checkpoint") {
  TemporaryDirectory directory;
  const fs::path path = directory / "m.jsonl";
  const std::string kept = "{\"run\": \"a\"}\n{\"step\":1}\n{\"step\":2, \"loss\": null}\n";
  put(path, kept + "{\"step\":3}\n{\"step\":4}\n{\"st");
  truncate_after(path, "step", 2);
  CHECK(read_text(path) == kept);
  truncate_after(path, "step", 2);
  CHECK(read_text(path) == kept);
  truncate_after(path, "step", -1);
  CHECK(read_text(path) == "{\"run\": \"a\"}\n");
}

TEST_CASE("json lines: truncation of odd files") {
  TemporaryDirectory directory;
  const fs::path path = directory / "m.jsonl";
  truncate_after(path, "step", 2);
  CHECK_FALSE(fs::exists(path));
  put(path, "");
  truncate_after(path, "step", 2);
  CHECK(read_text(path).empty());
  const std::string broken = "{\"step\":1}\n{\"step\":\n{\"step\":9}\n";
  put(path, broken);
  const std::string expected = fmt::format("[{}:2] is not a JSON object", path.string());
  CHECK(error_of([&] { truncate_after(path, "step", 2); }) == expected);
  CHECK(read_text(path) == broken);
}

TEST_CASE("json lines: failed writes are errors") {
  TemporaryDirectory directory;
  const fs::path unspeakable = directory / std::string(300, 'x');
  CHECK(error_of([&] { truncate_after(unspeakable, "step", 0); }) ==
        fmt::format("[{}] cannot inspect: File name too long", unspeakable.string()));
}
