#include "npzoo/models/blocks/recomputed.h"

#include "npzoo/engine/tape.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kChunk = 8;

}  // namespace

TEST_CASE("recomputed: values and gradients are those of the function, and its recording keeps the inputs alone") {
  const std::vector<Tensor> inputs{normal<double>({4, 3}, 1), normal<double>({3, 5}, 2), normal<double>({4, 5}, 3)};
  const PureFunction f = [](std::span<const Tensor> x) {
    return mul(tanh(matmul(x[0], x[1])), tanh(affine(x[2], 2, 0)));
  };
  const auto plain = with_gradients([&](const std::vector<Tensor>& in) { return sum(square(f(in))); }, inputs);
  const auto again = with_gradients(
      [&](const std::vector<Tensor>& in) { return sum(square(recomputed("recomputed_test", in, f))); }, inputs);
  REQUIRE(plain.size() == 4);
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(same_bits(again[i], plain[i]));
  // An input without a gradient.
  const auto of_two = with_gradients(
      [&](const std::vector<Tensor>& in) {
        return sum(square(recomputed("recomputed_test", {in[0], in[1], inputs[2]}, f)));
      },
      {inputs[0], inputs[1]});
  for (std::size_t i = 0; i < of_two.size(); ++i) CHECK(same_bits(of_two[i], plain[i]));
  Tape tape;
  const Recording on(tape);
  Tensor leaf = inputs[0].detach();
  tape.watch(leaf);
  static_cast<void>(recomputed("recomputed_test", {leaf, inputs[1], inputs[2]}, f));
  CHECK(tape.size() == 1);
}

TEST_CASE("recomputed points: values and gradients are those of the function, chunk by chunk") {
  const Tensor by = normal<double>({3, 4}, 5);
  for (const std::int64_t points : {std::int64_t{1}, kChunk, 3 * kChunk + 5}) {
    CAPTURE(points);
    const Tensor x = normal<double>({2, points, 3}, 6);
    const auto f = [](const Tensor& rows, const Tensor& w) { return tanh(matmul(rows, w)); };
    const auto plain =
        with_gradients([&](const std::vector<Tensor>& in) { return sum(square(f(in[0], square(in[1])))); }, {x, by});
    const ChunkPoints chunks(kChunk);
    const auto again = with_gradients(
        [&](const std::vector<Tensor>& in) {
          const Tensor w = square(in[1]);  // a variable that is read beside the points
          return sum(square(recomputed_points("recomputed_test", in[0], {w},
                                              [w, f](const Tensor& rows, std::int64_t) { return f(rows, w); })));
        },
        {x, by});
    REQUIRE(again.size() == 3);
    for (std::size_t i = 0; i < again.size(); ++i) CHECK(difference(again[i], plain[i]) <= kRounding);
    // Points that need no gradient.
    const auto of_one = with_gradients(
        [&](const std::vector<Tensor>& in) {
          const Tensor w = square(in[0]);
          return sum(square(recomputed_points("recomputed_test", x, {w},
                                              [w, f](const Tensor& rows, std::int64_t) { return f(rows, w); })));
        },
        {by});
    CHECK(difference(of_one[1], plain[2]) <= kRounding);
  }
}

TEST_CASE("recomputed sum: each chunk gets the cotangent of the whole sum, and knows its place") {
  const ChunkPoints chunks(kChunk);
  const std::int64_t points = 2 * kChunk + 3;
  const Tensor x = normal<double>({2, points, 3}, 7);
  const Tensor factors = normal<double>({1, points, 1}, 8);
  const auto plain = with_gradients(
      [&](const std::vector<Tensor>& in) { return sum(square(sum(mul(square(in[0]), factors), 1))); }, {x});
  const auto again = with_gradients(
      [&](const std::vector<Tensor>& in) {
        Tensor whole;
        {
          const NoGrad off;
          whole = sum(mul(square(in[0]), factors), 1);
        }
        return sum(square(
            recomputed_sum("recomputed_test", in[0], {}, whole, [&factors](const Tensor& rows, std::int64_t begin) {
              return sum(mul(square(rows), slice(factors, 1, begin, begin + rows.dim(1))), 1);
            })));
      },
      {x});
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(difference(again[i], plain[i]) <= kRounding);
}

TEST_CASE("recomputes: only many rows, only while recording, and not within a part that is computed again") {
  const Tensor few = Tensor::zeros({2, 4, 1}, DType::float64), many = Tensor::zeros({2, 5, 1}, DType::float64);
  const ChunkPoints chunks(kChunk);
  CHECK(!recomputes(many));
  Tape tape;
  const Recording on(tape);
  CHECK(!recomputes(few));
  CHECK(recomputes(many));
  Tensor x = Tensor::full({2, 9, 1}, 2, DType::float64);
  tape.watch(x);
  int calls = 0, within = 0;
  const Tensor y = recomputed_points("recomputed_test", x, {}, [&](const Tensor& rows, std::int64_t) {
    ++calls;
    within += recomputes(many) ? 1 : 0;
    return square(rows);
  });
  CHECK(tape.size() == 1);
  static_cast<void>(tape.backward(sum(y)));
  CHECK(calls == 4);
  CHECK(within == 0);
}

TEST_CASE("models: gradients of many points, computed again in chunks, equal those of a whole recording") {
  for (const ModelCase& c : small_models()) {
    if (model_info(c.spec.name).takes != TaskForm::points) continue;
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    Task task = random_task(*model, {2, 2 * kChunk + 5, kChunk + 3});
    task.lengths = Tensor::from<std::int64_t>({2}, {kChunk + 4, 3});
    const auto of_loss = [&] { return gradients(*model, [&] { return loss(*model, task); }); };
    const auto whole = of_loss();
    const ChunkPoints chunks(kChunk);
    CHECK(gradient_difference(of_loss(), whole) <= kRounding);
  }
}

TEST_CASE("models: a recording of many points keeps what enters a layer, and no more") {
  for (const char* name : {"tnp-kr-fast", "tnp-kr-full", "tnp-d"}) {
    CAPTURE(name);
    const auto model = varied_model(small_model(name));
    const auto peak = [&](std::int64_t context, std::int64_t targets) {
      const Task task = random_task(*model, {1, context, targets});
      return peak_bytes([&] { static_cast<void>(gradients(*model, [&] { return loss(*model, task); })); });
    };
    constexpr std::int64_t kMany = 4096;
    const auto by_context = [&] { return peak(2 * kMany, 64) - peak(kMany, 64); };
    const auto by_targets = [&] { return peak(64, 2 * kMany) - peak(64, kMany); };
    const std::int64_t of_context = by_context(), of_targets = by_targets();
    const ChunkPoints chunks(64);
    // Keys and values of attention that is not linear stay.
    CHECK(by_context() * (name == std::string_view("tnp-kr-fast") ? 4 : 2) < of_context);
    CHECK(by_targets() * 8 < of_targets);
  }
}
