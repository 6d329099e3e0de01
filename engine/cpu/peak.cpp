#include "npzoo/engine/cpu/peak.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "npzoo/engine/backend.h"

namespace npzoo {

namespace {

/// The best rate, in billions a second, of `work(cpu)`, which returns how much it has done.
template <class F>
double best_rate(ThreadPool& pool, int repetitions, F work) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  with_cpu([&](auto& cpu) {
    std::remove_cvref_t<decltype(cpu)> own{pool};
    for (int i = 0; i < repetitions; ++i) {
      const auto start = Clock::now();
      const double done = work(own);
      const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
      best = std::max(best, done / elapsed.count());
    }
  });
  return best;
}

}  // namespace

double measure_peak_gflops(int threads) {
  constexpr int kRepetitions = 20, kChunksPerThread = 4;
  ThreadPool pool(threads);
  std::vector<float> sums(static_cast<std::size_t>(kChunksPerThread * pool.threads()));
  const FmaChains chains{
      .chunks = std::ssize(sums), .rounds = 100'000, .factor = 0.5f, .summand = 1.0f, .sums = sums.data()};
  return best_rate(pool, kRepetitions, [&chains](auto& cpu) { return run_fma_chains(cpu, chains); });
}

double measure_bandwidth_gbs(int threads) {
  constexpr int kRepetitions = 10;
  constexpr std::int64_t kElements = std::int64_t{1} << 25;
  ThreadPool pool(threads);
  const Tensor b = Tensor::full({kElements}, 1, DType::float32, Device::cpu),
               c = Tensor::full({kElements}, 2, DType::float32, Device::cpu);
  Tensor a = Tensor::zeros({kElements}, DType::float32, Device::cpu);
  const Triad triad{.n = kElements, .factor = 0.5f, .b = b.data<float>(), .c = c.data<float>(), .a = a.data<float>()};
  return best_rate(pool, kRepetitions, [&triad](auto& cpu) { return run_triad(cpu, triad); });
}

}  // namespace npzoo
