#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/engine/random.h"
#include "npzoo/engine/tape.h"
#include "npzoo/engine/tensor.h"
#include "tests/gpu.h"

namespace npzoo::testing {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

#ifdef NPZOO_GUARD
inline constexpr bool kGuardBuild = true;  // no block of memory is used twice
#else
inline constexpr bool kGuardBuild = false;
#endif

/// A new, empty directory, removed in the end with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "npzoo-XXXXXX";
    check(::mkdtemp(name.data()) != nullptr, "[testing] cannot make {}", name);
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  auto count() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

/// The message of the Error that `f` throws.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// While it lives, the process has this many threads.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(thread_pool().threads()) { set_threads(threads); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;
  ~ThreadCount() { set_threads(before_); }

 private:
  int before_;
};

/// While it lives, tensors are made on the CPU, whatever device the tests run on: for tests of what no device changes.
struct OnCpu {
  DeviceScope scope{Device::cpu};
};

/// Returns a tolerance for rounding: a few units in the last place of the largest element.
template <class T>
constexpr double kTolerance = 16 * static_cast<double>(std::numeric_limits<T>::epsilon());

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

template <class T>
Tensor normal(const Shape& shape, std::uint64_t seed, double scale = 1, double shift = 0) {
  Tensor x = Tensor::empty(shape, dtype_of<T>(), Device::cpu);
  Random random(seed);
  for (T& value : x.values<T>()) value = static_cast<T>(shift + scale * random.normal());
  return x.to(default_device());
}

inline std::vector<double> doubles(const Tensor& x) {
  const Tensor wide = x.detach().to(Device::cpu).to(DType::float64);
  const auto values = wide.values<double>();
  return {values.begin(), values.end()};
}

/// Largest difference; infinite where one is not finite and the other differs.
inline double largest_difference(const Tensor& found, const std::vector<double>& expected) {
  const std::vector<double> values = doubles(found);
  if (values.size() != expected.size()) return kInfinity;
  double result = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double a = values[i], b = expected[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return kInfinity;
    result = std::max(result, std::abs(a - b));
  }
  return result;
}

/// The same relative to the largest finite element.
inline double error(const Tensor& found, const std::vector<double>& expected) {
  double scale = 1e-30;
  for (double b : expected)
    if (std::isfinite(b)) scale = std::max(scale, std::abs(b));
  return largest_difference(found, expected) / scale;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::ranges::equal(a.detach().to(Device::cpu).raw(), b.detach().to(Device::cpu).raw());
}

/// A fixed random gradient of `out`, the same numbers for every dtype.
inline Tensor cotangent(const Tensor& out) {
  return normal<double>(out.shape(), 99).to(DType::float32).to(out.dtype());
}

/// f(inputs), then the gradients of the float inputs for that cotangent.
inline std::vector<Tensor> with_gradients(const Function& f, std::vector<Tensor> inputs) {
  Tape tape;
  for (Tensor& x : inputs)
    if (x.dtype() != DType::int64) tape.watch(x);
  std::vector<Tensor> results(1);
  {
    Recording on(tape);
    results[0] = f(inputs);
  }
  const Grads& grads = tape.backward(results[0], cotangent(results[0]));
  for (const Tensor& x : inputs)
    if (x.dtype() != DType::int64) results.push_back(grads.of(x));
  return results;
}

/// Values and gradients are the same bits in every run and for every number of threads.
inline void check_deterministic(const Function& f, const std::vector<Tensor>& inputs) {
  const auto with_threads = [&](int threads) {
    const ThreadCount count(threads);
    return with_gradients(f, inputs);
  };
  const std::vector<Tensor> first = with_threads(1);
  for (int threads : {1, 2, 3}) {
    CAPTURE(threads);
    CHECK(std::ranges::equal(first, with_threads(threads), same_bits));
  }
}

/// The float32 ones converted.
inline std::vector<Tensor> to_double(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> wide;
  for (const Tensor& x : tensors) wide.push_back(x.dtype() == DType::float32 ? x.to(DType::float64) : x);
  return wide;
}

/// Values and gradients of float32 inputs agree with those of the same numbers in float64.
inline void check_float_against_double(const Function& f, const std::vector<Tensor>& inputs,
                                       double tolerance = kTolerance<float>) {
  const std::vector<Tensor> found = with_gradients(f, inputs), expected = with_gradients(f, to_double(inputs));
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(error(found[i], doubles(expected[i])) <= tolerance);
  }
}

/// An output and its gradients in float32, as `with_gradients` returns them, are about as exact as those of a
/// composition of simple loops in float32: twice its error for the output, three times for the gradients.
inline void check_as_exact_as(const std::vector<Tensor>& composed, const std::vector<Tensor>& found,
                              const std::vector<Tensor>& truth) {
  REQUIRE(found.size() == truth.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    const std::vector<double> exact = doubles(truth[i]);
    CHECK(error(found[i], exact) <= (i == 0 ? 2 : 3) * error(composed[i], exact));
  }
}

}  // namespace npzoo::testing
