#include "npzoo/ops/moving_average/moving_average.h"

#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void moving_average_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

Function averaged_over(std::int64_t width) {
  return [width](const std::vector<Tensor>& in) { return moving_average(in[0], width); };
}

/// The series with its ends repeated, then plain windows.
std::vector<double> padded_average(const Tensor& x, std::int64_t width) {
  const std::vector<double> values = doubles(x);
  const std::int64_t batch = x.dim(0), length = x.dim(1), channels = x.dim(2), reach = width / 2;
  std::vector<double> out;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t t = 0; t < length; ++t)
      for (std::int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (std::int64_t j = t - reach; j <= t + reach; ++j)
          sum += values[static_cast<std::size_t>((b * length + std::clamp<std::int64_t>(j, 0, length - 1)) * channels +
                                                 c)];
        out.push_back(sum / static_cast<double>(width));
      }
  return out;
}

}  // namespace

TEST_CASE_TEMPLATE("moving_average: values", T, float, double) {
  for (std::int64_t length : {0, 1, 2, 7, 33, 129})
    for (std::int64_t width : {1, 3, 7, 25})
      for (const Shape& shape : {Shape{2, length, 1}, Shape{3, length, 33}, Shape{0, length, 4}, Shape{2, length, 0}}) {
        CAPTURE(to_string(shape));
        CAPTURE(width);
        const Tensor x = normal<T>(shape, 1, 3);
        CHECK(moving_average(x, width).shape() == shape);
        CHECK(error(moving_average(x, width), padded_average(x, width)) <= kTolerance<T>);
      }
}

TEST_CASE_TEMPLATE("moving_average: a constant stays, width 1 changes nothing, NaN reaches its window alone", T, float,
                   double) {
  const Tensor constant = Tensor::full({2, 9, 3}, 0.75, dtype_of<T>());
  CHECK(error(moving_average(constant, 25), doubles(constant)) <= kTolerance<T>);
  const Tensor x = normal<T>({2, 9, 3}, 1, 3);
  CHECK(same_bits(moving_average(x, 1), x));

  const T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<double> out = doubles(moving_average(Tensor::from<T>({1, 5, 1}, {1, 2, nan, 4, 5}), 3));
  CHECK(out[0] == doctest::Approx(4.0 / 3).epsilon(1e-6));
  for (std::size_t i : {1, 2, 3}) CHECK(std::isnan(out[i]));
  CHECK(out[4] == doctest::Approx(14.0 / 3).epsilon(1e-6));
}

TEST_CASE("moving_average: errors") {
  CHECK_THROWS_WITH_AS(moving_average(Tensor::zeros({2, 3}), 3), "[moving_average] x is (2, 3), expected (B, L, D)",
                       Error);
  for (std::int64_t width : {-1, 0, 4})
    CHECK_THROWS_WITH_AS(
        moving_average(Tensor::zeros({1, 2, 3}), width),
        fmt::format("[moving_average] width is {}, expected an odd number of at least 1", width).c_str(), Error);
}

TEST_CASE("moving_average: float32 follows float64, the same bits for any number of threads") {
  for (const Shape& shape : {Shape{3, 1, 5}, Shape{4, 96, 33}, Shape{1, 40, 129}}) {
    const Tensor x = normal<float>(shape, 2, 3);
    check_float_against_double(averaged_over(25), {x});
    check_deterministic(averaged_over(25), {x});
  }
}

TEST_CASE("moving_average: gradients") { gradcheck_all(moving_average_gradcheck_cases); }

}  // namespace npzoo
