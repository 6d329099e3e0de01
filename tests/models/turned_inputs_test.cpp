#include "npzoo/models/applications/tables/turned_inputs.h"

#include <eigen3/Eigen/Cholesky>
#include <numbers>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/optim/nelder_mead.h"
#include "npzoo/models/applications/tables/field_likelihood.h"
#include "npzoo/models/applications/tables/vecchia_kernel.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct Field {
  std::vector<double> x, y;
};

/// A stationary field as a sum of random waves, whose frequencies are those of a Matérn-3/2 kernel, with noise.
/// Correlation reaches `ratio` times as far along `angle` (degrees) as across it.
Field random_field(std::size_t count, double ratio, double angle, std::array<double, 2> unit, std::uint64_t seed) {
  constexpr std::size_t kWaves = 3000;  // few would have a direction of their own
  constexpr double kLength = 0.08, kNoise = 0.1;
  const double turn = angle * std::numbers::pi / 180;
  Random random(seed);
  std::vector<std::array<double, 3>> waves;
  for (std::size_t w = 0; w < kWaves; ++w) {
    // Frequencies of the kernel are Student's t with three degrees of freedom: normal over √(χ²₃ / 3).
    double chi = 0;
    for (int i = 0; i < 3; ++i) chi += std::pow(random.normal(), 2);
    const double scale = 1 / (kLength * std::sqrt(chi / 3));
    const double along = random.normal() * scale / std::sqrt(ratio),
                 across = random.normal() * scale * std::sqrt(ratio);
    waves.push_back({along * std::cos(turn) - across * std::sin(turn), along * std::sin(turn) + across * std::cos(turn),
                     random.uniform(0, 2 * std::numbers::pi)});
  }
  Field field;
  for (std::size_t i = 0; i < count; ++i) {
    const double a = random.uniform(), b = random.uniform();
    double value = 0;
    for (const auto& [fa, fb, phase] : waves) value += std::cos(fa * a + fb * b + phase);
    field.x.insert(field.x.end(), {100 + unit[0] * a, -7 + unit[1] * b});
    field.y.push_back(50 + 3 * (value * std::sqrt(2.0 / kWaves) + kNoise * random.normal()));
  }
  return field;
}

}  // namespace

TEST_CASE("turned inputs: ratio and angle of a slanted field are found") {
  // By 470 conditionals, of which each tells the logarithm of the ratio to about 1: a standard error near 0.07.
  for (const auto& truth : {std::pair{2.2, 29.0}, std::pair{3.0, -60.0}}) {
    const double ratio = truth.first, angle = truth.second;
    CAPTURE(ratio);
    CAPTURE(angle);
    const Field field = random_field(500, ratio, angle, {1, 1}, 3);
    const auto found = find_turn(field.x, field.y);
    REQUIRE(found);
    CHECK(std::abs(std::log(found->ratio / ratio)) < 0.25);
    CHECK(std::abs(found->angle - angle) < 8);
    CHECK(found->gain > 10);
  }
}

TEST_CASE("turned inputs: after the turn a field is the same in all directions and has equal extents") {
  const Field field = random_field(500, 3, 40, {1, 1}, 4);
  const auto found = find_turn(field.x, field.y);
  REQUIRE(found);
  const std::vector<double> turned = found->apply(field.x);
  double low[2] = {kInfinity, kInfinity}, high[2] = {-kInfinity, -kInfinity};
  for (std::size_t i = 0; i < turned.size(); ++i) {
    low[i % 2] = std::min(low[i % 2], turned[i]);
    high[i % 2] = std::max(high[i % 2], turned[i]);
  }
  CHECK(high[0] - low[0] == doctest::Approx(high[1] - low[1]).epsilon(1e-6));
  const auto again = find_turn(turned, field.y);
  CHECK((!again || again->ratio < 1.2));
}

TEST_CASE("turned inputs: a field without a direction stays as it is, also where one side is longer") {
  const Field square = random_field(500, 1, 0, {1, 1}, 5);
  CHECK_FALSE(find_turn(square.x, square.y));
  Field wide = square;  // the same field, with an input in another unit
  for (std::size_t i = 0; i < wide.x.size(); i += 2) wide.x[i] *= 1000;
  CHECK_FALSE(find_turn(wide.x, wide.y));
  const Field strip = random_field(1500, 1, 0, {1, 1}, 6);  // a third of a square
  Field part;
  for (std::size_t i = 0; i < strip.y.size(); ++i)
    if (strip.x[2 * i] < 100 + 1.0 / 3) {
      part.x.insert(part.x.end(), {strip.x[2 * i], strip.x[2 * i + 1]});
      part.y.push_back(strip.y[i]);
    }
  CHECK_FALSE(find_turn(part.x, part.y));
}

TEST_CASE("turned inputs: neither the order of points, nor threads, nor a single odd value or place decides") {
  Field field = random_field(500, 3, 40, {1, 1}, 4);
  const auto expected = find_turn(field.x, field.y);
  REQUIRE(expected);
  Field backwards;
  for (std::size_t i = field.y.size(); i-- > 0;) {
    backwards.x.insert(backwards.x.end(), {field.x[2 * i], field.x[2 * i + 1]});
    backwards.y.push_back(field.y[i]);
  }
  for (const int threads : {1, 3}) {
    const ThreadCount count(threads);
    CHECK(find_turn(backwards.x, backwards.y)->matrix == expected->matrix);
  }
  field.x.insert(field.x.end(), {1e9, 1e9});
  field.y.push_back(-9999);
  const auto odd = find_turn(field.x, field.y);
  REQUIRE(odd);
  CHECK(std::abs(std::log(odd->ratio / expected->ratio)) < 0.05);
  CHECK(std::abs(odd->angle - expected->angle) < 2);
  CHECK(odd->apply(std::vector{1e300, -1e300})[0] != kNaN);
}

