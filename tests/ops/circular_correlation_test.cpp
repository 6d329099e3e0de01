#include "npzoo/ops/circular_correlation/circular_correlation.h"

#include "npzoo/engine/memory.h"
#include "npzoo/ops/concat/concat.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void circular_correlation_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

constexpr CircularMethod kMethods[] = {CircularMethod::products, CircularMethod::fourier};
// 33 and 97 have prime factors that are too large for a transform of that very length.
constexpr std::int64_t kLengths[] = {0, 1, 2, 3, 33, 96, 97, 336};

Function correlation_by(CircularMethod method) {
  return [method](const std::vector<Tensor>& in) { return circular_correlation(in[0], in[1], method); };
}
Function delayed_sum_by(CircularMethod method) {
  return [method](const std::vector<Tensor>& in) { return delayed_sum(in[0], in[1], method); };
}

struct SeriesExtents {
  std::int64_t batch, length, channels;

  std::size_t at(std::int64_t b, std::int64_t t, std::int64_t c) const {
    return static_cast<std::size_t>((b * length + (t + length) % length) * channels + c);
  }
  std::size_t row(std::int64_t b, std::int64_t t) const { return static_cast<std::size_t>(b * length + t); }
};

std::vector<double> correlation_by_definition(const SeriesExtents& n, const std::vector<double>& q,
                                              const std::vector<double>& k) {
  std::vector<double> out;
  for (std::int64_t b = 0; b < n.batch; ++b)
    for (std::int64_t delay = 0; delay < n.length; ++delay) {
      long double sum = 0;
      for (std::int64_t t = 0; t < n.length; ++t)
        for (std::int64_t c = 0; c < n.channels; ++c)
          sum += static_cast<long double>(q[n.at(b, t + delay, c)]) * k[n.at(b, t, c)];
      out.push_back(static_cast<double>(sum));
    }
  return out;
}

/// With `sign` −1, values(t − τ) in the place of values(t + τ).
std::vector<double> delayed_sum_by_definition(const SeriesExtents& n, const std::vector<double>& weights,
                                              const std::vector<double>& values, std::int64_t sign = 1) {
  std::vector<double> out;
  for (std::int64_t b = 0; b < n.batch; ++b)
    for (std::int64_t t = 0; t < n.length; ++t)
      for (std::int64_t c = 0; c < n.channels; ++c) {
        long double sum = 0;
        for (std::int64_t delay = 0; delay < n.length; ++delay)
          sum += static_cast<long double>(weights[n.row(b, delay)]) * values[n.at(b, t + sign * delay, c)];
        out.push_back(static_cast<double>(sum));
      }
  return out;
}

/// Values and gradients of both operations against their definitions.
template <class T>
void check_values(const SeriesExtents& n, CircularMethod method) {
  CAPTURE(n.length);
  CAPTURE(n.channels);
  CAPTURE(static_cast<int>(method));
  const Shape series{n.batch, n.length, n.channels}, rows{n.batch, n.length};
  const Tensor q = normal<T>(series, 1), k = normal<T>(series, 2), weights = normal<T>(rows, 3);
  const auto of_q = doubles(q), of_k = doubles(k), of_weights = doubles(weights);

  const std::vector<Tensor> correlation = with_gradients(correlation_by(method), {q, k});
  const auto d_rows = doubles(cotangent(correlation[0]));
  CHECK(correlation[0].shape() == rows);
  CHECK(error(correlation[0], correlation_by_definition(n, of_q, of_k)) <= kTolerance<T>);
  CHECK(error(correlation[1], delayed_sum_by_definition(n, d_rows, of_k, -1)) <= kTolerance<T>);
  CHECK(error(correlation[2], delayed_sum_by_definition(n, d_rows, of_q)) <= kTolerance<T>);

  const std::vector<Tensor> sum = with_gradients(delayed_sum_by(method), {weights, k});
  const auto d_series = doubles(cotangent(sum[0]));
  CHECK(sum[0].shape() == series);
  CHECK(error(sum[0], delayed_sum_by_definition(n, of_weights, of_k)) <= kTolerance<T>);
  CHECK(error(sum[1], correlation_by_definition(n, of_k, d_series)) <= kTolerance<T>);
  CHECK(error(sum[2], delayed_sum_by_definition(n, of_weights, d_series, -1)) <= kTolerance<T>);
}

}  // namespace

