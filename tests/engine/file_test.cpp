#include "npzoo/engine/io/file.h"

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
#include <thread>
#include <vector>

#include "tests/engine/text_fixtures.h"
#include "tests/forked.h"
#include "tests/testing.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("file: a lock on a directory is exclusive") {
  const TemporaryDirectory directory;
  const auto counter = directory / "counter";
  constexpr int kThreads = 4, kRounds = 50;
  std::ofstream(counter) << 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const Descriptor lock = wait_for_directory(directory / ".");
        const int before = std::stoi(read_text(counter));
        AtomicFile file(counter);
        file.write(std::to_string(before + 1));
        file.commit();
      }
    });
  threads.clear();
  CHECK(read_text(counter) == std::to_string(kThreads * kRounds));
}

TEST_CASE("file: a locked file is refused to others, and created if it is missing") {
  const TemporaryDirectory directory;
  const auto path = directory / "lock";
  {
    const auto lock = lock_file(path);
    CHECK(lock.has_value());
    CHECK_FALSE(lock_file(path).has_value());
    std::ofstream(path) << "text";
  }
  CHECK(lock_file(path).has_value());
  CHECK(read_text(path) == "text");
  const auto nowhere = directory / "none" / "lock";
  CHECK(error_of([&] { lock_file(nowhere); }) ==
        fmt::format("[{}] cannot open: No such file or directory", nowhere.string()));
}

TEST_CASE("file: a locked directory is free again when its process dies") {
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

TEST_CASE("file: one file under several names") {
  TemporaryDirectory directory;
  const fs::path path = directory / "file", other = directory / "other", none = directory / "none";
  put(path, "same");
  put(other, "same");
  fs::create_directory(directory / "folder");
  fs::create_symlink("file", directory / "link");
  fs::create_symlink("none", directory / "dangling");
  fs::create_hard_link(path, directory / "hard");
  for (const std::string name : {"file", "./file", "folder/../file", "link", "hard"}) {
    CAPTURE(name);
    CHECK(is_same_file(path, directory / name));
    CHECK(is_same_file(directory / name, path));
    CHECK_FALSE(is_same_file(other, directory / name));
    CHECK_FALSE(is_same_file(none, directory / name));
    CHECK_FALSE(is_same_file(directory / name, none));
  }
  for (const std::string name : {"none", "./none", "folder/../none", "dangling"}) {
    CAPTURE(name);
    CHECK(is_same_file(none, directory / name));
    CHECK(is_same_file(directory / name, none));
    CHECK_FALSE(is_same_file(directory / "nothing", directory / name));
    CHECK_FALSE(is_same_file(directory / "folder/none", directory / name));
  }
  CHECK(is_same_file("no such file", "./no such file"));
  CHECK(is_same_file("no such folder/file", fs::absolute("no such folder/file")));
  CHECK_FALSE(is_same_file("/dev/null", "/dev/null"));  // nothing is lost there
}

TEST_CASE("file: through a pipe bytes go when they are flushed") {
  TemporaryDirectory directory;
  const fs::path path = directory / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const Descriptor both_ends(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(both_ends.is_open());
  ReadOnlyFile reader(path);
  AtomicFile writer(path);
  std::array<std::byte, 8> bytes{};
  for (const std::string_view text : {"one", "two"}) {
    writer.write(text);
    writer.flush();
    CHECK(reader.read(bytes) == 3);
    CHECK(std::memcmp(bytes.data(), text.data(), 3) == 0);
  }
  writer.write("three");
  writer.commit();
  CHECK(reader.read(bytes) == 5);
}
