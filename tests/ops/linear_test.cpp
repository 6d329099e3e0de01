#include "npzoo/ops/linear/linear.h"

#include "npzoo/engine/measure/flops.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/ops/product_tolerance.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace npzoo {

void linear_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

Function with(Activation activation) {
  return [activation](const auto& in) { return linear(in[0], in[1], in[2], activation); };
}

struct Inputs {
  Tensor x, weight, bias;

  template <class T>
  static Inputs draw(const Shape& x, std::int64_t out) {
    return {normal<T>(x, 1), normal<T>({out, x.last()}, 2), normal<T>({out}, 3)};
  }
  std::vector<Tensor> list() const { return {x, weight, bias}; }
  Inputs to(DType dtype) const { return {x.to(dtype), weight.to(dtype), bias.to(dtype)}; }
};

}  // namespace

TEST_CASE_TEMPLATE("linear: values", T, float, double) {
  const auto check_size = [](const Shape& x_shape, std::int64_t out) {
    CAPTURE(to_string(x_shape));
    CAPTURE(out);
    const Inputs in = Inputs::draw<T>(x_shape, out), wide = in.to(DType::float64);
    for (bool relu : {false, true}) {
      const Tensor found = linear(in.x, in.weight, in.bias, relu ? Activation::relu : Activation::none);
      const Tensor exact = reference::linear(wide.x, wide.weight, wide.bias, relu);
      REQUIRE(found.shape() == exact.shape());
      CHECK(largest_difference(found, doubles(exact)) <= product_tolerance<T>(x_shape.last()));
    }
    const Tensor no_bias = reference::linear(wide.x, wide.weight, {}, false);
    CHECK(largest_difference(linear(in.x, in.weight, {}), doubles(no_bias)) <= product_tolerance<T>(x_shape.last()));
  };
  for (std::int64_t rows : {0, 1, 33, 129})
    for (std::int64_t columns : {0, 1, 2, 3, 8, 9, 33, 129})  // up to 8 are computed row by row
      for (std::int64_t out : {0, 1, 33, 129}) check_size({rows, columns}, out);
  check_size({5}, 3);
  check_size({2, 3, 4, 12}, 7);
  check_size({2, 0, 4, 2}, 7);
  check_size({2000, 3}, 40);
  check_size({2000, 64}, 64);
}

TEST_CASE_TEMPLATE("linear: the gradient of a bias so wide that tiles of columns share a count of blocks", T, float,
                   double) {
  constexpr std::int64_t kRows = 70, kWidth = 32 * 256 + 33;
  Tensor bias = normal<T>({kWidth}, 1);
  const Tensor x = normal<T>({kRows, 1}, 2), weight = normal<T>({kWidth, 1}, 3), d_out = normal<T>({kRows, kWidth}, 4);
  std::vector<double> expected(kWidth);
  const std::vector<double> slopes = doubles(d_out);
  for (std::size_t i = 0; i < slopes.size(); ++i) expected[i % kWidth] += slopes[i];
  for (int repetition = 0; repetition < 2; ++repetition) {  // the counts begin anew
    Tape tape;
    tape.watch(bias);
    Tensor out;
    {
      const Recording on(tape);
      out = linear(x, weight, bias);
    }
    CHECK(error(tape.backward(out, d_out).of(bias), expected) <= 10 * kTolerance<T>);
  }
}

TEST_CASE("linear: gradients") { gradcheck_all(linear_gradcheck_cases); }

TEST_CASE_TEMPLATE("linear: gradients of many rows", T, float, double) {
  for (std::int64_t out : {1, 2, 64, 260, 301})
    for (Activation activation : {Activation::none, Activation::relu}) {
      CAPTURE(out);
      const Inputs in = Inputs::draw<T>({1500, 3}, out), wide = in.to(DType::float64);
      const bool relu = activation == Activation::relu;
      const auto found = with_gradients(with(activation), in.list());
      const Tensor d_out = cotangent(found[0]).to(DType::float64);
      const auto d = reference::linear_backward(wide.x, wide.weight, wide.bias, relu, d_out);
      CHECK(largest_difference(found[1], doubles(d.x)) <= product_tolerance<T>(out));
      CHECK(largest_difference(found[3], doubles(d.bias)) <= product_tolerance<T>(1500));
    }
}

TEST_CASE("linear: values and gradients in float32 are about as exact as those of plain loops") {
  for (std::int64_t columns : {4, 64})
    for (bool relu : {false, true}) {
      CAPTURE(columns);
      CAPTURE(relu);
      const auto by_loops = [relu](const std::vector<Tensor>& in) {
        const Tensor out = reference::linear(in[0], in[1], in[2], relu);
        const auto d = reference::linear_backward(in[0], in[1], in[2], relu, cotangent(out));
        return std::vector{out, d.x, d.weight, d.bias};
      };
      const auto in = Inputs::draw<float>({300, columns}, 40).list();
      const auto found = with_gradients(with(relu ? Activation::relu : Activation::none), in);
      check_as_exact_as(by_loops(in), found, by_loops(to_double(in)));
    }
}

