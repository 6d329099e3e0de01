#include "npzoo/engine/optim/schedule.h"

#include <cmath>
#include <numbers>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

/// From `begin` to `end` as `progress` goes from 0 to 1, by half a cosine.
double half_cosine(double begin, double end, double progress) {
  return end + (begin - end) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

}  // namespace

double learning_rate(const ScheduleConfig& schedule, double lr, std::int64_t step, std::int64_t steps) {
  if (schedule.name == "constant") return lr;
  const auto t = static_cast<double>(step), end = static_cast<double>(steps);
  if (schedule.name == "cosine") {
    const auto warmup = static_cast<double>(schedule.warmup_steps);
    if (t < warmup) return lr * (t + 1) / (warmup + 1);
    return half_cosine(lr, 0, (t - warmup) / (end - warmup));
  }
  check(schedule.name == "one-cycle", "[schedule] '{}' found, expected constant, cosine or one-cycle", schedule.name);
  const double warmup = schedule.warmup * end, initial = lr / schedule.divisor;
  if (t < warmup) return half_cosine(initial, lr, t / warmup);
  return half_cosine(lr, initial / schedule.final_divisor, (t - warmup) / (end - warmup));
}

}  // namespace npzoo
