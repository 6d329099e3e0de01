#include <array>

#include "npzoo/engine/tape.h"
#include "npzoo/ops/dropout/dropout.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/layer_norm/layer_norm.h"
#include "npzoo/ops/linear/linear.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct Layer {
  Tensor weight = normal<float>({24, 24}, 1, 0.4), bias = normal<float>({24}, 2), gain = normal<float>({24}, 3);

  Tensor operator()(const Tensor& x, Draws& draws) const {
    const Tensor h = dropout(linear(x, weight, bias, Activation::relu), 0.3, draws);
    return add(layer_norm(h, gain, bias), x);
  }
};

/// Three layers, each by itself under `run(layer, x, draws)`; the output and all gradients.
template <class Run>
std::vector<Tensor> three_layers(Run run) {
  Tape tape;
  const Recording on(tape);
  std::array<Layer, 3> layers;
  Tensor x = normal<float>({50, 24}, 4);
  tape.watch(x);
  for (Layer& layer : layers)
    for (Tensor* parameter : {&layer.weight, &layer.bias, &layer.gain}) tape.watch(*parameter);
  Draws draws(5, Purpose::training, 0);
  Tensor out = x;
  for (const Layer& layer : layers) out = run(layer, out, draws);
  const Grads& grads = tape.backward(out, normal<float>(out.shape(), 6));
  std::vector<Tensor> results{out, grads.of(x)};
  for (const Layer& layer : layers)
    for (const Tensor& parameter : {layer.weight, layer.bias, layer.gain}) results.push_back(grads.of(parameter));
  results.push_back(Tensor::full({}, static_cast<double>(draws.calls())));
  return results;
}

Tensor saved(const Layer& layer, const Tensor& x, Draws& draws) {
  return checkpoint(draws, {x}, [layer](std::span<const Tensor> in, Draws& same) { return layer(in[0], same); });
}

}  // namespace

TEST_CASE("checkpoint: outputs and gradients are those of a plain run, bit for bit") {
  const auto plain = three_layers([](const Layer& layer, const Tensor& x, Draws& draws) { return layer(x, draws); });
  const auto checkpointed = three_layers(saved);
  const auto nested = three_layers([](const Layer& layer, const Tensor& x, Draws& draws) {
    return checkpoint(draws, {x},
                      [layer](std::span<const Tensor> in, Draws& same) { return saved(layer, in[0], same); });
  });
  REQUIRE(plain.size() == checkpointed.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CAPTURE(i);
    CHECK(same_bits(plain[i], checkpointed[i]));
    CHECK(same_bits(plain[i], nested[i]));
  }
  CHECK(largest_difference(plain[1], std::vector<double>(50 * 24)) > 0.1);
}

TEST_CASE("checkpoint: inputs that pass through, constants, and several gradients") {
  Tape tape;
  const Recording on(tape);
  Draws draws(1, Purpose::training, 0);
  Tensor x = Tensor::full({1}, 2, DType::float64), y = Tensor::full({1}, 3, DType::float64);
  tape.watch(x);
  tape.watch(y);
  const Tensor same = checkpoint(draws, {x}, [](std::span<const Tensor> in, Draws&) { return in[0]; });
  const Tensor cut = checkpoint(draws, {y}, [](std::span<const Tensor> in, Draws&) { return square(in[0]).detach(); });
  const Tensor product = checkpoint(draws, {same, y, cut}, [](std::span<const Tensor> in, Draws&) {
    return mul(mul(in[0], in[1]), mul(in[1], in[2]));
  });
  CHECK(product.item() == 2 * 3 * 3 * 9);
  const Grads& grads = tape.backward(add(product, same));
  CHECK(grads.of(x).item() == 3 * 3 * 9 + 1);
  CHECK(grads.of(y).item() == 2 * 2 * 3 * 9);
}

TEST_CASE("checkpoint: less memory at the peak, nothing left behind") {
  const auto peak = [](bool checkpointed) {
    Tape tape;
    const Recording on(tape);
    Draws draws(1, Purpose::training, 0);
    Tensor x = normal<float>({20'000}, 1);
    tape.watch(x);
    const auto block = [](std::span<const Tensor> in, Draws&) {
      Tensor h = in[0];
      for (int i = 0; i < 8; ++i) h = tanh(sigmoid(h));
      return h;
    };
    const std::int64_t before = memory_stats(default_device()).live_bytes;
    reset_peak_memory(default_device());
    Tensor h = x;
    for (int i = 0; i < 8; ++i) h = checkpointed ? checkpoint(draws, {h}, block) : block({&h, 1}, draws);
    tape.backward(h, Tensor::full(h.shape(), 1));
    return memory_stats(default_device()).peak_live_bytes - before;
  };
  const std::int64_t before = memory_stats(default_device()).live_bytes;
  CHECK(3 * peak(true) < peak(false));  // 8 + 16 activations at a time instead of 128
  CHECK(memory_stats(default_device()).live_bytes == before);
}

TEST_CASE("checkpoint: without a recording it is a plain call") {
  Draws draws(1, Purpose::training, 0);
  const Tensor x = Tensor::full({1}, 2, DType::float64);
  const Tensor out = checkpoint(draws, {x}, [](std::span<const Tensor> in, Draws& r) {
    r.normal(1, 1, {}, DType::float32, Device::cpu);
    return square(in[0]);
  });
  CHECK(out.item() == 4);
  CHECK(out.variable().tape == 0);
  CHECK(draws.calls() == 1);
}
