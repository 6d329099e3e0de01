// Processor seconds and memory of attention with distance biases, beside attention without: four heads of 32, float32,
// places in a plane. Usage: biased_attention_bench [queries] [keys] [threads] [bias].

#include <fmt/core.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "npzoo/engine/memory.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/engine/random.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/masked_attention/distance_bias.h"

namespace {

using namespace npzoo;

constexpr std::int64_t kWidth = 128;
constexpr int kHeads = 4;

Tensor normal(const Shape& shape, double scale) {
  Tensor x = Tensor::empty(shape);
  Random random(1);
  for (float& value : x.values<float>()) value = static_cast<float>(scale * random.normal());
  return x;
}

struct Cost {
  double seconds = 0;
  double megabytes = 0;
};

template <class F>
Cost cost(const F& f) {
  reset_peak_memory();
  const std::int64_t before = memory_stats().live_bytes;
  const std::clock_t begin = std::clock();
  f();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return {seconds, static_cast<double>(memory_stats().peak_live_bytes - before) / 1e6};
}

struct Case {
  const char* name;
  std::vector<DistanceBias> biases;
  std::int64_t scan_chunk = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, std::int64_t fallback) {
    return argc > i ? std::atoll(argv[i]) : static_cast<long long>(fallback);
  };
  const std::int64_t queries = number(1, 10'000), keys = number(2, 100'000);
  set_threads(static_cast<int>(number(3, 2)));
  Tensor q = normal({1, queries, kWidth}, 1), k = normal({1, keys, kWidth}, 1), v = normal({1, keys, kWidth}, 1);
  const Tensor from = normal({1, queries, 2}, 40), to = normal({1, keys, 2}, 40), d_out = normal(q.shape(), 1);
  const auto bias = [&](BiasForm form, DistanceKind distance, std::int64_t terms) {
    const bool scalar = form == BiasForm::scalar;
    const Shape shape = scalar ? Shape{kHeads} : Shape{kHeads, terms};
    DistanceBias made{form, distance, from, to, Tensor::full(shape, scalar ? -0.01 : 1)};
    if (!scalar) made.b = Tensor::full(shape, 0.01);
    if (form == BiasForm::tisa) made.c = Tensor::full(shape, 1);
    return made;
  };
  const DistanceBias rbf = bias(BiasForm::rbf, DistanceKind::euclidean, 5);
  const Case cases[] = {{"none", {}, 0},
                        {"none, scan", {}, 1024},
                        {"scalar", {bias(BiasForm::scalar, DistanceKind::euclidean, 1)}, 1024},
                        {"rbf, 5 terms", {rbf}, 1024},
                        {"rbf, 5 and 3 terms", {rbf, bias(BiasForm::rbf, DistanceKind::euclidean, 3)}, 1024},
                        {"tisa, 5 terms", {bias(BiasForm::tisa, DistanceKind::euclidean, 5)}, 1024},
                        {"geodesic, 5 terms", {bias(BiasForm::exponential, DistanceKind::great_circle, 5)}, 1024}};
  fmt::print("{} queries, {} keys; the array of all pairs would have {:.0f} MB\n", queries, keys,
             static_cast<double>(kHeads * queries * keys) * 4 / 1e6);
  fmt::print("{:>20}{:>12}{:>10}{:>22}{:>10}\n", "bias", "forward s", "MB", "with gradients s", "MB");
  for (const Case& c : cases) {
    if (argc > 4 && std::string(c.name) != argv[4]) continue;
    const auto attend = [&](const std::vector<DistanceBias>& biases) {
      return biased_attention(q, k, v, PrefixMask::all(), {.heads = kHeads, .scan_chunk = c.scan_chunk}, biases);
    };
    const Cost forward = cost([&] { attend(c.biases); });
    const Cost both = cost([&] {
      Tape tape;
      std::vector<DistanceBias> biases = c.biases;
      for (Tensor* x : {&q, &k, &v}) tape.watch(*x);
      for (DistanceBias& b : biases)
        for (Tensor* x : {&b.a, &b.b, &b.c})
          if (x->defined()) tape.watch(*x);
      Tensor out;
      {
        const Recording on(tape);
        out = attend(biases);
      }
      tape.backward(out, d_out);
      for (Tensor* x : {&q, &k, &v}) *x = x->detach();
    });
    fmt::print("{:>20}{:>12.2f}{:>10.0f}{:>22.2f}{:>10.0f}\n", c.name, forward.seconds, forward.megabytes, both.seconds,
               both.megabytes);
  }
}
