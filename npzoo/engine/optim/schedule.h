#pragma once

#include <cstdint>
#include <string>

namespace npzoo {

/// Learning rate over the steps of a run.
///
///     constant   lr
///     cosine     linear from 0 over `warmup_steps`, then half a cosine down to 0
///     one-cycle  from lr/divisor up to lr over the fraction `warmup` of the run,
///                then down to lr/(divisor·final_divisor), both by half a cosine
///                (optax `cosine_onecycle_schedule`)
struct ScheduleConfig {
  std::string name;  // "constant", "cosine" or "one-cycle"
  std::int64_t warmup_steps = 0;
  double warmup = 0;
  double divisor = 1, final_divisor = 1;

  bool operator==(const ScheduleConfig&) const = default;
};

/// Learning rate of update number `step` (from 0) of `steps`, whose peak is `lr`.
double learning_rate(const ScheduleConfig& schedule, double lr, std::int64_t step, std::int64_t steps);

}  // namespace npzoo