TEST_CASE_TEMPLATE("circular correlation: values and gradients are those of the definitions", T, float, double) {
  for (const CircularMethod method : kMethods) {
    for (const std::int64_t length : kLengths) check_values<T>({2, length, 5}, method);
    for (const std::int64_t channels : {0, 1, 33, 300}) check_values<T>({1, 6, channels}, method);
    check_values<T>({0, 6, 5}, method);
    check_values<T>({19, 10, 3}, method);
  }
}

TEST_CASE("circular correlation: both ways agree, up to rounding") {
  for (const std::int64_t length : kLengths) {
    CAPTURE(length);
    const Tensor q = normal<double>({3, length, 40}, 1), k = normal<double>({3, length, 40}, 2);
    const Tensor weights = normal<double>({3, length}, 3);
    const auto same = [](const Function& by_products, const Function& by_transforms, const std::vector<Tensor>& in) {
      const auto expected = with_gradients(by_products, in), found = with_gradients(by_transforms, in);
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(error(found[i], doubles(expected[i])) <= 1e-14);
    };
    same(correlation_by(kMethods[0]), correlation_by(kMethods[1]), {q, k});
    same(delayed_sum_by(kMethods[0]), delayed_sum_by(kMethods[1]), {weights, k});
  }
}

TEST_CASE("circular correlation: small values beside large ones keep their digits") {
  for (const CircularMethod method : kMethods) {
    CAPTURE(static_cast<int>(method));
    const SeriesExtents n{1, 48, 70};
    const Tensor q = normal<float>({1, 48, 70}, 1), k = normal<float>({1, 48, 70}, 2, 1e-20);
    const auto expected = correlation_by_definition(n, doubles(q), doubles(k));
    CHECK(error(circular_correlation(q, k, method), expected) <= kTolerance<float>);
    CHECK(error(circular_correlation(k, q, method), correlation_by_definition(n, doubles(k), doubles(q))) <=
          kTolerance<float>);
  }
}

TEST_CASE("circular correlation: NaN stays in its task, and spoils all delays or times of it") {
  for (const CircularMethod method : kMethods)
    for (const std::int64_t length : {12, 33}) {
      CAPTURE(static_cast<int>(method));
      const OnCpu cpu;
      Tensor k = normal<double>({2, length, 3}, 1), weights = normal<double>({2, length}, 2);
      const Tensor q = normal<double>({2, length, 3}, 3);
      k.data<double>()[4 * 3] = kNaN;
      const Tensor found = circular_correlation(q, k, method), moved = delayed_sum(weights, k, method);
      weights.data<double>()[5] = kNaN;
      const Tensor weighed = delayed_sum(weights, q, method);
      for (std::int64_t i = 0; i < length; ++i) {
        CHECK(std::isnan(found.data<double>()[i]));
        CHECK(std::isfinite(found.data<double>()[length + i]));
        CHECK(std::isnan(moved.data<double>()[3 * i]));
        CHECK(std::isfinite(moved.data<double>()[3 * (length + i)]));
        for (std::int64_t c = 0; c < 3; ++c) {
          CHECK(std::isnan(weighed.data<double>()[3 * i + c]));
          CHECK(std::isfinite(weighed.data<double>()[3 * (length + i) + c]));
        }
      }
    }
}

