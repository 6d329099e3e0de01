#pragma once

#include <cmath>
#include <numbers>

namespace npzoo {

/// A cosine and a sine of one frequency, step after step.
class Wave {
 public:
  explicit Wave(double frequency)
      : cos_1_(std::cos(2 * std::numbers::pi * frequency)), sin_1_(std::sin(2 * std::numbers::pi * frequency)) {}

  double cosine() const { return cos_; }
  double sine() const { return sin_; }
  void next() {
    const double cosine = cos_ * cos_1_ - sin_ * sin_1_;
    sin_ = sin_ * cos_1_ + cos_ * sin_1_;
    cos_ = cosine;
  }

 private:
  double cos_1_, sin_1_, cos_ = 1, sin_ = 0;
};

}  // namespace npzoo
