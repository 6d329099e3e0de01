#include "npzoo/ops/joint_log_density/joint_log_density.h"

#include <numbers>

#include "npzoo/ops/lower_triangle/lower_triangle.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void joint_log_density_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

using Matrix = std::vector<std::vector<double>>;

/// log N(error; 0, covariance) by Gaussian elimination with pivots, in long double.
double naive(const std::vector<double>& error, const Matrix& covariance) {
  const std::size_t n = error.size();
  std::vector<std::vector<long double>> a(n);
  for (std::size_t i = 0; i < n; ++i) {
    a[i].assign(covariance[i].begin(), covariance[i].begin() + static_cast<std::ptrdiff_t>(n));
    a[i].push_back(error[i]);
  }
  long double log_determinant = 0, square = 0;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t top = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[top][k])) top = i;
    std::swap(a[k], a[top]);
    log_determinant += std::log(std::abs(a[k][k]));
    for (std::size_t i = k + 1; i < n; ++i) {
      const long double ratio = a[i][k] / a[k][k];
      for (std::size_t j = k; j <= n; ++j) a[i][j] -= ratio * a[k][j];
    }
  }
  std::vector<long double> solved(n);
  for (std::size_t i = n; i-- > 0;) {
    solved[i] = a[i][n];
    for (std::size_t j = i + 1; j < n; ++j) solved[i] -= a[i][j] * solved[j];
    solved[i] /= a[i][i];
    square += solved[i] * error[i];
  }
  return static_cast<double>(-0.5L *
                             (square + log_determinant + static_cast<long double>(n) * std::log(2 * std::numbers::pi)));
}

/// Returns the covariance from the first `n` of `values` rows of the factor of task b, plus a diagonal.
Matrix covariance(const Tensor& factor, std::size_t b, std::size_t n, const std::vector<double>& diagonal = {}) {
  const std::vector<double> f = doubles(factor);
  const auto rows = static_cast<std::size_t>(factor.dim(1)), rank = static_cast<std::size_t>(factor.dim(2));
  Matrix all(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t r = 0; r < rank; ++r) all[i][j] += f[(b * rows + i) * rank + r] * f[(b * rows + j) * rank + r];
      if (i == j && !diagonal.empty()) all[i][j] += diagonal[b * rows + i];
    }
  return all;
}

std::vector<double> error_of_task(const Tensor& error, std::size_t b, std::size_t n) {
  const std::vector<double> all = doubles(error);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(b * all.size() / static_cast<std::size_t>(error.dim(0)));
  return {first, first + static_cast<std::ptrdiff_t>(n)};
}

/// Small below a diagonal of either sign.
template <class T>
Tensor triangle(std::int64_t batch, std::int64_t values, std::uint64_t seed) {
  Tensor diagonal = normal<T>({batch, values}, seed);
  for (T& x : diagonal.values<T>()) x = (x < 0 ? -1 : 1) * std::exp(x / 2);
  return lower_triangle(normal<T>({batch, values, values}, seed + 1, 0.2), diagonal);
}

template <class T>
Tensor positive(const Shape& shape, std::uint64_t seed) {
  Tensor x = normal<T>(shape, seed);
  for (T& value : x.values<T>()) value = std::exp(value);
  return x;
}

/// Points and channels.
constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {{0, 1}, {1, 1}, {5, 1}, {4, 3}, {11, 3}};

const Function kCholesky = [](const std::vector<Tensor>& in) { return cholesky_log_density(in[0], in[1]); };
const Function kLowRank = [](const std::vector<Tensor>& in) { return low_rank_log_density(in[0], in[1], in[2]); };

}  // namespace

TEST_CASE_TEMPLATE("cholesky_log_density: that of the covariance, of all points and of the first ones", T, float,
                   double) {
  for (const auto& size : kSizes) {
    const std::int64_t points = size.first, width = size.second;
    CAPTURE(points);
    const std::int64_t values = points * width;
    const Tensor error = normal<T>({3, points, width}, 1), factor = triangle<T>(3, values, 2);
    const Tensor lengths = Tensor::from<std::int64_t>({3}, {points, points / 2, 0});
    std::vector<double> all, first;
    for (std::size_t b = 0; b < 3; ++b) {
      const auto count = static_cast<std::size_t>(lengths.values<std::int64_t>()[b] * width),
                 full = static_cast<std::size_t>(values);
      all.push_back(naive(error_of_task(error, b, full), covariance(factor, b, full)));
      first.push_back(naive(error_of_task(error, b, count), covariance(factor, b, count)));
    }
    // The reference multiplies the factor out, which squares its condition.
    const double tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-9;
    CHECK(testing::error(cholesky_log_density(error, factor), all) <= tolerance);
    CHECK(testing::error(cholesky_log_density(error, factor, lengths), first) <= tolerance);
  }
}

