#pragma once

#include <cmath>
#include <limits>

namespace npzoo {

/// log Σ exp(x) of numbers that come one by one; −infinity if there are none. NaN propagates.
class LogSum {
 public:
  void add(double x) {
    if (x == -std::numeric_limits<double>::infinity()) return;
    if (x <= max_) {
      sum_ += std::exp(x - max_);
    } else {
      sum_ = sum_ * std::exp(max_ - x) + 1;
      max_ = x;
    }
  }
  double value() const { return max_ + std::log(sum_); }

 private:
  double max_ = -std::numeric_limits<double>::infinity(), sum_ = 0;
};

}  // namespace npzoo
