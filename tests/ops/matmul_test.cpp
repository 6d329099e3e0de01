#include "npzoo/ops/matmul/matmul.h"

#include "tests/ops/gradcheck_all.h"
#include "tests/ops/product_tolerance.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace npzoo {

void matmul_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

template <class T>
void check_product(const Shape& a_shape, const Shape& b_shape) {
  CAPTURE(to_string(a_shape));
  CAPTURE(to_string(b_shape));
  const Tensor a = normal<T>(a_shape, 1), b = normal<T>(b_shape, 2);
  const Tensor exact = reference::matmul(a.to(DType::float64), b.to(DType::float64));
  const Tensor a_t = reference::transpose(a), b_t = reference::transpose(b);
  for (const Tensor& found :
       {matmul(a, b), matmul(a_t, b, Transpose::yes), matmul(a, b_t, Transpose::no, Transpose::yes),
        matmul(a_t, b_t, Transpose::yes, Transpose::yes)}) {
    REQUIRE(found.shape() == exact.shape());
    CHECK(found.dtype() == a.dtype());
    CHECK(largest_difference(found, doubles(exact)) <= product_tolerance<T>(a_shape.last()));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("matmul: values, stored as they are or transposed", T, float, double) {
  constexpr std::int64_t kSizes[] = {0, 1, 33, 129};
  for (std::int64_t m : kSizes)
    for (std::int64_t n : kSizes)
      for (std::int64_t k : kSizes) check_product<T>({m, k}, {k, n});
  check_product<T>({3, 5, 4}, {3, 4, 7});
  check_product<T>({2, 3, 5, 4}, {2, 3, 4, 7});
  check_product<T>({3, 5, 4}, {4, 7});
  check_product<T>({5, 4}, {3, 4, 7});
  check_product<T>({2, 3, 5, 4}, {4, 1});
  check_product<T>({0, 5, 4}, {0, 4, 7});
  check_product<T>({0, 5, 4}, {4, 7});
  check_product<T>({40, 60, 50}, {40, 50, 70});
}

TEST_CASE("matmul: gradients") { gradcheck_all(matmul_gradcheck_cases); }

TEST_CASE("matmul: gradients in float32 are as exact as a plain loop in float32 would make them") {
  const Tensor a = normal<float>({3, 33, 129}, 1), b = normal<float>({129, 17}, 2);
  check_float_against_double([](const auto& in) { return matmul(in[0], in[1]); }, {a, b}, 2e-6);
}

TEST_CASE_TEMPLATE("matmul: NaN and infinities reach the elements that depend on them, and no others", T, float,
                   double) {
  Tensor a = normal<T>({9, 20}, 1);
  const Tensor b = normal<T>({20, 21}, 2);
  a.data<T>()[4 * 20 + 3] = static_cast<T>(kNaN);
  a.data<T>()[6 * 20 + 19] = static_cast<T>(kInfinity);
  const std::vector<double> out = doubles(matmul(a, b));
  for (std::size_t i = 0; i < out.size(); ++i) {
    CHECK(std::isnan(out[i]) == (i / 21 == 4));
    CHECK(std::isinf(out[i]) == (i / 21 == 6));
  }
}

TEST_CASE("matmul: the same bits in every run and with any number of threads") {
  const auto product = [](const auto& in) { return matmul(in[0], in[1], Transpose::no, Transpose::yes); };
  check_deterministic(product, {normal<float>({400, 300}, 1), normal<float>({200, 300}, 2)});
  check_deterministic(product, {normal<float>({7, 40, 30}, 1), normal<float>({7, 20, 30}, 2)});
  check_deterministic(product, {normal<float>({7, 40, 30}, 1), normal<float>({20, 30}, 2)});
}

TEST_CASE("matmul: errors") {
  const Tensor a = Tensor::zeros({2, 3, 4}), b = Tensor::zeros({2, 4, 5});
  CHECK(error_of([&] { matmul(Tensor::zeros({4}), b); }) ==
        "[matmul] a (4) and b (2, 4, 5) must be matrices or batches of them");
  CHECK(error_of([&] { matmul(a, Tensor::zeros({})); }) ==
        "[matmul] a (2, 3, 4) and b () must be matrices or batches of them");
  CHECK(error_of([&] { matmul(a, b.to(DType::float64)); }) == "[matmul] a is float32, b float64");
  CHECK(error_of([&] { matmul(a, b, Transpose::yes); }) ==
        "[matmul] a (2, 3, 4) and b (2, 4, 5) disagree in the inner extent: 3 and 4");
  CHECK(error_of([&] {
          matmul(a, Tensor::zeros({3, 4, 5}));
        }) == "[matmul] the batches of a (2, 3, 4) and b (3, 4, 5) differ");
  CHECK(error_of([&] {
          matmul(a, Tensor::zeros({1, 2, 4, 5}));
        }) == "[matmul] the batches of a (2, 3, 4) and b (1, 2, 4, 5) differ");
  CHECK(error_of([] {
          matmul(Tensor::zeros({2, 2}, DType::int64), Tensor::zeros({2, 2}, DType::int64));
        }) == "[backend] expected float32 or float64 elements, found int64");
}

}  // namespace npzoo
