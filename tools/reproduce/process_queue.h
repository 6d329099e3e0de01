#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace npzoo::tools {

/// A program to run, and the files that get what it prints. Nothing is there for it to read.
struct ProcessCommand {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // the name it is called by and what follows
  std::filesystem::path log;           // gets standard error, and all of standard output without `output`; appended to,
                                       // the command first
  std::filesystem::path output{};      // gets standard output and nothing else
  int held = -1;  // a descriptor of the caller that the child has, too, as long as it lives: a lock
                  // that it holds then outlives the caller
};

/// How a command ended.
struct ProcessEnd {
  int status = 0;         // as a shell tells it: 128 and more for a signal
  std::string problem{};  // why it was not started, where it was not
};

/// Runs chains of commands, so many chains at once.
///
/// A command is a child process in a process group of its own: a terminal's Ctrl-C reaches the caller alone, who then
/// decides. Children do not outlive the caller: where the system can (Linux), they get SIGTERM when it dies.
class ProcessQueue {
 public:
  /// Asked for the first command of a chain with nothing, then with how each one ended for the one that follows;
  /// nothing ends the chain.
  using Chain = std::function<std::optional<ProcessCommand>(const std::optional<ProcessEnd>& before)>;

  explicit ProcessQueue(int at_once) : at_once_(at_once) {}
  ProcessQueue(const ProcessQueue&) = delete;
  ProcessQueue& operator=(const ProcessQueue&) = delete;
  /// Ends what still runs, with SIGTERM, and waits for it.
  ~ProcessQueue();

  void add(Chain chain) { chains_.push_back(std::move(chain)); }

  /// Works through the chains in their order; false where it was stopped. `stop` and `tick` are called several times a
  /// second. Once `stop` returns true, every child gets one SIGINT, nothing new is started, and no chain is advanced;
  /// the call returns when the last child has ended.
  bool run(const std::function<bool()>& stop, const std::function<void()>& tick);

 private:
  struct Running {
    pid_t process;
    std::size_t chain;
  };

  void advance(std::size_t chain, std::optional<ProcessEnd> before);
  void reap(bool stopping);

  int at_once_;
  std::vector<Chain> chains_;
  std::size_t begun_ = 0;  // chains, from the first on
  std::vector<Running> running_;
};

}  // namespace npzoo::tools
