#include "npzoo/ops/circulant/circulant.h"

#include <complex>
#include <numbers>

#include "npzoo/ops/matmul/matmul.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void circulant_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

const Function kCirculant = [](const std::vector<Tensor>& in) { return circulant(in[0]); };
const Function kCirculantSums = [](const std::vector<Tensor>& in) { return circulant_sums(in[0]); };

/// The discrete Fourier transform of each channel of (L, D), by its definition.
std::vector<std::complex<double>> fourier(const std::vector<double>& x, std::int64_t length, std::int64_t channels) {
  std::vector<std::complex<double>> out(x.size());
  for (std::int64_t f = 0; f < length; ++f)
    for (std::int64_t t = 0; t < length; ++t) {
      const double turn = -2 * std::numbers::pi * static_cast<double>(f * t % length) / static_cast<double>(length);
      for (std::int64_t c = 0; c < channels; ++c)
        out[static_cast<std::size_t>(f * channels + c)] +=
            x[static_cast<std::size_t>(t * channels + c)] * std::polar(1.0, turn);
    }
  return out;
}

}  // namespace

TEST_CASE_TEMPLATE("circulant: values", T, float, double) {
  CHECK(doubles(circulant(Tensor::from<T>({1, 3}, {1, 2, 3}))) == std::vector<double>{1, 2, 3, 3, 1, 2, 2, 3, 1});
  CHECK(doubles(circulant_sums(Tensor::from<T>({1, 3, 3}, {1, 10, 100, 200, 2, 20, 30, 300, 3}))) ==
        std::vector<double>{6, 60, 600});
  for (std::int64_t batch : {0, 2})
    for (std::int64_t length : {0, 1, 33, 64, 129}) {
      CAPTURE(length);
      const Tensor a = normal<T>({batch, length}, 1, 3), x = normal<T>({batch, length, length}, 1, 4);
      const std::vector<double> from = doubles(a), rows = doubles(x);
      std::vector<double> matrix(rows.size()), sums(from.size());
      for (std::int64_t i = 0; i < x.numel(); ++i) {
        const std::int64_t b = i / (length * length), t = i / length % length, s = i % length;
        const auto shift = static_cast<std::size_t>(b * length + (s - t + length) % length);
        matrix[static_cast<std::size_t>(i)] = from[shift];
        sums[shift] += rows[static_cast<std::size_t>(i)];
      }
      CHECK(circulant(a).shape() == Shape{batch, length, length});
      CHECK(doubles(circulant(a)) == matrix);
      CHECK(circulant_sums(x).shape() == Shape{batch, length});
      CHECK(error(circulant_sums(x), sums) <= kTolerance<T>);
    }
}

TEST_CASE("circulant_sums: of a product of matrices they are the circular correlation of Fourier transforms") {
  for (std::int64_t length : {1, 2, 9, 96}) {
    constexpr std::int64_t kChannels = 5;
    const Tensor q = normal<double>({1, length, kChannels}, 1, 5), k = normal<double>({1, length, kChannels}, 1, 6);
    const auto of_q = fourier(doubles(q), length, kChannels), of_k = fourier(doubles(k), length, kChannels);
    std::vector<double> expected;
    for (std::int64_t shift = 0; shift < length; ++shift) {
      std::complex<double> sum = 0;
      for (std::int64_t f = 0; f < length; ++f)
        for (std::int64_t c = 0; c < kChannels; ++c) {
          const auto at = static_cast<std::size_t>(f * kChannels + c);
          sum += of_q[at] * std::conj(of_k[at]) *
                 std::polar(
                     1.0, 2 * std::numbers::pi * static_cast<double>(f * shift % length) / static_cast<double>(length));
        }
      expected.push_back(sum.real() / static_cast<double>(length));
    }
    CHECK(error(circulant_sums(matmul(k, q, Transpose::no, Transpose::yes)), expected) <= 1e-12);
  }
}

TEST_CASE("circulant: a product with it adds up shifted rows") {
  constexpr std::int64_t kLength = 7;
  const Tensor a = Tensor::from<double>({1, kLength}, {0, 0, 0.25, 0, 0, 0.75, 0});
  const Tensor v = normal<double>({1, kLength, 2}, 1, 7);
  const std::vector<double> from = doubles(v);
  std::vector<double> expected;
  for (std::size_t t = 0; t < kLength; ++t)
    for (std::size_t c = 0; c < 2; ++c)
      expected.push_back(0.25 * from[(t + 2) % kLength * 2 + c] + 0.75 * from[(t + 5) % kLength * 2 + c]);
  CHECK(error(matmul(circulant(a), v), expected) <= kTolerance<double>);
}

TEST_CASE("circulant: errors") {
  CHECK_THROWS_WITH_AS(circulant(Tensor::zeros({3})), "[circulant] a is (3), expected (B, L)", Error);
  CHECK_THROWS_WITH_AS(circulant_sums(Tensor::zeros({2, 3})), "[circulant_sums] x is (2, 3), expected (B, L, L)",
                       Error);
  CHECK_THROWS_WITH_AS(circulant_sums(Tensor::zeros({2, 3, 4})), "[circulant_sums] x is (2, 3, 4), expected (B, L, L)",
                       Error);
}

TEST_CASE("circulant: float32 follows float64, the same bits for any number of threads") {
  const Tensor a = normal<float>({3, 129}, 1, 3), x = normal<float>({3, 129, 129}, 1, 4);
  check_float_against_double(kCirculant, {a});
  check_deterministic(kCirculant, {a});
  check_float_against_double(kCirculantSums, {x});
  check_deterministic(kCirculantSums, {x});
}

TEST_CASE("circulant: gradients") { gradcheck_all(circulant_gradcheck_cases); }

}  // namespace npzoo
