#include "npzoo/engine/gradcheck.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"
#include "npzoo/engine/tape.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

Tensor normals(const Shape& shape, std::uint64_t seed = 1) {
  Tensor x = Tensor::empty(shape, DType::float64);
  Random(seed).fill_normal(x.values<double>());
  return x;
}

template <class F>
Tensor mapped(const Tensor& x, F f) {
  Tensor out = Tensor::empty_like(x);
  for (std::int64_t i = 0; i < x.numel(); ++i) out.data<double>()[i] = f(i);
  return out;
}

/// x * x, with `broken(i, derivative)` as the derivative of element i.
template <class Broken>
Tensor square(const Tensor& x, Broken broken) {
  Tensor out = mapped(x, [&](std::int64_t i) { return x.data<double>()[i] * x.data<double>()[i]; });
  record("square", out, {x}, [x, broken](const Tensor& d_out, Grads& g) {
    const double *in = x.data<double>(), *d = d_out.data<double>();
    g.add(x, mapped(x, [&](std::int64_t i) { return d[i] * broken(i, 2 * in[i]); }));
  });
  return out;
}

double right(std::int64_t, double derivative) { return derivative; }

GradcheckResult check_square(const Shape& shape, const auto& broken) {
  return gradcheck([&](const std::vector<Tensor>& in) { return square(in[0], broken); }, {normals(shape)});
}

/// a * b summed over the last axis, so that the output has another shape than the inputs.
Tensor row_dot(const Tensor& a, const Tensor& b, double factor_of_b) {
  Tensor out = Tensor::zeros(a.shape().without(-1), a.dtype());
  const std::int64_t n = a.shape().last();
  for (std::int64_t i = 0; i < a.numel(); ++i) out.data<double>()[i / n] += a.data<double>()[i] * b.data<double>()[i];
  record("row_dot", out, {a, b}, [a, b, n, factor_of_b](const Tensor& d_out, Grads& g) {
    const double* d = d_out.data<double>();
    g.add(a, mapped(a, [&](std::int64_t i) { return d[i / n] * b.data<double>()[i]; }));
    g.add(b, mapped(b, [&](std::int64_t i) { return d[i / n] * a.data<double>()[i] * factor_of_b; }));
  });
  return out;
}

/// softmax(scale * x) over all elements; the broken form forgets the term that couples them.
Tensor softmax(const Tensor& x, double scale, bool coupled) {
  double largest = -kInfinity, total = 0;
  for (const double value : x.values<double>()) largest = std::max(largest, scale * value);
  for (const double value : x.values<double>()) total += std::exp(scale * value - largest);
  Tensor out = mapped(x, [&](std::int64_t i) { return std::exp(scale * x.data<double>()[i] - largest) / total; });
  record("softmax", out, {x}, [x, p = out, scale, coupled](const Tensor& d_out, Grads& g) {
    const double *d = d_out.data<double>(), *weights = p.data<double>();
    double mean = 0;
    if (coupled)
      for (std::int64_t i = 0; i < x.numel(); ++i) mean += d[i] * weights[i];
    g.add(x, mapped(x, [&](std::int64_t i) { return scale * weights[i] * (d[i] - mean); }));
  });
  return out;
}

}  // namespace

TEST_CASE("gradcheck passes right gradients, with room to spare") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{33}, Shape{3, 129}, Shape{0}}) {
    const GradcheckResult result = check_square(shape, right);
    CAPTURE(result.worst);
    CHECK(result.max_error <= 1e-9);
    CHECK(result.checked == std::min<std::int64_t>(shape.numel(), 200) + 1);
  }
  for (const double scale : {1.0, 100.0}) {
    const auto f = [&](const std::vector<Tensor>& in) { return softmax(in[0], scale, true); };
    const GradcheckResult result = gradcheck(f, {normals({7})});
    CAPTURE(result.worst);
    CHECK(result.max_error <= 1e-7);
  }
}

TEST_CASE("gradcheck catches wrong gradients") {
  const Shape shape{4, 5};
  CHECK(check_square(shape, [](std::int64_t, double d) { return -d; }).max_error > 1);
  CHECK(check_square(shape, [](std::int64_t, double) { return 0.0; }).max_error > 1);
  CHECK(check_square(shape, [](std::int64_t, double d) { return d * (1 + 1e-5); }).max_error > 1e-6);
  CHECK(check_square(shape, [](std::int64_t, double d) { return d + 1e-5; }).max_error > 1e-6);

  const GradcheckResult one = check_square(shape, [](std::int64_t i, double d) { return i == 13 ? 1.01 * d : d; });
  CHECK(one.max_error > 1e-4);
  CHECK(one.worst.find("input 0 [13]: analytic ") == 0);

  const auto uncoupled = [](const std::vector<Tensor>& in) { return softmax(in[0], 1.0, false); };
  CHECK(gradcheck(uncoupled, {normals({7})}).max_error > 1e-2);
}

