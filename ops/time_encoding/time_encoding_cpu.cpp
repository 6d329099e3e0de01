#include <cmath>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/time_encoding/kernels.h"

namespace npzoo {

template <class T>
void event_times(Cpu& cpu, const EventTimes<T>& p) {
  cpu.parallel_for(p.batch, 1 + 4096 / (1 + p.events), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      double time = p.start[b];
      for (std::int64_t i = b * p.events; i < (b + 1) * p.events; ++i)
        p.times[i] = time += static_cast<double>(p.gaps[i]);
    }
  });
}

template <class T>
void time_encoding(Cpu& cpu, const TimeEncoding<T>& p) {
  cpu.parallel_for(p.points, 1 + 256 / (1 + p.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t d = 0; d < p.width; ++d) {
      const double period = std::pow(10000.0, static_cast<double>(d / 2 * 2) / static_cast<double>(p.width));
      for (std::int64_t i = begin; i < end; ++i) {
        const double angle = p.times[i] / period;
        p.out[i * p.width + d] = static_cast<T>(d % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
  });
}

NPZOO_INSTANTIATE(event_times, EventTimes);
NPZOO_INSTANTIATE(time_encoding, TimeEncoding);

}  // namespace npzoo
