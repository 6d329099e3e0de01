#pragma once

#include <fmt/core.h>

#include <utility>

#include "npzoo/engine/exception.h"

namespace npzoo {

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
