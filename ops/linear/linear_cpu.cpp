#include "npzoo/engine/cpu/lanes.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/linear/kernels.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kGrain = 1 << 14;  // elements that are worth handing to another thread
constexpr std::int64_t kMostRows = 64;    // that are summed in T

/// Computes one output row. `weight_t` is (columns, width), so that the outputs lie side by side.
template <class T, int columns>
void narrow_row(const T* x, const T* weight_t, const NarrowLinear<T>& p, T* out) {
  constexpr int kLanes = Simd<T>::kLanes;
  Vec<T> broadcast[columns > 0 ? columns : 1];
  for (int k = 0; k < columns; ++k) broadcast[k] = splat<T>(x[k]);
  const auto value = [&](std::int64_t i, auto get) {
    Vec<T> sum = p.bias ? get(p.bias + i) : Vec<T>{};
    for (int k = 0; k < columns; ++k) sum += broadcast[k] * get(weight_t + k * p.width + i);
    return p.activation == Activation::relu ? max(Vec<T>{}, sum) : sum;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= p.width; i += kLanes) store(out + i, value(i, [](const T* q) { return load(q); }));
  if (const int rest = static_cast<int>(p.width - i); rest > 0)
    store_first(out + i, value(i, [rest](const T* q) { return load_first(q, rest); }), rest);
}

template <class T, int columns>
void narrow_columns(Cpu& cpu, const NarrowLinear<T>& p, const T* weight_t) {
  if constexpr (columns <= NarrowLinear<T>::kMaxColumns) {
    if (p.columns != columns) return narrow_columns<T, columns + 1>(cpu, p, weight_t);
    cpu.parallel_for(p.rows, kGrain / (p.width + 1) + 1, [&p, weight_t](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        narrow_row<T, columns>(p.x + row * columns, weight_t, p, p.out + row * p.width);
    });
  }
}

/// Handles rows [begin, end) of the epilogue in `registers` registers of columns from `first` on. The last register has
/// `lanes` columns.
template <class T, int registers>
void epilogue_columns(const LinearEpilogueBackward<T>& p, std::int64_t begin, std::int64_t end, std::int64_t first,
                      int lanes, T* d_bias) {
  constexpr int kLanes = Simd<T>::kLanes;
  const auto load_part = [lanes](const T* q, int i) { return i + 1 < registers ? load(q) : load_first(q, lanes); };
  const auto store_part = [lanes](T* q, Vec<T> x, int i) { store_first(q, x, i + 1 < registers ? kLanes : lanes); };
  Vec<T> total[registers] = {};
  for (std::int64_t row = begin; row < end; ++row)
#pragma GCC unroll 4
    for (int i = 0; i < registers; ++i) {
      const std::int64_t at = row * p.width + first + i * kLanes;
      Vec<T> d = load_part(p.d_out + at, i);
      if (p.out) {
        d = select(load_part(p.out + at, i) <= Vec<T>{}, Vec<T>{}, d);  // NaN passes
        store_part(p.d_pre + at, d, i);
      }
      total[i] += d;
    }
  for (int i = 0; d_bias && i < registers; ++i) store_part(d_bias + first + i * kLanes, total[i], i);
}

/// Handles rows [begin, end) of the epilogue and, on request, sums their d_pre into `d_bias`.
template <class T>
void epilogue_rows(const LinearEpilogueBackward<T>& p, std::int64_t begin, std::int64_t end, T* d_bias) {
  constexpr int kLanes = Simd<T>::kLanes, kRegisters = 4;
  std::int64_t column = 0;
  for (; column + kRegisters * kLanes <= p.width; column += kRegisters * kLanes)
    epilogue_columns<T, kRegisters>(p, begin, end, column, kLanes, d_bias);
  for (; column < p.width; column += kLanes)
    epilogue_columns<T, 1>(p, begin, end, column, static_cast<int>(min(p.width - column, kLanes)), d_bias);
}

}  // namespace

template <class T>
void narrow_linear(Cpu& cpu, const NarrowLinear<T>& p) {
  const Buffer scratch(static_cast<std::size_t>(p.columns * p.width) * sizeof(T));
  T* weight_t = reinterpret_cast<T*>(scratch.data());
  for (std::int64_t i = 0; i < p.width; ++i)
    for (std::int64_t k = 0; k < p.columns; ++k) weight_t[k * p.width + i] = p.weight[i * p.columns + k];
  narrow_columns<T, 0>(cpu, p, weight_t);
}

template <class T>
void linear_epilogue_backward(Cpu& cpu, const LinearEpilogueBackward<T>& p) {
  // Each chunk of rows sums its part of the bias gradient by itself. The parts are added in double.
  const std::int64_t rows_at_once = kGrain / (p.width + 1) + 1, rows_per_chunk = min(rows_at_once, kMostRows),
                     chunks = divide_up(p.rows, rows_per_chunk);
  const Buffer scratch(static_cast<std::size_t>(p.d_bias ? chunks * p.width : 0) * sizeof(T));
  T* partial = reinterpret_cast<T*>(scratch.data());
  cpu.parallel_for(chunks, rows_at_once / rows_per_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t first = chunk * rows_per_chunk, last = min(first + rows_per_chunk, p.rows);
      epilogue_rows(p, first, last, p.d_bias ? partial + chunk * p.width : nullptr);
    }
  });
  if (p.d_bias) sum_rows(partial, chunks, p.width, p.width, p.d_bias);
}

NPZOO_INSTANTIATE(narrow_linear, NarrowLinear);
NPZOO_INSTANTIATE(linear_epilogue_backward, LinearEpilogueBackward);

}  // namespace npzoo
