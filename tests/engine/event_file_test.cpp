#include "npzoo/engine/io/event_file.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/testing.h"

// tests/tools/fine_tune_test.py checks the contents of the records with a reader of its own.

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct EventFile {
  TemporaryDirectory directory;
  fs::path path = directory / "events.out.tfevents.test";

  void put(const std::string& content) const { std::ofstream(path, std::ios::binary) << content; }
  std::string content() const { return read_text(path); }
  /// After so many steps.
  std::string after(std::int64_t steps) const {
    fs::remove(path);
    EventFileWriter writer(path);
    for (std::int64_t step = 1; step <= steps; ++step) writer.append(step * 100, {{"loss", 0.5}, {"rate", 1e-3}});
    return this->content();
  }
};

}  // namespace

TEST_CASE("event file: whole records of early steps alone are kept") {
  const EventFile file;
  const std::string all = file.after(3);
  std::vector<std::size_t> ends;  // of what is kept at each step
  for (const std::int64_t last : {0, 100, 199, 200, 300, 1000}) {
    file.put(all);
    truncate_events_after(file.path, last);
    CHECK(all.starts_with(file.content()));
    ends.push_back(file.content().size());
  }
  CHECK(0 < ends[0]);
  CHECK(ends[0] < ends[1]);
  CHECK(ends[1] == ends[2]);
  CHECK(ends[2] < ends[3]);
  CHECK(ends[3] < ends[4]);
  CHECK(ends[4] == all.size());
  CHECK(ends[5] == all.size());

  const auto kept_of = [&](const std::string& content) {
    file.put(content);
    truncate_events_after(file.path, 1000);
    return file.content().size();
  };
  const auto whole_before = [&](std::size_t at) {
    std::size_t end = 0;
    for (const std::size_t e : ends)
      if (e <= at) end = e;
    return end;
  };
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    CAPTURE(cut);
    CHECK(kept_of(all.substr(0, cut)) == whole_before(cut));
  }
  for (std::size_t at = 0; at < all.size(); ++at) {  // no byte but is covered by a checksum, or is one
    CAPTURE(at);
    std::string damaged = all;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    CHECK(kept_of(damaged) == whole_before(at));
  }
  for (const std::string& foreign : {std::string("precious"), std::string(100, '\xff'), std::string(100, '\0')})
    CHECK(kept_of(foreign) == 0);
}

TEST_CASE("event file: begins with one header, which identifies it") {
  const EventFile file;
  CHECK_FALSE(is_event_file(file.path));
  truncate_events_after(file.path, 0);
  CHECK_FALSE(fs::exists(file.path));
  const std::string begun = file.after(0);
  CHECK(is_event_file(file.path));
  { const EventFileWriter again(file.path); }
  CHECK(file.content() == begun);
  file.put("");
  CHECK(is_event_file(file.path));
  { const EventFileWriter begins(file.path); }
  CHECK(file.content().size() == begun.size());
  for (const std::string& other : {std::string("precious"), begun.substr(1), std::string(20, '\0')}) {
    file.put(other);
    CHECK_FALSE(is_event_file(file.path));
  }
  CHECK(error_of([&] { EventFileWriter(file.directory / "none" / "x"); }).find("cannot open") != std::string::npos);
}

TEST_CASE("event file: failed writes are errors; a device accepts events") {
  const TemporaryDirectory directory;
  const fs::path unspeakable = directory / std::string(300, 'x');
  CHECK(error_of([&] { truncate_events_after(unspeakable, 0); }) ==
        fmt::format("[{}] cannot inspect: File name too long", unspeakable.string()));
  CHECK_NOTHROW(EventFileWriter("/dev/null").append(1, {{"loss", 2}}));
  CHECK(error_of([] { truncate_events_after("/dev/null", 0); }) ==
        "[/dev/null] is a pipe or a device, expected a regular file");
}
