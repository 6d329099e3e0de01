#include <cstring>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/lower_triangle/kernels.h"

namespace npzoo {

namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements that one thread takes at a time

/// Calls f(first element of the row, its place in the matrix, row of the batch) for all rows.
template <class Cpu, class F>
void for_rows(Cpu& cpu, std::int64_t batch, std::int64_t size, F f) {
  if (size == 0) return;
  cpu.parallel_for(batch * size, 1 + kGrain / size, [size, f](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) f(row * size, row % size, row);
  });
}

}  // namespace

template <class T>
void lower_triangle_forward(Cpu& cpu, const LowerTriangleForward<T>& p) {
  for_rows(cpu, p.batch, p.size, [&p](std::int64_t first, std::int64_t i, std::int64_t row) {
    std::memcpy(p.out + first, p.x + first, sizeof(T) * (i + 1));
    std::memset(p.out + first + i + 1, 0, sizeof(T) * (p.size - i - 1));
    if (p.diagonal) p.out[first + i] = p.diagonal[row];
  });
}

template <class T>
void lower_triangle_backward(Cpu& cpu, const LowerTriangleBackward<T>& p) {
  for_rows(cpu, p.batch, p.size, [&p](std::int64_t first, std::int64_t i, std::int64_t row) {
    if (p.d_diagonal) p.d_diagonal[row] = p.d_out[first + i];
    if (!p.d_x) return;
    const std::int64_t kept = p.own_diagonal ? i + 1 : i;
    std::memcpy(p.d_x + first, p.d_out + first, sizeof(T) * kept);
    std::memset(p.d_x + first + kept, 0, sizeof(T) * (p.size - kept));
  });
}

NPZOO_INSTANTIATE(lower_triangle_forward, LowerTriangleForward);
NPZOO_INSTANTIATE(lower_triangle_backward, LowerTriangleBackward);

}  // namespace npzoo
