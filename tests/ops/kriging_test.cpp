#include "npzoo/ops/kriging/kriging.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>

#include "npzoo/datasets/symmetric_factor.h"
#include "npzoo/ops/concat/concat.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/ops/kriging_fixtures.h"

namespace npzoo {

void kriging_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

constexpr double kMean = 4, kJitter = 2e-9;  // the second over the mean of the diagonal

double matern(double smoothness, double r) {
  const double s = std::sqrt(2 * smoothness + 1) * r;
  return std::exp(-s) * (smoothness == 0 ? 1 : smoothness == 1 ? 1 + s : 1 + s + s * s / 3);
}

/// The formula of KrigingKernel, for places relative to the centre, with the period and the length scales that it ends
/// up with.
double covariance(const KrigingKernel& k, std::span<const double> a, std::span<const double> b, double unit) {
  double r = 0, d = 0, dot = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double inverse = k.inverse_length[i] / (k.relative > 0 ? unit : 1);
    r += std::pow((a[i] - b[i]) * inverse, 2);
    d += std::pow(a[i] - b[i], 2);
    dot += a[i] * b[i];
  }
  double sum = (1 - k.share) * matern(k.smoothness, std::sqrt(r)) + kMean + k.trend * dot;
  const double angle = k.period > 0 ? 2 * std::numbers::pi * std::sqrt(d) / k.period : 0;
  sum += k.share * std::exp((std::cos(angle) - 1) * k.inverse_width) * matern(2, std::sqrt(r) * k.ratio);
  return sum;
}

/// Mean distance between points, as if they stood on a grid.
double unit_of(const Observed& o) {
  double extent = 0;
  for (std::int64_t d = 0; d < o.dims; ++d) {
    double low = o.x[static_cast<std::size_t>(d)], high = low;
    for (std::int64_t i = 0; i < o.count(); ++i) {
      low = std::min(low, o.place(i)[static_cast<std::size_t>(d)]);
      high = std::max(high, o.place(i)[static_cast<std::size_t>(d)]);
    }
    extent += (high - low) / static_cast<double>(o.dims);
  }
  return extent / std::pow(static_cast<double>(o.count()), 1 / static_cast<double>(o.dims));
}

/// The middle of the range of each input.
std::vector<double> centre_of(const Observed& o) {
  std::vector<double> centre;
  for (std::int64_t d = 0; d < o.dims; ++d) {
    double low = kInfinity, high = -kInfinity;
    for (std::int64_t i = 0; i < o.count(); ++i) {
      low = std::min(low, o.place(i)[static_cast<std::size_t>(d)]);
      high = std::max(high, o.place(i)[static_cast<std::size_t>(d)]);
    }
    centre.push_back((low + high) / 2);
  }
  return centre;
}

std::vector<double> difference(std::span<const double> a, std::span<const double> b) {
  std::vector<double> result(a.begin(), a.end());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] -= b[i];
  return result;
}

/// log p(y) up to terms that all kernels share, with the variance integrated out under its inverse-gamma prior (2, 1),
/// and the posterior mean of the variance.
struct Reference {
  Reference(const KrigingKernel& kernel, const Observed& observed)
      : k(kernel), o(observed), unit(unit_of(observed)), centre(centre_of(observed)) {
    const std::int64_t n = o.count();
    for (std::int64_t i = 0; i < n; ++i) places.push_back(difference(o.place(i), centre));
    std::vector<double> a;
    for (const auto& row : places)
      for (const auto& column : places) a.push_back(covariance(k, row, column, unit));
    double trace = 0;
    for (std::size_t i = 0; i < places.size(); ++i) trace += a[i * (places.size() + 1)];
    for (std::size_t i = 0; i < places.size(); ++i)
      a[i * (places.size() + 1)] += k.noise + kJitter * trace / static_cast<double>(n);
    factor.emplace(a, n);
    white = o.y;
    factor->solve_lower(white);
    const double squares = std::inner_product(white.begin(), white.end(), white.begin(), 0.0);
    const double shape = 2 + static_cast<double>(n) / 2, rate = 1 + squares / 2;
    log_evidence = k.log_weight - factor->log_determinant() / 2 - shape * std::log(rate);
    variance = rate / (shape - 1);
  }

  /// Returns mean and variance at one point.
  std::pair<double, double> at(std::span<const double> point) const {
    const std::vector<double> place = difference(point, centre);
    std::vector<double> v;
    for (const auto& known : places) v.push_back(covariance(k, known, place, unit));
    factor->solve_lower(v);
    const double mean = std::inner_product(v.begin(), v.end(), white.begin(), 0.0);
    const double explained = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
    return {mean, variance * (covariance(k, place, place, unit) - explained + k.noise)};
  }

