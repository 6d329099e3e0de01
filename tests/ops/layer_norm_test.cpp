#include "npzoo/ops/layer_norm/layer_norm.h"

#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace npzoo {

void layer_norm_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

const Function kPlain = [](const auto& in) { return layer_norm(in[0], in[1], in[2]); };
const Function kResidual = [](const auto& in) { return residual_layer_norm(in[0], in[1], in[2], in[3]).norm; };
const Function kBoth = [](const auto& in) {
  const auto [sum, norm] = residual_layer_norm(in[0], in[1], in[2], in[3]);
  return add(mul(sum, sum), norm);
};

/// x, gain and bias.
template <class T>
std::vector<Tensor> normal_inputs(const Shape& shape, double shift = 0) {
  const Shape row{shape.last()};
  return {normal<T>(shape, 1, 2, shift), normal<T>(row, 2), normal<T>(row, 3)};
}

Tensor exact(const std::vector<Tensor>& in) {
  const auto wide = to_double(in);
  return reference::layer_norm(wide[0], wide[1], wide[2]);
}

}  // namespace

TEST_CASE_TEMPLATE("layer_norm: values", T, float, double) {
  for (const Shape& shape : {Shape{1}, Shape{33}, Shape{0}, Shape{0, 4}, Shape{3, 0}, Shape{3, 1}, Shape{3, 2},
                             Shape{2, 3, 33}, Shape{5, 129}, Shape{700, 64}}) {
    CAPTURE(to_string(shape));
    const auto in = normal_inputs<T>(shape);
    const Tensor out = layer_norm(in[0], in[1], in[2]);
    CHECK(out.shape() == shape);
    CHECK(error(out, doubles(exact(in))) <= kTolerance<T>);

    const Tensor residual = normal<T>(shape, 4), total = add(in[0], residual);
    const auto [sum, norm] = residual_layer_norm(in[0], residual, in[1], in[2]);
    CHECK(same_bits(sum, total));
    CHECK(same_bits(norm, layer_norm(total, in[1], in[2])));
  }
}

TEST_CASE("layer_norm: eps") {
  const Tensor x = Tensor::from<double>({2}, {1.0, 3.0}), one = Tensor::full({2}, 1, DType::float64),
               zero = Tensor::zeros({2}, DType::float64);
  CHECK(layer_norm(x, one, zero, 0).data<double>()[1] == 1);
  CHECK(layer_norm(x, one, zero, 3).data<double>()[1] == 0.5);
  CHECK(residual_layer_norm(x, zero, one, zero, 3).norm.data<double>()[1] == 0.5);
}

TEST_CASE("layer_norm: gradients") { gradcheck_all(layer_norm_gradcheck_cases); }

/// Kernels keep rows up to some width in registers, in packs where the width allows, and sum up over blocks of rows.
TEST_CASE_TEMPLATE("layer_norm: values and gradients of rows of any width", T, float, double) {
  const auto check_shape = [](const Shape& shape) {
    CAPTURE(to_string(shape));
    const auto in = normal_inputs<T>(shape), wide = to_double(in);
    const auto found = with_gradients(kPlain, in);
    CHECK(error(found[0], doubles(reference::layer_norm(wide[0], wide[1], wide[2]))) <= kTolerance<T>);
    const auto d = reference::layer_norm_backward(wide[0], wide[1], cotangent(found[0]).to(DType::float64));
    CHECK(error(found[1], doubles(d.x)) <= kTolerance<T>);
    CHECK(error(found[2], doubles(d.gain)) <= kTolerance<T>);
    CHECK(error(found[3], doubles(d.bias)) <= kTolerance<T>);
  };
  for (std::int64_t width : {32, 64, 100, 128, 130, 257, 260, 512, 1000, 1024, 1028, 1501}) check_shape({37, width});
  for (std::int64_t width : {20, 64, 260, 1030}) check_shape({700, width});
}

TEST_CASE("layer_norm: values and gradients in float32 are about as exact as those of plain loops") {
  const auto by_loops = [](const std::vector<Tensor>& in) {
    const Tensor out = reference::layer_norm(in[0], in[1], in[2]);
    const auto d = reference::layer_norm_backward(in[0], in[1], cotangent(out));
    return std::vector{out, d.x, d.gain, d.bias};
  };
  for (double shift : {0.0, 100.0}) {
    CAPTURE(shift);
    const auto in = normal_inputs<float>({300, 129}, shift);
    check_as_exact_as(by_loops(in), with_gradients(kPlain, in), by_loops(to_double(in)));
  }
}

TEST_CASE("layer_norm: the residual form has the gradients of an addition and a normalisation") {
  const auto in = normal_inputs<double>({5, 33});
  const std::vector<Tensor> inputs{in[0], normal<double>({5, 33}, 4), in[1], in[2]};
  const auto composed = [](bool both) {
    return Function([both](const auto& x) {
      const Tensor sum = add(x[0], x[1]), norm = layer_norm(sum, x[2], x[3]);
      return both ? add(mul(sum, sum), norm) : norm;
    });
  };
  for (bool both : {false, true}) {
    const auto found = with_gradients(both ? kBoth : kResidual, inputs),
               expected = with_gradients(composed(both), inputs);
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(error(found[i], doubles(expected[i])) <= kTolerance<double>);
  }
  const Function sum_alone = [](const auto& x) { return residual_layer_norm(x[0], x[1], x[2], x[3]).sum; };
  const auto found = with_gradients(sum_alone, inputs);
  CHECK(same_bits(found[1], found[2]));
  CHECK(doubles(found[3]) == std::vector<double>(33));
}

