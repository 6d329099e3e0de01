#include "npzoo/engine/gemm.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "npzoo/engine/backend.h"

namespace npzoo {

namespace {

/// A product with its arrays. `pad` elements lie between the rows of each array, and must stay untouched.
template <class T>
struct Case {
  std::int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;
  double alpha = 1;
  bool accumulate = false, with_bias = false;
  Activation activation = Activation::none;
  std::int64_t pad = 0;

  std::vector<T> a{}, b{}, bias{}, c{};

  std::int64_t a_columns() const { return (a_transposed ? m : k) + pad; }
  std::int64_t b_columns() const { return (b_transposed ? k : n) + pad; }
  std::int64_t c_columns() const { return n + pad; }

  void fill(unsigned seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    const auto draw = [&](std::vector<T>& x, std::int64_t size) {
      x.resize(static_cast<std::size_t>(size));
      for (T& value : x) value = static_cast<T>(uniform(engine));
    };
    // Without the padding of the last row: a sanitizer then sees any read behind the end.
    const auto extent = [&](std::int64_t rows, std::int64_t columns) { return rows > 0 ? rows * columns - pad : 0; };
    draw(a, extent(a_transposed ? k : m, a_columns()));
    draw(b, extent(b_transposed ? n : k, b_columns()));
    draw(c, extent(m, c_columns()));
    draw(bias, n);
  }

  Gemm<T> arguments(std::vector<T>& out) const {
    return {.m = m,
            .n = n,
            .k = k,
            .a = a.data(),
            .a_row = a_transposed ? 1 : a_columns(),
            .a_col = a_transposed ? a_columns() : 1,
            .b = b.data(),
            .b_row = b_transposed ? 1 : b_columns(),
            .b_col = b_transposed ? b_columns() : 1,
            .c = out.data(),
            .c_row = c_columns(),
            .alpha = static_cast<T>(alpha),
            .accumulate = accumulate,
            .bias = with_bias ? bias.data() : nullptr,
            .activation = activation};
  }

  std::vector<T> product(bool serial) const {
    std::vector<T> out = c;
    with_cpu([&](const Backend& cpu) { serial ? gemm_serial(cpu, arguments(out)) : gemm(cpu, arguments(out)); });
    return out;
  }

  std::vector<double> reference() const {
    std::vector<T> ignored;
    const Gemm<T> p = arguments(ignored);
    std::vector<double> out(c.begin(), c.end());
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        long double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += static_cast<long double>(p.a[i * p.a_row + l * p.a_col]) * p.b[l * p.b_row + j * p.b_col];
        double& x = out[static_cast<std::size_t>(i * p.c_row + j)];
        x = static_cast<double>(p.alpha * sum) + (accumulate ? x : 0) + (with_bias ? p.bias[j] : 0);
        if (activation == Activation::relu && x < 0) x = 0;
      }
    return out;
  }
};

/// Half a unit in the last place of 1 for each product of numbers below 1: far above random rounding, far below one
/// product too many or too few.
template <class T>
double tolerance(std::int64_t k) {
  return std::numeric_limits<T>::epsilon() * (8 + 0.5 * static_cast<double>(k));
}

template <class T>
double largest_error(const std::vector<T>& found, const std::vector<double>& expected) {
  double error = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(static_cast<double>(found[i]) - expected[i]);
    if (!(difference <= error)) error = difference;
  }
  return error;
}

template <class T>
void check_case(Case<T> x, unsigned seed) {
  CAPTURE(x.m);
  CAPTURE(x.n);
  CAPTURE(x.k);
  CAPTURE(x.a_transposed);
  CAPTURE(x.b_transposed);
  x.fill(seed);
  const std::vector<double> expected = x.reference();
  CHECK(largest_error(x.product(false), expected) <= tolerance<T>(x.k));
  CHECK(largest_error(x.product(true), expected) <= tolerance<T>(x.k));
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("gemm: every layout, sizes around those of registers and tiles", T, float, double) {
  constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 5, 16, 17, 33, 64, 65, 129, 300};
  std::mt19937 engine(1);
  const auto pick = [&] { return kSizes[engine() % std::size(kSizes)]; };
  for (unsigned i = 0; i < 400; ++i)
    check_case(Case<T>{.m = pick(),
                       .n = pick(),
                       .k = pick(),
                       .a_transposed = i % 2 != 0,
                       .b_transposed = i / 2 % 2 != 0,
                       .alpha = i % 3 == 0 ? 1.0 : 0.25,
                       .accumulate = i % 5 < 2,
                       .with_bias = i % 7 < 3,
                       .activation = i % 11 < 5 ? Activation::relu : Activation::none,
                       .pad = i % 13 < 6 ? 0 : 5},
               i);
}

TEST_CASE_TEMPLATE("gemm: shapes of models", T, float, double) {
  for (const bool a_transposed : {false, true})
    for (const bool b_transposed : {false, true}) {
      const auto shape = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
        check_case(
            Case<T>{
                .m = m, .n = n, .k = k, .a_transposed = a_transposed, .b_transposed = b_transposed, .with_bias = true},
            7);
      };
      shape(50, 50, 16);
      shape(800, 2, 64);
      shape(800, 64, 1);
      shape(64, 3, 2500);
      shape(64, 128, 1600);
      shape(1, 1, 5000);
      shape(3, 700, 40);
    }
}

TEST_CASE_TEMPLATE("gemm: a large product", T, float, double) {
  check_case(Case<T>{.m = 513, .n = 257, .k = 1030, .accumulate = true, .activation = Activation::relu}, 3);
  check_case(Case<T>{.m = 257, .n = 1030, .k = 513, .b_transposed = true}, 4);
}

TEST_CASE_TEMPLATE("gemm: no product is an empty sum", T, float, double) {
  Case<T> x{.m = 3, .n = 20, .k = 0, .with_bias = true, .activation = Activation::relu};
  x.fill(5);
  const std::vector<T> found = x.product(false);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == std::max(x.bias[i % 20], T(0)));
}

TEST_CASE_TEMPLATE("gemm: NaN reaches the elements that depend on it and no others", T, float, double) {
  Case<T> x{.m = 9, .n = 21, .k = 6, .activation = Activation::relu};
  x.fill(6);
  x.a[4 * 6 + 2] = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> found = x.product(false);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::isnan(found[i]) == (i / 21 == 4));
}

TEST_CASE_TEMPLATE("gemm: the number of threads changes no bit", T, float, double) {
  const int before = thread_pool().threads();
  const Case<T> cases[] = {
      {.m = 800, .n = 64, .k = 64, .with_bias = true},
      {.m = 700, .n = 300, .k = 600, .b_transposed = true},
      {.m = 64, .n = 128, .k = 3000, .a_transposed = true},
      {.m = 64, .n = 2, .k = 5000, .a_transposed = true, .accumulate = true},
      {.m = 8, .n = 9000, .k = 64},
  };
  for (Case<T> x : cases) {
    CAPTURE(x.n);
    x.fill(8);
    set_threads(1);
    const std::vector<T> alone = x.product(false);
    for (int threads : {2, 3}) {
      set_threads(threads);
      for (int repetition = 0; repetition < 5; ++repetition) CHECK(same_bits(x.product(false), alone));
    }
  }
  set_threads(before);
}

}  // namespace npzoo
