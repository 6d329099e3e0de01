#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace npzoo {

/// Measures the time of recorded operations. An operation is charged with all the time since the operation before it on
/// the same tape. So work that is not recorded counts for the next recorded operation.
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

  /// Charges the next operation from now on.
  void start();
  void lap(const char* operation, Cost Passes::*pass);
  void add(const Profile& other);

  const std::map<std::string, Passes>& operations() const { return operations_; }

 private:
  std::map<std::string, Passes> operations_;
  std::chrono::steady_clock::time_point since_;
  std::int64_t flops_since_ = 0;
};

}  // namespace npzoo
