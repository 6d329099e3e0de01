#include "npzoo/ops/geglu/geglu.h"

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace npzoo {

void geglu_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

const Function kGated = [](const auto& in) { return geglu(in[0]); };

std::vector<Tensor> by_loops(const std::vector<Tensor>& in) {
  const Tensor out = reference::geglu(in[0]);
  return {out, reference::geglu_backward(in[0], cotangent(out))};
}

/// Relative to the largest element where that is above 1: Φ itself is exact to a rounding of 1.
double deviation(const Tensor& found, const Tensor& exact) {
  double scale = 1;
  for (double value : doubles(exact)) scale = std::max(scale, std::abs(value));
  return largest_difference(found, doubles(exact)) / scale;
}

}  // namespace

TEST_CASE_TEMPLATE("geglu: values and gradients", T, float, double) {
  for (const Shape& shape : {Shape{2}, Shape{66}, Shape{0}, Shape{0, 4}, Shape{3, 0}, Shape{3, 2}, Shape{3, 4},
                             Shape{2, 3, 66}, Shape{5, 258}, Shape{700, 64}}) {
    CAPTURE(to_string(shape));
    const std::vector<Tensor> in{normal<T>(shape, 1, 2)};
    const auto found = with_gradients(kGated, in), exact = by_loops(to_double(in));
    CHECK(found[0].shape() == shape.with(-1, shape.last() / 2));
    CHECK(found[1].shape() == shape);
    for (std::size_t i = 0; i < 2; ++i) CHECK(deviation(found[i], exact[i]) <= kTolerance<T>);
  }
}

TEST_CASE("geglu: by hand") {
  // Φ(1) = 0.8413…; the value comes first.
  const Tensor x = Tensor::from<double>({2, 4}, {2, 3, 0, 1, -5, 7, -1, 40});
  CHECK(largest_difference(geglu(x), {0, 3 * 0.84134474606854293, 5 * 0.15865525393145705, 280}) <= 1e-14);
}

TEST_CASE("geglu: gradients") { gradcheck_all(geglu_gradcheck_cases); }

TEST_CASE("geglu: it is a product with a gelu") {
  const std::vector<Tensor> in{normal<double>({7, 66}, 1)};
  const auto composed = with_gradients(
      [](const auto& x) {
        const auto halves = split(x[0], -1, {33, 33});
        return mul(halves[0], gelu(halves[1]));
      },
      in);
  const auto found = with_gradients(kGated, in);
  for (std::size_t i = 0; i < 2; ++i) CHECK(error(found[i], doubles(composed[i])) <= kTolerance<double>);
}

TEST_CASE("geglu: values and gradients in float32 are about as exact as those of plain loops") {
  for (double scale : {0.1, 1.0, 4.0}) {
    CAPTURE(scale);
    const std::vector<Tensor> in{normal<float>({300, 258}, 1, scale)};
    check_as_exact_as(by_loops(in), with_gradients(kGated, in), by_loops(to_double(in)));
  }
}

TEST_CASE_TEMPLATE("geglu: large gates are open or shut", T, float, double) {
  const Tensor x = Tensor::from<double>({5, 2}, {2, 1e4, 2, -1e4, -3, 1e30, 2, -1e30, 5, 0}).to(dtype_of<T>());
  const auto results = with_gradients([](const auto& in) { return mul(geglu(in[0]), in[1]); },
                                      {x, Tensor::full({5, 1}, 1, dtype_of<T>())});
  CHECK(error(results[0], {2e4, 0, -3e30, 0, 0}) <= kTolerance<T>);
  for (double d : doubles(results[1])) CHECK(std::isfinite(d));
}

TEST_CASE_TEMPLATE("geglu: NaN and infinities stay with their pair", T, float, double) {
  constexpr std::int64_t kWidth = 33, kRow = 2, kColumn = 7;
  for (double poison : {kNaN, kInfinity, -kInfinity})
    for (const bool gate : {false, true}) {
      CAPTURE(poison);
      CAPTURE(gate);
      std::vector<Tensor> in{normal<T>({5, 2 * kWidth}, 1)};
      in[0].template data<T>()[kRow * 2 * kWidth + gate * kWidth + kColumn] = static_cast<T>(poison);
      const auto results = with_gradients(kGated, in);
      const std::vector<double> y = doubles(results[0]), d_x = doubles(results[1]);
      for (std::int64_t row = 0; row < 5; ++row)
        for (std::int64_t i = 0; i < kWidth; ++i) {
          const bool poisoned = row == kRow && i == kColumn;
          const auto at = static_cast<std::size_t>(row * kWidth + i),
                     pair = static_cast<std::size_t>(2 * row * kWidth + i);
          CHECK(std::isfinite(y[at]) == !poisoned);
          // If the value is infinite, only the gate's gradient depends on it.
          CHECK((std::isfinite(d_x[pair]) && std::isfinite(d_x[pair + kWidth])) == !poisoned);
        }
    }
}

TEST_CASE("geglu: the same bits in every run and with any number of threads") {
  check_deterministic(kGated, {normal<float>({1000, 130}, 1)});
  check_deterministic(kGated, {normal<double>({3, 20'002}, 1)});
}

TEST_CASE("geglu: errors") {
  CHECK(error_of([] { geglu(Tensor::zeros({})); }) == "[geglu] x () found, expected (…, 2 F)");
  CHECK(error_of([] { geglu(Tensor::zeros({2, 3})); }) == "[geglu] x (2, 3) found, expected (…, 2 F)");
  CHECK(error_of([] {
          geglu(Tensor::zeros({2, 4}, DType::int64));
        }) == "[backend] expected float32 or float64 elements, found int64");
}

}  // namespace npzoo
