#include "npzoo/engine/cpu/peak.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "npzoo/engine/backend.h"

namespace npzoo {

namespace {

/// The best rate, in billions a second, of `work(backend)`, which returns how much it has done.
template <class F>
double best_rate(ThreadPool& pool, int repetitions, F work) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = Clock::now();
    const double done = work(Backend(active_isa(), pool));
    const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
    best = std::max(best, done / elapsed.count());
  }
  return best;
}

}  // namespace

double measure_peak_gflops(int threads) {
  constexpr int kRepetitions = 20, kChunksPerThread = 4;
  ThreadPool pool(threads);
  std::vector<float> sums(static_cast<std::size_t>(kChunksPerThread * pool.threads()));
  double done = 0;
  const FmaChains<float> chains{.chunks = std::ssize(sums),
                                .rounds = 100'000,
                                .factor = 0.5f,
                                .summand = 1.0f,
                                .sums = sums.data(),
                                .done = &done};
  return best_rate(pool, kRepetitions, [&](const Backend& backend) {
    run_fma_chains(backend, chains);
    return done;
  });
}

double measure_bandwidth_gbs(int threads) {
  constexpr int kRepetitions = 10;
  constexpr std::int64_t kElements = std::int64_t{1} << 25;
  ThreadPool pool(threads);
  const Tensor b = Tensor::full({kElements}, 1, DType::float32, Device::cpu),
               c = Tensor::full({kElements}, 2, DType::float32, Device::cpu);
  Tensor a = Tensor::zeros({kElements}, DType::float32, Device::cpu);
  double done = 0;
  const Triad<float> triad{
      .n = kElements, .factor = 0.5f, .b = b.data<float>(), .c = c.data<float>(), .a = a.data<float>(), .done = &done};
  return best_rate(pool, kRepetitions, [&](const Backend& backend) {
    run_triad(backend, triad);
    return done;
  });
}

}  // namespace npzoo
