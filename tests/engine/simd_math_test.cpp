#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "npzoo/engine/backend.h"
#include "tests/engine/simd_math_probe.h"

namespace npzoo {

namespace {

using Exact = long double;

struct Row {
  std::string name;
  Function function;
  Exact (*exact)(Exact);
  double low, high;  // of the arguments
  double low32, high32;
};

const Row kRows[] = {
    {"exp", Function::exp, [](Exact x) { return std::exp(x); }, -708, 709.7, -87, 88.7},
    {"expm1", Function::expm1, [](Exact x) { return std::expm1(x); }, -60, 709.7, -60, 88.7},
    {"log", Function::log, [](Exact x) { return std::log(x); }, 0, 1e9, 0, 1e9},
    {"log1p", Function::log1p, [](Exact x) { return std::log1p(x); }, -1, 100, -1, 100},
    {"tanh", Function::tanh, [](Exact x) { return std::tanh(x); }, -25, 25, -12, 12},
    {"sigmoid", Function::sigmoid, [](Exact x) { return 1 / (1 + std::exp(-x)); }, -708, 50, -87, 30},
    {"softplus", Function::softplus, [](Exact x) { return std::max(x, Exact{0}) + std::log1p(std::exp(-std::abs(x))); },
     -708, 100, -87, 100},
    {"erf", Function::erf, [](Exact x) { return std::erf(x); }, -7, 7, -5, 5},
    {"sqrt", Function::sqrt, [](Exact x) { return std::sqrt(x); }, 0, 1e9, 0, 1e9},
    {"round", Function::round, [](Exact x) { return std::nearbyint(x); }, -1e17, 1e17, -1e9, 1e9},
};

template <class T>
std::vector<T> evaluate(Function function, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  with_cpu([&](const Backend& cpu) {
    probe<T>(cpu, {.function = function, .n = std::ssize(x), .x = x.data(), .y = y.data()});
  });
  return y;
}

template <class T>
T evaluate(Function function, T x) {
  return evaluate(function, std::vector<T>{x})[0];
}

/// Half of them uniform, half with uniform logarithms, down to where functions of 1 + x no longer see x.
template <class T>
std::vector<T> arguments(double low, double high, int count) {
  std::mt19937_64 engine(1);
  std::uniform_real_distribution<double> uniform(low, high), exponent(-70, 0);
  std::vector<T> x(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(i % 2 ? uniform(engine) : std::exp(exponent(engine)) * (i % 4 || low >= 0 ? high : low));
  return x;
}

template <class T>
constexpr T kInfinityOf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNaNOf = std::numeric_limits<T>::quiet_NaN();

}  // namespace

TEST_CASE_TEMPLATE("simd_math: relative error over a million arguments", T, float, double) {
  constexpr bool kSingle = std::is_same_v<T, float>;
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const std::vector<T> x =
        kSingle ? arguments<T>(row.low32, row.high32, 1'000'000) : arguments<T>(row.low, row.high, 1'000'000);
    const std::vector<T> y = evaluate(row.function, x);
    double worst = 0;
    T worst_at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Exact expected = row.exact(x[i]);
      const Exact scale = std::max(std::abs(expected), Exact{std::numeric_limits<T>::min()});
      const auto error = static_cast<double>(std::abs(y[i] - expected) / scale);
      if (error <= worst) continue;
      worst = error;
      worst_at = x[i];
    }
    CAPTURE(worst_at);
    CHECK(worst <= (kSingle ? 2.5e-7 : 5e-16));
  }
}

TEST_CASE_TEMPLATE("simd_math: NaN propagates", T, float, double) {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    CHECK(std::isnan(evaluate(row.function, kNaNOf<T>)));
  }
}

