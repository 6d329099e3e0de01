#include "npzoo/ops/time_encoding/time_encoding.h"

#include <doctest/doctest.h>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE_TEMPLATE("event times: gaps add up in double", T, float, double) {
  const Tensor gaps = Tensor::from<T>({2, 3}, {1, 0, 0.5, 2, 0.25, 0}).to(default_device()),
               start = Tensor::from<double>({2}, {1e8, 0.125}).to(default_device());
  CHECK(doubles(event_times(gaps, start)) == std::vector<double>{1e8 + 1, 1e8 + 1, 1e8 + 1.5, 2.125, 2.375, 2.375});
  CHECK(event_times(Tensor::zeros({2, 0}, dtype_of<T>(), default_device()), start).shape() == Shape{2, 0});
}

TEST_CASE_TEMPLATE("time encoding: sines and cosines of the paper's periods", T, float, double) {
  const std::vector<double> times{0, 1.5, 4e4, 1e7 + 0.25};
  const Tensor at = Tensor::from<double>({2, 2}, std::span(times)).to(default_device());
  for (const std::int64_t width : {1, 5, 8}) {
    const Tensor encoded = time_encoding(at, width, dtype_of<T>());
    REQUIRE(encoded.shape() == Shape{2, 2, width});
    CHECK(encoded.dtype() == dtype_of<T>());
    std::vector<double> expected;
    for (const double t : times)
      for (std::int64_t d = 0; d < width; ++d) {
        const double angle = t / std::pow(10000.0, 2.0 * static_cast<double>(d / 2) / static_cast<double>(width));
        expected.push_back(d % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    // A rounding of the angle, at most 1e7.
    CHECK(largest_difference(encoded, expected) <= (std::is_same_v<T, float> ? 1e-7 : 4e-9));
  }
}

TEST_CASE("time encoding: other shapes are refused in one line") {
  const Tensor flat = Tensor::zeros({3}, DType::float64), gaps = Tensor::zeros({3, 2}, DType::float64);
  CHECK(error_of([&] { event_times(gaps, Tensor::zeros({2}, DType::float64)); }) ==
        "[event_times] gaps (3, 2) and float64 start (2) found, expected (B, N) and float64 (B)");
  CHECK(error_of([&] { event_times(gaps, Tensor::zeros({3}, DType::float32)); }) ==
        "[event_times] gaps (3, 2) and float32 start (3) found, expected (B, N) and float64 (B)");
  CHECK(error_of([&] { time_encoding(flat, 4, DType::float32); }) ==
        "[time_encoding] float64 times (3) found, expected float64 (B, N)");
}
