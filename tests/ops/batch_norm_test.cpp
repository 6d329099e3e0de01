#include "npzoo/ops/batch_norm/batch_norm.h"

#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void batch_norm_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

struct NaiveBatchNorm {
  std::vector<double> out, mean, variance;

  NaiveBatchNorm(const Tensor& x, const Tensor& gain, const Tensor& bias)
      : out(doubles(x)), mean(static_cast<std::size_t>(x.dim(-1))), variance(mean.size()) {
    const std::size_t channels = mean.size();
    const auto rows = static_cast<double>(out.size() / channels);
    const std::vector<double> g = doubles(gain), b = doubles(bias);
    for (std::size_t i = 0; i < out.size(); ++i) mean[i % channels] += out[i] / rows;
    for (std::size_t i = 0; i < out.size(); ++i)
      variance[i % channels] += std::pow(out[i] - mean[i % channels], 2) / rows;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t c = i % channels;
      out[i] = (out[i] - mean[c]) / std::sqrt(variance[c] + 1e-5) * g[c] + b[c];
    }
  }
};

}  // namespace

TEST_CASE("batch_norm: gradients") { gradcheck_all(batch_norm_gradcheck_cases); }

TEST_CASE_TEMPLATE("batch_norm: values, and statistics for evaluation", T, float, double) {
  for (const Shape& shape : {Shape{1, 3}, Shape{2, 7, 5}, Shape{3, 9, 8, 33}}) {
    CAPTURE(to_string(shape));
    const Tensor x = normal<T>(shape, 1, 2, 0.5), gain = normal<T>({shape.last()}, 2),
                 bias = normal<T>({shape.last()}, 3);
    const NaiveBatchNorm exact(x, gain, bias);
    const BatchNorm found = batch_norm(x, gain, bias);
    CHECK(found.out.shape() == shape);
    CHECK(largest_difference(found.out, exact.out) <= 4 * kTolerance<T>);
    CHECK(largest_difference(found.mean, exact.mean) <= kTolerance<T>);
    CHECK(largest_difference(found.variance, exact.variance) <= 4 * kTolerance<T>);
    const Tensor again = batch_norm(x, found.mean, found.variance, gain, bias);
    if (shape.numel() > 3) CHECK(largest_difference(again, exact.out) <= 4 * kTolerance<T>);
  }
}

TEST_CASE("batch_norm: running statistics follow those of the batches, the variance unbiased") {
  const Tensor x = Tensor::from<double>({4, 1}, {1, 2, 3, 6}), one = Tensor::from<double>({1}, {1.0});
  const RunningStatistics before{Tensor::from<double>({1}, {10.0}), Tensor::from<double>({1}, {2.0})};
  const RunningStatistics after = running_statistics(before, batch_norm(x.to(default_device()), one, one), 0.25);
  CHECK(after.mean.item() == doctest::Approx(0.75 * 10 + 0.25 * 3).epsilon(1e-14));
  CHECK(after.variance.item() == doctest::Approx(0.75 * 2 + 0.25 * 14.0 / 3).epsilon(1e-14));
  const Tensor single = Tensor::from<double>({1, 1}, {4.0});
  CHECK(running_statistics(before, batch_norm(single, one, one), 0.5).variance.item() == 1);
}

TEST_CASE("batch_norm: the same bits with any number of threads") {
  check_deterministic([](const auto& in) { return batch_norm(in[0], in[1], in[2]).out; },
                      {normal<float>({40, 28, 28, 24}, 1), normal<float>({24}, 2), normal<float>({24}, 3)});
}

TEST_CASE("batch_norm: errors") {
  const Tensor x = Tensor::zeros({2, 3}), three = Tensor::zeros({3});
  const auto message = [&](const Tensor& a, const Tensor& gain, const Tensor& bias) {
    return error_of([&] { static_cast<void>(batch_norm(a, gain, bias)); });
  };
  CHECK(message(x, Tensor::zeros({2}), three) == "[batch_norm] gain (2) must have the channels of x (2, 3)");
  CHECK(message(x, three, Tensor::zeros({1, 3})) == "[batch_norm] bias (1, 3) must have the channels of x (2, 3)");
  CHECK(message(x, three.to(DType::float64), three) == "[batch_norm] x is float32, gain float64");
  CHECK(message(Tensor::zeros({0, 3}), three, three) ==
        "[batch_norm] x (0, 3) has no rows, expected at least one for its statistics");
  CHECK(error_of([&] { static_cast<void>(batch_norm(x, three, Tensor::zeros({4}), three, three)); }) ==
        "[batch_norm] variance (4) must have the channels of x (2, 3)");
}

}  // namespace npzoo
