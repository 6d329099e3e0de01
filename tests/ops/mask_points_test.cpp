#include "npzoo/ops/mask_points/mask_points.h"

#include "npzoo/engine/cuda/transfer.h"
#include "tests/gpu.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void mask_points_gradcheck_cases(GradcheckCases& cases);

using namespace testing;

TEST_CASE_TEMPLATE("mask_points: values and gradients, and padding that does not leak", T, float, double) {
  for (std::int64_t points : {0, 1, 33, 129})
    for (std::int64_t width : {0, 1, 4, 33, 129}) {
      CAPTURE(points);
      CAPTURE(width);
      const std::int64_t lengths[] = {0, points / 2, points};
      Tensor x = normal<T>({3, points, width}, 1);
      std::vector<double> expected, expected_slope;
      std::int64_t i = 0;
      for (T& value : x.template values<T>()) {
        const bool padding = i / width % points >= lengths[i / (points * width)];
        if (padding) value = static_cast<T>(kNaN);
        expected.push_back(padding ? 0 : value);
        expected_slope.push_back(padding ? 0 : 1);
        ++i;
      }
      Tape tape;
      tape.watch(x);
      Tensor out;
      {
        Recording on(tape);
        out = mask_points(x, Tensor::from<std::int64_t>({3}, lengths));
      }
      CHECK(out.shape() == x.shape());
      CHECK(doubles(out) == expected);
      CHECK(doubles(tape.backward(out, Tensor::full(out.shape(), 1, out.dtype())).of(x)) == expected_slope);
    }
}

TEST_CASE("mask_points: NaN and infinities of the gradient end at padding, and those of points come through") {
  const Tensor lengths = Tensor::from<std::int64_t>({1}, {2});
  Tensor x = Tensor::from<double>({1, 4, 1}, {kNaN, -kInfinity, kInfinity, kNaN});
  CHECK(largest_difference(mask_points(x, lengths), {kNaN, -kInfinity, 0, 0}) == 0);
  Tape tape;
  tape.watch(x);
  Tensor out;
  {
    Recording on(tape);
    out = mask_points(x, lengths);
  }
  CHECK(doubles(tape.backward(out, Tensor::from<double>({1, 4, 1}, {2, kInfinity, kNaN, kInfinity})).of(x)) ==
        std::vector<double>{2, kInfinity, 0, 0});
}

TEST_CASE("mask_points: a captured launch reads the lengths as they are when it is repeated") {
  if (!has_gpu()) return;
  if (unified_memory() && active_gpu() == Gpu::nvidia) {
    MESSAGE("skipped: launches that wait for their end cannot be captured");
    return;
  }
  GpuRuntime& gpu = gpu_runtime();
  const Tensor x = Tensor::full({2, 3, 1}, 7, DType::float32, Device::cuda);
  Tensor lengths = Tensor::pinned({2}, DType::int64), out;
  const auto set = [&](std::int64_t a, std::int64_t b) {
    lengths.values<std::int64_t>()[0] = a;
    lengths.values<std::int64_t>()[1] = b;
  };
  set(1, 3);
  std::unique_ptr<GpuGraph> graph;
  count_graphs(1);
  {
    const GraphMemory room;
    gpu.begin_capture();
    out = mask_points(x, lengths);
    graph = gpu.end_capture();
  }
  const std::vector<Buffer> uploads = take_captured_uploads();
  const auto repeated = [&] {
    graph->launch();
    return doubles(out.to(Device::cpu));
  };
  CHECK(repeated() == std::vector<double>{7, 0, 0, 7, 7, 7});
  set(2, 0);
  CHECK(repeated() == std::vector<double>{7, 7, 0, 0, 0, 0});
  graph.reset();
  count_graphs(-1);
}

TEST_CASE("mask_points: no sets") {
  CHECK(mask_points(Tensor::zeros({0, 4, 3}), Tensor::zeros({0}, DType::int64)).shape() == Shape{0, 4, 3});
}

TEST_CASE("mask_points: errors") {
  const Tensor x = Tensor::zeros({2, 3, 4});
  CHECK_THROWS_WITH_AS(mask_points(Tensor::zeros({2, 3}), Tensor::zeros({2}, DType::int64)),
                       "[mask_points] x is (2, 3), expected (B, N, D)", Error);
  CHECK_THROWS_WITH_AS(mask_points(x, Tensor::zeros({3}, DType::int64)),
                       "[mask_points] lengths are int64 (3), expected int64 (2) for x (2, 3, 4)", Error);
  CHECK_THROWS_WITH_AS(mask_points(x, Tensor::zeros({2})),
                       "[mask_points] lengths are float32 (2), expected int64 (2) for x (2, 3, 4)", Error);
  CHECK_THROWS_WITH_AS(mask_points(x, Tensor::from<std::int64_t>({2}, {3, 4})),
                       "[mask_points] length 1 is 4, expected in [0, 3]", Error);
  CHECK_THROWS_WITH_AS(mask_points(x, Tensor::from<std::int64_t>({2}, {-1, 4})),
                       "[mask_points] length 0 is -1, expected in [0, 3]", Error);
  CHECK_THROWS_WITH_AS(mask_points(Tensor::zeros({2, 3, 4}, DType::int64), Tensor::zeros({2}, DType::int64)),
                       "[backend] expected float32 or float64 elements, found int64", Error);
}

TEST_CASE("mask_points: float32 follows float64, the same bits for any number of threads") {
  const Function f = [](const std::vector<Tensor>& in) { return mask_points(in[0], in[1]); };
  for (std::int64_t width : {3, 32}) {
    Tensor lengths = Tensor::empty({20}, DType::int64);
    std::int64_t next = 0;
    for (std::int64_t& length : lengths.values<std::int64_t>()) length = next++ * 53 % 1000;
    const std::vector<Tensor> inputs{normal<float>({20, 999, width}, 1), lengths};
    check_float_against_double(f, inputs);
    check_deterministic(f, inputs);
  }
}

TEST_CASE("mask_points: gradients") { gradcheck_all(mask_points_gradcheck_cases); }

}  // namespace npzoo
