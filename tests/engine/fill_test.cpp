#include "npzoo/engine/fill.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "npzoo/engine/error.h"
#include "npzoo/engine/memory.h"
#include "npzoo/engine/parallel.h"

namespace npzoo {

namespace {

template <class T>
Tensor uniform(const Shape& shape, unsigned seed, double low = -1, double high = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> draw(low, high);
  Tensor x = Tensor::empty(shape, dtype_of<T>());
  for (T& value : x.values<T>()) value = static_cast<T>(draw(engine));
  return x;
}

/// Returns the index in `target` of element `i` of `shape`, if `target` was broadcast to `shape`.
std::int64_t target_index(std::int64_t i, const Shape& shape, const Shape& target) {
  std::int64_t index = 0, stride = 1;
  for (int axis = 1; axis <= target.rank(); ++axis) {
    const std::int64_t coordinate = i % shape[-axis];
    i /= shape[-axis];
    if (target[-axis] != 1) index += coordinate * stride;
    stride *= target[-axis];
  }
  return index;
}

template <class T>
std::vector<double> summed(const Tensor& x, const Shape& target) {
  std::vector<long double> sums(static_cast<std::size_t>(target.numel()), 0);
  const auto values = x.values<T>();
  for (std::int64_t i = 0; i < x.numel(); ++i)
    sums[static_cast<std::size_t>(target_index(i, x.shape(), target))] += values[static_cast<std::size_t>(i)];
  return {sums.begin(), sums.end()};
}

template <class T>
bool same_bits(const Tensor& x, const Tensor& y) {
  return x.shape() == y.shape() && (x.numel() == 0 || std::memcmp(x.data<T>(), y.data<T>(), x.bytes()) == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("add_into changes every element once", T, float, double) {
  for (const std::int64_t n : {0, 1, 7, 16, 33, 100'003}) {
    Tensor y = uniform<T>({n}, 1);
    const Tensor x = uniform<T>({n}, 2), before = y.clone();
    add_into(y, x);
    bool equal = true;
    for (std::int64_t i = 0; i < n; ++i) equal &= y.data<T>()[i] == before.data<T>()[i] + x.data<T>()[i];
    CHECK(equal);
  }
}

TEST_CASE("add_into refuses other shapes and dtypes") {
  Tensor y = Tensor::zeros({2, 3});
  CHECK_THROWS_WITH_AS(add_into(y, Tensor::zeros({3, 2})),
                       "[add_into] cannot add float32 of shape (3, 2) to float32 of shape (2, 3)", Error);
  CHECK_THROWS_AS(add_into(y, Tensor::zeros({2, 3}, DType::float64)), Error);
}

TEST_CASE_TEMPLATE("sum_to is the adjoint of broadcasting", T, float, double) {
  struct Pair {
    Shape from, to;
  };
  const Pair pairs[] = {
      {{5, 7}, {5, 7}},
      {{5, 7}, {7}},
      {{5, 7}, {1, 7}},
      {{5, 7}, {5, 1}},
      {{5, 7}, {}},
      {{1, 7}, {7}},
      {{3, 1, 4}, {4}},
      {{3, 1, 4}, {3, 1, 1}},
      {{4, 3, 5, 6}, {3, 1, 6}},
      {{4, 3, 5, 6}, {4, 1, 5, 1}},
      {{2, 3, 2, 3, 2, 3}, {3, 1, 3, 1, 3}},
      {{0, 7}, {7}},
      {{0, 7}, {1, 1}},
      {{5, 0}, {5, 1}},
      {{5, 0}, {0}},
      {{800, 64}, {64}},
      {{20000, 3}, {3}},
      {{20000, 3}, {}},
      {{70001}, {1}},
      {{3, 5000, 17}, {3, 1, 17}},
      {{2, 3000}, {3000}},
      {{}, {}},
  };
  for (const Pair& pair : pairs) {
    const Shape& from = pair.from;
    const Shape& to = pair.to;
    CAPTURE(to_string(from));
    CAPTURE(to_string(to));
    const Tensor x = uniform<T>(from, 3);
    const Tensor y = sum_to(x, to);
    REQUIRE(y.shape() == to);
    const std::vector<double> expected = summed<T>(x, to);
    double error = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
      error =
          std::max(error, std::abs(static_cast<double>(y.values<T>()[i]) - expected[i]) / (1 + std::abs(expected[i])));
    CHECK(error <= (std::is_same_v<T, float> ? 1.5e-7 : 5e-14));
  }
}

TEST_CASE("sum_to refuses shapes that do not broadcast") {
  CHECK_THROWS_WITH_AS(sum_to(Tensor::zeros({2, 3}), {2}),
                       "[broadcast] (2) and (2, 3) do not agree: axis -1 has extents 2 and 3", Error);
  CHECK_THROWS_WITH_AS(sum_to(Tensor::zeros({2, 1}), {2, 3}), "[sum_to] (2, 3) cannot be broadcast to (2, 1)", Error);
  CHECK_THROWS_AS(sum_to(Tensor::zeros({3}), {1, 3}), Error);
}

TEST_CASE("sum_to: a million float32 values keep seven digits") {
  const Tensor x = uniform<float>({1'000'003}, 4, 0, 1);
  const double expected = summed<float>(x, {})[0];
  CHECK(std::abs(sum_to(x, {}).item() - expected) <= 6e-8 * expected);
}

TEST_CASE("sum_to rounds once, however many passes it takes") {
  Tensor x = Tensor::full({2, 2, 2}, 1);
  x.values<float>()[0] = 1 << 24;  // + 1 rounds to the same number
  const Tensor y = sum_to(x, {1, 2, 1});
  CHECK(y.values<float>()[0] == (1 << 24) + 4);
  CHECK(y.values<float>()[1] == 4);
}

TEST_CASE_TEMPLATE("sum_to multiplies by a factor before it rounds", T, float, double) {
  const Tensor large = Tensor::full({3}, 3e38, dtype_of<T>());
  CHECK(sum_to(large, {}, 1.0 / 3).item() == doctest::Approx(3e38));
  CHECK(sum_to(large, {3}, 0.5).values<T>()[2] == doctest::Approx(1.5e38));
  const Tensor x = uniform<T>({4, 3, 5, 6}, 3), half = sum_to(x, {3, 1, 6}, 0.5), whole = sum_to(x, {3, 1, 6});
  for (std::int64_t i = 0; i < half.numel(); ++i) CHECK(half.values<T>()[i] == whole.values<T>()[i] / 2);
  CHECK(sum_to(Tensor::full({5000, 70}, 2, dtype_of<T>()), {1, 1}, 0.5).item() == 350'000);
}

TEST_CASE("sum_to takes little memory beside its argument") {
  for (const Shape& shape : {Shape{16, 1 << 18}, Shape{64, 1 << 16}, Shape{1000, 4096}, Shape{4096, 1000},
                             Shape{40, 100'003}, Shape{1 << 18, 16}, Shape{1 << 22, 1}}) {
    CAPTURE(to_string(shape));
    const Tensor x = Tensor::zeros(shape);
    const auto before = memory_stats().live_bytes;
    reset_peak_memory();
    const Tensor y = sum_to(x, {shape.last()});
    CHECK(memory_stats().peak_live_bytes - before <= y.bytes() + x.bytes() / 4);
  }
}

TEST_CASE_TEMPLATE("sums do not depend on the number of threads", T, float, double) {
  const int before = thread_pool().threads();
  const Tensor x = uniform<T>({50'000, 9}, 6);
  set_threads(1);
  const Tensor columns = sum_to(x, {9}), rows = sum_to(x, {50'000, 1}), all = sum_to(x, {});
  for (int threads : {2, 3}) {
    set_threads(threads);
    CHECK(same_bits<T>(sum_to(x, {9}), columns));
    CHECK(same_bits<T>(sum_to(x, {50'000, 1}), rows));
    CHECK(same_bits<T>(sum_to(x, {}), all));
  }
  set_threads(before);
}

}  // namespace npzoo
