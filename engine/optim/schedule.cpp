#include "npzoo/engine/optim/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr std::array<std::pair<ScheduleKind, std::string_view>, 4> kSchedules{{{ScheduleKind::constant, "constant"},
                                                                               {ScheduleKind::cosine, "cosine"},
                                                                               {ScheduleKind::halving, "halving"},
                                                                               {ScheduleKind::one_cycle, "one-cycle"}}};

constexpr std::int64_t kMostHalvings = 1100;  // a double is 0 after so many

/// From `begin` to `end` as `progress` goes from 0 to 1, by half a cosine.
double half_cosine(double begin, double end, double progress) {
  return end + (begin - end) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

}  // namespace

std::vector<std::string_view> schedule_names() {
  std::vector<std::string_view> names;
  for (const auto& [kind, name] : kSchedules) names.push_back(name);
  return names;
}

ScheduleKind schedule_kind(std::string_view name) {
  for (const auto& [kind, known] : kSchedules)
    if (name == known) return kind;
  fail("[schedule] '{}' found, expected constant, cosine, halving or one-cycle", name);
}

double learning_rate(const ScheduleConfig& schedule, double lr, std::int64_t step, std::int64_t steps) {
  if (schedule.kind == ScheduleKind::constant) return lr;
  if (schedule.kind == ScheduleKind::halving) {
    const std::int64_t halvings = step < schedule.first ? 0 : 1 + (step - schedule.first) / schedule.every;
    return std::ldexp(lr, -static_cast<int>(std::min<std::int64_t>(halvings, kMostHalvings)));
  }
  const auto t = static_cast<double>(step), end = static_cast<double>(steps);
  if (schedule.kind == ScheduleKind::cosine) {
    const auto warmup = static_cast<double>(schedule.warmup_steps);
    if (t < warmup) return lr * (t + 1) / (warmup + 1);
    return half_cosine(lr, 0, (t - warmup) / (end - warmup));
  }
  const double warmup = schedule.warmup * end, initial = lr / schedule.divisor;
  if (t < warmup) return half_cosine(initial, lr, t / warmup);
  return half_cosine(lr, initial / schedule.final_divisor, (t - warmup) / (end - warmup));
}

}  // namespace npzoo