TEST_CASE("circular correlation: a task's result does not depend on the others") {
  for (const CircularMethod method : kMethods) {
    // cuBLAS chooses its algorithm by the number of products as well.
    if (method == CircularMethod::products && default_device() == Device::cuda && active_gpu() == Gpu::nvidia) continue;
    const Tensor q = normal<float>({35, 33, 7}, 1), k = normal<float>({35, 33, 7}, 2);
    const Tensor all = circular_correlation(q, k, method), moved = delayed_sum(all, k, method);
    const auto task = [](const Tensor& x, std::int64_t i) { return slice(x, 0, i, i + 1); };
    for (const std::int64_t i : {0, 17, 34}) {
      CHECK(same_bits(circular_correlation(task(q, i), task(k, i), method), task(all, i)));
      CHECK(same_bits(delayed_sum(task(all, i), task(k, i), method), task(moved, i)));
    }
  }
}

TEST_CASE("circular correlation: errors") {
  const Tensor x = Tensor::zeros({2, 3, 4});
  CHECK_THROWS_WITH_AS(circular_correlation(Tensor::zeros({2, 3}), x),
                       "[circular_correlation] q is (2, 3), expected (B, L, E)", Error);
  CHECK_THROWS_WITH_AS(circular_correlation(x, Tensor::zeros({2, 4, 4})),
                       "[circular_correlation] k is float32 (2, 4, 4), expected float32 (2, 3, 4), like q", Error);
  CHECK_THROWS_WITH_AS(circular_correlation(x, x.to(DType::float64)),
                       "[circular_correlation] k is float64 (2, 3, 4), expected float32 (2, 3, 4), like q", Error);
  CHECK_THROWS_WITH_AS(delayed_sum(Tensor::zeros({2, 3}), Tensor::zeros({2, 3})),
                       "[delayed_sum] values are (2, 3), expected (B, L, E)", Error);
  CHECK_THROWS_WITH_AS(delayed_sum(Tensor::zeros({3, 2}), x),
                       "[delayed_sum] weights are float32 (3, 2), expected float32 (2, 3) for values (2, 3, 4)", Error);
}

TEST_CASE("circular correlation: a transform is not captured before it was planned") {
  if (default_device() != Device::cuda) return;
  const Tensor q = normal<float>({3, 21, 2}, 1), k = normal<float>({3, 21, 2}, 2);
  const auto capture = [&] {
    const GraphMemory room;
    gpu_runtime().begin_capture();
    try {
      const Tensor out = circular_correlation(q, k, CircularMethod::fourier);
      return std::pair(gpu_runtime().end_capture(), out);
    } catch (const Error&) {
      gpu_runtime().abandon_capture();
      throw;
    }
  };
  CHECK_THROWS_WITH_AS(capture(), "[fourier] the first transform of series of 21 steps cannot be captured", Error);
  const Tensor expected = circular_correlation(q, k, CircularMethod::fourier);
  auto [graph, out] = capture();
  count_graphs(1);
  graph->launch();
  CHECK(same_bits(out, expected));
  graph.reset();
  count_graphs(-1);
}

TEST_CASE("circular correlation: float32 follows float64, the same bits for any number of threads") {
  for (const CircularMethod method : kMethods)
    for (const Shape& shape : {Shape{3, 129, 40}, Shape{1, 48, 600}, Shape{40, 14, 3}}) {
      CAPTURE(static_cast<int>(method));
      const std::vector<Tensor> series{normal<float>(shape, 1), normal<float>(shape, 2)};
      const std::vector<Tensor> rows{normal<float>({shape[0], shape[1]}, 3), series[1]};
      check_float_against_double(correlation_by(method), series);
      check_float_against_double(delayed_sum_by(method), rows);
      check_deterministic(correlation_by(method), series);
      check_deterministic(delayed_sum_by(method), rows);
      const std::vector<Tensor> one = with_gradients(delayed_sum_by(method), rows);
      const ThreadCount many(5);
      CHECK(std::ranges::equal(one, with_gradients(delayed_sum_by(method), rows), same_bits));
    }
}

TEST_CASE("circular correlation: gradients") { gradcheck_all(circular_correlation_gradcheck_cases); }

}  // namespace npzoo
