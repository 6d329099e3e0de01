#include "engine/cpu/gemm.h"
#include "engine/memory.h"
#include "ops/masked_attention/kernels.h"
#include "ops/softmax/rows.h"

namespace npzoo {

namespace {

using namespace simd;

/// The matrices of one run of queries in one head.
template <class T>
struct Head {
  Head(const AttentionForward<T>& p, const QueryRun& run, std::int64_t head)
      : row(p.heads * p.width),
        value_row(p.heads * p.value_width),
        queries((run.batch * p.queries + run.begin) * row + head * p.width),
        keys(run.batch * p.keys * row + head * p.width),
        values(run.batch * p.keys * value_row + head * p.value_width),
        out((run.batch * p.queries + run.begin) * value_row + head * p.value_width),
        weights(((run.batch * p.heads + head) * p.queries + run.begin) * p.keys) {}

  std::int64_t row, value_row;                       // strides between points
  std::int64_t queries, keys, values, out, weights;  // where each matrix begins
};

template <class T, Isa isa>
void attend(CpuContext<isa>& cpu, const AttentionForward<T>& p, const QueryRun& run, std::int64_t head) {
  const Head<T> at(p, run, head);
  T* out = p.out + at.out;
  if (run.visible == 0) {
    for (std::int64_t i = 0; i < run.rows; ++i)
      for (std::int64_t j = 0; j < p.value_width; ++j) out[i * at.value_row + j] = 0;
    return;
  }
  const Buffer scratch(static_cast<std::size_t>(p.weights ? 0 : run.rows * run.visible) * sizeof(T));
  T* weights = p.weights ? p.weights + at.weights : reinterpret_cast<T*>(scratch.data());
  const std::int64_t stride = p.weights ? p.keys : run.visible;
  gemm_serial<T>(cpu, {.m = run.rows,
                       .n = run.visible,
                       .k = p.width,
                       .a = p.q + at.queries,
                       .a_row = at.row,
                       .a_col = 1,
                       .b = p.k + at.keys,
                       .b_row = 1,
                       .b_col = at.row,
                       .c = weights,
                       .c_row = stride,
                       .alpha = p.scale});
  for (std::int64_t i = 0; i < run.rows; ++i) softmax_row(weights + i * stride, weights + i * stride, run.visible);
  gemm_serial<T>(cpu, {.m = run.rows,
                       .n = p.value_width,
                       .k = run.visible,
                       .a = weights,
                       .a_row = stride,
                       .a_col = 1,
                       .b = p.v + at.values,
                       .b_row = at.value_row,
                       .b_col = 1,
                       .c = out,
                       .c_row = at.value_row});
}

/// Zeroes rows [begin, end) of one head's gradient.
template <class T>
void clear_rows(T* x, std::int64_t begin, std::int64_t end, std::int64_t stride, std::int64_t width) {
  for (std::int64_t i = begin; i < end; ++i)
    for (std::int64_t j = 0; j < width; ++j) x[i * stride + j] = 0;
}

/// Gradients of one run; d_k and d_v hold the sums of earlier runs, unless it is the first. `d` is scratch of (rows,
/// visible).
template <class T, Isa isa>
void attend_backward(CpuContext<isa>& cpu, const AttentionBackward<T>& b, const QueryRun& run, std::int64_t head, T* d,
                     bool first) {
  const AttentionForward<T>& p = b.forward;
  const Head<T> at(p, run, head);
  T *d_q = b.d_q + at.queries, *d_k = b.d_k + at.keys, *d_v = b.d_v + at.values;
  if (first) {  // keys that this run does not see; the products below overwrite the others
    clear_rows(d_k, run.visible, p.keys, at.row, p.width);
    clear_rows(d_v, run.visible, p.keys, at.value_row, p.value_width);
  }
  if (run.visible == 0) return clear_rows(d_q, 0, run.rows, at.row, p.width);
  const T *weights = p.weights + at.weights, *d_out = b.d_out + at.out;
  gemm_serial<T>(cpu, {.m = run.visible,
                       .n = p.value_width,
                       .k = run.rows,
                       .a = weights,
                       .a_row = 1,
                       .a_col = p.keys,
                       .b = d_out,
                       .b_row = at.value_row,
                       .b_col = 1,
                       .c = d_v,
                       .c_row = at.value_row,
                       .accumulate = !first});
  gemm_serial<T>(cpu, {.m = run.rows,
                       .n = run.visible,
                       .k = p.value_width,
                       .a = d_out,
                       .a_row = at.value_row,
                       .a_col = 1,
                       .b = p.v + at.values,
                       .b_row = 1,
                       .b_col = at.value_row,
                       .c = d,
                       .c_row = run.visible});
  for (std::int64_t i = 0; i < run.rows; ++i)
    softmax_row_backward(weights + i * p.keys, d + i * run.visible, d + i * run.visible, run.visible);
  gemm_serial<T>(cpu, {.m = run.rows,
                       .n = p.width,
                       .k = run.visible,
                       .a = d,
                       .a_row = run.visible,
                       .a_col = 1,
                       .b = p.k + at.keys,
                       .b_row = at.row,
                       .b_col = 1,
                       .c = d_q,
                       .c_row = at.row,
                       .alpha = p.scale});
  gemm_serial<T>(cpu, {.m = run.visible,
                       .n = p.width,
                       .k = run.rows,
                       .a = d,
                       .a_row = 1,
                       .a_col = run.visible,
                       .b = p.q + at.queries,
                       .b_row = at.row,
                       .b_col = 1,
                       .c = d_k,
                       .c_row = at.row,
                       .alpha = p.scale,
                       .accumulate = !first});
}

}  // namespace

template <class T, Isa isa>
void attention_forward(CpuContext<isa>& cpu, const AttentionForward<T>& p) {
  cpu.parallel_for(p.run_count * p.heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) attend(cpu, p, p.runs[i / p.heads], i % p.heads);
  });
}

template <class T, Isa isa>
void attention_backward(CpuContext<isa>& cpu, const AttentionBackward<T>& b) {
  const AttentionForward<T>& p = b.forward;
  std::int64_t longest = 0;
  for (std::int64_t r = 0; r < p.run_count; ++r) longest = p.runs[r].rows > longest ? p.runs[r].rows : longest;
  // All runs of a batch element add to the same d_k and d_v, so one thread takes them, in order.
  cpu.parallel_for(p.batch * p.heads, 1, [&](std::int64_t begin, std::int64_t end) {
    const Buffer scratch(static_cast<std::size_t>(longest * p.keys) * sizeof(T));
    T* d = reinterpret_cast<T*>(scratch.data());
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / p.heads, head = i % p.heads, first = b.first_run[batch];
      if (first == b.first_run[batch + 1]) {  // no queries
        const Head<T> at(p, {batch, 0, 0, 0}, head);
        clear_rows(b.d_k + at.keys, 0, p.keys, at.row, p.width);
        clear_rows(b.d_v + at.values, 0, p.keys, at.value_row, p.value_width);
      }
      for (std::int64_t r = first; r < b.first_run[batch + 1]; ++r)
        attend_backward(cpu, b, p.runs[r], head, d, r == first);
    }
  });
}

template void attention_forward(CpuContext<kIsa>&, const AttentionForward<float>&);
template void attention_forward(CpuContext<kIsa>&, const AttentionForward<double>&);
template void attention_backward(CpuContext<kIsa>&, const AttentionBackward<float>&);
template void attention_backward(CpuContext<kIsa>&, const AttentionBackward<double>&);

}  // namespace npzoo
