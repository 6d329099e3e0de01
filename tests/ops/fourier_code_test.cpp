#include "npzoo/ops/fourier_code/fourier_code.h"

#include <numbers>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("fourier_code: sines, then cosines, of each coordinate") {
  const Tensor x = Tensor::from<double>({1, 2}, {0.3, -1.7}).to(default_device());
  const auto code = doubles(fourier_code(x, 6));
  REQUIRE(code.size() == 12);
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t k = 0; k < 3; ++k) {
      const double angle = std::numbers::pi * std::pow(2.0, static_cast<double>(k) - 2) * (c == 0 ? 0.3 : -1.7);
      CHECK(code[c * 6 + k] == doctest::Approx(std::sin(angle)).epsilon(1e-14));
      CHECK(code[c * 6 + 3 + k] == doctest::Approx(std::cos(angle)).epsilon(1e-14));
    }
  CHECK(fourier_code(x, 0).shape() == Shape{1, 0});
  CHECK(error_of([&] { fourier_code(x, 3); }) ==
        "[fourier_code] x (1, 2) and width 3 found, expected (…, D) and an even width");
}

TEST_CASE_TEMPLATE("fourier_code: NaN and infinities give NaN, and stay in their coordinate", T, float, double) {
  for (const double odd : {kNaN, kInfinity, -kInfinity}) {
    Tensor x = normal<T>({40, 1}, 1).to(Device::cpu);
    x.template data<T>()[7] = static_cast<T>(odd);
    const auto code = doubles(fourier_code(x.to(default_device()), 8));
    for (std::size_t i = 0; i < code.size(); ++i) CHECK(std::isnan(code[i]) == (i / 8 == 7));
  }
}

TEST_CASE("fourier_code: the same bits with any number of threads") {
  const Tensor x = normal<float>({2, 700, 3}, 1);
  const Tensor expected = fourier_code(x, 20);
  for (const int threads : {1, 3, 8}) {
    const ThreadCount count(threads);
    CHECK(same_bits(fourier_code(x, 20), expected));
  }
}
