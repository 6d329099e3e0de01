#include "npzoo/engine/measure/flops.h"

#include <atomic>

namespace npzoo {

namespace {

std::atomic<std::int64_t> total{0};
thread_local std::int64_t here = 0;

}  // namespace

void count_flops(std::int64_t flops) {
  total.fetch_add(flops, std::memory_order_relaxed);
  here += flops;
}

std::int64_t counted_flops() { return total.load(std::memory_order_relaxed); }

std::int64_t counted_flops_here() { return here; }

}  // namespace npzoo
