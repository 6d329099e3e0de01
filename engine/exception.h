#pragma once

#include <stdexcept>
#include <string>

namespace npzoo {

/// Every failure that a caller can cause. The message is one line: `[where] what, found, expected`.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail_with(std::string message);

}  // namespace npzoo
