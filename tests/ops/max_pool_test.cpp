#include "npzoo/ops/max_pool/max_pool.h"

#include <limits>

#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void max_pool_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

std::vector<double> naive_max_pool(const Tensor& x, const PoolConfig& config) {
  const std::vector<double> values = doubles(x);
  const std::int64_t length = x.dim(1), channels = x.dim(2);
  std::vector<double> out;
  for (std::int64_t b = 0; b < x.dim(0); ++b)
    for (std::int64_t from = -config.padding; from + config.width <= length + config.padding; from += config.stride)
      for (std::int64_t c = 0; c < channels; ++c) {
        double top = -kInfinity;
        for (std::int64_t t = std::max<std::int64_t>(from, 0); t < std::min(from + config.width, length); ++t)
          top = std::max(top, values[static_cast<std::size_t>((b * length + t) * channels + c)]);
        out.push_back(top);
      }
  return out;
}

}  // namespace

TEST_CASE_TEMPLATE("max_pool: values", T, float, double) {
  for (std::int64_t length : {1, 2, 3, 7, 33, 129})
    for (const PoolConfig& config :
         {PoolConfig{3, 2, 1}, PoolConfig{2, 2, 0}, PoolConfig{1, 1, 0}, PoolConfig{5, 3, 2}})
      for (const Shape& shape : {Shape{2, length, 1}, Shape{3, length, 33}}) {
        CAPTURE(to_string(shape));
        CAPTURE(config.width);
        const Tensor x = normal<T>(shape, 1, 3);
        const std::vector<double> expected = naive_max_pool(x, config);
        const Tensor y = max_pool(x, config);
        CHECK(y.numel() == std::ssize(expected));
        CHECK(error(y, expected) == 0);
      }
}

TEST_CASE("max_pool: nothing gives nothing") {
  CHECK(max_pool(Tensor::zeros({2, 0, 3}), {3, 2, 1}).shape() == Shape{2, 0, 3});
  CHECK(max_pool(Tensor::zeros({0, 7, 3}), {3, 2, 1}).shape() == Shape{0, 4, 3});
  CHECK(max_pool(Tensor::zeros({2, 7, 0}), {3, 2, 1}).shape() == Shape{2, 4, 0});
  CHECK(max_pool(Tensor::zeros({2, 2, 3}), {3, 2, 0}).shape() == Shape{2, 0, 3});
}

TEST_CASE("max_pool: among equals the first has the gradient, and NaN is the largest") {
  Tensor x = Tensor::from<double>({1, 4, 1}, {1, 1, 0, 1});
  Tape tape;
  Recording on(tape);
  tape.watch(x);
  const Tensor y = max_pool(x, {3, 1, 1});
  CHECK(doubles(y) == std::vector<double>{1, 1, 1, 1});
  const Grads& grads = tape.backward(y, Tensor::from<double>({1, 4, 1}, {1, 10, 100, 1000}));
  CHECK(doubles(grads.of(x)) == std::vector<double>{11, 100, 0, 1000});

  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> out = doubles(max_pool(Tensor::from<double>({1, 4, 1}, {nan, 7, 8, 9}), {2, 2, 0}));
  CHECK(std::isnan(out[0]));
  CHECK(out[1] == 9);
}

TEST_CASE("max_pool: the same bits for any number of threads") {
  const Function pooled = [](const std::vector<Tensor>& in) { return max_pool(in[0], {3, 2, 1}); };
  for (const Shape& shape : {Shape{3, 1, 5}, Shape{4, 96, 33}, Shape{5, 129, 129}})
    check_deterministic(pooled, {normal<float>(shape, 2)});
}

TEST_CASE("max_pool: errors") {
  const Tensor x = Tensor::zeros({1, 4, 1});
  CHECK_THROWS_WITH_AS(max_pool(Tensor::zeros({4, 1}), {}), "[max_pool] x is (4, 1), expected (B, L, C)", Error);
  CHECK_THROWS_WITH_AS(max_pool(x, {0, 1, 0}), "[max_pool] width 0 and stride 1 found, expected 1 or more", Error);
  CHECK_THROWS_WITH_AS(max_pool(x, {3, 2, 2}), "[max_pool] padding 2 found, expected 0 to 1", Error);
}

TEST_CASE("max_pool: gradients") { gradcheck_all(max_pool_gradcheck_cases); }

}  // namespace npzoo
