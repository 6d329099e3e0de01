#pragma once

#include <utility>

namespace npzoo {

/// Throws the exception that is being handled as Error or a class derived from it: std::bad_alloc as OutOfMemory,
/// errors of files with their path. An Error stays as it is.
[[noreturn]] void rethrow_as_error();

/// Calls `f` and returns its result; what it throws leaves as by rethrow_as_error(). For functions of the library that
/// programs call.
template <class F>
decltype(auto) with_errors(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    rethrow_as_error();
  }
}

}  // namespace npzoo
