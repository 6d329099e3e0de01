#include "npzoo/ops/reduce/reduce.h"

#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void reduce_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

/// Calls visit(group of elements) for each result of reducing `axis`, in their order.
template <class Visit>
std::vector<double> reduced(const Tensor& x, int axis, Visit visit) {
  const std::vector<double> values = doubles(x);
  const std::int64_t n = x.dim(axis);
  std::int64_t inner = 1;
  for (int i = x.shape().index(axis) + 1; i < x.rank(); ++i) inner *= x.dim(i);
  std::vector<double> results;
  for (std::int64_t r = 0; r < x.shape().without(axis).numel(); ++r) {
    std::vector<double> group;
    for (std::int64_t i = 0; i < n; ++i)
      group.push_back(values[static_cast<std::size_t>((r / inner * n + i) * inner + r % inner)]);
    results.push_back(visit(group));
  }
  return results;
}

double naive_sum(const std::vector<double>& x) {
  long double sum = 0;
  for (double value : x) sum += value;
  return static_cast<double>(sum);
}

double naive_mean(const std::vector<double>& x) { return naive_sum(x) / static_cast<double>(x.size()); }

double naive_logsumexp(const std::vector<double>& x) {
  double largest = -kInfinity;
  long double sum = 0;
  for (double value : x) largest = std::max(largest, value);
  for (double value : x) sum += value == largest ? 1 : std::exp(static_cast<long double>(value) - largest);
  return sum == 0 ? -kInfinity : static_cast<double>(largest + std::log(sum));
}

struct Reduction {
  Shape shape;
  int axis;
};

const std::vector<Reduction> kReductions = {{{0}, 0},         {{1}, 0},           {{33}, 0},         {{129}, -1},
                                            {{0, 5}, 1},      {{4, 0}, 1},        {{4, 0}, 0},       {{33, 1}, 1},
                                            {{129, 33}, 0},   {{33, 129}, 1},     {{2, 33, 7}, 1},   {{2, 1, 129}, 1},
                                            {{3, 129, 1}, 1}, {{2, 3, 4, 5}, -3}, {{2, 129, 200}, 1}};

}  // namespace

TEST_CASE_TEMPLATE("reduce: one axis", T, float, double) {
  for (const Reduction& one : kReductions) {
    const Shape& shape = one.shape;
    const int axis = one.axis;
    CAPTURE(to_string(shape));
    const Tensor x = normal<T>(shape, 1, 3);
    CHECK(sum(x, axis).shape() == shape.without(axis));
    CHECK(error(sum(x, axis), reduced(x, axis, naive_sum)) <= kTolerance<T>);
    CHECK(error(mean(x, axis), reduced(x, axis, naive_mean)) <= kTolerance<T>);
    CHECK(logsumexp(x, axis).shape() == shape.without(axis));
    CHECK(error(logsumexp(x, axis), reduced(x, axis, naive_logsumexp)) <= kTolerance<T>);
  }
}

TEST_CASE_TEMPLATE("reduce: all elements", T, float, double) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{33}, Shape{3, 129}, Shape{5, 70'001}}) {
    CAPTURE(to_string(shape));
    const Tensor x = normal<T>(shape, 2, 1, 5);
    CHECK(sum(x).shape() == Shape{});
    CHECK(error(sum(x), {naive_sum(doubles(x))}) <= kTolerance<T>);
    CHECK(error(mean(x), {naive_mean(doubles(x))}) <= kTolerance<T>);
  }
}

TEST_CASE("reduce: float sums are more exact than float accumulation") {
  const Tensor x = Tensor::full({1 << 25}, 0.1f);
  CHECK(std::abs(sum(x).item() / ((1 << 25) * static_cast<double>(0.1f)) - 1) <= 6e-8);
  const Tensor cancelling = Tensor::from<float>({3}, {1e8f, 1.0f, -1e8f});
  CHECK(sum(cancelling).item() == 1);
  CHECK(sum(cancelling, 0).item() == 1);
}