TEST_CASE_TEMPLATE("simd_math: infinities and zeros", T, float, double) {
  const auto is = [](Function function, T x, T expected) {
    const T found = evaluate(function, x);
    CHECK(found == expected);
    CHECK(std::signbit(found) == std::signbit(expected));
  };
  constexpr T kInf = kInfinityOf<T>;
  is(Function::exp, -kInf, 0);
  is(Function::exp, kInf, kInf);
  is(Function::exp, 0, 1);
  is(Function::expm1, -kInf, -1);
  is(Function::expm1, kInf, kInf);
  is(Function::expm1, 0, 0);
  is(Function::log, 0, -kInf);
  is(Function::log, T(-0.0), -kInf);
  is(Function::log, 1, 0);
  is(Function::log, kInf, kInf);
  CHECK(std::isnan(evaluate(Function::log, T(-1))));
  CHECK(std::isnan(evaluate(Function::log, -kInf)));
  is(Function::log1p, -1, -kInf);
  is(Function::log1p, kInf, kInf);
  CHECK(std::isnan(evaluate(Function::log1p, T(-2))));
  for (const Function odd : {Function::tanh, Function::erf}) {
    is(odd, kInf, 1);
    is(odd, -kInf, -1);
    is(odd, T(0.0), T(0.0));
    is(odd, T(-0.0), T(-0.0));
  }
  is(Function::sigmoid, kInf, 1);
  is(Function::sigmoid, -kInf, 0);
  is(Function::sigmoid, 0, T(0.5));
  is(Function::softplus, kInf, kInf);
  is(Function::softplus, -kInf, 0);
  is(Function::sqrt, kInf, kInf);
  CHECK(std::isnan(evaluate(Function::sqrt, T(-1))));
  is(Function::round, T(-0.25), T(-0.0));
  is(Function::round, T(2.5), 2);
  is(Function::round, T(-3.5), -4);
  is(Function::round, kInf, kInf);
  const T halves_end = std::ldexp(T(1), std::numeric_limits<T>::digits - 1);  // from here on all numbers are integers
  is(Function::round, halves_end - T(0.5), halves_end);
  is(Function::round, T(1.5) - halves_end, 2 - halves_end);
  is(Function::round, halves_end + 1, halves_end + 1);
}

TEST_CASE_TEMPLATE("simd_math: the ends of the range", T, float, double) {
  using Limits = std::numeric_limits<T>;
  const T largest = std::log(Limits::max());
  CHECK(std::isfinite(evaluate(Function::exp, std::nextafter(largest, T(0)))));
  CHECK(evaluate(Function::exp, std::nextafter(largest, kInfinityOf<T>) + 1) == kInfinityOf<T>);
  CHECK(evaluate(Function::expm1, std::nextafter(largest, kInfinityOf<T>) + 1) == kInfinityOf<T>);
  CHECK(evaluate(Function::exp, T(-1000)) == 0);
  CHECK(evaluate(Function::exp, Limits::lowest()) == 0);
  CHECK(evaluate(Function::log, Limits::max()) == doctest::Approx(std::log(Limits::max())).epsilon(1e-7));
  CHECK(evaluate(Function::log, Limits::denorm_min()) == doctest::Approx(std::log(Limits::denorm_min())).epsilon(1e-7));
  CHECK(evaluate(Function::round, Limits::max()) == Limits::max());
  CHECK(evaluate(Function::softplus, T(500)) == 500);
}

TEST_CASE_TEMPLATE("simd: operations across lanes", T, float, double) {
  constexpr int kMost = 16;
  std::vector<T> x(kMost * kMost), transposed(x), first(x), sums(kMost), largest(kMost);
  std::iota(x.begin(), x.end(), T(-20));
  int lanes = 0;
  with_cpu([&](const Backend& cpu) {
    probe_lanes<T>(cpu, {.x = x.data(),
                         .transposed = transposed.data(),
                         .first = first.data(),
                         .sums = sums.data(),
                         .largest = largest.data(),
                         .lanes = &lanes});
  });
  for (int i = 0; i < lanes; ++i) {
    const auto row = x.begin() + i * lanes;
    CHECK(sums[static_cast<std::size_t>(i)] == std::accumulate(row, row + lanes, T(0)));
    CHECK(largest[static_cast<std::size_t>(i)] == row[lanes - 1]);
    for (int j = 0; j < lanes; ++j) {
      CHECK(transposed[static_cast<std::size_t>(j * lanes + i)] == row[j]);
      CHECK(first[static_cast<std::size_t>(i * lanes + j)] == (j <= i ? row[j] : 0));
    }
  }
}

std::int64_t registers_for_kilobyte(Isa isa) {
  std::int64_t registers = 0;
  count_registers<float>(Backend(isa, thread_pool()), {1024, &registers});
  return registers;
}

TEST_CASE("simd: instruction sets do not share definitions of one name") {
  if (kHasGeneric) CHECK(registers_for_kilobyte(Isa::generic) == 64);
  if (kHasAvx2 && active_isa() >= Isa::avx2) CHECK(registers_for_kilobyte(Isa::avx2) == 32);
  if (kHasAvx512 && active_isa() >= Isa::avx512) CHECK(registers_for_kilobyte(Isa::avx512) == 16);
}

}  // namespace npzoo
