#include "npzoo/ops/dropout/dropout.h"

#include "npzoo/engine/cuda/transfer.h"
#include "npzoo/engine/philox.h"
#include "npzoo/ops/concat/concat.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void dropout_gradcheck_cases(GradcheckCases& cases);

using namespace testing;

namespace {

Draws some_draws(std::uint64_t step = 0) { return {11, Purpose::training, step}; }

}  // namespace

TEST_CASE_TEMPLATE("dropout: the words of each task's stream decide, element by element", T, float, double) {
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}, Shape{1, 1}, Shape{2, 2}, Shape{3, 4}, Shape{2, 33},
                             Shape{5, 2, 129}, Shape{30'001}, Shape{1, 30'001}})
    for (double p : {0.1, 0.5, 0.9}) {
      CAPTURE(shape);
      CAPTURE(p);
      Tensor x = normal<T>(shape, 1);
      Draws draws = some_draws(5), same = draws;
      const Tensor y = dropout(x, p, draws), generator = same.generator(shape[0], Device::cpu);
      CHECK(draws.calls() == 1);
      const auto word = [&](std::size_t i) { return static_cast<std::uint64_t>(generator.values<std::int64_t>()[i]); };
      const RandomState start{word(0), word(1), word(2)};
      bool equal = true;
      const std::int64_t each = shape[0] > 0 ? x.numel() / shape[0] : 0;
      for (std::int64_t i = 0; i < x.numel(); ++i) {
        const auto task = static_cast<std::uint64_t>(i / each), k = static_cast<std::uint64_t>(i % each);
        const auto block = philox({start.seed, start.stream, start.offset + task * kBlocksOfATask + k / 4});
        const bool kept = block[k % 4] >= p * 0x1p32;
        equal &= y.data<T>()[i] == (kept ? x.data<T>()[i] * static_cast<T>(1 / (1 - p)) : T(0));
      }
      CHECK(equal);
    }
}

TEST_CASE("dropout: parts of a batch equal those of the whole") {
  const Tensor x = normal<float>({7, 5, 3}, 1);
  Draws draws = some_draws();
  const Tensor whole = dropout(x, 0.5, draws);
  Draws part = some_draws().from(2);
  CHECK(same_bits(dropout(slice(x, 0, 2, 6), 0.5, part), slice(whole, 0, 2, 6)));
}

TEST_CASE("dropout: the share of dropped elements and the mean") {
  Draws draws(3, Purpose::training, 0);
  const Tensor y = dropout(Tensor::full({1'000'000}, 1), 0.3, draws);
  double dropped = 0, sum = 0;
  for (float value : y.values<float>()) {
    dropped += value == 0;
    sum += value;
  }
  CHECK(std::abs(dropped / 1e6 - 0.3) < 5 * std::sqrt(0.3 * 0.7 / 1e6));
  CHECK(std::abs(sum / 1e6 - 1) < 5 * std::sqrt(0.3 / 0.7 / 1e6));
}

TEST_CASE("dropout: p = 0 is the tensor itself and draws nothing") {
  Draws draws(3, Purpose::training, 0);
  const Tensor x = normal<float>({5}, 1);
  CHECK(dropout(x, 0, draws).data<float>() == x.data<float>());
  CHECK(draws.calls() == 0);
}

TEST_CASE("dropout: NaN and infinity come through where they are kept, and not where they are dropped") {
  Draws draws(3, Purpose::training, 0);
  const Tensor y = dropout(Tensor::full({4000}, kNaN), 0.5, draws);
  const auto nans = std::ranges::count_if(y.values<float>(), [](float value) { return std::isnan(value); });
  CHECK(nans > 1800);
  CHECK(nans + std::ranges::count(y.values<float>(), 0.0f) == 4000);
}

TEST_CASE("dropout: errors") {
  Draws draws(3, Purpose::training, 0);
  const Tensor x = Tensor::zeros({2});
  CHECK_THROWS_WITH_AS(dropout(x, 1, draws), "[dropout] p is 1, expected in [0, 1)", Error);
  CHECK_THROWS_WITH_AS(dropout(x, -0.5, draws), "[dropout] p is -0.5, expected in [0, 1)", Error);
  CHECK_THROWS_WITH_AS(dropout(x, kNaN, draws), "[dropout] p is nan, expected in [0, 1)", Error);
}

TEST_CASE("dropout: a captured step drops other elements at every launch") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  const Tensor x = Tensor::full({4, 33}, 1);
  KeptDraws kept;
  Tensor y;
  {
    Draws first = some_draws(0).kept_in(kept);
    dropout(x, 0.5, first);  // what a capture must not allocate is there from now on
  }
  std::unique_ptr<GpuGraph> graph;
  {
    const GraphMemory room;
    gpu_runtime().begin_capture();
    Draws captured = some_draws(0).kept_in(kept);
    y = dropout(x, 0.5, captured);
    graph = gpu_runtime().end_capture();
    count_graphs(1);
  }
  const auto uploads = take_captured_uploads();
  for (const std::uint64_t step : {1, 2, 3}) {
    kept.refill(some_draws(step));
    graph->launch();
    Draws plain = some_draws(step);
    CHECK(same_bits(y.to(Device::cpu), dropout(x, 0.5, plain).to(Device::cpu)));
  }
  graph.reset();
  count_graphs(-1);
}

TEST_CASE("dropout: float32 follows float64, the same bits for any number of threads") {
  const Function f = [](const std::vector<Tensor>& in) {
    Draws draws(1, Purpose::training, 2);
    return dropout(in[0], 0.25, draws);
  };
  const Tensor x = normal<float>({100, 333}, 2);
  check_float_against_double(f, {x});
  check_deterministic(f, {x});
}

TEST_CASE("dropout: gradients") { gradcheck_all(dropout_gradcheck_cases); }

}  // namespace npzoo
