// Microseconds of one small task by the C interface: call_bench CALLS. perf/python_limits.py sets Python beside it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "npzoo/npzoo.h"

namespace {

constexpr int kContext = 10, kTargets = 10;

void check(npzoo_status status) {
  if (status == NPZOO_OK) return;
  std::fprintf(stderr, "%s\n", npzoo_last_error());
  std::exit(1);
}

}  // namespace

int main(int count, char** words) {
  const int calls = count > 1 ? std::atoi(words[1]) : 2000;
  npzoo_model* model = nullptr;
  check(npzoo_load("npzoo/gp-rbf", &model));
  std::vector<double> xc(kContext), yc(kContext), xt(kTargets), mean(kTargets), std(kTargets), times;
  for (int i = 0; i < kContext; ++i)
    xc[static_cast<std::size_t>(i)] = 0.3 * i - 1.5, yc[static_cast<std::size_t>(i)] = 0.1 * i;
  for (int i = 0; i < kTargets; ++i) xt[static_cast<std::size_t>(i)] = 0.2 * i - 1;
  for (int call = 0; call < calls; ++call) {
    const auto begin = std::chrono::steady_clock::now();
    npzoo_state* state = nullptr;
    check(npzoo_condition(model, 1, kContext, xc.data(), yc.data(), nullptr, 0, 50, &state));
    check(npzoo_query(state, kTargets, xt.data(), mean.data(), std.data()));
    npzoo_free_state(state);
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  npzoo_free_model(model);
  std::ranges::sort(times);
  std::printf("%.2f %.2f\n", times[times.size() / 2], times[times.size() / 10]);
  return 0;
}
