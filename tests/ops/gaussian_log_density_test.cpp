#include "npzoo/ops/gaussian_log_density/gaussian_log_density.h"

#include <numbers>

#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void gaussian_log_density_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

template <class T>
Tensor deviations(const Shape& shape, std::uint64_t seed) {
  Tensor x = normal<T>(shape, seed);
  for (T& value : x.values<T>()) value = std::exp(value);
  return x;
}

std::vector<double> naive(const Tensor& y, const Tensor& mean, const Tensor& std) {
  const std::vector<double> ys = doubles(y), means = doubles(mean), stds = doubles(std);
  std::vector<double> result(static_cast<std::size_t>(y.shape().rows()));
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const double z = (ys[i] - means[i]) / stds[i];
    result[i / static_cast<std::size_t>(y.dim(-1))] -=
        0.5 * z * z + std::log(stds[i]) + 0.5 * std::log(2 * std::numbers::pi);
  }
  return result;
}

const Function kDensity = [](const std::vector<Tensor>& in) { return gaussian_log_density(in[0], in[1], in[2]); };

}  // namespace

TEST_CASE_TEMPLATE("gaussian_log_density: values", T, float, double) {
  for (std::int64_t width : {0, 1, 2, 3, 33, 129, 700})
    for (const Shape& shape : {Shape{width}, Shape{33, width}, Shape{2, 300, width}, Shape{0, width}}) {
      CAPTURE(to_string(shape));
      const Tensor y = normal<T>(shape, 1), mean = normal<T>(shape, 2), std = deviations<T>(shape, 3);
      const Tensor out = gaussian_log_density(y, mean, std);
      CHECK(out.shape() == shape.without(-1));
      CHECK(error(out, naive(y, mean, std)) <= kTolerance<T>);
    }
}

TEST_CASE("gaussian_log_density: float32 is rounded once, however long the row") {
  const Tensor y = normal<float>({3, 100'000}, 1), mean = normal<float>({3, 100'000}, 2),
               std = deviations<float>({3, 100'000}, 3);
  CHECK(error(gaussian_log_density(y, mean, std), naive(y, mean, std)) <= 6e-8);
}

TEST_CASE_TEMPLATE("gaussian_log_density: small, zero and negative std, infinities, NaN", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const Tensor y = Tensor::from<T>({8, 1}, {0, 1, 0, 0, infinity, nan, 0, 1}),
               mean = Tensor::from<T>({8, 1}, {0, 0, 0, 0, 0, 0, nan, 1}),
               std = Tensor::from<T>({8, 1}, {T(1e-30), 0, 0, -1, 1, 1, 1, infinity});
  const double at_zero = -0.5 * std::log(2 * std::numbers::pi), small = static_cast<double>(T(1e-30));
  const auto results = with_gradients(kDensity, {y, mean, std});
  CHECK(error(results[0], {at_zero - std::log(small), kNaN, kNaN, kNaN, -kInfinity, kNaN, kNaN, -kInfinity}) <=
        kTolerance<T>);
  for (std::size_t k = 1; k < 4; ++k) {
    const std::vector<double> slope = doubles(results[k]);
    for (std::size_t i : {1u, 2u, 3u, 5u, 6u}) CHECK(std::isnan(slope[i]));
    CHECK(std::isfinite(slope[0]));
  }
  // one bad point spoils its row only
  const Tensor rows = Tensor::from<T>({2, 2}, {0, nan, 0, 0}), ones = Tensor::full({2, 2}, 1, dtype_of<T>());
  CHECK(error(gaussian_log_density(rows, rows, ones), {kNaN, 2 * at_zero}) <= kTolerance<T>);
}

TEST_CASE("gaussian_log_density: computes only the requested gradients") {
  Tensor mean = normal<double>({5, 3}, 2);
  const Tensor y = normal<double>({5, 3}, 1), std = deviations<double>({5, 3}, 3);
  const std::vector<Tensor> all = with_gradients(kDensity, {y, mean, std});
  const Function of_mean = [&](const std::vector<Tensor>& in) { return gaussian_log_density(y, in[0], std); };
  CHECK(same_bits(with_gradients(of_mean, {mean})[1], all[2]));
}

TEST_CASE("gaussian_log_density: errors") {
  const Tensor x = Tensor::zeros({2, 3}), other = Tensor::zeros({3});
  CHECK_THROWS_WITH_AS(gaussian_log_density(Tensor::zeros({}), x, x),
                       "[gaussian_log_density] y is a scalar, expected (…, D)", Error);
  CHECK_THROWS_WITH_AS(gaussian_log_density(x, other, x),
                       "[gaussian_log_density] mean (3) and std (2, 3) must have the shape of y (2, 3)", Error);
  CHECK_THROWS_WITH_AS(gaussian_log_density(x, x, other),
                       "[gaussian_log_density] mean (2, 3) and std (3) must have the shape of y (2, 3)", Error);
  CHECK_THROWS_WITH_AS(gaussian_log_density(x, x, x.to(DType::float64)),
                       "[gaussian_log_density] y is float32, mean float32, std float64", Error);
}

TEST_CASE("gaussian_log_density: float32 follows float64, the same bits for any number of threads") {
  for (const Shape& shape : {Shape{20'000, 1}, Shape{9000, 3}, Shape{200, 129}}) {
    const std::vector<Tensor> inputs{normal<float>(shape, 1), normal<float>(shape, 2), deviations<float>(shape, 3)};
    check_float_against_double(kDensity, inputs);
    check_deterministic(kDensity, inputs);
  }
}

TEST_CASE("gaussian_log_density: gradients") { gradcheck_all(gaussian_log_density_gradcheck_cases); }

}  // namespace npzoo