TEST_CASE_TEMPLATE("low_rank_log_density: that of the covariance, of all points and of the first ones", T, float,
                   double) {
  for (const auto& size : kSizes)
    for (const std::int64_t rank : {0, 1, 5, 20}) {
      const std::int64_t points = size.first, width = size.second;
      CAPTURE(points);
      CAPTURE(rank);
      const std::int64_t values = points * width;
      const Tensor error = normal<T>({3, points, width}, 1), factor = normal<T>({3, values, rank}, 2),
                   diagonal = positive<T>({3, values}, 3);
      const Tensor lengths = Tensor::from<std::int64_t>({3}, {points, points / 2, 0});
      std::vector<double> all, first;
      for (std::size_t b = 0; b < 3; ++b) {
        const auto count = static_cast<std::size_t>(lengths.values<std::int64_t>()[b] * width),
                   full = static_cast<std::size_t>(values);
        all.push_back(naive(error_of_task(error, b, full), covariance(factor, b, full, doubles(diagonal))));
        first.push_back(naive(error_of_task(error, b, count), covariance(factor, b, count, doubles(diagonal))));
      }
      const double tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-11;
      CHECK(testing::error(low_rank_log_density(error, factor, diagonal), all) <= tolerance);
      CHECK(testing::error(low_rank_log_density(error, factor, diagonal, lengths), first) <= tolerance);
    }
}

TEST_CASE("joint densities: two values by quadrature integrate to one") {
  constexpr double kStep = 0.5;  // the trapezoid rule on a Gaussian much wider than this is exact to rounding
  std::vector<double> grid;
  for (double x = -30; x <= 30; x += kStep)
    for (double y = -30; y <= 30; y += kStep) grid.insert(grid.end(), {x, y});
  const auto count = static_cast<std::int64_t>(grid.size() / 2);
  const Tensor error = Tensor::from<double>({count, 2, 1}, std::span<const double>(grid));
  const auto integral = [&](const Tensor& density) {
    double sum = 0;
    for (const double value : doubles(density)) sum += std::exp(value) * kStep * kStep;
    return sum;
  };
  const auto repeated = [&](std::initializer_list<double> values, Shape shape) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < count; ++i) all.insert(all.end(), values);
    return Tensor::from<double>(shape.with(0, count), std::span<const double>(all));
  };
  CHECK(integral(cholesky_log_density(error, repeated({2, 0, 1, -1.5}, {1, 2, 2}))) ==
        doctest::Approx(1).epsilon(1e-12));
  CHECK(integral(low_rank_log_density(error, repeated({1, 2}, {1, 2, 1}), repeated({1, 2}, {1, 2}))) ==
        doctest::Approx(1).epsilon(1e-12));
}

TEST_CASE_TEMPLATE("joint densities: padding is never read and gets no gradient", T, float, double) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const Tensor lengths = Tensor::from<std::int64_t>({2}, {2, 0});
  Tensor error = normal<T>({2, 3, 2}, 1), factor = triangle<T>(2, 6, 2), low = normal<T>({2, 6, 3}, 3),
         diagonal = positive<T>({2, 6}, 4);
  const auto spoil = [&](Tensor x, std::int64_t width, T with) {  // all but the first four rows of the first task
    x = x.clone();
    for (std::int64_t i = 4 * width; i < x.numel(); ++i) x.template data<T>()[i] = with;
    return x;
  };
  const Function cholesky = [&](const std::vector<Tensor>& in) { return cholesky_log_density(in[0], in[1], lengths); };
  const Function low_rank = [&](const std::vector<Tensor>& in) {
    return low_rank_log_density(in[0], in[1], in[2], lengths);
  };
  const auto of = [&](T with) {
    const Tensor e = spoil(error, 1, with);
    auto all = with_gradients(cholesky, {e, spoil(factor, 6, with)});
    std::ranges::move(with_gradients(low_rank, {e, spoil(low, 3, with), spoil(diagonal, 1, with)}),
                      std::back_inserter(all));
    return all;
  };
  const auto plain = of(1), spoilt = of(nan);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(same_bits(plain[i], spoilt[i]));
    for (const double value : doubles(spoilt[i])) CHECK(std::isfinite(value));
  }
  CHECK(doubles(spoilt[0])[1] == 0);
  CHECK(doubles(spoilt[1])[4] == 0);
  // Above the diagonal the factor is not read either.
  Tensor upper = factor.clone();
  upper.template data<T>()[5] = nan;
  CHECK(same_bits(cholesky_log_density(error, upper), cholesky_log_density(error, factor)));
}

