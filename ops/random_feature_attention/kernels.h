#pragma once

#include <atomic>

#include "engine/cpu/context.h"

namespace npzoo {

/// Points whose features are wanted, and the map: φ(x) = exp(w·x − ‖x‖²/2 − shift) · `normaliser` of x = √scale ·
/// point. A point is a row of `heads` heads side by side.
template <class T>
struct FeatureMap {
  std::int64_t batch, points, heads, width, value_width, features;  // widths of one head
  T scale, root_scale, normaliser;
  bool stabilised;      // a shift is subtracted
  const T* projection;  // (features, width)
};

template <class T>
struct SummariseKeysForward {
  FeatureMap<T> map;
  const std::int64_t* visible;  // (batch)
  const T* k;
  const T* v;
  T* sums;
  T* shift;
};

template <class T>
struct SummariseKeysBackward {
  FeatureMap<T> map;
  const std::int64_t* visible;
  const T* k;
  const T* v;
  const T* shift;
  const T* d_sums;
  T* d_k;
  T* d_v;
};

template <class T>
struct AttendToSummaryForward {
  FeatureMap<T> map;
  const T* q;
  const T* sums;
  const T* shift;  // −∞: nothing to attend to
  T* out;
  std::atomic<std::int64_t>* clamped;  // denominators below the smallest one
};

template <class T>
struct AttendToSummaryBackward {
  FeatureMap<T> map;
  const T* q;
  const T* sums;
  const T* shift;
  const T* d_out;
  T* d_q;
  T* d_sums;
};

template <class T, Isa isa>
void summarise_keys_forward(CpuContext<isa>& cpu, const SummariseKeysForward<T>& p);
template <class T, Isa isa>
void summarise_keys_backward(CpuContext<isa>& cpu, const SummariseKeysBackward<T>& p);
template <class T, Isa isa>
void attend_to_summary_forward(CpuContext<isa>& cpu, const AttendToSummaryForward<T>& p);
template <class T, Isa isa>
void attend_to_summary_backward(CpuContext<isa>& cpu, const AttendToSummaryBackward<T>& p);

}  // namespace npzoo
