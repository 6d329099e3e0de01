#include "npzoo/ops/masked_attention/masked_attention.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"
#include "tests/testing.h"

namespace npzoo {

namespace {

using namespace testing;

std::vector<double> draw(std::int64_t features, std::int64_t width, FeatureNorms norms, std::uint64_t seed) {
  Random random(seed);
  return doubles(orthogonal_random_features(features, width, norms, random));
}

double product(const std::vector<double>& rows, std::int64_t width, std::int64_t i, std::int64_t j) {
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c)
    sum += rows[static_cast<std::size_t>(i * width + c)] * rows[static_cast<std::size_t>(j * width + c)];
  return sum;
}

/// Attention whose weights are not exponentials of the logits but those of directions on the sphere of radius √D:
/// E exp(w·z) = 0F1(D/2; D‖z‖²/4), with z = x_q + x_k.
Tensor sphere_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const std::int64_t width = q.dim(2);
  const double root = std::pow(static_cast<double>(width), -0.25), half = static_cast<double>(width) / 2;
  Tensor out = Tensor::zeros({1, q.dim(1), v.dim(2)}, DType::float64);
  for (std::int64_t i = 0; i < q.dim(1); ++i) {
    double total = 0;
    for (std::int64_t j = 0; j < k.dim(1); ++j) {
      double square = 0, norm = 0;
      for (std::int64_t c = 0; c < width; ++c) {
        const double a = root * q.data<double>()[i * width + c], b = root * k.data<double>()[j * width + c];
        square += (a + b) * (a + b);
        norm += a * a + b * b;
      }
      double series = 0, term = 1;
      for (int n = 0; term > 1e-18 * series; ++n) {
        series += term;
        term *= half * square / 2 / ((n + 1) * (half + n));
      }
      const double weight = series * std::exp(-norm / 2);
      total += weight;
      for (std::int64_t c = 0; c < v.dim(2); ++c)
        out.data<double>()[i * v.dim(2) + c] += weight * v.data<double>()[j * v.dim(2) + c];
    }
    for (std::int64_t c = 0; c < v.dim(2); ++c) out.data<double>()[i * v.dim(2) + c] /= total;
  }
  return out;
}

struct Case {
  Tensor q, k, v = normal<double>({1, 10, 3}, 13);

  explicit Case(double size) : q(normal<double>({1, 12, 4}, 11, size)), k(normal<double>({1, 10, 4}, 12, size)) {}

  Tensor softmax() const { return masked_attention(q, k, v, PrefixMask::all(), {}); }
  Tensor sphere() const { return sphere_attention(q, k, v); }

  /// Root mean square of what estimates with `features` features are away from `limit`, averaged over projections.
  double mean_error(std::int64_t features, FeatureNorms norms, const Tensor& limit) const {
    constexpr int kProjections = 40;
    const std::vector<double> expected = doubles(limit);
    double total = 0;
    for (int p = 0; p < kProjections; ++p) {
      Random random(100, static_cast<std::uint64_t>(p));
      const Tensor projection = orthogonal_random_features(features, 4, norms, random);
      const auto found = doubles(linear_attention(q, k, v, projection, PrefixMask::all(), {}));
      double squares = 0;
      for (std::size_t i = 0; i < found.size(); ++i) squares += std::pow(found[i] - expected[i], 2);
      total += std::sqrt(squares / static_cast<double>(found.size()));
    }
    return total / kProjections;
  }

  /// Slope of log error against log features.
  double slope(FeatureNorms norms, const Tensor& limit) const {
    double x_sum = 0, y_sum = 0, xx = 0, xy = 0, n = 0;
    for (std::int64_t features : {16, 64, 256, 1024, 4096}) {
      const double x = std::log(static_cast<double>(features)), y = std::log(mean_error(features, norms, limit));
      n += 1, x_sum += x, y_sum += y, xx += x * x, xy += x * y;
    }
    return (xy - x_sum * y_sum / n) / (xx - x_sum * x_sum / n);
  }
};

}  // namespace

TEST_CASE("orthogonal_features: rows of a block are orthogonal and have the requested norms") {
  for (const FeatureNorms norms : {FeatureNorms::fixed, FeatureNorms::chi})
    for (std::int64_t width : {1, 2, 3, 16, 33, 129})
      for (std::int64_t features : {1, 2, 7, 64, 130}) {
        CAPTURE(width);
        CAPTURE(features);
        Random random(3);
        const Tensor projection = orthogonal_random_features(features, width, norms, random);
        REQUIRE(projection.shape() == Shape{features, width});
        const std::vector<double> rows = doubles(projection);
        for (std::int64_t i = 0; i < features; ++i) {
          if (norms == FeatureNorms::fixed)
            CHECK(std::abs(product(rows, width, i, i) / double(width) - 1) <= kTolerance<double>);
          for (std::int64_t j = i / width * width; j < i; ++j)
            CHECK(std::abs(product(rows, width, i, j)) <=
                  1e-13 * std::sqrt(product(rows, width, i, i) * product(rows, width, j, j)));
        }
      }
}

