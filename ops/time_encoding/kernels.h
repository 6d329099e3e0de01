#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// gaps and times are (batch, events), start is (batch).
template <class T>
struct EventTimes {
  std::int64_t batch, events;
  const T* gaps;
  const double* start;
  double* times;
};

/// times is (points), out (points, width).
template <class T>
struct TimeEncoding {
  std::int64_t points, width;
  const double* times;
  T* out;
};

NPZOO_KERNEL(event_times, EventTimes);
NPZOO_KERNEL(time_encoding, TimeEncoding);

}  // namespace npzoo
