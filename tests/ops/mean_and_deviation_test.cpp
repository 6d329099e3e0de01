#include "npzoo/ops/mean_and_deviation/mean_and_deviation.h"

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void mean_and_deviation_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

Tensor curve_of(DeviationCurve curve, const Tensor& s) {
  switch (curve) {
    case DeviationCurve::exp: return exp(s);
    case DeviationCurve::softplus: return softplus(s);
    case DeviationCurve::root_softplus: return sqrt(softplus(s));
    case DeviationCurve::half_exp: break;
  }
  return exp(affine(s, 0.5, 0));
}

/// The two halves, joined in another order.
Tensor whole(const Tensor& raw, const DeviationForm& form) {
  const auto parts = mean_and_deviation(raw, form);
  return concat({parts[1], parts[0]}, -1);
}
Tensor by_steps(const Tensor& raw, const DeviationForm& form) {
  const std::int64_t width = raw.dim(-1) / 2;
  const auto parts = split(raw, -1, {width, width});
  return concat({affine(curve_of(form.curve, parts[1]), form.scale, form.shift), parts[0]}, -1);
}

constexpr DeviationForm kForms[] = {{DeviationCurve::exp, 1, 0},
                                    {DeviationCurve::softplus, 0.9, 0.1},
                                    {DeviationCurve::root_softplus, 1, 0.5},
                                    {DeviationCurve::half_exp, 0.7, 0.3}};

}  // namespace

TEST_CASE_TEMPLATE("mean_and_deviation: the values and gradients of its steps", T, float, double) {
  for (const DeviationForm& form : kForms)
    for (const Shape& shape : {Shape{0}, Shape{2}, Shape{3, 0, 4}, Shape{33, 6}, Shape{2, 3, 258}, Shape{2, 700, 2}}) {
      CAPTURE(to_string(shape));
      const Tensor raw = normal<T>(shape, 1);
      const auto found = with_gradients([&](const std::vector<Tensor>& in) { return whole(in[0], form); }, {raw});
      const auto expected = with_gradients([&](const std::vector<Tensor>& in) { return by_steps(in[0], form); }, {raw});
      CHECK(found[0].shape() == shape);
      for (std::size_t i = 0; i < 2; ++i) CHECK(error(found[i], doubles(expected[i])) <= kTolerance<T>);
    }
}

TEST_CASE_TEMPLATE("mean_and_deviation: numbers far from 0, infinities, NaN", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const Tensor raw = Tensor::from<T>({4, 2}, {1, infinity, 2, -infinity, 3, nan, nan, 0});
  const auto parts = mean_and_deviation(raw, {DeviationCurve::softplus, 1, 0.5});
  CHECK(largest_difference(parts[0], {1, 2, 3, kNaN}) == 0);
  CHECK(error(parts[1], {kInfinity, 0.5, kNaN, std::log(2.0) + 0.5}) <= kTolerance<T>);
}

TEST_CASE("mean_and_deviation: a half that nothing depends on has gradient 0") {
  const Tensor raw = normal<double>({5, 6}, 1);
  for (const std::size_t half : {0u, 1u}) {
    const Function f = [half](const std::vector<Tensor>& in) { return mean_and_deviation(in[0], {})[half]; };
    const std::vector<double> slope = doubles(with_gradients(f, {raw})[1]);
    for (std::size_t i = 0; i < slope.size(); ++i) CHECK((slope[i] == 0) == (i % 6 / 3 != half));
  }
}

TEST_CASE("mean_and_deviation: errors") {
  CHECK_THROWS_WITH_AS(mean_and_deviation(Tensor::zeros({2, 3}), {}),
                       "[mean_and_deviation] raw is (2, 3), expected (…, 2 D)", Error);
}

TEST_CASE("mean_and_deviation: float32 follows float64, the same bits for any number of threads") {
  for (const DeviationForm& form : kForms)
    for (const Shape& shape : {Shape{20'000, 2}, Shape{3000, 6}}) {
      const Function f = [&form](const std::vector<Tensor>& in) { return whole(in[0], form); };
      check_float_against_double(f, {normal<float>(shape, 1)});
      check_deterministic(f, {normal<float>(shape, 1)});
    }
}

TEST_CASE("mean_and_deviation: gradients") { gradcheck_all(mean_and_deviation_gradcheck_cases); }

}  // namespace npzoo