TEST_CASE("reduce: the mean of numbers near overflow") {
  const Tensor x = Tensor::from<float>({2, 2}, {3e38f, 3e38f, 2e38f, -2e38f});
  CHECK(mean(x).item() == doctest::Approx(1.5e38));
  CHECK(error(mean(x, 1), {3e38f, 0}) <= kTolerance<float>);
  CHECK(error(mean(x, 0), {2.5e38f, 0.5e38f}) <= kTolerance<float>);
}

TEST_CASE_TEMPLATE("logsumexp: edges", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity();
  const auto of = [](std::initializer_list<T> x) {
    const auto n = static_cast<std::int64_t>(x.size());
    return with_gradients([](const std::vector<Tensor>& in) { return logsumexp(in[0], 0); }, {Tensor::from<T>({n}, x)});
  };
  CHECK(of({})[0].item() == -kInfinity);
  CHECK(of({1000, 1000})[0].item() == doctest::Approx(1000 + std::log(2)));
  CHECK(of({-1e4, 1e4})[0].item() == 1e4);
  CHECK(std::isnan(of({0, static_cast<T>(kNaN), 1})[0].item()));
  CHECK(std::isnan(of({-infinity, static_cast<T>(kNaN)})[0].item()));

  const auto lowest = of({-infinity, -infinity, -infinity});
  CHECK(lowest[0].item() == -kInfinity);
  CHECK(doubles(lowest[1]) == std::vector<double>{0, 0, 0});
  const auto highest = of({1, infinity, -infinity});
  CHECK(highest[0].item() == kInfinity);
  const double d_out = doubles(highest[1])[1];
  CHECK(d_out != 0);
  CHECK(doubles(highest[1]) == std::vector<double>{0, d_out, 0});

  // along columns: a masked one does not touch its neighbours
  const Tensor columns = Tensor::from<T>({2, 3}, {-infinity, 0, static_cast<T>(kNaN), -infinity, 0, 0});
  CHECK(error(logsumexp(columns, 0), {-kInfinity, std::log(2.0), kNaN}) <= kTolerance<T>);
}

TEST_CASE_TEMPLATE("masked_mean: values, and padding that does not leak", T, float, double) {
  for (std::int64_t points : {0, 1, 33, 129})
    for (std::int64_t width : {0, 1, 33, 129}) {
      CAPTURE(points);
      CAPTURE(width);
      Tensor x = normal<T>({3, points, width}, 3);
      const auto all =
          points > 0 ? reduced(x, 1, naive_mean) : std::vector<double>(static_cast<std::size_t>(3 * width));
      CHECK(error(masked_mean(x), all) <= kTolerance<T>);

      const std::int64_t lengths[] = {0, points / 2, points};
      std::vector<double> expected(static_cast<std::size_t>(3 * width)), expected_slope;
      for (std::int64_t i = 0; i < x.numel(); ++i) {
        const std::int64_t b = i / (points * width), length = lengths[b];
        const bool padded = i / width % points >= length;
        T& value = x.data<T>()[i];
        if (padded)
          value = static_cast<T>(kNaN);
        else
          expected[static_cast<std::size_t>(b * width + i % width)] += value / static_cast<double>(length);
        expected_slope.push_back(padded ? 0 : 1 / static_cast<double>(length));
      }
      Tape tape;
      tape.watch(x);
      Tensor out;
      {
        Recording on(tape);
        out = masked_mean(x, Tensor::from<std::int64_t>({3}, {lengths[0], lengths[1], lengths[2]}));
      }
      CHECK(out.shape() == Shape{3, width});
      CHECK(error(out, expected) <= kTolerance<T>);
      const Tensor d_x = tape.backward(out, Tensor::full(out.shape(), 1, out.dtype())).of(x);
      CHECK(error(d_x, expected_slope) <= kTolerance<T>);
    }
}

