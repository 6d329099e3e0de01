#include "npzoo/ops/mean_nll/mean_nll.h"

#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void mean_nll_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

/// 0, 1 and 2 in turn.
template <class T>
Tensor some_weights(const Shape& shape) {
  Tensor weights = Tensor::zeros(shape, dtype_of<T>());
  for (std::int64_t i = 0; i < weights.numel(); ++i) weights.template data<T>()[i] = static_cast<T>((i + 1) % 3);
  return weights;
}

}  // namespace

TEST_CASE_TEMPLATE("mean_nll: the values and gradients of its steps", T, float, double) {
  for (const Shape& shape : {Shape{7}, Shape{3, 1}, Shape{9, 33}, Shape{2, 5, 129}, Shape{300, 3}}) {
    CAPTURE(to_string(shape));
    const Tensor x = normal<T>(shape, 1), weights = add(some_weights<T>(shape), Tensor::full({}, 1, dtype_of<T>()));
    const Tensor totals = Tensor::full(shape.without(-1), 3, dtype_of<T>());
    const auto compare = [&](const Function& whole, const Function& steps) {
      const auto found = with_gradients(whole, {x}), expected = with_gradients(steps, {x});
      // The steps add up to 900 numbers in another order.
      for (std::size_t i = 0; i < 2; ++i)
        CHECK(largest_difference(found[i], doubles(expected[i])) <= 4 * kTolerance<T>);
    };
    compare([](const std::vector<Tensor>& in) { return mean_nll(in[0]); },
            [](const std::vector<Tensor>& in) { return affine(mean(in[0]), -1, 0); });
    compare([&](const std::vector<Tensor>& in) { return mean_nll(in[0], weights); },
            [&](const std::vector<Tensor>& in) {
              return affine(mean(div(sum(mul(in[0], weights), -1), sum(weights, -1))), -1, 0);
            });
    compare(
        [&](const std::vector<Tensor>& in) { return mean_nll(in[0], weights, totals); },
        [&](const std::vector<Tensor>& in) { return affine(mean(div(sum(mul(in[0], weights), -1), totals)), -1, 0); });
  }
}

TEST_CASE("mean_nll: rows count alike, whatever their weights") {
  const Tensor x = Tensor::from<double>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor weights = Tensor::from<double>({2, 3}, {1, 0, 0, 2, 0, 2});
  CHECK(mean_nll(x, weights).item() == doctest::Approx(-(1 + 5) / 2.0));
  CHECK(mean_nll(x, weights, Tensor::from<double>({2}, {1, 2})).item() == doctest::Approx(-(1 + 10) / 2.0));
}

TEST_CASE_TEMPLATE("mean_nll: NaN, also where its weight is 0; rows without weight; no rows", T, float, double) {
  const Tensor x = Tensor::from<T>({1, 2}, {1, static_cast<T>(kNaN)});
  CHECK(std::isnan(mean_nll(x, Tensor::from<T>({1, 2}, {1, 0})).item()));
  const Tensor ones = Tensor::full({1, 2}, 1, dtype_of<T>());
  CHECK(std::isnan(mean_nll(ones, Tensor::zeros({1, 2}, dtype_of<T>())).item()));
  CHECK(std::isnan(mean_nll(Tensor::zeros({0, 2}, dtype_of<T>())).item()));
}

TEST_CASE("mean_nll: errors") {
  const Tensor x = Tensor::zeros({2, 3}), row = Tensor::zeros({3});
  CHECK_THROWS_WITH_AS(mean_nll(Tensor::zeros({})), "[mean_nll] a scalar found, expected log-likelihoods (…, N)",
                       Error);
  CHECK_THROWS_WITH_AS(mean_nll(x, row), "[mean_nll] weights are float32 (3), expected float32 (2, 3)", Error);
  CHECK_THROWS_WITH_AS(mean_nll(x, x.to(DType::float64)),
                       "[mean_nll] weights are float64 (2, 3), expected float32 (2, 3)", Error);
  CHECK_THROWS_WITH_AS(mean_nll(x, x, row), "[mean_nll] totals are float32 (3), expected float32 (2)", Error);
  Tape tape;
  Tensor watched = Tensor::zeros({2, 3});
  tape.watch(watched);
  const Recording on(tape);
  CHECK_THROWS_WITH_AS(mean_nll(x, watched),
                       "[mean_nll] weights of a recording found, expected constants: they have no gradient", Error);
}

TEST_CASE("mean_nll: float32 follows float64, the same bits for any number of threads") {
  for (const Shape& shape : {Shape{20'000, 1}, Shape{9000, 3}, Shape{200, 129}, Shape{3, 100'000}}) {
    const Tensor weights = some_weights<float>(shape);
    const Function f = [&](const std::vector<Tensor>& in) { return mean_nll(in[0], weights.to(in[0].dtype())); };
    check_deterministic(f, {normal<float>(shape, 1)});
    check_float_against_double([](const std::vector<Tensor>& in) { return mean_nll(in[0]); },
                               {normal<float>(shape, 1)});
  }
}

TEST_CASE("mean_nll: gradients") { gradcheck_all(mean_nll_gradcheck_cases); }

}  // namespace npzoo
