#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace npzoo {

/// Every failure that a caller can cause. The message is one line: `[where] what, found, expected`.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail_with(std::string message);

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  fail_with(fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error with the formatted message unless `condition` holds. The arguments are evaluated but not formatted
/// otherwise.
template <class... Args>
void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    fail_with(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace npzoo
