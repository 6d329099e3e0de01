#include "npzoo/ops/gather/gather.h"

#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void gather_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

Tensor random_index(const Shape& shape, std::int64_t points) {
  Random random(5);
  Tensor index = Tensor::empty(shape, DType::int64);
  for (std::int64_t& i : index.values<std::int64_t>()) i = random.integer(0, points);
  return index;
}

}  // namespace

TEST_CASE_TEMPLATE("gather: values and gradients", T, float, double) {
  for (std::int64_t picks : {0, 1, 33, 129})
    for (std::int64_t points : {1, 33})
      for (std::int64_t width : {0, 1, 33}) {
        CAPTURE(picks);
        CAPTURE(points);
        CAPTURE(width);
        Tensor x = normal<T>({2, points, width}, 1);
        const Tensor index = random_index({2, picks}, points);
        Tape tape;
        tape.watch(x);
        Tensor out;
        {
          Recording on(tape);
          out = gather(x, index);
        }
        CHECK(out.shape() == Shape{2, picks, width});
        std::vector<double> expected, counts(static_cast<std::size_t>(x.numel()));
        for (std::int64_t i = 0; i < out.numel(); ++i) {
          const std::int64_t row = i / width, from = row / picks * points + index.data<std::int64_t>()[row];
          expected.push_back(x.data<T>()[from * width + i % width]);
          ++counts[static_cast<std::size_t>(from * width + i % width)];
        }
        CHECK(doubles(out) == expected);
        CHECK(doubles(tape.backward(out, Tensor::full(out.shape(), 1, out.dtype())).of(x)) == counts);
      }
}

TEST_CASE_TEMPLATE("gather: gradients of many picks are summed in their order", T, float, double) {
  for (std::int64_t points : {1, 5, 200})
    for (std::int64_t width : {2, 130}) {
      CAPTURE(points);
      CAPTURE(width);
      const std::int64_t picks = 2500;
      Tensor x = normal<T>({2, points, width}, 1);
      const Tensor index = random_index({2, picks}, points);
      Tape tape;
      tape.watch(x);
      Tensor out;
      {
        Recording on(tape);
        out = gather(x, index);
      }
      const Tensor d_out = normal<T>(out.shape(), 2);
      std::vector<T> sums(static_cast<std::size_t>(x.numel()));
      for (std::int64_t i = 0; i < out.numel(); ++i) {
        const std::int64_t row = i / width, to = row / picks * points + index.values<std::int64_t>()[row];
        sums[static_cast<std::size_t>(to * width + i % width)] += d_out.template values<T>()[i];
      }
      const Tensor d_x = tape.backward(out, d_out).of(x);
      CHECK(std::ranges::equal(d_x.template values<T>(), sums));
    }
}

TEST_CASE("gather: nothing picked from nothing; NaN is copied where it is picked") {
  CHECK(gather(Tensor::zeros({2, 0, 3}), random_index({2, 0}, 1)).shape() == Shape{2, 0, 3});
  CHECK(gather(Tensor::zeros({0, 4, 3}), random_index({0, 5}, 1)).shape() == Shape{0, 5, 3});
  const Tensor x = Tensor::from<double>({1, 3, 1}, {kNaN, -kInfinity, 2.0});
  CHECK(doubles(gather(x, Tensor::from<std::int64_t>({1, 3}, {2, 1, 2}))) == std::vector<double>{2, -kInfinity, 2});
}

TEST_CASE("gather: errors") {
  const Tensor x = Tensor::zeros({2, 3, 4});
  CHECK_THROWS_WITH_AS(gather(Tensor::zeros({2, 3}), random_index({2, 1}, 3)),
                       "[gather] x is (2, 3), expected (B, N, D)", Error);
  CHECK_THROWS_WITH_AS(gather(x, Tensor::zeros({2, 1})),
                       "[gather] index is float32 (2, 1), expected int64 (2, K) for x (2, 3, 4)", Error);
  CHECK_THROWS_WITH_AS(gather(x, random_index({3, 1}, 3)),
                       "[gather] index is int64 (3, 1), expected int64 (2, K) for x (2, 3, 4)", Error);
  CHECK_THROWS_WITH_AS(gather(x, random_index({2}, 3)),
                       "[gather] index is int64 (2), expected int64 (2, K) for x (2, 3, 4)", Error);
  CHECK_THROWS_WITH_AS(gather(x, Tensor::from<std::int64_t>({2, 2}, {0, 2, 1, 3})),
                       "[gather] index (1, 1) is 3, expected in [0, 3)", Error);
  CHECK_THROWS_WITH_AS(gather(x, Tensor::from<std::int64_t>({2, 2}, {0, -1, 1, 3})),
                       "[gather] index (0, 1) is -1, expected in [0, 3)", Error);
}

TEST_CASE("gather: float32 follows float64, the same bits for any number of threads") {
  const Function f = [](const std::vector<Tensor>& in) { return gather(in[0], in[1]); };
  const std::vector<Tensor> inputs{normal<float>({20, 33, 70}, 1), random_index({20, 129}, 33)};
  check_float_against_double(f, inputs);
  check_deterministic(f, inputs);
}

TEST_CASE("gather: gradients") { gradcheck_all(gather_gradcheck_cases); }

}  // namespace npzoo