  KrigingKernel k;
  Observed o;
  double unit;
  std::vector<double> centre;
  std::vector<std::vector<double>> places;
  std::optional<SymmetricFactor> factor;
  std::vector<double> white;
  double log_evidence = 0, variance = 1;
};

}  // namespace

TEST_CASE("kriging: equals dense Gaussian processes averaged by evidence") {
  for (std::int64_t dims : {1, 2, 3}) {
    const Observed o = draw(23, dims, 5 + static_cast<std::uint64_t>(dims)), targets = draw(70, dims, 9);
    const auto kernels = few_kernels();
    const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, kriging_bank(kernels), 4);
    const KrigingMoments said = kriging_predict(fit, targets.xs());
    const auto mean = doubles(said.mean), std = doubles(said.std), spread = doubles(said.spread);
    std::vector<Reference> references;
    for (const KrigingKernel& kernel : kernels) references.emplace_back(kernel, o);
    double best = references[0].log_evidence;
    for (const Reference& r : references) best = std::max(best, r.log_evidence);
    for (std::size_t t = 0; t < mean.size(); ++t) {
      double total = 0, of_mean = 0, of_square = 0, within = 0;
      for (const Reference& r : references) {
        if (r.log_evidence - best < kLeastKrigingLogWeight) continue;
        const double weight = std::exp(r.log_evidence - best);
        const auto [m, v] = r.at(targets.place(static_cast<std::int64_t>(t)));
        total += weight;
        of_mean += weight * m;
        of_square += weight * m * m;
        within += weight * v;
      }
      of_mean /= total;
      const double between = of_square / total - of_mean * of_mean, variance = within / total + between;
      CHECK(mean[t] == doctest::Approx(of_mean).epsilon(1e-8));
      CHECK(std[t] == doctest::Approx(std::sqrt(variance)).epsilon(1e-8));
      CHECK(spread[t] == doctest::Approx(std::sqrt(std::max(between, 0.0) / variance)).epsilon(1e-5));
    }
  }
}

TEST_CASE("kriging: leaving one out is kriging without it") {
  const Observed o = draw(19, 2, 3);
  const KrigingKernel kernel{.smoothness = 1, .inverse_length = {1, 0.7, 1}, .noise = 0.03};
  const KrigingMoments said =
      kriging_leave_one_out(kriging_fit(o.xs(), o.ys(), {}, kriging_bank({kernel}), 1), DType::float64);
  const Reference all(kernel, o);
  const auto mean = doubles(said.mean), std = doubles(said.std);
  for (std::int64_t left = 0; left < o.count(); ++left) {
    Observed others = o;
    others.x.erase(others.x.begin() + 2 * left, others.x.begin() + 2 * left + 2);
    others.y.erase(others.y.begin() + left);
    const Reference without(kernel, others);
    const auto [m, v] = without.at(o.place(left));
    const auto i = static_cast<std::size_t>(left);
    CHECK(mean[i] == doctest::Approx(m).epsilon(1e-6));
    CHECK(std[i] == doctest::Approx(std::sqrt(v / without.variance * all.variance)).epsilon(1e-6));
  }
}

TEST_CASE("kriging: many points are weighed in blocks, and said all of") {
  const Observed o = draw(2 * kKrigingBlock + 7, 1, 4);
  const KrigingKernel rough{.smoothness = 0, .noise = 0.01}, smooth{.smoothness = 2, .noise = 0.01};
  const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, kriging_bank({rough, smooth}), 1);
  const KrigingMoments said = kriging_predict(fit, Tensor::from<double>({1, 1, 1}, {0.3}).to(default_device()));
  const Reference reference(smooth, o);
  const auto [mean, variance] = reference.at(std::vector{0.3});
  CHECK(doubles(said.mean)[0] == doctest::Approx(mean).epsilon(1e-7));
  // The blocks' variance is not that of all points at once, and near it.
  CHECK(doubles(said.std)[0] == doctest::Approx(std::sqrt(variance)).epsilon(0.05));
}

