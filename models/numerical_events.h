#pragma once

#include <cstdint>

#include "npzoo/engine/device_counter.h"
#include "npzoo/ops/kriging/kriging.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"

namespace npzoo {

/// Events within kernels that make predictions unreliable if there are many.
struct NumericalEvents {
  std::int64_t clamped_denominators = 0;   // see clamped_denominator_counter
  std::int64_t failed_factorisations = 0;  // see failed_factorisation_counter

  void add(const NumericalEvents& more) {
    clamped_denominators += more.clamped_denominators;
    failed_factorisations += more.failed_factorisations;
  }
  static void fields(auto& bytes, auto& self) { bytes(self.clamped_denominators, self.failed_factorisations); }
};

/// Counts events that another process had in work of this thread, as if they had happened here.
inline void count_events(const NumericalEvents& events) {
  const auto add = [](DeviceCounter& counter, std::int64_t count) {
    add_to_count(*counter.on(Device::cpu), static_cast<unsigned long long>(count));
  };
  add(clamped_denominator_counter(), events.clamped_denominators);
  add(failed_factorisation_counter(), events.failed_factorisations);
}

/// Counts the events of the calling thread and of the workers of its loops while it is alive (see CountScope).
class NumericalEventScope {
 public:
  NumericalEvents count() const { return {clamped_.count(), failed_.count()}; }

 private:
  CountScope clamped_{clamped_denominator_counter()};
  CountScope failed_{failed_factorisation_counter()};
};

}  // namespace npzoo