TEST_CASE("turned inputs: few, equal and constant points are left alone, and a request to stop is seen") {
  const Field field = random_field(500, 3, 40, {1, 1}, 4);
  CHECK_FALSE(find_turn({}, {}));
  CHECK_FALSE(find_turn(std::span(field.x).first(80), std::span(field.y).first(40)));
  CHECK_FALSE(find_turn(field.x, std::vector<double>(500, 2.0)));
  std::vector<double> line = field.x;
  for (std::size_t i = 1; i < line.size(); i += 2) line[i] = 5;
  CHECK_FALSE(find_turn(line, field.y));
  std::stop_source stop;
  stop.request_stop();
  const StopScope scope(stop.get_token());
  CHECK_THROWS_AS(find_turn(field.x, field.y), Interrupted);
}

TEST_CASE("field likelihood: values are whitened by the conditional of a Gaussian") {
  constexpr std::int64_t kPoints = 6, kLanes = kVecchiaLanes;
  Random random(2);
  std::vector<double> x(2 * kPoints * kLanes), y(kPoints * kLanes), white(4 * kLanes), log_std(kLanes);
  for (double& v : x) v = random.uniform();
  for (double& v : y) v = random.normal();
  with_cpu([&](const Backend& cpu) {
    vecchia_whiten<double>(cpu, {.groups = 1,
                                 .points = kPoints,
                                 .x = x.data(),
                                 .y = y.data(),
                                 .metric = {2, 0.5, 1},
                                 .short_rate = 3,
                                 .long_rate = 0.5,
                                 .share = 0.7,
                                 .noise = 0.1,
                                 .white = white.data(),
                                 .log_std = log_std.data()});
  });
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    const auto at = [&](std::int64_t i, std::int64_t d) {
      return x[static_cast<std::size_t>((2 * i + d) * kLanes + lane)];
    };
    Eigen::MatrixXd covariance(kPoints, kPoints), columns(kPoints, 4);
    for (std::int64_t i = 0; i < kPoints; ++i) {
      columns.row(i) << y[static_cast<std::size_t>(i * kLanes + lane)], 1, at(i, 0), at(i, 1);
      for (std::int64_t j = 0; j < kPoints; ++j) {
        const double dx = at(i, 0) - at(j, 0), dy = at(i, 1) - at(j, 1), r = std::sqrt(2 * dx * dx + dx * dy + dy * dy),
                     s = std::sqrt(3.0) * 3 * r;
        covariance(i, j) = (1 + s) * std::exp(-s) + 0.7 * std::exp(-0.5 * r) + (i == j ? 0.1 : 0);
      }
    }
    const Eigen::MatrixXd others = covariance.topLeftCorner(kPoints - 1, kPoints - 1);
    const Eigen::VectorXd cross = covariance.col(kPoints - 1).head(kPoints - 1), weights = others.ldlt().solve(cross);
    const double std = std::sqrt(covariance(kPoints - 1, kPoints - 1) - weights.dot(cross));
    CHECK(log_std[static_cast<std::size_t>(lane)] == doctest::Approx(std::log(std)));
    for (std::int64_t c = 0; c < 4; ++c)
      CHECK(white[static_cast<std::size_t>(c * kLanes + lane)] ==
            doctest::Approx((columns(kPoints - 1, c) - weights.dot(columns.col(c).head(kPoints - 1))) / std));
  }
}

TEST_CASE("field likelihood: follows the unit of values, and an impossible kernel has none") {
  const Field field = random_field(62, 1, 0, {1, 1}, 7);
  const ObservedPlaces places(field.x, 2);
  const FieldLikelihood likelihood(places, field.y);
  CHECK(likelihood.conditionals() == 32);
  const auto of_share = [&](double share) {
    return likelihood.evaluate({.short_length = 0.1, .long_length = 1, .share = share, .noise = 0.05});
  };
  CHECK(of_share(0.5).mean_loss == doctest::Approx(-of_share(0.5).log_density / 32));
  const auto twice = [&](std::vector<double> y) {
    for (double& v : y) v *= 2;
    return FieldLikelihood(places, y).evaluate({.short_length = 0.1, .long_length = 1, .share = 0.5, .noise = 0.05});
  };
  CHECK(twice(field.y).mean_loss - of_share(0.5).mean_loss == doctest::Approx(std::log(2)));
  CHECK(FieldLikelihood(places, field.y).evaluate({.share = -3}).mean_loss == kInfinity);
}

TEST_CASE("nelder mead: finds the minimum of a curved valley") {
  const auto valley = [](const std::vector<double>& p) {
    return 100 * std::pow(p[1] - p[0] * p[0], 2) + std::pow(1 - p[0], 2);
  };
  const Minimum found = nelder_mead(valley, {-1.2, 1}, {.most_calls = 500, .value_spread = 1e-12});
  CHECK(std::abs(found.at[0] - 1) < 1e-4);
  CHECK(std::abs(found.at[1] - 1) < 1e-4);
  CHECK(found.calls < 300);
  CHECK(nelder_mead(valley, {-1.2, 1}, {.most_calls = 10}).calls <= 13);
}
