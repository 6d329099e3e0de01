#include "npzoo/ops/reshape/reshape.h"

#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void reshape_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

/// Returns the element of a tensor of shape `from` that element i of `shape` comes from.
std::int64_t source(std::int64_t i, const Shape& shape, const Shape& from) {
  std::int64_t result = 0, stride = 1;
  for (int axis = 1; axis <= from.rank(); ++axis) {
    if (from[-axis] != 1) result += i % shape[-axis] * stride;
    i /= shape[-axis];
    stride *= from[-axis];
  }
  return result;
}

struct Broadcast {
  Shape from, shape;
};

const std::vector<Broadcast> kBroadcasts = {{{}, {}},
                                            {{}, {3}},
                                            {{}, {2, 3}},
                                            {{1}, {0}},
                                            {{1}, {33}},
                                            {{33}, {129, 33}},
                                            {{33, 1}, {33, 129}},
                                            {{1, 33}, {129, 33}},
                                            {{0}, {3, 0}},
                                            {{2, 1, 3}, {2, 4, 3}},
                                            {{1, 3, 1}, {2, 3, 4}},
                                            {{3, 1, 1}, {2, 3, 4, 5}},
                                            {{2, 1, 3, 1, 2, 1}, {2, 3, 3, 2, 2, 4}},
                                            {{1, 1}, {1, 1}},
                                            {{4, 1}, {2, 4, 1}},
                                            {{1, 5}, {0, 5}}};

}  // namespace

TEST_CASE_TEMPLATE("broadcast_to: values and gradients", T, float, double) {
  for (const Broadcast& one : kBroadcasts) {
    const Shape &from = one.from, &shape = one.shape;
    CAPTURE(to_string(from));
    CAPTURE(to_string(shape));
    Tensor x = normal<T>(from, 1);
    Tape tape;
    tape.watch(x);
    Tensor out;
    {
      Recording on(tape);
      out = broadcast_to(x, shape);
    }
    CHECK(out.shape() == shape);
    const Tensor d_out = normal<T>(shape, 2);
    std::vector<double> expected, slope(static_cast<std::size_t>(x.numel()));
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      const std::int64_t at = source(i, shape, from);
      expected.push_back(x.data<T>()[at]);
      slope[static_cast<std::size_t>(at)] += d_out.data<T>()[i];
    }
    CHECK(doubles(out) == expected);
    CHECK(error(tape.backward(out, d_out).of(x), slope) <= kTolerance<T>);
  }
}

TEST_CASE("broadcast_to: -0, infinity and NaN are copied; an equal shape copies nothing") {
  const Tensor x = Tensor::from<float>({4}, {-0.0f, INFINITY, -INFINITY, NAN});
  const Tensor y = broadcast_to(x, {2, 4});
  CHECK(std::memcmp(y.data<float>(), x.data<float>(), x.bytes()) == 0);
  CHECK(std::memcmp(y.data<float>() + 4, x.data<float>(), x.bytes()) == 0);
  CHECK(broadcast_to(x, {4}).data<float>() == x.data<float>());
}

TEST_CASE("reshape: the same elements, any dtype") {
  const Tensor x = normal<double>({2, 3, 4}, 1);
  const Tensor y = reshape(x, {4, 6});
  CHECK(y.shape() == Shape{4, 6});
  CHECK(y.data<double>() == x.data<double>());
  CHECK(reshape(Tensor::zeros({3, 0}), {0, 7}).shape() == Shape{0, 7});
  CHECK(reshape(Tensor::zeros({1, 1}), {}).shape() == Shape{});
  CHECK(reshape(Tensor::zeros({4}, DType::int64), {2, 2}).dtype() == DType::int64);
}

TEST_CASE("reshape and broadcast_to: errors") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK_THROWS_WITH_AS(reshape(x, {2, 4}), "[reshape] x (2, 3) has 6 elements, (2, 4) has 8", Error);
  CHECK_THROWS_WITH_AS(broadcast_to(x, {2, 4}), "[broadcast_to] x (2, 3) does not stretch to (2, 4)", Error);
  CHECK_THROWS_WITH_AS(broadcast_to(x, {3}), "[broadcast_to] x (2, 3) does not stretch to (3)", Error);
  CHECK_THROWS_WITH_AS(broadcast_to(x, {1, 3}), "[broadcast_to] x (2, 3) does not stretch to (1, 3)", Error);
}

TEST_CASE("broadcast_to: the same bits for any number of threads") {
  for (const Shape& shape : {Shape{1, 129}, Shape{700, 1}}) {
    const Function f = [](const std::vector<Tensor>& in) { return broadcast_to(in[0], {3, 700, 129}); };
    check_deterministic(f, {normal<float>(shape, 1)});
    check_float_against_double(f, {normal<float>(shape, 1)});
  }
}

TEST_CASE("reshape: gradients") { gradcheck_all(reshape_gradcheck_cases); }

}  // namespace npzoo
