#include "npzoo/ops/top_softmax/top_softmax.h"

#include "npzoo/ops/softmax/softmax.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void top_softmax_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

Function of_greatest(std::int64_t k) {
  return [k](const std::vector<Tensor>& in) { return top_softmax(in[0], in[0], k); };
}

/// The k greatest by sorting, then their softmax.
std::vector<double> sorted_softmax(const Tensor& x, const Tensor& by, std::int64_t k) {
  const std::vector<double> logits = doubles(x), keys = doubles(by);
  const std::int64_t width = x.dim(-1);
  std::vector<double> out(logits.size());
  for (std::int64_t row = 0; width > 0 && row < x.numel() / width; ++row) {
    std::vector<std::size_t> places;
    for (std::int64_t i = 0; i < width; ++i) places.push_back(static_cast<std::size_t>(row * width + i));
    std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) { return keys[a] > keys[b]; });
    places.resize(static_cast<std::size_t>(std::min(k, width)));
    double largest = -kInfinity, sum = 0;
    for (std::size_t at : places) largest = std::max(largest, logits[at]);
    for (std::size_t at : places) sum += std::exp(logits[at] - largest);
    for (std::size_t at : places) out[at] = std::exp(logits[at] - largest) / sum;
  }
  return out;
}

}  // namespace

TEST_CASE_TEMPLATE("top_softmax: values", T, float, double) {
  for (std::int64_t width : {0, 1, 2, 33, 129, 1500})
    for (std::int64_t k : {0, 1, 4, 32, 2000}) {
      CAPTURE(width);
      CAPTURE(k);
      const Tensor x = normal<T>({2, 3, width}, 1, 3), by = normal<T>({2, 3, width}, 1, 4);
      CHECK(top_softmax(x, by, k).shape() == x.shape());
      CHECK(error(top_softmax(x, by, k), sorted_softmax(x, by, k)) <= kTolerance<T>);
      CHECK(error(top_softmax(x, x, k), sorted_softmax(x, x, k)) <= kTolerance<T>);
    }
}

TEST_CASE_TEMPLATE("top_softmax: all of a row are its softmax, by their bits", T, float, double) {
  for (std::int64_t width : {1, 33, 129}) {
    const Tensor x = normal<T>({5, width}, 1, 3);
    CHECK(same_bits(top_softmax(x, x, width), softmax(x)));
  }
}

TEST_CASE_TEMPLATE("top_softmax: the earlier of equals; infinities; NaN is heard", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const Tensor equal = Tensor::from<T>({1, 5}, {1, 2, 2, 1, 2});
  CHECK(error(top_softmax(equal, equal, 2), {0, 0.5, 0.5, 0, 0}) <= kTolerance<T>);
  CHECK(error(top_softmax(Tensor::zeros({1, 5}, dtype_of<T>()), equal, 4), {0.25, 0.25, 0.25, 0, 0.25}) <=
        kTolerance<T>);

  const Tensor lowest = Tensor::from<T>({2, 3}, {-infinity, -infinity, -infinity, -infinity, 0, infinity});
  CHECK(error(top_softmax(lowest, lowest, 2), {0, 0, 0, 0, 0, 1}) <= kTolerance<T>);
  const Tensor x = Tensor::from<T>({2, 3}, {nan, 1, 2, 3, 1, 2});
  const std::vector<double> out = doubles(top_softmax(x, x, 1));
  CHECK(std::isnan(out[0]));
  CHECK(std::vector<double>(out.begin() + 3, out.end()) == std::vector<double>{1, 0, 0});
}

TEST_CASE("top_softmax: errors") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK_THROWS_WITH_AS(top_softmax(Tensor::zeros({}), x, 1), "[top_softmax] x is a scalar, expected (…, D)", Error);
  CHECK_THROWS_WITH_AS(top_softmax(x, Tensor::zeros({2, 4}), 1),
                       "[top_softmax] by is float32 (2, 4), expected float32 (2, 3), like x", Error);
  CHECK_THROWS_WITH_AS(top_softmax(x, Tensor::zeros({2, 3}, DType::float64), 1),
                       "[top_softmax] by is float64 (2, 3), expected float32 (2, 3), like x", Error);
  CHECK_THROWS_WITH_AS(top_softmax(x, x, -1), "[top_softmax] k is -1, expected at least 0", Error);
}

TEST_CASE("top_softmax: float32 follows float64, the same bits for any number of threads") {
  for (const Shape& shape : {Shape{3, 1}, Shape{400, 33}, Shape{200, 129}}) {
    const Tensor x = normal<float>(shape, 2, 3);
    check_float_against_double(of_greatest(5), {x});
    check_deterministic(of_greatest(5), {x});
  }
}

TEST_CASE("top_softmax: gradients") { gradcheck_all(top_softmax_gradcheck_cases); }

}  // namespace npzoo
