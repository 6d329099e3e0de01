#include "npzoo/ops/lower_triangle/lower_triangle.h"

#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void lower_triangle_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

const Function kOwn = [](const std::vector<Tensor>& in) { return lower_triangle(in[0]); };
const Function kOther = [](const std::vector<Tensor>& in) { return lower_triangle(in[0], in[1]); };

}  // namespace

TEST_CASE_TEMPLATE("lower_triangle: values, and zeros above the diagonal", T, float, double) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const Tensor x = Tensor::from<T>({2, 2, 2}, {1, nan, 3, 4, 5, nan, 7, 8}),
               diagonal = Tensor::from<T>({2, 2}, {-1, -2, -3, -4});
  CHECK(doubles(lower_triangle(x)) == std::vector<double>{1, 0, 3, 4, 5, 0, 7, 8});
  CHECK(doubles(lower_triangle(x, diagonal)) == std::vector<double>{-1, 0, 3, -2, -3, 0, 7, -4});
  CHECK(lower_triangle(Tensor::zeros({2, 0, 0}, dtype_of<T>())).shape() == Shape{2, 0, 0});
  CHECK(lower_triangle(Tensor::zeros({0, 3, 3}, dtype_of<T>())).shape() == Shape{0, 3, 3});
}

TEST_CASE("lower_triangle: the same bits for any number of threads") {
  const std::vector<Tensor> inputs{normal<float>({7, 129, 129}, 1), normal<float>({7, 129}, 2)};
  check_deterministic(kOwn, {inputs[0]});
  check_deterministic(kOther, inputs);
}

TEST_CASE("lower_triangle: errors") {
  const Tensor x = Tensor::zeros({2, 3, 3});
  CHECK(error_of([] { lower_triangle(Tensor::zeros({2, 3})); }) == "[lower_triangle] x is (2, 3), expected (B, M, M)");
  CHECK(error_of([] {
          lower_triangle(Tensor::zeros({2, 3, 4}));
        }) == "[lower_triangle] x is (2, 3, 4), expected (B, M, M)");
  CHECK(error_of([&] { lower_triangle(x, Tensor::zeros({3})); }) ==
        "[lower_triangle] diagonal (3) does not fit x (2, 3, 3), expected (2, 3)");
  CHECK(error_of([&] {
          lower_triangle(x, Tensor::zeros({2, 3}, DType::float64));
        }) == "[lower_triangle] x is float32, diagonal float64");
}

TEST_CASE("lower_triangle: gradients") { gradcheck_all(lower_triangle_gradcheck_cases); }

}  // namespace npzoo
