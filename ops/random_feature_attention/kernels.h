#pragma once

#include "npzoo/engine/kernel.h"
#include "npzoo/ops/masked_attention/prefix_rule.h"

namespace npzoo {

/// Denominators are limited to this from below.
template <class T>
constexpr T kSmallestDenominator = T(1e-6);

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
  PrefixRule mask;  // the same for all rows of a batch element
  const T* k;
  const T* v;
  T* sums;
  T* shift;
};

template <class T>
struct SummariseKeysBackward {
  FeatureMap<T> map;
  PrefixRule mask;
  const T* k;
  const T* v;
  const T* shift;
  const T* d_sums;
  T* d_k;
  T* d_v;
};

/// For n pairs of shifts, the larger one, and the factors that bring sums to it: exp(shift − larger), 0 for a shift
/// without keys.
template <class T>
struct MergeShifts {
  std::int64_t n;
  const T* a;
  const T* b;
  T* larger;
  T* factor_a;
  T* factor_b;
};

template <class T>
struct AttendToSummaryForward {
  FeatureMap<T> map;
  const T* q;
  const T* sums;
  const T* shift;  // −∞: nothing to attend to
  T* out;
  unsigned long long* clamped;  // counts denominators below the smallest one; on the device of the context
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

NPZOO_KERNEL(summarise_keys_forward, SummariseKeysForward);
NPZOO_KERNEL(summarise_keys_backward, SummariseKeysBackward);
NPZOO_KERNEL(merge_shifts, MergeShifts);
NPZOO_KERNEL(attend_to_summary_forward, AttendToSummaryForward);
NPZOO_KERNEL(attend_to_summary_backward, AttendToSummaryBackward);

}  // namespace npzoo
