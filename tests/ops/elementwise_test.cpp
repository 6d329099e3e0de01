#include "npzoo/ops/elementwise/elementwise.h"

#include "npzoo/datasets/boost_math.h"  // before Boost.Math

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <numbers>

#include "tests/ops/gradcheck_all.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace npzoo {

void elementwise_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

struct UnaryRow {
  const char* name;
  Tensor (*apply)(const Tensor&);
  double (*exact)(double);
  bool positive_only = false;
};

const UnaryRow kUnary[] = {
    {"relu", relu, [](double x) { return x > 0 ? x : 0; }},
    {"elu", elu, [](double x) { return x > 0 ? x : std::expm1(x); }},
    {"gelu", gelu, [](double x) { return x * normal_cdf(x); }},
    {"gelu_tanh", gelu_tanh,
     [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }},
    {"softplus", softplus, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh", tanh, [](double x) { return std::tanh(x); }},
    {"exp", exp, [](double x) { return std::exp(x); }},
    {"log", log, [](double x) { return std::log(x); }, true},
    {"square", square, [](double x) { return x * x; }},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, true},
    {"reciprocal", reciprocal, [](double x) { return 1 / x; }, true},
    {"abs", abs, [](double x) { return std::abs(x); }},
    {"log_normal_cdf", log_normal_cdf,
     [](double x) { return x < 0 ? std::log(normal_cdf(x)) : std::log1p(-normal_cdf(-x)); }},
    {"affine", [](const Tensor& x) { return affine(x, -2.5, 0.5); }, [](double x) { return -2.5 * x + 0.5; }},
    {"clamp", [](const Tensor& x) { return clamp(x, -1, 0.5); }, [](double x) { return std::clamp(x, -1.0, 0.5); }},
};

struct BinaryRow {
  const char* name;
  Tensor (*apply)(const Tensor&, const Tensor&);
  double (*exact)(double, double);
};

const BinaryRow kBinary[] = {
    {"add", add, [](double a, double b) { return a + b; }},
    {"sub", sub, [](double a, double b) { return a - b; }},
    {"mul", mul, [](double a, double b) { return a * b; }},
    {"div", div, [](double a, double b) { return a / b; }},
};

/// A few roundings of numbers as large as x and the result: gelu multiplies x by a probability.
template <class T>
double rounding(double x, double y) {
  return 4 * std::numeric_limits<T>::epsilon() * std::max({std::abs(x), std::abs(y), 1.0});
}

/// The value at x, and the gradient there.
std::vector<double> at(Tensor (*f)(const Tensor&), double x, DType dtype) {
  const auto results = with_gradients([f](const auto& in) { return f(in[0]); }, {Tensor::full({1}, x, dtype)});
  return {results[0].item(), results[1].item() / cotangent(results[0]).item()};
}

}  // namespace

