#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/engine/cpu/simd_math.h"
#include "npzoo/engine/team.h"

namespace npzoo {

/// A Team (npzoo/engine/team.h) of one thread.
struct OneThread {
  template <class F>
  void each(std::int64_t n, F f) const {
    for (std::int64_t i = 0; i < n; ++i) f(i);
  }
  template <class F>
  void each(std::int64_t n, std::int64_t m, F f) const {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j) f(i, j);
  }
  template <class F>
  double sum(std::int64_t n, F f) const {
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += f(i);
    return total;
  }
  template <class F>
  double least(std::int64_t n, F f) const {
    double result = std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < n; ++i)
      result = std::min(result, f(i));  // std::min keeps its first argument beside NaN
    return result;
  }
  template <class Before>
  void sort(std::int64_t n, std::int64_t* order, std::int64_t*, const Before& before) const {
    std::sort(order, order + n, before);
  }
  double log(double x) const { return simd::log(simd::splat<double>(x))[0]; }
  double exp(double x) const { return simd::exp(simd::splat<double>(x))[0]; }
  double sqrt(double x) const { return std::sqrt(x); }
  double cos(double x) const { return std::cos(x); }
  double sin(double x) const { return std::sin(x); }
};

}  // namespace npzoo
