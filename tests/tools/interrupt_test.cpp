#include "tools/cli/interrupt.h"

#include <doctest/doctest.h>

#include <future>
#include <optional>

using npzoo::tools::InterruptGuard;

namespace {

using Handler = void (*)(int);

bool is_handled_by(Handler handler, int number) {
  struct sigaction action;
  REQUIRE(::sigaction(number, nullptr, &action) == 0);
  return action.sa_handler == handler;
}

/// While it lives, a signal is handled in this way.
class Handled {
 public:
  Handled(int number, Handler handler) : number_(number), before_(std::signal(number, handler)) {}
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;
  ~Handled() { std::signal(number_, before_); }

 private:
  int number_;
  Handler before_;
};

void nothing(int) {}

}  // namespace

TEST_CASE("interrupt: each stop signal requests a stop, and its former action is restored") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(number);
    const Handled before(number, nothing);
    {
      const InterruptGuard guard;
      CHECK_FALSE(guard.requested());
      std::raise(number);
      CHECK(guard.requested());
    }
    CHECK(is_handled_by(nothing, number));
    CHECK_FALSE(InterruptGuard().requested());
  }
}

TEST_CASE("interrupt: a second Ctrl-C ends the program, a second SIGTERM or SIGHUP does not") {
  const Handled interrupt(SIGINT, SIG_DFL), terminate(SIGTERM, SIG_DFL), hangup(SIGHUP, SIG_DFL);
  const InterruptGuard guard;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::raise(number);
  CHECK(is_handled_by(SIG_DFL, SIGINT));
  for (const int number : {SIGTERM, SIGHUP}) {
    REQUIRE_FALSE(is_handled_by(SIG_DFL, number));
    std::raise(number);
  }
  CHECK(guard.requested());
}

TEST_CASE("interrupt: ignored signals stay ignored") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(number);
    const Handled before(number, SIG_IGN);
    const InterruptGuard guard;
    CHECK(is_handled_by(SIG_IGN, number));
    std::raise(number);
    CHECK_FALSE(guard.requested());
  }
}

TEST_CASE("interrupt: a signal triggers the stop token, also one that came before the token was made") {
  for (const bool before : {false, true}) {
    CAPTURE(before);
    const Handled terminate(SIGTERM, nothing);
    const InterruptGuard guard;
    if (before) std::raise(SIGTERM);
    const std::stop_token token = guard.token();
    std::promise<void> stopped;
    const std::stop_callback callback(token, [&] { stopped.set_value(); });
    if (!before) {
      CHECK_FALSE(token.stop_requested());
      std::raise(SIGTERM);
    }
    CHECK(stopped.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
    CHECK(token.stop_requested());
    CHECK(guard.token() == token);
  }
  std::optional<InterruptGuard> guard(std::in_place);
  const std::stop_token token = guard->token();
  guard.reset();
  CHECK_FALSE(token.stop_requested());
  CHECK_FALSE(token.stop_possible());
}
