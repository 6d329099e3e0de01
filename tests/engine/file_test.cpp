#include "engine/io/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>

#include "tests/testing.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

namespace {

void put(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

}  // namespace

TEST_CASE("file: nothing is visible before the commit and nothing is left without one") {
  TemporaryDirectory directory;
  const fs::path path = directory / "out.csv";
  put(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
    CHECK(directory.count() == 2);
    CHECK(read_text(path) == "old");
  }
  CHECK(directory.count() == 1);
  CHECK(read_text(path) == "old");
  AtomicFile file(path);
  file.write("new");
  file.commit();
  CHECK(directory.count() == 1);
  CHECK(read_text(path) == "new");
}

TEST_CASE("file: writes of every size keep their order") {
  TemporaryDirectory directory;
  std::string expected;
  AtomicFile file(directory / "out");
  for (const std::size_t size : {1, 0, 1000, 262143, 1, 262144, 262145, 5, 600000, 7}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  CHECK(read_text(directory / "out") == expected);
}

TEST_CASE("file: what a killed writer left is removed, what a living one writes is not") {
  TemporaryDirectory directory;
  const fs::path path = directory / "weights";
  AtomicFile living(path);
  living.write("living");
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile killed(path);
    killed.write(std::string(300000, 'k'));
    ::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(directory.count() == 2);
  CHECK_FALSE(fs::exists(path));
  {
    AtomicFile next(path);
    CHECK(directory.count() == 2);
  }
  living.commit();
  CHECK(directory.count() == 1);
  CHECK(read_text(path) == "living");
}

TEST_CASE("file: a locked directory is nobody else's, until its process dies") {
  const TemporaryDirectory directory;
  const fs::path run = directory / "run";
  fs::create_directory(run);
  {
    const auto lock = lock_directory(run);
    CHECK(lock.has_value());
    CHECK_FALSE(lock_directory(run).has_value());
  }
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = lock_directory(run);
    ::raise(lock ? SIGKILL : SIGTERM);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WTERMSIG(status) == SIGKILL);
  CHECK(lock_directory(run).has_value());
  CHECK(fs::is_empty(run));
  const std::string missing = directory / "missing";
  CHECK(error_of([&] { lock_directory(missing); }) ==
        "[" + missing + "] cannot open the directory: No such file or directory");
}

TEST_CASE("file: a symbolic link stays and its target changes") {
  TemporaryDirectory directory;
  put(directory / "target", "old");
  fs::create_symlink("target", directory / "link");
  AtomicFile file(directory / "link");
  file.write("new");
  file.commit();
  CHECK(fs::is_symlink(directory / "link"));
  CHECK(read_text(directory / "target") == "new");
}

TEST_CASE("file: devices are written straight through and stay devices") {
  AtomicFile file("/dev/null");
  file.write("nothing");
  file.commit();
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("file: through a pipe bytes go when they are flushed, and a reader can give up waiting") {
  TemporaryDirectory directory;
  const fs::path path = directory / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const Descriptor both_ends(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(both_ends.is_open());

  int asked = 0;
  ReadOnlyFile reader(path, [&asked] { return ++asked == 4; });
  AtomicFile writer(path);
  std::array<std::byte, 8> bytes{};
  for (const std::string_view text : {"one", "two"}) {
    writer.write(text);
    writer.flush();
    CHECK(reader.read(bytes) == 3);
    CHECK(std::memcmp(bytes.data(), text.data(), 3) == 0);
  }
  CHECK(asked == 2);
  CHECK(error_of([&] { reader.read(bytes); }) == fmt::format("[{}] is not read to its end: given up", path.string()));
  CHECK(asked == 4);
  asked = 3;
  CHECK_THROWS_AS(reader.read(bytes), Cancelled);

  ReadOnlyFile patient(path, [] { return false; });
  writer.write("three");
  writer.commit();
  CHECK(patient.read(bytes) == 5);
}

TEST_CASE("file: errors of a writer") {
  TemporaryDirectory directory;
  const std::string missing = directory / "missing/out";
  CHECK(error_of([&] { AtomicFile file(missing); }) == "[" + missing + "] cannot create: No such file or directory");
  const std::string folder = directory / "";
  CHECK(error_of([&] { AtomicFile file(folder); }) == "[" + folder + "] is a directory, expected a file");
  CHECK(error_of([] { AtomicFile file(""); }) == "[] names no file");
  const auto fill = [](std::size_t bytes) {
    AtomicFile file("/dev/full");
    file.write(std::string(bytes, ' '));
    file.commit();
  };
  CHECK(error_of([&] { fill(1); }) == "[/dev/full] cannot write: No space left on device");
  CHECK(error_of([&] { fill(300000); }) == "[/dev/full] cannot write: No space left on device");
}

TEST_CASE("file: reading in order and by position") {
  TemporaryDirectory directory;
  put(directory / "in", "0123456789");
  ReadOnlyFile file(directory / "in");
  CHECK(file.size() == 10);
  std::array<char, 4> out;
  const auto bytes = std::as_writable_bytes(std::span(out));
  CHECK(file.read(bytes) == 4);
  CHECK(std::string_view(out.data(), 4) == "0123");
  file.read_at(6, bytes);
  CHECK(std::string_view(out.data(), 4) == "6789");
  CHECK(file.read(bytes) == 4);
  CHECK(std::string_view(out.data(), 4) == "4567");
  CHECK(file.read(bytes) == 2);
  CHECK(file.read(bytes) == 0);
  file.read_at(10, {});
  const std::string expected = fmt::format("[{}] ends at byte 10, expected 1 more", file.name());
  CHECK(error_of([&] { file.read_at(7, bytes); }) == expected);
}

TEST_CASE("file: errors of a reader") {
  TemporaryDirectory directory;
  const std::string missing = directory / "missing";
  CHECK(error_of([&] { ReadOnlyFile file(missing); }) == "[" + missing + "] cannot open: No such file or directory");
  const std::string folder = directory / "";
  CHECK(error_of([&] { ReadOnlyFile file(folder); }) == "[" + folder + "] is a directory, expected a file");
  CHECK(error_of([] { ReadOnlyFile("/dev/null").size(); }) ==
        "[/dev/null] is a pipe or a device, expected a regular file");
  CHECK(error_of([] { read_text("/dev/zero", 1000); }) == "[/dev/zero] is larger than 1000 bytes");
  put(directory / "ten", "0123456789");
  CHECK(read_text(directory / "ten", 10).size() == 10);
  CHECK(error_of([&] { read_text(directory / "ten", 9); }) ==
        fmt::format("[{}] is larger than 9 bytes", (directory / "ten").string()));
}

TEST_CASE("file: a file without permission") {
  if (::geteuid() == 0) {
    MESSAGE("skipped: root may read everything");
    return;
  }
  TemporaryDirectory directory;
  const std::string path = directory / "secret";
  put(path, "x");
  fs::permissions(path, fs::perms::none);
  CHECK(error_of([&] { ReadOnlyFile file(path); }) == "[" + path + "] cannot open: Permission denied");
}
