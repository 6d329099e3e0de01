#include "npzoo/ops/softmax/softmax.h"

#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void softmax_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

std::vector<double> naive(const Tensor& x, bool logarithm) {
  std::vector<double> values = doubles(x);
  const auto width = static_cast<std::size_t>(x.dim(-1));
  for (std::size_t row = 0; row < values.size(); row += width) {
    const std::span<double> group(values.data() + row, width);
    const double largest = *std::ranges::max_element(group);
    long double sum = 0;
    for (double value : group) sum += std::exp(static_cast<long double>(value) - largest);
    for (double& value : group) {
      const long double exponent = static_cast<long double>(value) - largest;
      value = static_cast<double>(logarithm ? exponent - std::log(sum) : std::exp(exponent) / sum);
    }
  }
  return values;
}

const Function kSoftmax = [](const std::vector<Tensor>& in) { return softmax(in[0]); };
const Function kLogSoftmax = [](const std::vector<Tensor>& in) { return log_softmax(in[0]); };

}  // namespace

TEST_CASE_TEMPLATE("softmax: values", T, float, double) {
  for (std::int64_t width : {0, 1, 2, 33, 129, 5000})
    for (const Shape& shape : {Shape{width}, Shape{7, width}, Shape{2, 3, width}, Shape{0, width}}) {
      CAPTURE(to_string(shape));
      const Tensor x = normal<T>(shape, 1, 3);
      CHECK(softmax(x).shape() == shape);
      CHECK(error(softmax(x), naive(x, false)) <= kTolerance<T>);
      CHECK(log_softmax(x).shape() == shape);
      CHECK(error(log_softmax(x), naive(x, true)) <= kTolerance<T>);
    }
}

TEST_CASE_TEMPLATE("softmax: large logits and a shift that changes nothing", T, float, double) {
  const Tensor x = Tensor::from<T>({2, 3}, {1e4, -1e4, 1e4, -1e4, -1e4, -1e4});
  CHECK(error(softmax(x), {0.5, 0, 0.5, 1.0 / 3, 1.0 / 3, 1.0 / 3}) <= kTolerance<T>);
  const double half = -std::log(2.0), third = -std::log(3.0);
  const std::vector<double> logarithms = doubles(log_softmax(x));
  const std::vector<double> expected{half, -2e4 + half, half, third, third, third};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(logarithms[i] == doctest::Approx(expected[i]).epsilon(1e-6));

  const Tensor integers = Tensor::from<T>({4}, {1, 5, -3, 2}), shifted = Tensor::from<T>({4}, {4097, 4101, 4093, 4098});
  CHECK(same_bits(softmax(integers), softmax(shifted)));
  CHECK(same_bits(log_softmax(integers), log_softmax(shifted)));
}

TEST_CASE_TEMPLATE("softmax: rows of -inf alone, +inf, NaN", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const Tensor x = Tensor::from<T>(
      {5, 3}, {-infinity, -infinity, -infinity, 0, -infinity, 0, infinity, 2, infinity, 0, nan, 0, 0, 0, -infinity});
  const auto of = [&](const Function& f) { return with_gradients(f, {x}); };

  const auto weights = of(kSoftmax);
  CHECK(error(weights[0], {0, 0, 0, 0.5, 0, 0.5, 0.5, 0, 0.5, kNaN, kNaN, kNaN, 0.5, 0.5, 0}) <= kTolerance<T>);
  const auto logarithms = of(kLogSoftmax);
  const double half = -std::log(2.0);
  CHECK(error(logarithms[0], {-kInfinity, -kInfinity, -kInfinity, half, -kInfinity, half, half, -kInfinity, half, kNaN,
                              kNaN, kNaN, half, half, -kInfinity}) <= kTolerance<T>);
  for (const Tensor& d_x : {weights[1], logarithms[1]}) {
    const std::vector<double> slope = doubles(d_x);
    for (std::size_t i = 0; i < 3; ++i) CHECK(slope[i] == 0);
    for (std::size_t i = 3; i < slope.size(); ++i) CHECK(std::isnan(slope[i]) == (9 <= i && i < 12));
  }
}

TEST_CASE("softmax: errors") {
  CHECK_THROWS_WITH_AS(softmax(Tensor::zeros({})), "[softmax] x is a scalar, expected (…, D)", Error);
  CHECK_THROWS_WITH_AS(log_softmax(Tensor::zeros({})), "[log_softmax] x is a scalar, expected (…, D)", Error);
}

TEST_CASE("softmax: float32 follows float64, the same bits for any number of threads") {
  for (const Function& f : {kSoftmax, kLogSoftmax})
    for (const Shape& shape : {Shape{3, 1}, Shape{400, 33}, Shape{200, 129}}) {
      const Tensor x = normal<float>(shape, 2, 3);
      check_float_against_double(f, {x});
      check_deterministic(f, {x});
    }
}

TEST_CASE("softmax: gradients") { gradcheck_all(softmax_gradcheck_cases); }

}  // namespace npzoo
