#include <cmath>

#include "npzoo/engine/cuda/device_code.h"
#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/time_encoding/kernels.h"

namespace npzoo {

template <class T>
void event_times(Cuda& cuda, const EventTimes<T>& p) {
  for_each(cuda, "event_times", p.batch, [p] __device__(std::int64_t b) {
    double time = p.start[b];
    for (std::int64_t i = b * p.events; i < (b + 1) * p.events; ++i)
      p.times[i] = time += static_cast<double>(p.gaps[i]);
  });
}

template <class T>
void time_encoding(Cuda& cuda, const TimeEncoding<T>& p) {
  for_each(cuda, "time_encoding", p.points * p.width, [p] __device__(std::int64_t i) {
    const std::int64_t d = i % p.width;
    const double period = pow(10000.0, static_cast<double>(d / 2 * 2) / static_cast<double>(p.width)),
                 angle = p.times[i / p.width] / period;
    p.out[i] = static_cast<T>(d % 2 == 0 ? sine(angle) : cosine(angle));
  });
}

NPZOO_INSTANTIATE(event_times, EventTimes);
NPZOO_INSTANTIATE(time_encoding, TimeEncoding);

}  // namespace npzoo