TEST_CASE("kriging: a large bank is searched in smaller blocks, and its best kernel uses all points") {
  const Observed o = draw(kKrigingSketch + 40, 1, 12);
  std::vector<KrigingKernel> kernels;
  for (int i = 0; i < 3 * kKrigingFinalists; ++i)
    kernels.push_back({.smoothness = 2, .inverse_length = {std::exp(0.1 * (i - 30)), 1, 1}, .noise = 0.02});
  const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, kriging_bank(kernels), 1);
  const auto fields = doubles(fit.kernels);
  KrigingKernel kept;
  std::copy(fields.begin(), fields.end(), reinterpret_cast<double*>(&kept));
  double best = -std::numeric_limits<double>::infinity();
  for (const KrigingKernel& kernel : kernels) best = std::max(best, Reference(kernel, o).log_evidence);
  CHECK(kept.log_evidence == doctest::Approx(best));
}

TEST_CASE("kriging: a period is found and followed") {
  Observed o{1, {}, {}};
  for (int i = 0; i < 60; ++i) {
    if (i % 7 == 3 || i % 11 == 5) continue;
    o.x.push_back(-2 + 4.0 * i / 59);
    o.y.push_back(std::cos(2 * std::numbers::pi * o.x.back() / 0.37) + 0.4 * o.x.back());
  }
  const KrigingKernel plain{.smoothness = 0, .noise = 0.01}, waves{.smoothness = 2,
                                                                   .inverse_length = {0.3, 1, 1},
                                                                   .noise = 0.01,
                                                                   .share = 0.7,
                                                                   .ratio = 0.03,
                                                                   .inverse_width = 1};
  const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, kriging_bank({plain, waves}), 1);
  const auto fields = doubles(fit.kernels);
  KrigingKernel kept;
  std::copy(fields.begin(), fields.end(), reinterpret_cast<double*>(&kept));
  CHECK(kept.share == 0.7);
  CHECK(kept.period == doctest::Approx(0.37).epsilon(0.02));
  const KrigingMoments said = kriging_predict(fit, Tensor::from<double>({1, 1, 1}, {2.2}).to(default_device()));
  const double expected = std::cos(2 * std::numbers::pi * 2.2 / 0.37) + 0.4 * 2.2;
  CHECK(std::abs(doubles(said.mean)[0] - expected) < 0.2);
}

TEST_CASE("kriging: the better kernels are kept, padding is not read, order means nothing") {
  const Observed o = draw(9, 1, 8);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Observed padded = o, turned{1, {o.x.rbegin(), o.x.rend()}, {o.y.rbegin(), o.y.rend()}};
  for (int i = 0; i < 4; ++i) {
    padded.x.push_back(nan);
    padded.y.push_back(nan);
  }
  const Tensor bank = kriging_bank(few_kernels()),
               xt = Tensor::from<double>({1, 2, 1}, {-0.5, 1.5}).to(default_device());
  const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, bank, 2),
                   other = kriging_fit(padded.xs(), padded.ys(), Tensor::from<std::int64_t>({1}, {9}), bank, 2);
  CHECK(doubles(kriging_predict(fit, xt).mean) == doubles(kriging_predict(other, xt).mean));
  CHECK(doubles(kriging_predict(fit, xt).std) == doubles(kriging_predict(other, xt).std));
  const auto rest = doubles(kriging_leave_one_out(other, DType::float64).std);
  CHECK(rest.size() == 13);
  CHECK(rest[9] == 1);
  CHECK(doubles(kriging_leave_one_out(other, DType::float64).mean)[12] == 0);
  const KrigingFit backwards = kriging_fit(turned.xs(), turned.ys(), {}, bank, 2);
  CHECK(doubles(kriging_predict(fit, xt).mean) == doubles(kriging_predict(backwards, xt).mean));
  auto reversed = doubles(kriging_leave_one_out(backwards, DType::float64).mean);
  std::reverse(reversed.begin(), reversed.end());
  CHECK(reversed == doubles(kriging_leave_one_out(fit, DType::float64).mean));
  double best = -std::numeric_limits<double>::infinity();
  for (const KrigingKernel& kernel : few_kernels()) best = std::max(best, Reference(kernel, o).log_evidence);
  const auto fields = doubles(fit.kernels);
  KrigingKernel kept;
  std::copy_n(fields.begin(), sizeof(KrigingKernel) / sizeof(double), reinterpret_cast<double*>(&kept));
  CHECK(kept.log_evidence == doctest::Approx(best));
}

