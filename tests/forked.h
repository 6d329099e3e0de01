#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "npzoo/engine/error.h"

namespace npzoo::testing {

/// Whether a child may take memory that was forked while other threads did: the malloc of GCC's address sanitizer may
/// stay locked in it.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kForksAmongThreads = false;
#else
inline constexpr bool kForksAmongThreads = true;
#endif

/// Runs `f` in a forked child, which then ends as a program does, by exit(). Returns its exit status: f's result, 99
/// after an Error, or minus the signal that ended it. A child that hangs is ended after 20 seconds.
template <class F>
int status_of_child(const F& f) {
  std::fflush(nullptr);  // or the child prints it, too
  const pid_t child = ::fork();
  check(child >= 0, "[testing] cannot fork");
  if (child == 0) {
    ::alarm(20);
    int status = 99;
    try {
      status = f();
    } catch (const Error& error) {
      std::fprintf(stderr, "in a child: %s\n", error.what());
    }
    std::exit(status);
  }
  int status = 0;
  check(::waitpid(child, &status, 0) == child, "[testing] cannot wait for a child");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace npzoo::testing
