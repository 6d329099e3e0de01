#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/lower_triangle/kernels.h"

namespace npzoo {

template <class T>
void lower_triangle_forward(Cuda& cuda, const LowerTriangleForward<T>& p) {
  for_each(cuda, "lower_triangle", p.batch * p.size * p.size, [p] __device__(std::int64_t at) {
    const std::int64_t row = at / p.size, i = row % p.size, j = at - row * p.size;
    p.out[at] = j > i ? T(0) : j == i && p.diagonal ? p.diagonal[row] : p.x[at];
  });
}

template <class T>
void lower_triangle_backward(Cuda& cuda, const LowerTriangleBackward<T>& p) {
  for_each(cuda, "lower_triangle_backward", p.batch * p.size * p.size, [p] __device__(std::int64_t at) {
    const std::int64_t row = at / p.size, i = row % p.size, j = at - row * p.size;
    if (j == i && p.d_diagonal) p.d_diagonal[row] = p.d_out[at];
    if (p.d_x) p.d_x[at] = j < i || (j == i && p.own_diagonal) ? p.d_out[at] : T(0);
  });
}

NPZOO_INSTANTIATE(lower_triangle_forward, LowerTriangleForward);
NPZOO_INSTANTIATE(lower_triangle_backward, LowerTriangleBackward);

}  // namespace npzoo
