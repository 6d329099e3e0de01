#include "tools/reproduce/process_queue.h"

#include <doctest/doctest.h>

#include <csignal>

#include "npzoo/engine/io/file.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::tools;
using npzoo::testing::TemporaryDirectory;

namespace {

constexpr auto kGoOn = [] { return false; };
constexpr auto kNothing = [] {};

/// Shell commands one after the other, and how each of them ended.
struct Commands {
  std::vector<ProcessCommand> commands;
  std::vector<ProcessEnd> ends{};

  std::optional<ProcessCommand> operator()(const std::optional<ProcessEnd>& before) {
    if (before) ends.push_back(*before);
    if (ends.size() == commands.size()) return {};
    return commands[ends.size()];
  }
};

ProcessCommand shell(const std::string& script, const std::filesystem::path& log) {
  return {.program = "/bin/sh", .arguments = {"sh", "-c", script}, .log = log};
}

bool run(Commands& commands, const std::function<bool()>& stop = kGoOn) {
  ProcessQueue queue(1);
  queue.add(std::ref(commands));
  return queue.run(stop, kNothing);
}

}  // namespace

TEST_CASE("process queue: outputs and exit statuses of commands") {
  const TemporaryDirectory directory;
  const auto log = directory / "log", output = directory / "output";
  Commands chain{{shell("echo one; echo two >&2; exit 3", log), shell("echo three; echo four >&2", log),
                  shell("kill -9 $$", log), shell("read line || echo nothing to read", log)}};
  chain.commands[1].output = output;
  CHECK(run(chain));
  REQUIRE(chain.ends.size() == 4);
  CHECK(chain.ends[0].status == 3);
  CHECK(chain.ends[1].status == 0);
  CHECK(chain.ends[2].status == 128 + SIGKILL);
  CHECK(read_text(log) ==
        "$ sh -c echo one; echo two >&2; exit 3\none\ntwo\n$ sh -c echo three; echo four >&2\nfour\n"
        "$ sh -c kill -9 $$\n$ sh -c read line || echo nothing to read\nnothing to read\n");
  CHECK(read_text(output) == "three\n");
}

TEST_CASE("process queue: commands that cannot be started") {
  const TemporaryDirectory directory;
  const auto log = directory / "log";
  Commands chain{{{.program = "/no/such/program", .arguments = {"none"}, .log = log},
                  shell("true", directory / "none" / "log"),
                  shell("exit 4", log)}};
  CHECK(run(chain));
  REQUIRE(chain.ends.size() == 3);
  CHECK(chain.ends[0].status == 127);
  CHECK(read_text(log).find("/no/such/program: this program cannot be started\n") != std::string::npos);
  CHECK(chain.ends[1].status == 127);
  CHECK(chain.ends[1].problem ==
        "[process] " + (directory / "none" / "log").string() + " cannot be opened: No such file or directory");
  CHECK(chain.ends[2].status == 4);
}

TEST_CASE("process queue: so many chains at once, in their order") {
  const TemporaryDirectory directory;
  // Each notes that it began and waits for the next one, so that it ends only where that one runs beside it.
  const auto waits_for = [&](int own, int other) {
    const auto file = [&](int i) { return (directory / std::to_string(i)).string(); };
    return shell("echo >" + file(own) + "; until [ -e " + file(other) + " ]; do sleep 0.01; done", directory / "log");
  };
  Commands chains[] = {{{waits_for(0, 1)}}, {{waits_for(1, 0)}}, {{waits_for(2, 0)}}, {{}}};
  ProcessQueue queue(2);
  std::vector<int> begun;
  for (int i = 0; i < 4; ++i)
    queue.add([&, i](const std::optional<ProcessEnd>& before) {
      if (!before) begun.push_back(i);
      return chains[i](before);
    });
  CHECK(queue.run(kGoOn, kNothing));
  CHECK(begun == std::vector{0, 1, 2, 3});
  for (int i : {0, 1, 2}) CHECK(chains[i].ends.size() == 1);
}

TEST_CASE("process queue: stopping lets children end in their own way") {
  const TemporaryDirectory directory;
  const auto ready = directory / "ready";
  Commands chain{{shell("trap 'echo saved; exit 130' INT; echo >" + ready.string() + "; while :; do sleep 0.01; done",
                        directory / "log"),
                  shell("echo never", directory / "log")}};
  CHECK_FALSE(run(chain, [&] { return std::filesystem::exists(ready); }));
  CHECK(chain.ends.empty());
  const std::string log = read_text(directory / "log");
  CHECK(log.ends_with("\nsaved\n"));
}

TEST_CASE("process queue: a lock lasts as long as the child that holds it, too") {
  const TemporaryDirectory directory;
  const auto path = directory / "lock", ready = directory / "ready", go = directory / "go";
  auto lock = lock_file(path);
  REQUIRE(lock);
  Commands chain{
      {shell("echo >" + ready.string() + "; until [ -e " + go.string() + " ]; do sleep 0.01; done", directory / "log"),
       shell("true", directory / "log")}};
  chain.commands[0].held = lock->get();
  int looks = 0;
  ProcessQueue queue(1);
  queue.add(std::ref(chain));
  CHECK(queue.run(kGoOn, [&] {
    if (!std::filesystem::exists(ready) || std::filesystem::exists(go)) return;
    lock.reset();
    CHECK_FALSE(lock_file(path).has_value());
    ++looks;
    AtomicFile(go).commit();
  }));
  CHECK(looks == 1);
  CHECK(lock_file(path).has_value());
}

TEST_CASE("process queue: an exception ends the running commands") {
  const TemporaryDirectory directory;
  const auto ready = directory / "ready", over = directory / "over";
  Commands chain{{shell(
      "trap 'echo >" + over.string() + "; exit' TERM; echo >" + ready.string() + "; while :; do sleep 0.01; done",
      directory / "log")}};
  const auto message = npzoo::testing::error_of([&] {
    ProcessQueue queue(1);
    queue.add(std::ref(chain));
    queue.run(kGoOn, [&] { check(!std::filesystem::exists(ready), "enough"); });
  });
  CHECK(message == "enough");
  CHECK(std::filesystem::exists(over));
}