TEST_CASE("gradcheck finds one wrong entry among many by the random direction") {
  const GradcheckResult result = check_square({20'000}, [](std::int64_t i, double d) { return i == 7 ? d + 1 : d; });
  CHECK(result.checked == 201);
  CHECK(result.max_error > 1e-4);
  CHECK(check_square({20'000}, right).max_error <= 1e-7);
}

TEST_CASE("gradcheck treats every input by its own scale") {
  const auto check_dot = [](double factor_of_b) {
    Tensor small = normals({3, 4}, 2), large = normals({3, 4}, 3);
    for (double& value : large.values<double>()) value *= 1e4;
    return gradcheck([&](const std::vector<Tensor>& in) { return row_dot(in[0], in[1], factor_of_b); }, {small, large});
  };
  CHECK(check_dot(1).max_error <= 1e-7);
  CHECK(check_dot(1).checked == 25);
  CHECK(check_dot(1 + 1e-4).max_error > 1e-6);  // of a gradient 1e4 times smaller than that of `small`
  CHECK(check_dot(0).max_error > 1e-2);
}

TEST_CASE("gradcheck: the same input twice, and inputs that are passed on") {
  const auto f = [](const std::vector<Tensor>& in) {
    CHECK(in[1].data<std::int64_t>()[0] == 5);
    CHECK(!in[2].defined());
    return row_dot(in[0], in[0], 1);
  };
  const GradcheckResult result = gradcheck(f, {normals({2, 3}), Tensor::from<std::int64_t>({1}, {5}), Tensor()});
  CHECK(result.max_error <= 1e-8);
  CHECK(result.checked == 7);
}

TEST_CASE("gradcheck: the inputs of the caller stay as they are, also when f returns them") {
  const Tensor x = normals({3});
  const Tensor before = x.clone();
  CHECK(gradcheck([](const std::vector<Tensor>& in) { return in[0]; }, {x}).max_error <= 1e-9);
  CHECK(std::ranges::equal(x.values<double>(), before.values<double>()));
}

TEST_CASE("gradcheck: gradients that are not finite fail") {
  const GradcheckResult nan = check_square({300}, [](std::int64_t i, double d) { return i == 250 ? kNaN : d; });
  CHECK(nan.max_error == kInfinity);
  CHECK(nan.worst == "input 0 [250]: analytic nan");
  CHECK(check_square({3}, [](std::int64_t, double) { return kInfinity; }).max_error == kInfinity);
  // a forward pass that is not finite
  const Tensor bad = Tensor::from<double>({2}, {1.0, kNaN});
  const auto zero = [](std::int64_t, double) { return 0.0; };
  CHECK(gradcheck([&](const std::vector<Tensor>& in) { return square(in[0], zero); }, {bad}).max_error == kInfinity);
}

TEST_CASE("gradcheck: entries that are not finite may be masked out") {
  // sums the first two of four elements
  const auto masked = [](const std::vector<Tensor>& in) {
    const Tensor& x = in[0];
    Tensor out = Tensor::full({}, x.data<double>()[0] + x.data<double>()[1], DType::float64);
    record("masked", out, {x}, [x](const Tensor& d_out, Grads& g) {
      g.add(x, mapped(x, [&](std::int64_t i) { return i < 2 ? d_out.item() : 0.0; }));
    });
    return out;
  };
  CHECK(gradcheck(masked, {Tensor::from<double>({4}, {1.0, 2.0, kNaN, -kInfinity})}).max_error <= 1e-9);
}

TEST_CASE("gradcheck: the seed decides, and errors are clear") {
  const auto wrong = [](std::int64_t, double d) { return 1.5 * d; };
  CHECK(check_square({5}, wrong).worst == check_square({5}, wrong).worst);
  CHECK_THROWS_WITH_AS(
      gradcheck([](const std::vector<Tensor>&) { return Tensor::zeros({}, DType::float64); }, {normals({2})}),
      "[backward] the output does not depend on any watched tensor", Error);
  CHECK_THROWS_WITH_AS(gradcheck([](const std::vector<Tensor>&) { return Tensor::zeros({}); }, {normals({2})}),
                       "[gradcheck] the output is float32, expected float64", Error);
}
