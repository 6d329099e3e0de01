#include "engine/cpu/peak.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "engine/backend.h"

namespace npzoo {

double measure_peak_gflops(int threads) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRepetitions = 20, kChunksPerThread = 4;
  ThreadPool pool(threads);
  std::vector<float> sums(static_cast<std::size_t>(kChunksPerThread * pool.threads()));
  const FmaChains chains{
      .chunks = std::ssize(sums), .rounds = 100'000, .factor = 0.5f, .summand = 1.0f, .sums = sums.data()};
  double best = 0;
  run(Tensor::empty({}), [&]<class T>(auto& cpu) {
    std::remove_cvref_t<decltype(cpu)> own{pool};
    for (int i = 0; i < kRepetitions; ++i) {
      const auto start = Clock::now();
      const double flops = run_fma_chains(own, chains);
      const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
      best = std::max(best, flops / elapsed.count());
    }
  });
  return best;
}

}  // namespace npzoo
