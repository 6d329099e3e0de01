#include "ops/dropout/dropout.h"

#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void dropout_gradcheck_cases(GradcheckCases& cases);

using namespace testing;

TEST_CASE_TEMPLATE("dropout: the words of the stream decide, element by element", T, float, double) {
  for (std::int64_t n : {0, 1, 2, 33, 129, 30'001})
    for (double p : {0.1, 0.5, 0.9}) {
      CAPTURE(n);
      CAPTURE(p);
      Tensor x = normal<T>({n}, 1);
      Random random(11, 5);
      random.reserve(7);
      const RandomState before = random.state();
      const Tensor y = dropout(x, p, random);
      CHECK(random.state().offset == before.offset + static_cast<std::uint64_t>(n + 3) / 4);
      bool equal = true;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto block = philox({before.seed, before.stream, before.offset + static_cast<std::uint64_t>(i / 4)});
        const bool kept = block[static_cast<std::size_t>(i % 4)] >= p * 0x1p32;
        equal &= y.data<T>()[i] == (kept ? x.data<T>()[i] * static_cast<T>(1 / (1 - p)) : T(0));
      }
      CHECK(equal);
    }
}

TEST_CASE("dropout: the share of dropped elements and the mean") {
  Random random(3);
  const Tensor y = dropout(Tensor::full({1'000'000}, 1), 0.3, random);
  double dropped = 0, sum = 0;
  for (float value : y.values<float>()) {
    dropped += value == 0;
    sum += value;
  }
  CHECK(std::abs(dropped / 1e6 - 0.3) < 5 * std::sqrt(0.3 * 0.7 / 1e6));
  CHECK(std::abs(sum / 1e6 - 1) < 5 * std::sqrt(0.3 / 0.7 / 1e6));
}

TEST_CASE("dropout: p = 0 is the tensor itself and draws nothing") {
  Random random(3);
  const Tensor x = normal<float>({5}, 1);
  CHECK(dropout(x, 0, random).data<float>() == x.data<float>());
  CHECK(random.state() == Random(3).state());
}

TEST_CASE("dropout: NaN and infinity come through where they are kept, and not where they are dropped") {
  Random random(3);
  const Tensor y = dropout(Tensor::full({4000}, kNaN), 0.5, random);
  const auto nans = std::ranges::count_if(y.values<float>(), [](float value) { return std::isnan(value); });
  CHECK(nans > 1800);
  CHECK(nans + std::ranges::count(y.values<float>(), 0.0f) == 4000);
}

TEST_CASE("dropout: errors") {
  Random random(3);
  const Tensor x = Tensor::zeros({2});
  CHECK_THROWS_WITH_AS(dropout(x, 1, random), "[dropout] p is 1, expected in [0, 1)", Error);
  CHECK_THROWS_WITH_AS(dropout(x, -0.5, random), "[dropout] p is -0.5, expected in [0, 1)", Error);
  CHECK_THROWS_WITH_AS(dropout(x, kNaN, random), "[dropout] p is nan, expected in [0, 1)", Error);
}

TEST_CASE("dropout: no captured step drops elements") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  const Tensor x = Tensor::full({8}, 1);
  Random random(1);
  const RandomState before = random.state();
  gpu_runtime().begin_capture();
  const std::string message = error_of([&] { dropout(x, 0.5, random); });
  static_cast<void>(gpu_runtime().end_capture());
  CHECK(message == "[dropout] a captured step would drop the same elements at every launch");
  CHECK(random.state().offset == before.offset);
}

TEST_CASE("dropout: float32 follows float64, the same bits for any number of threads") {
  const Function f = [](const std::vector<Tensor>& in) {
    Random random(1, 2);
    return dropout(in[0], 0.25, random);
  };
  const Tensor x = normal<float>({100, 333}, 2);
  check_float_against_double(f, {x});
  check_deterministic(f, {x});
}

TEST_CASE("dropout: gradients") { gradcheck_all(dropout_gradcheck_cases); }

}  // namespace npzoo
