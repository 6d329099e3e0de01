#include "tools/reproduce/process_queue.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "npzoo/engine/io/file.h"

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace npzoo::tools {

namespace {

constexpr int kLookEvery = 50;  // ms
constexpr int kCannotStart = 127;

Descriptor open_for_child(const std::filesystem::path& path, int flags) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  const int code = errno;
  check(file.is_open(), "[process] {} cannot be opened: {}", path.string(), std::generic_category().message(code));
  return file;
}

/// Blocks the signals that stop work while it lives: one that came between fork and exec would find the parent's
/// handler in the child, and be lost.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&blocked, number);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { restore(); }

  void restore() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// Arguments of the child, made before the fork: nothing may be allocated after it.
struct Launch {
  const char* program;
  std::vector<char*> arguments;
  int input, output, log, held;
  pid_t parent;
};

void end_with_parent(pid_t parent) {
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
  if (::getppid() != parent) ::_exit(kCannotStart);  // it died before it could be told
}

[[noreturn]] void become(const Launch& launch, const BlockedSignals& signals) {
  end_with_parent(launch.parent);
  ::setpgid(0, 0);
  ::dup2(launch.input, STDIN_FILENO);
  ::dup2(launch.output, STDOUT_FILENO);
  ::dup2(launch.log, STDERR_FILENO);
  if (launch.held >= 0) ::fcntl(launch.held, F_SETFD, 0);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  if (std::signal(SIGHUP, SIG_DFL) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // as `nohup` wants it
  signals.restore();
  ::execv(launch.program, launch.arguments.data());
  for (const char* part : {launch.program, ": this program cannot be started\n"})
    static_cast<void>(!::write(STDERR_FILENO, part, std::strlen(part)));
  ::_exit(kCannotStart);
}

pid_t start(const ProcessCommand& command) {
  const Descriptor input = open_for_child("/dev/null", O_RDONLY);
  const Descriptor log = open_for_child(command.log, O_WRONLY | O_CREAT | O_APPEND);
  const std::string title = fmt::format("$ {}\n", fmt::join(command.arguments, " "));
  write_all(log, std::as_bytes(std::span(title)), command.log.string());
  Descriptor output;
  if (!command.output.empty()) output = open_for_child(command.output, O_WRONLY | O_CREAT | O_TRUNC);

  std::vector<std::string> arguments = command.arguments;
  Launch launch{.program = command.program.c_str(),
                .arguments = {},
                .input = input.get(),
                .output = output.is_open() ? output.get() : log.get(),
                .log = log.get(),
                .held = command.held,
                .parent = ::getpid()};
  for (std::string& argument : arguments) launch.arguments.push_back(argument.data());
  launch.arguments.push_back(nullptr);

  const BlockedSignals signals;
  const pid_t process = ::fork();
  const int code = errno;
  if (process == 0) become(launch, signals);
  check(process > 0, "[process] {} cannot be started: {}", command.program.string(),
        std::generic_category().message(code));
  return process;
}

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/// The status of a process that has ended.
std::optional<int> status_of(pid_t process, int options) {
  int status = 0;
  pid_t found = 0;
  do found = ::waitpid(process, &status, options);
  while (found < 0 && errno == EINTR);
  if (found == 0) return {};
  return found == process ? exit_status(status) : kCannotStart;
}

}  // namespace

ProcessQueue::~ProcessQueue() {
  for (const Running& child : running_) ::kill(child.process, SIGTERM);
  for (const Running& child : running_) status_of(child.process, 0);
}

bool ProcessQueue::run(const std::function<bool()>& stop, const std::function<void()>& tick) {
  bool stopping = false;
  while (true) {
    if (!stopping && stop()) {
      stopping = true;
      for (const Running& child : running_) ::kill(child.process, SIGINT);
    }
    reap(stopping);
    while (!stopping && begun_ < chains_.size() && std::ssize(running_) < at_once_) advance(begun_++, {});
    if (running_.empty() && (stopping || begun_ == chains_.size())) return !stopping;
    tick();
    ::poll(nullptr, 0, kLookEvery);
  }
}

void ProcessQueue::reap(bool stopping) {
  const std::vector<Running> children = running_;
  for (const Running& child : children) {
    const auto status = status_of(child.process, WNOHANG);
    if (!status) continue;
    std::erase_if(running_, [&](const Running& other) { return other.process == child.process; });
    if (!stopping) advance(child.chain, ProcessEnd{*status});
  }
}

/// Starts the next command of a chain that can be started, if there is one.
void ProcessQueue::advance(std::size_t chain, std::optional<ProcessEnd> before) {
  while (const auto command = chains_[chain](before)) {
    try {
      running_.push_back({start(*command), chain});
      return;
    } catch (const Error& error) {
      before = ProcessEnd{kCannotStart, error.what()};
    }
  }
}

}  // namespace npzoo::tools
