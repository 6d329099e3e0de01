#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <string_view>
#include <vector>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/random.h"

// Stop requests at chosen looks, for tests of what they interrupt.

namespace npzoo::testing {

/// Counts how often `f` looks at stop requests.
template <class F>
int looks_of(const F& f) {
  std::atomic<int> looks = 0;
  const StopScope counting([&looks] { return ++looks, false; });
  f();
  return looks;
}

/// Calls `f` with a stop request that comes with its n-th look. Returns whether it threw Interrupted.
template <class F>
bool interrupted(int n, const F& f) {
  std::atomic<int> looks = 0;
  const StopScope stop([&looks, n] { return ++looks >= n; });
  try {
    f();
    return false;
  } catch (const Interrupted& e) {
    CHECK(std::string_view(e.what()) == "[stop] the call was asked to stop");
    return true;
  }
}

/// Returns the first and the last look, and others drawn at random between them.
inline std::vector<int> instants(int looks, int count) {
  Random random(31);
  std::vector<int> found{1, looks};
  for (int i = 2; i < count; ++i) found.push_back(static_cast<int>(random.integer(1, looks + 1)));
  return found;
}

}  // namespace npzoo::testing
