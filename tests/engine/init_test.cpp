#include "npzoo/engine/init.h"

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct Summary {
  double mean = 0, deviation = 0, largest = 0;
};

Summary summary(const Tensor& x) {
  Summary s;
  const auto n = static_cast<double>(x.numel());
  for (const float value : x.values<float>()) {
    s.mean += value / n;
    s.deviation += double{value} * value / n;
    s.largest = std::max(s.largest, std::abs(double{value}));
  }
  s.deviation = std::sqrt(s.deviation - s.mean * s.mean);
  return s;
}

/// The numbers of `x` look like draws of this deviation that none exceeds `limit`. There are so many that mean and
/// deviation are within two per cent (five standard errors and more), and the largest is near the limit.
void check_draws(const Tensor& x, double deviation, double limit) {
  const Summary s = summary(x);
  CHECK(std::abs(s.mean) <= 0.02 * deviation);
  CHECK(s.deviation == doctest::Approx(deviation).epsilon(0.02));
  CHECK(s.largest <= limit * (1 + 1e-7));
  CHECK(s.largest >= 0.99 * limit);
}

}  // namespace

TEST_CASE("init: linear layers as torch makes them") {
  Initializer init(Framework::torch, {.seed = 1});
  CHECK(init.framework() == Framework::torch);
  const Tensor weight = init.linear_weight(1000, 100);
  CHECK(weight.shape() == Shape{1000, 100});
  CHECK(weight.dtype() == DType::float32);
  check_draws(weight, 0.1 / std::sqrt(3.0), 0.1);
  const Tensor bias = init.linear_bias(100'000, 100);
  CHECK(bias.shape() == Shape{100'000});
  check_draws(bias, 0.1 / std::sqrt(3.0), 0.1);
}

TEST_CASE("init: linear layers as flax makes them") {
  Initializer init(Framework::flax, {.seed = 1});
  const Tensor weight = init.linear_weight(1000, 100);
  check_draws(weight, 0.1, 0.2 / 0.87962566103423978);  // a normal cut off at two deviations
  CHECK(doubles(init.linear_bias(3, 100)) == std::vector<double>{0, 0, 0});
}

TEST_CASE("init: orthogonal matrices") {
  Initializer init(Framework::flax_orthogonal, {.seed = 1});
  for (const Shape& shape : {Shape{5, 40}, Shape{40, 5}, Shape{7, 7}, Shape{1, 3}}) {
    const Tensor x = init.linear_weight(shape[0], shape[1]);
    REQUIRE(x.shape() == shape);
    const bool rows = shape[0] <= shape[1];
    const std::int64_t count = std::min(shape[0], shape[1]), length = std::max(shape[0], shape[1]);
    const auto values = doubles(x);
    const auto at = [&](std::int64_t i, std::int64_t c) { return values[rows ? i * length + c : c * count + i]; };
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        double product = 0;
        for (std::int64_t c = 0; c < length; ++c) product += at(i, c) * at(j, c);
        CHECK(std::abs(product - (i == j ? 1 : 0)) <= 1e-6);
      }
  }
  // Elements of random directions have mean 0 and variance 1 / length.
  const Summary s = summary(init.orthogonal(100, 1000));
  CHECK(std::abs(s.mean) <= 0.02 / std::sqrt(1000.0));
  CHECK(s.deviation == doctest::Approx(1 / std::sqrt(1000.0)).epsilon(0.01));
  CHECK(doubles(init.linear_bias(3, 100)) == std::vector<double>{0, 0, 0});
}

TEST_CASE("init: linear layers as tensorflow makes them") {
  Initializer init(Framework::tensorflow, {.seed = 1});
  const double limit = std::sqrt(6.0 / 1100);
  check_draws(init.linear_weight(1000, 100), limit / std::sqrt(3.0), limit);
  CHECK(doubles(init.linear_bias(3, 100)) == std::vector<double>{0, 0, 0});
}

TEST_CASE("init: convolutions, by taps and channels or by the framework's count") {
  const Shape shape{5, 5, 4, 1000};  // 100 inputs of an output
  Initializer torch(Framework::torch, {.seed = 1}), flax(Framework::flax, {.seed = 1}),
      tensorflow(Framework::tensorflow, {.seed = 1});
  CHECK(torch.convolution_weight(shape).shape() == shape);
  check_draws(torch.convolution_weight(shape), 0.1 / std::sqrt(3.0), 0.1);
  check_draws(torch.convolution_weight(shape, 25), 0.2 / std::sqrt(3.0), 0.2);
  check_draws(flax.convolution_weight(shape), 0.1, 0.2 / 0.87962566103423978);
  const double limit = std::sqrt(6.0 / (100 + 25'000));
  check_draws(tensorflow.convolution_weight(shape), limit / std::sqrt(3.0), limit);
}

TEST_CASE("init: xavier normal") {
  Initializer init(Framework::torch, {.seed = 1});
  const Tensor weight = init.xavier_normal({5, 5, 4, 1000}, 100, 700);
  CHECK(weight.shape() == Shape{5, 5, 4, 1000});
  const Summary s = summary(weight);
  CHECK(std::abs(s.mean) <= 0.02 * 0.05);
  CHECK(s.deviation == doctest::Approx(0.05).epsilon(0.02));
}

TEST_CASE("init: xavier") {
  Initializer init(Framework::torch, {.seed = 1});
  const double limit = std::sqrt(6.0 / 300);
  const Tensor weight = init.xavier_uniform(1000, 100, 200, 100);
  CHECK(weight.shape() == Shape{1000, 100});
  check_draws(weight, limit / std::sqrt(3.0), limit);
}

TEST_CASE("init: standard normal") {
  for (const Framework framework : {Framework::torch, Framework::flax}) {
    Initializer init(framework, {.seed = 1, .max_elements = 100'000});
    const Tensor x = init.standard_normal({1000, 100});
    CHECK(x.shape() == Shape{1000, 100});
    CHECK(x.dtype() == DType::float32);
    const Summary s = summary(x);
    CHECK(std::abs(s.mean) <= 0.02);
    CHECK(s.deviation == doctest::Approx(1).epsilon(0.02));
    CHECK(s.largest >= 3.5);  // of 100,000 draws, some 47 are beyond
    const auto within = std::ranges::count_if(x.values<float>(), [](float v) { return std::abs(v) < 1; });
    CHECK(static_cast<double>(within) / 1e5 == doctest::Approx(0.6827).epsilon(0.01));
    CHECK(error_of([&] { init.standard_normal({1}); }) ==
          "[init] a weight of shape (1) exceeds the 0 elements allowed");
  }
}

TEST_CASE("init: the seed and the order decide") {
  Initializer a(Framework::torch, {.seed = 1}), b(Framework::torch, {.seed = 1}), c(Framework::torch, {.seed = 2});
  const Tensor first = a.linear_weight(3, 4), second = a.linear_weight(3, 4);
  CHECK(same_bits(first, b.linear_weight(3, 4)));
  CHECK(same_bits(second, b.linear_weight(3, 4)));
  CHECK(!same_bits(first, second));
  CHECK(!same_bits(first, c.linear_weight(3, 4)));
}

TEST_CASE("init: layers without inputs or outputs") {
  Initializer init(Framework::torch, {.seed = 1});
  CHECK(init.linear_weight(3, 0).numel() == 0);
  CHECK(init.linear_weight(0, 3).numel() == 0);
  CHECK(std::abs(init.linear_bias(1, 0).item()) <= 1);
}

TEST_CASE("init: weights that are not drawn have their shapes, and count") {
  Initializer init(Framework::flax, {.max_elements = 20, .drawn = false});
  CHECK(!init.drawn());
  CHECK(init.linear_weight(2, 3).shape() == Shape{2, 3});
  CHECK(init.xavier_uniform(2, 3, 6, 3).shape() == Shape{2, 3});
  CHECK(init.standard_normal({4}).dtype() == DType::float32);
  CHECK(error_of([&] { init.standard_normal({5}); }) == "[init] a weight of shape (5) exceeds the 4 elements allowed");
}

TEST_CASE("init: no more elements than are allowed") {
  Initializer init(Framework::torch, {.seed = 1, .max_elements = 10});
  init.linear_weight(2, 3);
  CHECK(error_of([&] { init.linear_weight(5, 1); }) ==
        "[init] a weight of shape (5, 1) exceeds the 4 elements allowed");
  CHECK(error_of([&] { init.linear_weight(std::int64_t{1} << 40, 1); }) ==
        "[init] a weight of shape (1099511627776, 1) exceeds the 4 elements allowed");
  init.linear_weight(4, 1);
  CHECK(error_of([&] { init.linear_bias(1, 1); }) == "[init] a weight of shape (1) exceeds the 0 elements allowed");
  CHECK(init.linear_bias(0, 1).numel() == 0);
}
