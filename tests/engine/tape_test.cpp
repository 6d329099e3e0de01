#include "npzoo/engine/tape.h"

#include <array>
#include <memory>
#include <thread>

#include "npzoo/engine/measure/flops.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

using Values = std::vector<double>;

namespace {

Tensor vector(const std::vector<double>& values) {
  return Tensor::from<double>({std::ssize(values)}, std::span(values));
}

/// Passes its input on, and calls `seen(d_out)` as the backward pass comes by.
template <class F>
Tensor probe(const Tensor& x, F seen) {
  Tensor out = x.detach();
  record("probe", out, {x}, [x = x.symbol(), seen](const Tensor& d_out, Grads& grads) {
    seen(d_out);
    grads.add(x, d_out);
  });
  return out;
}

/// Two outputs, x and 2x; notes which of them got a gradient.
std::array<Tensor, 2> fork(const Tensor& x, std::array<bool, 2>& reached) {
  std::array<Tensor, 2> outs{x.detach().clone(), affine(x.detach(), 2, 0)};
  record("fork", outs, {x}, [x = x.symbol(), &reached](std::span<const Tensor> d_outs, Grads& grads) {
    reached = {d_outs[0].defined(), d_outs[1].defined()};
    if (reached[0]) grads.add(x, d_outs[0]);
    if (reached[1]) grads.add(x, affine(d_outs[1], 2, 0));
  });
  return outs;
}

}  // namespace

TEST_CASE("tape: contributions of a fan-out are summed") {
  Tape tape;
  const Recording on(tape);
  Tensor x = vector({1, 2}), unused = vector({3});
  tape.watch(x);
  tape.watch(unused);
  const Tensor out = add(add(mul(x, vector({10, 20})), affine(x, 3, 0)), mul(x, x));
  CHECK(doubles(out) == Values{14, 50});
  CHECK(tape.size() == 5);
  CHECK(tape.name(0) == "mul");
  CHECK(tape.name(4) == "add");
  const Grads& grads = tape.backward(out, vector({1, 2}));
  CHECK(doubles(grads.of(x)) == Values{10 + 3 + 2, 2 * (20 + 3 + 4)});
  CHECK(!grads.find(unused).defined());
  CHECK(doubles(grads.of(unused)) == Values{0});
  CHECK(tape.size() == 0);
}

