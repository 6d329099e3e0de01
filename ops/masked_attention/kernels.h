#pragma once

#include "engine/cpu/context.h"

namespace npzoo {

/// Consecutive query rows of one batch element that see the same number of keys.
struct QueryRun {
  std::int64_t batch, begin, rows, visible;
};

template <class T>
struct AttentionForward {
  std::int64_t batch, queries, keys, heads, width, value_width;  // widths of one head
  T scale;
  const QueryRun* runs;  // ordered by batch, then row; together they hold every row once
  std::int64_t run_count;
  const T* q;
  const T* k;
  const T* v;
  T* weights;  // (batch, heads, queries, keys); null: not kept
  T* out;
};

template <class T>
struct AttentionBackward {
  AttentionForward<T> forward;
  const std::int64_t* first_run;  // (batch + 1): where the runs of each batch element begin
  const T* d_out;
  T* d_q;
  T* d_k;
  T* d_v;
};

template <class T, Isa isa>
void attention_forward(CpuContext<isa>& cpu, const AttentionForward<T>& p);
template <class T, Isa isa>
void attention_backward(CpuContext<isa>& cpu, const AttentionBackward<T>& p);

}  // namespace npzoo
