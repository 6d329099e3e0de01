#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "engine/parallel.h"
#include "engine/random.h"
#include "engine/tape.h"

namespace npzoo::testing {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// What rounding explains: a few units in the last place of the largest element.
template <class T>
constexpr double kTolerance = 16 * static_cast<double>(std::numeric_limits<T>::epsilon());

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

template <class T>
Tensor normal(const Shape& shape, std::uint64_t seed, double scale = 1, double shift = 0) {
  Tensor x = Tensor::empty(shape, dtype_of<T>());
  Random random(seed);
  for (T& value : x.values<T>()) value = static_cast<T>(shift + scale * random.normal());
  return x;
}

inline std::vector<double> doubles(const Tensor& x) {
  const Tensor wide = x.to(DType::float64);
  const auto values = wide.values<double>();
  return {values.begin(), values.end()};
}

/// Largest difference relative to the largest finite element; infinite where one is not finite and the other differs.
inline double error(const Tensor& found, const std::vector<double>& expected) {
  const std::vector<double> values = doubles(found);
  if (values.size() != expected.size()) return kInfinity;
  double scale = 1e-30, largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double a = values[i], b = expected[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return kInfinity;
    largest = std::max(largest, std::abs(a - b));
  }
  for (double b : expected)
    if (std::isfinite(b)) scale = std::max(scale, std::abs(b));
  return largest / scale;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && std::ranges::equal(a.raw(), b.raw());
}

/// f(inputs), then the gradients of the float inputs for a fixed random cotangent.
inline std::vector<Tensor> with_gradients(const Function& f, std::vector<Tensor> inputs) {
  Tape tape;
  for (Tensor& x : inputs)
    if (x.dtype() != DType::int64) tape.watch(x);
  std::vector<Tensor> results(1);
  {
    Recording on(tape);
    results[0] = f(inputs);
  }
  const Tensor& out = results[0];
  const Grads& grads = tape.backward(out, normal<double>(out.shape(), 99).to(DType::float32).to(out.dtype()));
  for (const Tensor& x : inputs)
    if (x.dtype() != DType::int64) results.push_back(grads.of(x));
  return results;
}

/// Values and gradients are the same bits in every run and for every number of threads.
inline void check_deterministic(const Function& f, const std::vector<Tensor>& inputs) {
  set_threads(1);
  const std::vector<Tensor> first = with_gradients(f, inputs);
  for (int threads : {1, 2, 3}) {
    set_threads(threads);
    const std::vector<Tensor> again = with_gradients(f, inputs);
    CAPTURE(threads);
    CHECK(std::ranges::equal(first, again, same_bits));
  }
  set_threads(0);
}

/// Values and gradients of float32 inputs agree with those of the same numbers in float64.
inline void check_float_against_double(const Function& f, const std::vector<Tensor>& inputs,
                                       double tolerance = kTolerance<float>) {
  std::vector<Tensor> wide;
  for (const Tensor& x : inputs) wide.push_back(x.dtype() == DType::float32 ? x.to(DType::float64) : x);
  const std::vector<Tensor> found = with_gradients(f, inputs), expected = with_gradients(f, wide);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(error(found[i], doubles(expected[i])) <= tolerance);
  }
}

}  // namespace npzoo::testing