TEST_CASE("orthogonal_features: rows that were nearly parallel are as orthogonal as others") {
  double worst = 0;  // of so many pairs of directions, the closest are about 1e-3 apart
  for (std::uint64_t seed = 0; seed < 2000; ++seed)
    worst = std::max(worst, std::abs(product(draw(2, 2, FeatureNorms::fixed, seed), 2, 0, 1)));
  CHECK(worst <= 4 * std::numeric_limits<double>::epsilon());
}

TEST_CASE("orthogonal_features: seeds, the last block and the kind of norms") {
  const auto rows = draw(10, 4, FeatureNorms::fixed, 1), more = draw(12, 4, FeatureNorms::fixed, 1),
             chi = draw(10, 4, FeatureNorms::chi, 1);
  CHECK(rows == draw(10, 4, FeatureNorms::fixed, 1));
  CHECK(rows != draw(10, 4, FeatureNorms::fixed, 2));
  CHECK(std::equal(rows.begin(), rows.end(), more.begin()));
  for (std::int64_t i = 0; i < 10; ++i) {  // the same directions
    const double length = std::sqrt(product(chi, 4, i, i)), wanted = std::sqrt(product(rows, 4, i, i));
    for (std::int64_t c = 4 * i; c < 4 * i + 4; ++c)
      CHECK(std::abs(chi[std::size_t(c)] / length - rows[std::size_t(c)] / wanted) <= 1e-15);
  }
  Random random(1);
  const Tensor first = orthogonal_random_features(4, 4, FeatureNorms::fixed, random),
               next = orthogonal_random_features(4, 4, FeatureNorms::fixed, random);
  CHECK(!same_bits(first, next));
}

TEST_CASE("orthogonal_features: directions are uniform, and norms those of Gaussian vectors") {
  constexpr int kDraws = 4000, kWidth = 3;
  std::vector<double> means(kWidth * kWidth);
  double traces = 0, norms = 0, fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto q = draw(kWidth, kWidth, FeatureNorms::fixed, std::uint64_t(i)),
               chi = draw(kWidth, kWidth, FeatureNorms::chi, std::uint64_t(i));
    double trace = 0;
    for (std::size_t c = 0; c < q.size(); ++c) {
      means[c] += q[c] / kDraws;
      if (c % (kWidth + 1) == 0) trace += q[c] / std::sqrt(kWidth);
    }
    traces += trace * trace / kDraws;
    for (int row = 0; row < kWidth; ++row) {
      const double square = product(chi, kWidth, row, row);
      norms += square / (kWidth * kDraws);
      fourth += square * square / (kWidth * kDraws);
    }
  }
  // Entries have mean 0 and variance 1; five standard errors. A QR factorisation whose signs are not fixed fails here.
  for (double mean : means) CHECK(std::abs(mean) <= 5 / std::sqrt(kDraws));
  // E tr² = 1 and E tr⁴ = 3 for Haar measure on O(3): variance 2.
  CHECK(std::abs(traces - 1) <= 5 * std::sqrt(2.0 / kDraws));
  // χ² with 3 degrees of freedom: mean 3, variance 6; its square has mean 15 and variance 945 − 225.
  CHECK(std::abs(norms - 3) <= 5 * std::sqrt(6.0 / (kWidth * kDraws)));
  CHECK(std::abs(fourth - 15) <= 5 * std::sqrt(720.0 / (kWidth * kDraws)));
}

TEST_CASE("orthogonal_features: errors") {
  Random random(1);
  const auto message = [&](std::int64_t features, std::int64_t width) {
    return error_of([&] { orthogonal_random_features(features, width, FeatureNorms::chi, random); });
  };
  CHECK(message(0, 4) ==
        "[orthogonal_random_features] 0 features of width 4, expected at least one feature and one channel");
  CHECK(message(4, 0) ==
        "[orthogonal_random_features] 4 features of width 0, expected at least one feature and one channel");
}

// The error of a mean over M features falls like 1/√M. Errors of single projections scatter by less than half of their
// mean, so the mean over 40 is known to 8 %, and the slope over five sizes, a factor of 4 apart, to 0.02. What is left
// of the room is for the bias of a quotient, which falls like 1/M and is felt at M = 16. Inputs are small where norms
// are not fixed: the variance grows like exp(‖x_q + x_k‖²), and with a few features one would see the tails only.
TEST_CASE("orthogonal_features: with norms of Gaussian vectors the estimate converges to softmax attention") {
  const Case one(0.4);
  const double slope = one.slope(FeatureNorms::chi, one.softmax());
  CHECK(slope > -0.6);
  CHECK(slope < -0.4);
}

TEST_CASE("orthogonal_features: with fixed norms it converges to the kernel of the sphere, and not to softmax") {
  const Case one(0.8);
  const double slope = one.slope(FeatureNorms::fixed, one.sphere());
  CHECK(slope > -0.6);
  CHECK(slope < -0.4);
  // Limits are told apart by what is left of the distance to each; the second does not shrink with more features.
  const Tensor limit = one.softmax();
  const double to_sphere = one.mean_error(4096, FeatureNorms::fixed, one.sphere()),
               to_softmax = one.mean_error(4096, FeatureNorms::fixed, limit);
  CHECK(to_softmax > 10 * to_sphere);
  CHECK(to_softmax > 0.8 * one.mean_error(256, FeatureNorms::fixed, limit));
}

}  // namespace npzoo
