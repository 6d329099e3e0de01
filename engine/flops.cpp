#include "engine/flops.h"

namespace npzoo {

namespace {

thread_local std::int64_t total = 0;

}  // namespace

void count_flops(std::int64_t flops) { total += flops; }

std::int64_t counted_flops() { return total; }

}  // namespace npzoo