TEST_CASE("linear: computes only the requested gradients") {
  const Inputs in = Inputs::draw<double>({5, 9}, 4);
  const auto all = with_gradients(with(Activation::relu), in.list());
  const Tensor d_out = cotangent(all[0]);
  for (std::size_t wanted : {0, 1, 2}) {
    std::vector<Tensor> inputs = in.list();
    Tape tape;
    const Recording on(tape);
    tape.watch(inputs[wanted]);
    const Tensor out = linear(inputs[0], inputs[1], inputs[2], Activation::relu);
    const std::int64_t before = counted_flops();
    CHECK(same_bits(tape.backward(out, d_out).of(inputs[wanted]), all[1 + wanted]));
    CHECK(counted_flops() - before == (wanted == 2 ? 0 : 2 * 5 * 9 * 4));
  }
}

TEST_CASE_TEMPLATE("linear: NaN and infinities reach their row, with relu too", T, float, double) {
  for (std::int64_t columns : {3, 20}) {
    Inputs in = Inputs::draw<T>({9, columns}, 21);
    in.x.template data<T>()[4 * columns + 1] = static_cast<T>(kNaN);
    for (Activation activation : {Activation::none, Activation::relu}) {
      const std::vector<double> out = doubles(linear(in.x, in.weight, in.bias, activation));
      for (std::size_t i = 0; i < out.size(); ++i) CHECK(std::isnan(out[i]) == (i / 21 == 4));
    }
    in.x.template data<T>()[4 * columns + 1] = static_cast<T>(kInfinity);
    const std::vector<double> out = doubles(linear(in.x, in.weight, in.bias, Activation::relu));
    for (std::size_t i = 4 * 21; i < 5 * 21; ++i) CHECK((out[i] == 0 || out[i] == kInfinity));
  }
}

TEST_CASE_TEMPLATE("linear: NaN behind a relu does not lose its gradient", T, float, double) {
  for (std::int64_t columns : {3, 20}) {
    Inputs in = Inputs::draw<T>({9, columns}, 21);
    in.x.template data<T>()[4 * columns + 1] = static_cast<T>(kNaN);
    const auto results = with_gradients(with(Activation::relu), in.list());
    // The gradient of the bias is that of a row of ones instead of NaN.
    in.x.template data<T>()[4 * columns + 1] = 1;
    const std::vector<double> d_out = doubles(cotangent(results[0])), out = doubles(linear(in.x, in.weight, in.bias));
    const std::vector<double> d_bias = doubles(results[3]);
    for (std::size_t j = 0; j < 21; ++j) {
      double expected = 0;
      for (std::size_t i = 0; i < 9; ++i) expected += i == 4 || out[i * 21 + j] > 0 ? d_out[i * 21 + j] : 0;
      CHECK(std::abs(d_bias[j] - expected) <= 10 * kTolerance<T>);
    }
  }
}

TEST_CASE("linear: the gradient of a bias keeps its digits over many rows") {
  const std::int64_t rows = 1 << 18;
  Tensor bias = Tensor::zeros({4});
  const Tensor x = Tensor::zeros({rows, 1}), weight = Tensor::zeros({4, 1}), d_out = Tensor::full({rows, 4}, 0.1f);
  Tape tape;
  tape.watch(bias);
  Tensor out;
  {
    const Recording on(tape);
    out = linear(x, weight, bias);
  }
  const double exact = rows * static_cast<double>(0.1f);
  for (const double d_bias : doubles(tape.backward(out, d_out).of(bias))) CHECK(std::abs(d_bias / exact - 1) <= 8e-7);
}

TEST_CASE("linear: the same bits in every run and with any number of threads") {
  for (std::int64_t columns : {3, 64})
    for (Activation activation : {Activation::none, Activation::relu})
      check_deterministic(with(activation), Inputs::draw<float>({1500, columns}, 48).list());
}

TEST_CASE("linear: errors") {
  const Tensor x = Tensor::zeros({2, 3}), weight = Tensor::zeros({4, 3}), bias = Tensor::zeros({4});
  CHECK(error_of([&] {
          linear(x, Tensor::zeros({3, 4}), bias);
        }) == "[linear] x (2, 3) and weight (3, 4) must be (…, K) and (N, K)");
  CHECK(error_of([&] { linear(Tensor::zeros({}), weight, bias); }) ==
        "[linear] x () and weight (4, 3) must be (…, K) and (N, K)");
  CHECK(error_of([&] { linear(x, Tensor::zeros({3}), bias); }) ==
        "[linear] x (2, 3) and weight (3) must be (…, K) and (N, K)");
  CHECK(error_of([&] { linear(x, weight, Tensor::zeros({3})); }) == "[linear] bias (3) must be (4) for weight (4, 3)");
  CHECK(error_of([&] { linear(x, weight.to(DType::float64), bias); }) == "[linear] x is float32, weight float64");
  CHECK(error_of([&] { linear(x, weight, bias.to(DType::float64)); }) == "[linear] x is float32, bias float64");
  CHECK(error_of([] {
          linear(Tensor::zeros({2, 3}, DType::int64), Tensor::zeros({4, 3}, DType::int64), {});
        }) == "[backend] expected float32 or float64 elements, found int64");
}

}  // namespace npzoo
