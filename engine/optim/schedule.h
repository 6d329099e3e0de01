#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace npzoo {

/// How the learning rate goes over the steps of a run.
enum class ScheduleKind : std::uint8_t {
  constant,  // lr
  cosine,    // linear from 0 over `warmup_steps`, then half a cosine down to 0
  halving,   // lr for the first updates, half of it from then on, and again half of it after each `every` more
             // (Autoformer's and Informer's code: `first` are the updates of two epochs, `every` those of one)
  one_cycle  // from lr/divisor up to lr over the fraction `warmup` of the run, then down to lr/(divisor·final_divisor),
             // both by half a cosine (optax `cosine_onecycle_schedule`)
};

/// Returns the names of all kinds as protocols write them: "constant", "cosine", "halving" and "one-cycle".
std::vector<std::string_view> schedule_names();
/// Returns the kind of this name. Throws Error if there is none.
ScheduleKind schedule_kind(std::string_view name);

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::constant;
  std::int64_t warmup_steps = 0;
  std::int64_t first = 0, every = 1;
  double warmup = 0;
  double divisor = 1, final_divisor = 1;

  bool operator==(const ScheduleConfig&) const = default;
};

/// Returns the learning rate of update number `step` (from 0) of `steps`, whose peak is `lr`.
double learning_rate(const ScheduleConfig& schedule, double lr, std::int64_t step, std::int64_t steps);

}  // namespace npzoo