TEST_CASE_TEMPLATE("elementwise: functions of one tensor", T, float, double) {
  for (const UnaryRow& row : kUnary)
    for (const Shape& shape :
         {Shape{}, Shape{0}, Shape{1}, Shape{33}, Shape{129}, Shape{3, 0, 2}, Shape{2, 3, 33}, Shape{5, 20'001}}) {
      CAPTURE(std::string(row.name));
      CAPTURE(to_string(shape));
      Tensor x = normal<T>(shape, 1, 3);
      if (row.positive_only)
        for (T& value : x.template values<T>()) value = std::abs(value) + T(0.01);
      const Tensor y = row.apply(x);
      CHECK(y.shape() == shape);
      CHECK(y.dtype() == x.dtype());
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < x.numel(); ++i) {
        const double value = x.data<T>()[i], exact = row.exact(value);
        wrong += !(std::abs(y.data<T>()[i] - exact) <= rounding<T>(value, exact));
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE_TEMPLATE("elementwise: binet gives log Γ and digamma", T, float, double) {
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  for (const double x : {1e-6, 0.01, 0.3, 1.0, 1.4616321449683623, 2.0, 5.5, 7.9999, 8.0, 30.0, 1e3, 1e5, 1e9}) {
    CAPTURE(x);
    const double given = static_cast<T>(x);  // as stored
    const std::vector<double> found = at(binet, given, dtype_of<T>());
    const double exact = boost::math::lgamma(given) - (given - 0.5) * std::log(given) + given - kHalfLogTwoPi,
                 slope = boost::math::digamma(given) - std::log(given) + 0.5 / given;
    const double loss = 1e-15 * boost::math::lgamma(given + 2);  // of the reference, for large x
    CHECK(std::abs(found[0] - exact) <= 32 * std::numeric_limits<T>::epsilon() + loss);
    CHECK(std::abs(found[1] - slope) <= 32 * std::numeric_limits<T>::epsilon() * std::max(1.0, 1 / given));
  }
  CHECK(std::isnan(binet(Tensor::full({1}, -1, dtype_of<T>())).item()));
  CHECK(binet(Tensor::full({1}, 1e30, dtype_of<T>())).item() == doctest::Approx(0));
}

TEST_CASE_TEMPLATE("elementwise: functions of two tensors, broadcast", T, float, double) {
  struct Pair {
    Shape a, b;
  };
  const Pair pairs[] = {
      {{}, {}},           {{33}, {33}},           {{129}, {}},         {{}, {129}},
      {{2, 33}, {33}},    {{33, 1}, {129}},       {{2, 1, 5}, {3, 1}}, {{4, 1, 3}, {4, 5, 3}},
      {{1}, {0}},         {{0, 3}, {3}},          {{3, 1}, {1, 0}},    {{2, 3, 1, 5}, {3, 4, 1}},
      {{70, 700}, {700}}, {{1, 2, 3}, {3, 2, 3}}, {{50'001}, {1}},     {{2, 1, 2, 1, 2, 1}, {1, 3, 1, 3, 1, 3}}};
  for (const BinaryRow& row : kBinary)
    for (const Pair& shapes : pairs) {
      CAPTURE(std::string(row.name));
      CAPTURE(to_string(shapes.a));
      CAPTURE(to_string(shapes.b));
      const Shape shape = broadcast(shapes.a, shapes.b);
      const Tensor a = normal<T>(shapes.a, 1), b = normal<T>(shapes.b, 2);
      const Tensor out = row.apply(a, b);
      REQUIRE(out.shape() == shape);
      const Tensor left = reference::broadcast_to(a, shape), right = reference::broadcast_to(b, shape);
      bool equal = true;  // one rounding: the exact result rounded to T
      for (std::int64_t i = 0; i < out.numel(); ++i)
        equal &= out.data<T>()[i] == static_cast<T>(row.exact(left.data<T>()[i], right.data<T>()[i]));
      CHECK(equal);
    }
}

TEST_CASE("elementwise: gradients") { gradcheck_all(elementwise_gradcheck_cases); }

TEST_CASE("elementwise: gradients in float32 are those of float64, rounded") {
  for (const UnaryRow& row : kUnary) {
    CAPTURE(std::string(row.name));
    Tensor x = normal<float>({129}, 1, 2);
    if (row.positive_only)
      for (float& value : x.values<float>()) value = std::abs(value) + 0.5f;
    check_float_against_double([&row](const auto& in) { return row.apply(in[0]); }, {x});
  }
  for (const BinaryRow& row : kBinary) {
    CAPTURE(std::string(row.name));
    Tensor a = normal<float>({5, 33}, 1), b = normal<float>({33}, 2);
    for (float& value : b.values<float>()) value = std::abs(value) + 0.5f;
    check_float_against_double([&row](const auto& in) { return row.apply(in[0], in[1]); }, {a, b});
  }
}

TEST_CASE_TEMPLATE("elementwise: NaN propagates through every function", T, float, double) {
  const Tensor nan = Tensor::full({19}, kNaN, dtype_of<T>()), one = Tensor::full({19}, 1, dtype_of<T>());
  const auto all_nan = [](const Tensor& x) {
    return std::ranges::all_of(doubles(x), [](double value) { return std::isnan(value); });
  };
  for (const UnaryRow& row : kUnary) {
    CAPTURE(std::string(row.name));
    CHECK(all_nan(row.apply(nan)));
  }
  for (const BinaryRow& row : kBinary) {
    CAPTURE(std::string(row.name));
    CHECK(all_nan(row.apply(nan, one)));
    CHECK(all_nan(row.apply(one, nan)));
  }
}

TEST_CASE("elementwise: infinities, zeros and overflow") {
  struct Row {
    const char* name;
    Tensor (*apply)(const Tensor&);
    double x, y, slope;  // slope NaN: not checked
  };
  const Row rows[] = {
      {"relu", relu, kInfinity, kInfinity, 1},
      {"relu", relu, -kInfinity, 0, 0},
      {"relu", relu, 0, 0, 0},
      {"elu", elu, kInfinity, kInfinity, 1},
      {"elu", elu, -kInfinity, -1, 0},
      {"elu", elu, 1e4, 1e4, 1},
      {"elu", elu, -1e4, -1, 0},
      {"gelu", gelu, kInfinity, kInfinity, kNaN},
      {"gelu", gelu, 1e4, 1e4, 1},
      {"gelu", gelu, -1e4, 0, 0},
      {"gelu_tanh", gelu_tanh, kInfinity, kInfinity, kNaN},
      {"gelu_tanh", gelu_tanh, 1e4, 1e4, 1},
      {"gelu_tanh", gelu_tanh, -1e4, 0, 0},
      {"softplus", softplus, kInfinity, kInfinity, 1},
      {"softplus", softplus, -kInfinity, 0, 0},
      {"softplus", softplus, 1e4, 1e4, 1},
      {"softplus", softplus, -1e4, 0, 0},
      {"sigmoid", sigmoid, kInfinity, 1, 0},
      {"sigmoid", sigmoid, -kInfinity, 0, 0},
      {"sigmoid", sigmoid, -1e4, 0, 0},
      {"tanh", tanh, kInfinity, 1, 0},
      {"tanh", tanh, -kInfinity, -1, 0},
      {"tanh", tanh, 1e4, 1, 0},
      {"exp", exp, kInfinity, kInfinity, kInfinity},
      {"exp", exp, -kInfinity, 0, 0},
      {"exp", exp, 1e4, kInfinity, kInfinity},
      {"log", log, 0, -kInfinity, kInfinity},
      {"log", log, kInfinity, kInfinity, 0},
      {"log", log, -1, kNaN, kNaN},
      {"square", square, -kInfinity, kInfinity, -kInfinity},
      {"sqrt", sqrt, 0, 0, kInfinity},
      {"sqrt", sqrt, kInfinity, kInfinity, 0},
      {"sqrt", sqrt, -1, kNaN, kNaN},
      {"reciprocal", reciprocal, 0, kInfinity, -kInfinity},
      {"reciprocal", reciprocal, -kInfinity, 0, 0},
      {"abs", abs, -kInfinity, kInfinity, -1},
      {"abs", abs, 0, 0, 0},
      {"log_normal_cdf", log_normal_cdf, kInfinity, 0, 0},
      {"log_normal_cdf", log_normal_cdf, 1e4, 0, 0},
      {"log_normal_cdf", log_normal_cdf, -kInfinity, -kInfinity, kInfinity},
      {"clamp", [](const Tensor& x) { return clamp(x, -1, 2); }, kInfinity, 2, 0},
      {"clamp", [](const Tensor& x) { return clamp(x, -1, 2); }, -kInfinity, -1, 0},
      {"clamp", [](const Tensor& x) { return clamp(x, -1, 2); }, 2, 2, 1},
      {"clamp", [](const Tensor& x) { return clamp(x, -kInfinity, 2); }, -1e4, -1e4, 1},
  };
  for (const Row& row : rows)
    for (DType dtype : {DType::float32, DType::float64}) {
      CAPTURE(std::string(row.name));
      CAPTURE(row.x);
      const auto found = at(row.apply, row.x, dtype);
      CHECK((found[0] == row.y || (std::isnan(found[0]) && std::isnan(row.y))));
      CHECK((std::isnan(row.slope) || found[1] == row.slope));
    }
  CHECK(div(Tensor::full({}, 1), Tensor::full({}, 0)).item() == kInfinity);
  CHECK(std::isnan(sub(Tensor::full({}, kInfinity), Tensor::full({}, kInfinity)).item()));
  CHECK(std::isnan(mul(Tensor::full({}, kInfinity), Tensor::full({}, 0)).item()));
}

TEST_CASE_TEMPLATE("elementwise: elu keeps its digits near 0", T, float, double) {
  std::vector<T> near_zero;
  for (double x = -2; x < -1e-12; x /= 3) near_zero.push_back(static_cast<T>(x));
  const auto found = doubles(elu(Tensor::from<T>({std::ssize(near_zero)}, std::span<const T>(near_zero))));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double exact = std::expm1(static_cast<double>(near_zero[i]));
    CHECK(std::abs(found[i] / exact - 1) <= 4 * static_cast<double>(std::numeric_limits<T>::epsilon()));
  }
}

TEST_CASE_TEMPLATE("elementwise: gradients of functions with an edge do not hide NaN", T, float, double) {
  const Function functions[] = {[](const std::vector<Tensor>& in) { return relu(in[0]); },
                                [](const std::vector<Tensor>& in) { return elu(in[0]); },
                                [](const std::vector<Tensor>& in) { return abs(in[0]); },
                                [](const std::vector<Tensor>& in) { return clamp(in[0], -1, 1); }};
  for (const Function& f : functions) {
    const auto results = with_gradients(f, {Tensor::full({3}, kNaN, dtype_of<T>())});
    for (const double slope : doubles(results[1])) CHECK(slope != 0);
  }
}

TEST_CASE_TEMPLATE("elementwise: the logarithm of the normal distribution function far below 0", T, float, double) {
  struct Row {
    double x, y, slope;  // by arithmetic of 40 digits
  };
  const Row rows[] = {
      {-0.75, -1.4844482299196563, 1.3287779652212071}, {-3, -6.6077262215103495, 3.2830986549304365},
      {-6.5, -23.938149495161839, 6.6473013611904907},  {-20, -203.91715537109726, 20.049753068527850},
      {-50, -1254.8313611394199, 50.019984031905640},   {-1e4, -50000010.129278915, 10000.000099999998}};
  for (const Row& row : rows) {
    CAPTURE(row.x);
    const auto found = at(log_normal_cdf, row.x, dtype_of<T>());
    CHECK(found[0] == doctest::Approx(row.y).epsilon(8 * std::numeric_limits<T>::epsilon()));
    CHECK(found[1] == doctest::Approx(row.slope).epsilon(64 * std::numeric_limits<T>::epsilon()));
  }
}

TEST_CASE("elementwise: the same bits in every run and with any number of threads") {
  for (const UnaryRow& row : kUnary)
    check_deterministic([&row](const auto& in) { return row.apply(in[0]); }, {normal<float>({3, 20'001}, 1)});
  for (const BinaryRow& row : kBinary)
    check_deterministic([&row](const auto& in) { return row.apply(in[0], in[1]); },
                        {normal<float>({300, 201}, 1), normal<float>({201}, 2)});
}

TEST_CASE("elementwise: errors") {
  const Tensor whole = Tensor::zeros({2}, DType::int64), single = Tensor::zeros({2}),
               wide = Tensor::zeros({2}, DType::float64);
  for (const UnaryRow& row : kUnary)
    CHECK(error_of([&] { row.apply(whole); }) == "[backend] expected float32 or float64 elements, found int64");
  for (const BinaryRow& row : kBinary) {
    CHECK(error_of([&] { row.apply(single, wide); }) ==
          fmt::format("[{}] dtypes float32 and float64 must agree", row.name));
    CHECK(error_of([&] { row.apply(single, Tensor::zeros({3})); }) ==
          "[broadcast] (2) and (3) do not agree: axis -1 has extents 2 and 3");
    CHECK(error_of([&] { row.apply(whole, whole); }) == "[backend] expected float32 or float64 elements, found int64");
  }
  CHECK(error_of([&] { clamp(single, 2, 1); }) == "[clamp] the limits 2 and 1 are in the wrong order");
  CHECK(error_of([&] { clamp(single, kNaN, 1); }) == "[clamp] the limits nan and 1 are in the wrong order");
}

}  // namespace npzoo
