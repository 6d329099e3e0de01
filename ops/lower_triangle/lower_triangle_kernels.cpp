#include "npzoo/engine/for_each.h"
#include "npzoo/ops/lower_triangle/kernels.h"

namespace npzoo {

template <class T>
void lower_triangle_forward(KernelContext& context, const LowerTriangleForward<T>& p) {
  for_each(context, "lower_triangle", p.batch * p.size, p.size, [p] NPZOO_EACH(std::int64_t row, std::int64_t j) {
    const std::int64_t i = row % p.size, at = row * p.size + j;
    p.out[at] = j > i ? T(0) : j == i && p.diagonal ? p.diagonal[row] : p.x[at];
  });
}

template <class T>
void lower_triangle_backward(KernelContext& context, const LowerTriangleBackward<T>& p) {
  for_each(context, "lower_triangle_backward", p.batch * p.size, p.size,
           [p] NPZOO_EACH(std::int64_t row, std::int64_t j) {
             const std::int64_t i = row % p.size, at = row * p.size + j;
             if (j == i && p.d_diagonal) p.d_diagonal[row] = p.d_out[at];
             if (p.d_x) p.d_x[at] = j < i || (j == i && p.own_diagonal) ? p.d_out[at] : T(0);
           });
}

NPZOO_INSTANTIATE(lower_triangle_forward, LowerTriangleForward);
NPZOO_INSTANTIATE(lower_triangle_backward, LowerTriangleBackward);

}  // namespace npzoo
