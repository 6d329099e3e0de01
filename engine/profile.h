#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "npzoo/engine/device.h"

namespace npzoo {

/// Measures the time of recorded operations. Each operation is charged with all the time since the previous one on the
/// same tape, so work that is not recorded counts for the next recorded operation.
class Profile {
 public:
  struct Cost {
    std::int64_t calls = 0;
    double milliseconds = 0;
    std::int64_t flops = 0;
  };
  struct Passes {
    Cost forward, backward;
  };

  /// Starts the clock for the next operation.
  void start();
  /// Charges the operation with the time since the last call, and starts the clock again. Waits for `device`, where the
  /// operation ran.
  void lap(const char* operation, Cost Passes::*pass, Device device);
  void add(const Profile& other);

  const std::map<std::string, Passes>& operations() const { return operations_; }

 private:
  std::map<std::string, Passes> operations_;
  std::chrono::steady_clock::time_point since_;
  std::int64_t flops_since_ = 0;
};

}  // namespace npzoo
