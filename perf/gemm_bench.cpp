// Matrix products of neural-process models against the limit of the processor. Usage: gemm_bench [threads]

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/cpu/peak.h"
#include "npzoo/engine/gemm.h"

using namespace npzoo;

namespace {

/// NT is a forward pass (weights are (out, in)), NN its gradient for the input, TN that for the weights.
enum class Layout { nn, nt, tn };

struct Product {
  const char* what;
  Layout layout;
  std::int64_t m, n, k;
};

constexpr Product kProducts[] = {
    {"d 64 -> 64, 800 rows, forward", Layout::nt, 800, 64, 64},
    {"                      d_x", Layout::nn, 800, 64, 64},
    {"                      d_w", Layout::tn, 64, 64, 800},
    {"d 64 -> 128, 800 rows, forward", Layout::nt, 800, 128, 64},
    {"                       d_x", Layout::nn, 800, 64, 128},
    {"                       d_w", Layout::tn, 128, 64, 800},
    {"d 128 -> 64, 800 rows, forward", Layout::nt, 800, 64, 128},
    {"                       d_x", Layout::nn, 800, 128, 64},
    {"                       d_w", Layout::tn, 64, 128, 800},
    {"d 128 -> 256, 4800 rows, forward", Layout::nt, 4800, 256, 128},
    {"                         d_x", Layout::nn, 4800, 128, 256},
    {"                         d_w", Layout::tn, 256, 128, 4800},
    {"input of 1 -> 64, 5000 rows", Layout::nt, 5000, 64, 1},
    {"                  d_w", Layout::tn, 64, 1, 5000},
    {"head of 64 -> 2, 5000 rows", Layout::nt, 5000, 2, 64},
    {"                 d_x", Layout::nn, 5000, 64, 2},
    {"                 d_w", Layout::tn, 2, 64, 5000},
    {"attention scores, 50 points", Layout::nt, 50, 50, 16},
    {"attention values, 50 points", Layout::nn, 50, 16, 50},
    {"attention d_k, 50 points", Layout::tn, 50, 16, 50},
    {"square", Layout::nn, 2048, 2048, 2048},
};

struct Speed {
  double best, median;  // GFLOP/s
};

Speed measure(const Product& x) {
  using Clock = std::chrono::steady_clock;
  const auto array = [](std::int64_t size) { return std::vector<float>(static_cast<std::size_t>(size), 1.0f); };
  const std::vector<float> a = array(x.m * x.k), b = array(x.k * x.n);
  std::vector<float> c = array(x.m * x.n);
  const bool tn = x.layout == Layout::tn, nt = x.layout == Layout::nt;
  const Gemm<float> p{.m = x.m,
                      .n = x.n,
                      .k = x.k,
                      .a = a.data(),
                      .a_row = tn ? 1 : x.k,
                      .a_col = tn ? x.m : 1,
                      .b = b.data(),
                      .b_row = nt ? 1 : x.n,
                      .b_col = nt ? x.k : 1,
                      .c = c.data(),
                      .c_row = x.n};
  const double flops = 2.0 * static_cast<double>(x.m * x.n * x.k);
  const int calls = std::max(1, static_cast<int>(2e7 / flops));  // enough of them for the clock

  std::vector<double> speeds(flops > 1e9 ? 7 : 100);
  run(Tensor::empty({}), [&]<class T>(auto& device) {
    for (double& speed : speeds) {
      const auto start = Clock::now();
      for (int call = 0; call < calls; ++call) gemm(device, p);
      speed = flops * calls / std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    }
  });
  std::ranges::sort(speeds);
  return {speeds.back(), speeds[speeds.size() / 2]};
}

}  // namespace

int main(int argc, char** argv) {
  set_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const int threads = thread_pool().threads();
  const double peak = measure_peak_gflops(threads);
  fmt::print("{}, {} thread(s), peak {:.1f} GFLOP/s in float32\n", to_string(active_isa()), threads, peak);
  fmt::print("{:<36}{:>22}{:>10}{:>10}{:>18}\n", "", "(m, n, k)", "best", "median", "share of peak");
  for (const Product& x : kProducts) {
    const auto [best, median] = measure(x);
    const char* layout = x.layout == Layout::nn ? "NN" : x.layout == Layout::nt ? "NT" : "TN";
    fmt::print("{:<36}{:>22}{:>10.1f}{:>10.1f}{:>8.0f} %{:>6.0f} %\n", x.what,
               fmt::format("{} ({}, {}, {})", layout, x.m, x.n, x.k), best, median, 100 * best / peak,
               100 * median / peak);
  }
}