TEST_CASE_TEMPLATE("layer_norm: a large mean costs no more than its own rounding", T, float, double) {
  constexpr double kShift = 1e6;
  const Shape shape{20, 129};
  const auto in = normal_inputs<T>(shape, kShift);
  const Tensor out = layer_norm(in[0], in[1], in[2]);
  auto centred = to_double(in);
  centred[0] = centred[0].clone();
  for (double& value : centred[0].template values<double>()) value -= kShift;  // exact
  // The deviation is 2, the gain at most 4; the mean is stored to half a unit in its last place and summed in parts.
  const double unit = kShift * std::numeric_limits<T>::epsilon();
  CHECK(largest_difference(out, doubles(exact(centred))) <= 4 / 2.0 * unit);
}

TEST_CASE_TEMPLATE("layer_norm: constant rows give the bias, and finite gradients", T, float, double) {
  for (double value : {0.0, 3.0, -1e6}) {
    const Tensor x = Tensor::full({4, 33}, value, dtype_of<T>()), gain = normal<T>({33}, 1), bias = normal<T>({33}, 2);
    const auto results = with_gradients(kPlain, {x, gain, bias});
    CHECK(error(results[0], doubles(reference::broadcast_to(bias, {4, 33}))) <= 1e-6);
    for (const Tensor& result : results)
      for (double number : doubles(result)) CHECK(std::isfinite(number));
  }
}

TEST_CASE_TEMPLATE("layer_norm: NaN and infinities stay in their row", T, float, double) {
  for (double poison : {kNaN, kInfinity, -kInfinity})
    for (std::int64_t width : {1, 33}) {
      auto in = normal_inputs<T>({5, width});
      in[0].template data<T>()[2 * width] = static_cast<T>(poison);
      const auto results = with_gradients(kPlain, in);
      const std::vector<double> out = doubles(results[0]), d_x = doubles(results[1]);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const bool poisoned = i / static_cast<std::size_t>(width) == 2;
        CHECK(std::isnan(out[i]) == poisoned);
        CHECK(std::isnan(d_x[i]) == poisoned);
      }
    }
}

TEST_CASE("layer_norm: the gradients of gain and bias keep their digits over many rows") {
  const std::int64_t rows = 1 << 18;
  Tensor gain = Tensor::full({2}, 1), bias = Tensor::zeros({2});
  Tensor x = Tensor::zeros({rows, 2}, DType::float32, Device::cpu);
  for (std::int64_t i = 0; i < rows; ++i) x.data<float>()[2 * i] = 1000;  // normalised: 1 and −1
  Tape tape;
  tape.watch(gain);
  tape.watch(bias);
  Tensor out;
  {
    const Recording on(tape);
    out = layer_norm(x.to(default_device()), gain, bias);
  }
  const Grads& grads = tape.backward(out, Tensor::full({rows, 2}, 0.1f));
  const double exact = rows * static_cast<double>(0.1f);
  CHECK(error(grads.of(bias), {exact, exact}) <= 8e-7);
  CHECK(error(grads.of(gain), {exact, -exact}) <= 8e-7);
}

TEST_CASE("layer_norm: the same bits in every run and with any number of threads") {
  const auto in = normal_inputs<float>({1000, 65});
  check_deterministic(kPlain, in);
  check_deterministic(kBoth, {in[0], normal<float>({1000, 65}, 4), in[1], in[2]});
}

TEST_CASE("layer_norm: errors") {
  const Tensor x = Tensor::zeros({2, 3}), row = Tensor::zeros({3});
  CHECK(error_of([&] { layer_norm(Tensor::zeros({}), row, row); }) == "[layer_norm] x is a scalar, expected (…, D)");
  CHECK(error_of([&] { layer_norm(x, Tensor::zeros({2}), row); }) ==
        "[layer_norm] gain (2) and bias (3) must both be (3) for x (2, 3)");
  CHECK(error_of([&] {
          layer_norm(x, row, Tensor::zeros({1, 3}));
        }) == "[layer_norm] gain (3) and bias (1, 3) must both be (3) for x (2, 3)");
  CHECK(error_of([&] { layer_norm(x, row.to(DType::float64), row); }) ==
        "[layer_norm] x is float32, gain float64, bias float32");
  CHECK(error_of([&] { residual_layer_norm(x, Tensor::zeros({3}), row, row); }) ==
        "[layer_norm] x (2, 3) and residual (3) must agree in shape and dtype");
  CHECK(error_of([&] { residual_layer_norm(x, x.to(DType::float64), row, row); }) ==
        "[layer_norm] x (2, 3) and residual (2, 3) must agree in shape and dtype");
  const Tensor whole = Tensor::zeros({3}, DType::int64);
  CHECK(error_of([&] { layer_norm(whole, whole, whole); }) ==
        "[backend] expected float32 or float64 elements, found int64");
}

}  // namespace npzoo