TEST_CASE("kriging: nothing, one point, and the same point twice") {
  const Tensor bank = kriging_bank(few_kernels()), xt = Tensor::from<double>({1, 1, 1}, {0.25}).to(default_device());
  const Observed none{1, {}, {}}, one{1, {0.5}, {0.3}}, twice{1, {0.5, 0.5, 1}, {0.3, 0.5, 0}};
  const KrigingMoments nothing = kriging_predict(kriging_fit(none.xs(), none.ys(), {}, bank, 3), xt);
  CHECK(doubles(nothing.mean)[0] == 0);
  CHECK(doubles(nothing.std)[0] > 2);
  for (const Observed& o : {one, twice}) {
    const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, bank, 3);
    const KrigingMoments said = kriging_predict(fit, xt), others = kriging_leave_one_out(fit, DType::float64);
    for (const Tensor& x : {said.mean, said.std, others.mean, others.std}) CHECK(std::isfinite(doubles(x)[0]));
    CHECK(doubles(said.std)[0] < 1.5);
  }
  CHECK(kriging_predict(kriging_fit(one.xs(), one.ys(), {}, bank, 1), Tensor::zeros({1, 0, 1}, DType::float64))
            .mean.shape() == Shape{1, 0});
}

TEST_CASE_TEMPLATE("kriging: the same bits for any number of threads", T, float, double) {
  const Tensor x = normal<T>({5, 40, 1}, 1), y = normal<T>({5, 40, 1}, 2), xt = normal<T>({5, 70, 1}, 3);
  const Tensor bank = kriging_bank(few_kernels());
  std::vector<std::vector<double>> seen;
  for (int threads : {1, 3, 8}) {
    const ThreadCount guard(threads);
    const KrigingFit fit = kriging_fit(x, y, {}, bank, 2);
    const KrigingMoments said = kriging_predict(fit, xt);
    CHECK(said.mean.dtype() == dtype_of<T>());
    seen.push_back(doubles(concat({said.mean, said.std, said.spread}, 1)));
  }
  CHECK(seen[0] == seen[1]);
  CHECK(seen[0] == seen[2]);
}

TEST_CASE("kriging: gradients of places; the fit is a constant") { gradcheck_all(kriging_gradcheck_cases); }

TEST_CASE(
    "kriging: at a point of the context slopes are the mean of those on either side, where kernels have an edge") {
  const Observed o = draw(9, 1, 8);
  for (const double smoothness : {0.0, 1.0, 2.0}) {
    CAPTURE(smoothness);
    const KrigingFit fit =
        kriging_fit(o.xs(), o.ys(), {}, kriging_bank({{.smoothness = smoothness, .noise = 0.01}}), 1);
    const double at = o.x[4];
    const std::vector<double> d_x = place_slopes(fit, {at - 1e-9, at, at + 1e-9});
    CHECK(d_x[1] == doctest::Approx((d_x[0] + d_x[2]) / 2).epsilon(1e-6));
    CHECK((std::abs(d_x[2] - d_x[0]) > 0.1) == (smoothness == 0));
  }
}

TEST_CASE_TEMPLATE("kriging: gradients are the same bits for any number of threads", T, float, double) {
  const Tensor x = normal<T>({5, 40, 2}, 1), y = normal<T>({5, 40, 1}, 2), bank = kriging_bank(few_kernels());
  check_deterministic(
      [=](const std::vector<Tensor>& in) {
        const KrigingMoments said = kriging_predict(kriging_fit(x, y, {}, bank, 3), in[0]);
        return concat({said.mean, said.std, said.spread}, 1);
      },
      {normal<T>({5, 70, 2}, 3)});
}

TEST_CASE("kriging: errors") {
  const Tensor x = Tensor::zeros({2, 3, 1}), y = Tensor::zeros({2, 3, 1}), bank = kriging_bank(few_kernels());
  CHECK(error_of([&] {
          kriging_fit(Tensor::zeros({2, 3, 4}), y, {}, bank, 1);
        }) == "[kriging] x is (2, 3, 4), expected (B, N, 1 to 3)");
  CHECK(error_of([&] {
          kriging_fit(x, Tensor::zeros({2, 3, 2}), {}, bank, 1);
        }) == "[kriging] y (2, 3, 2) does not fit x (2, 3, 1), expected (2, 3, 1)");
  CHECK(error_of([&] { kriging_fit(x, y.to(DType::float64), {}, bank, 1); }) == "[kriging] x is float32, y float64");
  CHECK(error_of([&] { kriging_fit(x, y, {}, bank, 5); }) == "[kriging] 5 kernels to keep found, expected 1 to 4");
  CHECK(error_of([&] { kriging_fit(x, y, {}, x, 1); }) ==
        "[kriging] the bank is float32 (2, 3, 1), expected float64 (K, 14)");
  CHECK(error_of([&] {
          kriging_predict(kriging_fit(x, y, {}, bank, 1), Tensor::zeros({1, 3, 1}));
        }) == "[kriging] targets (1, 3, 1) do not fit contexts (2, 3, 1), expected (B, M, D)");
}

}  // namespace npzoo