TEST_CASE("tape: the gradient of a broadcast input is summed to its shape") {
  Tape tape;
  const Recording on(tape);
  Tensor row = vector({1, 2, 3}), column = Tensor::zeros({2, 1}, DType::float64);
  tape.watch(row);
  tape.watch(column);
  const Tensor out = add(add(row, column), row);
  const Grads& grads = tape.backward(out, Tensor::from<double>({2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(grads.of(row).shape() == Shape{3});
  CHECK(doubles(grads.of(row)) == Values{10, 14, 18});
  CHECK(grads.of(column).shape() == Shape{2, 1});
  CHECK(doubles(grads.of(column)) == Values{6, 15});
}

TEST_CASE("tape: a watched tensor can be the loss, and a detached one gets no gradient") {
  Tape tape;
  const Recording on(tape);
  Tensor x = Tensor::full({}, 3, DType::float64);
  tape.watch(x);
  CHECK(tape.backward(x).of(x).item() == 1);

  const Recording again(tape);
  tape.watch(x);
  CHECK(tape.backward(mul(x, x.detach())).of(x).item() == 3);
}

TEST_CASE("tape: an op with several outputs sees which of them were used") {
  for (const auto& [first, second] : {std::array{true, true}, {true, false}, {false, true}, {false, false}}) {
    Tape tape;
    const Recording on(tape);
    Tensor x = vector({1});
    tape.watch(x);
    std::array<bool, 2> reached{};
    const auto [a, b] = fork(x, reached);
    Tensor out = affine(x, 100, 0);
    if (first) out = add(out, a);
    if (second) out = add(out, b);
    CHECK(tape.backward(out).of(x).item() == 100 + first + 2 * second);
    CHECK(reached == std::array{first, second});
  }
}

TEST_CASE("tape: the backward pass frees the saved tensors of each op") {
  constexpr int kLayers = 8;
  constexpr std::int64_t kBytes = 1 << 16;
  Tape tape;
  const std::int64_t before = memory_stats(default_device()).live_bytes;
  std::vector<std::int64_t> live;
  {
    const Recording on(tape);
    Tensor leaf = Tensor::full({kBytes / 8}, 1.001, DType::float64);
    tape.watch(leaf);
    Tensor x = leaf;
    for (int layer = 0; layer < kLayers; ++layer)
      x = probe(square(x), [&](const Tensor&) { live.push_back(memory_stats(default_device()).live_bytes); });
    tape.backward(x, Tensor::full(x.shape(), 1, x.dtype()));
    tape.clear();
  }
  REQUIRE(live.size() == kLayers);
  // The last output is held by the caller; from there on one saved input goes at each layer.
  for (std::size_t i = 2; i < kLayers; ++i) CHECK(live[i - 1] - live[i] == kBytes);
  CHECK(memory_stats(default_device()).live_bytes == before);
}

TEST_CASE("tape: closures are destroyed, whether they were played or not") {
  const auto token = std::make_shared<int>(0);
  const auto hold = [&token](const Tensor& x) { return probe(x, [token](const Tensor&) {}); };
  {
    Tape tape;
    Tensor x = vector({1});
    {
      const Recording on(tape);
      tape.watch(x);
      const Tensor out = hold(x);
      hold(x);
      CHECK(token.use_count() == 3);
      tape.backward(out);
      CHECK(token.use_count() == 1);
    }
    const Recording on(tape);
    tape.watch(x);
    hold(x);
    CHECK(token.use_count() == 2);
    tape.clear();
    CHECK(token.use_count() == 1);
    tape.watch(x);
    hold(x);
    CHECK(token.use_count() == 2);
  }
  CHECK(token.use_count() == 1);
}

TEST_CASE("tape: nothing is recorded without a recording, under NoGrad, or of constants") {
  Tape tape;
  Tensor x = vector({1});
  tape.watch(x);
  CHECK(current_tape() == nullptr);
  CHECK(!needs_grad(x));
  CHECK(square(x).variable().tape == 0);
  {
    const Recording on(tape);
    CHECK(current_tape() == &tape);
    CHECK(needs_grad(x));
    {
      const NoGrad off;
      CHECK(current_tape() == nullptr);
      CHECK(square(x).variable().tape == 0);
    }
    CHECK(current_tape() == &tape);
    square(vector({2}));
    CHECK(tape.size() == 0);
    square(x);
    CHECK(tape.size() == 1);
  }
  CHECK(current_tape() == nullptr);
}

TEST_CASE("tape: recordings nest, and each sees the other's variables as constants") {
  Tape outer, inner;
  const Recording on(outer);
  Tensor x = vector({3}), y = vector({5});
  outer.watch(x);
  const Tensor x2 = square(x);
  {
    const Recording nested(inner);
    inner.watch(y);
    const Tensor product = mul(x2, y);
    CHECK(inner.size() == 1);
    const Grads& grads = inner.backward(product);
    CHECK(grads.of(y).item() == 9);
    CHECK(!grads.wants(x2));
  }
  CHECK(current_tape() == &outer);
  CHECK(outer.backward(mul(x2, y)).of(x).item() == 30);
}

TEST_CASE("tape: used again, it takes the variables of the last recording for constants") {
  Tape tape;
  Tensor x = vector({3}), y = vector({5});
  Tensor old;
  {
    const Recording on(tape);
    tape.watch(x);
    old = square(x);
    CHECK(tape.backward(old).of(x).item() == 6);
  }
  const Recording on(tape);
  tape.watch(y);
  const Tensor out = mul(old, y);
  CHECK(tape.size() == 1);
  const Grads& grads = tape.backward(out);
  CHECK(grads.of(y).item() == 9);
  CHECK(!grads.wants(x));
}

TEST_CASE("tape: long recordings and large closures") {
  Tape tape;
  const Recording on(tape);
  Tensor x = vector({1});
  tape.watch(x);
  Tensor out = x;
  std::int64_t sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    out = affine(out, 1, 1);
    if (i % 1000 != 0) continue;
    std::array<std::int64_t, 20'000> large;
    large.fill(i);
    out = probe(out, [large, &sum](const Tensor&) { sum += large.front() + large.back(); });
  }
  CHECK(out.item() == 20'001);
  CHECK(tape.backward(out).of(x).item() == 1);
  CHECK(sum == 2 * 190'000);
}

TEST_CASE("tape: threads record apart from each other") {
  std::vector<double> found(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&found, i] {
      Tape tape;
      for (int repetition = 0; repetition < 200; ++repetition) {
        const Recording on(tape);
        Tensor x = Tensor::full({}, static_cast<double>(i), DType::float64);
        tape.watch(x);
        found[i] += tape.backward(square(x)).of(x).item();
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(found == Values{0, 400, 800, 1200});
}

TEST_CASE("tape: recordings that follow each other leave the gradients of the same leaves") {
  Tensor x = vector({3}), y = vector({5});
  std::array<Tape, 3> tapes;
  for (int repetition = 0; repetition < 3; ++repetition) {
    tapes[0].clear();
    tapes[0].watch(x);
    tapes[0].watch(y);
    tapes[1].follow(tapes[0]);
    tapes[2].follow(tapes[0]);
    std::array<const Grads*, 3> grads{};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < tapes.size(); ++i)
      threads.emplace_back([&, i] {
        const Recording on(tapes[i]);
        Tensor power = x;
        for (std::size_t j = 0; j < i; ++j) power = mul(power, x);
        grads[i] = &tapes[i].backward(i == 0 ? mul(power, y) : power);
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(grads[0]->of(x).item() == 5);
    CHECK(grads[0]->of(y).item() == 3);
    CHECK(grads[1]->of(x).item() == 6);
    CHECK(!grads[1]->find(y).defined());
    CHECK(grads[2]->of(x).item() == 27);
  }
  const std::string late = "[tape] a recording can only be followed before anything has been recorded";
  CHECK(error_of([&] { tapes[1].follow(tapes[0]); }) == late);
  tapes[0].clear();
  const Recording on(tapes[0]);
  tapes[0].watch(x);
  const Tensor squared = square(x);
  CHECK(error_of([&] { tapes[1].follow(tapes[0]); }) == late);
}

TEST_CASE("tape: a profile charges every operation, forward and backward") {
  Profile profile;
  Tape tape;
  tape.set_profile(&profile);
  const auto record_and_play = [&](Tensor& x) {
    const Recording on(tape);
    tape.watch(x);
    profile.start();
    count_flops(7);
    Tensor out = probe(affine(square(x), 1, 1), [](const Tensor&) { count_flops(11); });
    tape.backward(out);
  };
  Tensor x = vector({3});
  record_and_play(x);
  record_and_play(x);
  const auto& operations = profile.operations();
  CHECK(operations.size() == 3);
  for (const auto& operation : operations) {
    const auto& [name, passes] = operation;
    CAPTURE(operation.first);
    CHECK(passes.forward.calls == 2);
    CHECK(passes.backward.calls == 2);
    CHECK(passes.forward.milliseconds > 0);
    CHECK(passes.backward.milliseconds > 0);
    CHECK(passes.forward.flops == (name == "square" ? 14 : 0));
    CHECK(passes.backward.flops == (name == "probe" ? 22 : 0));
  }
  Profile sum = profile;
  sum.add(profile);
  CHECK(sum.operations().at("affine").forward.calls == 4);
  CHECK(sum.operations().at("probe").backward.flops == 44);
  tape.set_profile(nullptr);
  record_and_play(x);
  CHECK(profile.operations().at("square").forward.calls == 2);
}

TEST_CASE("tape: a profile waits for the device of an operation, not for the default device") {
  if (!has_gpu()) return;
  const OnCpu cpu;
  Profile profile;
  Tape tape;
  tape.set_profile(&profile);
  Tensor x = Tensor::full({3}, 2, DType::float64, Device::cuda);
  std::uint64_t before_backward = 0;
  const Recording on(tape);
  tape.watch(x);
  const std::uint64_t before_forward = gpu_runtime().mark();
  Tensor out = square(x);
  CHECK(gpu_runtime().passed(before_forward));
  record("probe", out, {out}, [&, y = out](const Tensor& d_out, Grads& grads) {
    before_backward = gpu_runtime().mark();
    grads.add(y, d_out);
  });
  tape.backward(out, Tensor::full({3}, 1, DType::float64, Device::cuda));
  CHECK(gpu_runtime().passed(before_backward));
}

TEST_CASE("tape: errors") {
  Tape tape;
  const Recording on(tape);
  Tensor x = vector({1, 2}), constant = vector({1});
  tape.watch(x);
  const Tensor y = square(x);
  CHECK(error_of([&] { tape.backward(y); }) == "[backward] the loss has shape (2), expected one element");
  CHECK(error_of([&] { tape.backward(constant); }) == "[backward] the output does not depend on any watched tensor");
  CHECK(error_of([&] { tape.backward(y, vector({1})); }) == "[backward] the cotangent has shape (1), expected (2)");
  struct alignas(64) Wide {
    double x;
  };
  CHECK(error_of([&] { probe(x, [wide = Wide{}](const Tensor&) { static_cast<void>(wide); }); }) ==
        "[tape] found a closure with an alignment of 64 bytes, expected the default or less");

  const Grads& grads = tape.backward(y, vector({1, 1}));
  CHECK(error_of([&] {
          tape.backward(y, vector({1, 1}));
        }) == "[backward] this recording was already played; record again");
  CHECK(error_of([&] { tape.watch(constant); }) == "[tape] a leaf must be watched before the backward pass");
  CHECK(error_of([&] { grads.of(constant); }) ==
        "[grads] found a tensor that this recording did not watch, expected a watched one");
  CHECK(error_of([&] { grads.find(constant); }) ==
        "[grads] found a tensor that this recording did not watch, expected a watched one");
  CHECK(error_of([&] { Grads(grads).into(constant); }) ==
        "[grads] found a tensor that is not a variable of this recording, expected a watched one");
  tape.clear();
  CHECK(error_of([&] { grads.of(x); }) ==
        "[grads] found a tensor that this recording did not watch, expected a watched one");
}

TEST_CASE("tape: no derivatives of derivatives; after an error the tape is as good as new") {
  Tape tape;
  const auto token = std::make_shared<int>(0);
  for (const auto& again : {std::function([&tape](const Tensor& d) { tape.backward(d); }),
                            std::function([&tape](const Tensor&) { const Recording nested(tape); })}) {
    const Recording on(tape);
    Tensor x = vector({1});
    tape.watch(x);
    const Tensor out = square(probe(square(x), [again, token](const Tensor& d) { again(d); }));
    const std::string message = error_of([&] { tape.backward(out); });
    CHECK(message.ends_with("double backward is not supported"));
    CHECK(token.use_count() == 1);
    CHECK(current_tape() == &tape);
  }
  const Recording on(tape);
  Tensor x = vector({3});
  tape.watch(x);
  CHECK(tape.backward(square(x)).of(x).item() == 6);
}