TEST_CASE_TEMPLATE("masked_mean: many points of few sets", T, float, double) {
  for (std::int64_t width : {1, 3, 33}) {
    CAPTURE(width);
    const std::int64_t points = 20'000;
    Tensor x = normal<T>({2, points, width}, 5, 9);
    for (T& value : x.template values<T>()) value = std::round(value);  // sums without rounding
    CHECK(error(masked_mean(x), reduced(x, 1, naive_mean)) <= kTolerance<T>);
    for (std::int64_t length : {0, 1, 10'001, 20'000}) {
      const Tensor found = masked_mean(x, Tensor::full({2}, static_cast<double>(length), DType::int64));
      const auto first = [length](const std::vector<double>& values) {
        return length == 0 ? 0 : naive_mean({values.begin(), values.begin() + length});
      };
      CHECK(error(found, reduced(x, 1, first)) <= kTolerance<T>);
    }
  }
}

TEST_CASE("reduce: errors") {
  const Tensor x = Tensor::zeros({2, 3, 4}), i64 = Tensor::zeros({3}, DType::int64);
  CHECK_THROWS_WITH_AS(sum(x, 3), "[sum] axis 3 does not exist in (2, 3, 4)", Error);
  CHECK_THROWS_WITH_AS(mean(x, -4), "[mean] axis -4 does not exist in (2, 3, 4)", Error);
  CHECK_THROWS_WITH_AS(logsumexp(Tensor::zeros({}), 0), "[logsumexp] axis 0 does not exist in ()", Error);
  CHECK_THROWS_WITH_AS(masked_mean(Tensor::zeros({2, 3})), "[masked_mean] x is (2, 3), expected (B, N, D)", Error);
  CHECK_THROWS_WITH_AS(masked_mean(x, i64), "[masked_mean] lengths are int64 (3), expected int64 (2) for x (2, 3, 4)",
                       Error);
  CHECK_THROWS_WITH_AS(masked_mean(x, Tensor::zeros({2})),
                       "[masked_mean] lengths are float32 (2), expected int64 (2) for x (2, 3, 4)", Error);
  CHECK_THROWS_WITH_AS(masked_mean(x, Tensor::from<std::int64_t>({2}, {3, 4})),
                       "[masked_mean] length 1 is 4, expected in [0, 3]", Error);
  CHECK_THROWS_WITH_AS(masked_mean(x, Tensor::from<std::int64_t>({2}, {-1, 4})),
                       "[masked_mean] length 0 is -1, expected in [0, 3]", Error);
  CHECK_THROWS_WITH_AS(sum(i64), "[backend] expected float32 or float64 elements, found int64", Error);
}

TEST_CASE("reduce: float32 follows float64, the same bits for any number of threads") {
  using Inputs = std::vector<Tensor>;
  const Tensor x = normal<float>({40, 129, 33}, 4), lengths = Tensor::full({40}, 77, DType::int64);
  const Function functions[] = {[](const Inputs& in) { return sum(in[0]); },
                                [](const Inputs& in) { return mean(in[0]); },
                                [](const Inputs& in) { return sum(in[0], 0); },
                                [](const Inputs& in) { return mean(in[0], 1); },
                                [](const Inputs& in) { return sum(in[0], 2); },
                                [](const Inputs& in) { return logsumexp(in[0], 0); },
                                [](const Inputs& in) { return logsumexp(in[0], 1); },
                                [](const Inputs& in) { return logsumexp(in[0], 2); },
                                [](const Inputs& in) { return masked_mean(in[0], in[1]); }};
  for (const Function& f : functions) {
    check_float_against_double(f, {x, lengths});
    check_deterministic(f, {x, lengths});
  }
}

TEST_CASE("reduce: gradients") { gradcheck_all(reduce_gradcheck_cases); }

}  // namespace npzoo