TEST_CASE_TEMPLATE("joint densities: a diagonal of zero, and one below it", T, float, double) {
  const Tensor error = Tensor::full({3, 1, 1}, 1, dtype_of<T>()), one = Tensor::full({3, 1, 1}, 1, dtype_of<T>());
  const Tensor bad = Tensor::from<T>({3, 1}, {0, -1, 1});
  const auto low_rank = doubles(low_rank_log_density(error, one, bad));
  CHECK(std::isnan(low_rank[0]));
  CHECK(std::isnan(low_rank[1]));
  CHECK(low_rank[2] == doctest::Approx(-0.25 - 0.5 * std::log(4 * std::numbers::pi)));
  const auto cholesky = doubles(cholesky_log_density(error, bad.view({3, 1, 1})));
  CHECK_FALSE(std::isfinite(cholesky[0]));
  CHECK(cholesky[1] == doctest::Approx(-0.5 - 0.5 * std::log(2 * std::numbers::pi)));
  CHECK(cholesky[2] == doctest::Approx(cholesky[1]));
}

TEST_CASE("joint densities: float32 is rounded once, for 256 values and noise far below the signal") {
  const Tensor error = normal<float>({2, 256, 1}, 1), low = normal<float>({2, 256, 20}, 2),
               diagonal = Tensor::full({2, 256}, 1e-4), factor = triangle<float>(2, 256, 3);
  const auto wide = [](const Tensor& x) { return x.to(DType::float64); };
  CHECK(testing::error(low_rank_log_density(error, low, diagonal),
                       doubles(low_rank_log_density(wide(error), wide(low), wide(diagonal)))) <= 1e-7);
  CHECK(testing::error(cholesky_log_density(error, factor), doubles(cholesky_log_density(wide(error), wide(factor)))) <=
        1e-7);
}

TEST_CASE("joint densities: float32 follows float64, the same bits for any number of threads") {
  const std::vector<Tensor> triangular{normal<float>({5, 11, 3}, 1), triangle<float>(5, 33, 2)},
      low{normal<float>({5, 11, 3}, 1), normal<float>({5, 33, 4}, 2), positive<float>({5, 33}, 3)};
  check_float_against_double(kLowRank, low);
  check_deterministic(kCholesky, triangular);
  check_deterministic(kLowRank, low);
}

TEST_CASE("joint densities: errors") {
  const Tensor error = Tensor::zeros({2, 3, 2}), square = Tensor::zeros({2, 6, 6}), diagonal = Tensor::zeros({2, 6});
  CHECK(error_of([&] { cholesky_log_density(diagonal, square); }) ==
        "[cholesky_log_density] error is (2, 6), expected (B, N, D)");
  CHECK(error_of([&] { cholesky_log_density(error, error); }) ==
        "[cholesky_log_density] factor (2, 3, 2) does not fit error (2, 3, 2), expected (2, 6, 6)");
  CHECK(error_of([&] { cholesky_log_density(error, square.to(DType::float64)); }) ==
        "[cholesky_log_density] error is float32, factor float64");
  CHECK(error_of([&] {
          cholesky_log_density(error, square, Tensor::from<std::int64_t>({2}, {0, 4}));
        }) == "[cholesky_log_density] length 1 is 4, expected in [0, 3]");
  CHECK(error_of([&] { low_rank_log_density(diagonal, square, diagonal); }) ==
        "[low_rank_log_density] error is (2, 6), expected (B, N, D)");
  CHECK(error_of([&] { low_rank_log_density(error, diagonal, diagonal); }) ==
        "[low_rank_log_density] factor is (2, 6), expected (B, M, R)");
  CHECK(error_of([&] { low_rank_log_density(error, error, diagonal); }) ==
        "[low_rank_log_density] factor (2, 3, 2) does not fit error (2, 3, 2), expected (2, 6, 2)");
  CHECK(error_of([&] { low_rank_log_density(error, square, error); }) ==
        "[low_rank_log_density] diagonal (2, 3, 2) does not fit error (2, 3, 2), expected (2, 6)");
  CHECK(error_of([&] { low_rank_log_density(error, square, diagonal.to(DType::float64)); }) ==
        "[low_rank_log_density] error is float32, diagonal float64");
}

TEST_CASE("joint densities: gradients") { gradcheck_all(joint_log_density_gradcheck_cases); }

}  // namespace npzoo
