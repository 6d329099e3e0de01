#include "npzoo/ops/matmul/matmul.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/gemm.h"
#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/tape.h"

namespace npzoo {

namespace {

/// One side of the product: rows × columns as multiplied, and where each element stands.
struct Operand {
  std::int64_t rows, columns, row_stride, column_stride, batch_stride;
};

Operand operand(const Tensor& x, Transpose transpose) {
  const std::int64_t r = x.dim(-2), c = x.dim(-1), batch = x.rank() > 2 ? r * c : 0;
  return transpose == Transpose::no ? Operand{r, c, c, 1, batch} : Operand{c, r, 1, c, batch};
}

Transpose flip(Transpose t) { return t == Transpose::no ? Transpose::yes : Transpose::no; }

Tensor product(const Tensor& a, const Tensor& b, Transpose transpose_a, Transpose transpose_b) {
  check(a.rank() >= 2 && b.rank() >= 2, "[matmul] a {} and b {} must be matrices or batches of them", a.shape(),
        b.shape());
  check(a.dtype() == b.dtype(), "[matmul] a is {}, b {}", to_string(a.dtype()), to_string(b.dtype()));
  const Operand left = operand(a, transpose_a), right = operand(b, transpose_b);
  check(left.columns == right.rows, "[matmul] a {} and b {} disagree in the inner extent: {} and {}", a.shape(),
        b.shape(), left.columns, right.rows);
  const Shape& batched = a.rank() >= b.rank() ? a.shape() : b.shape();
  if (a.rank() > 2 && b.rank() > 2)
    check(a.shape().with(-1, 1).with(-2, 1) == b.shape().with(-1, 1).with(-2, 1),
          "[matmul] the batches of a {} and b {} differ", a.shape(), b.shape());
  Tensor out = Tensor::empty(batched.with(-2, left.rows).with(-1, right.columns), a.dtype(), a.device());
  if (out.numel() == 0) return out;
  count_flops(2 * out.numel() * left.columns);
  run("matmul", a, [&]<class T>(const Backend& device) {
    batched_gemm<T>(device, {.batch = out.numel() / (left.rows * right.columns),
                             .a_step = left.batch_stride,
                             .b_step = right.batch_stride,
                             .c_step = left.rows * right.columns,
                             .one = {.m = left.rows,
                                     .n = right.columns,
                                     .k = left.columns,
                                     .a = a.data<T>(),
                                     .a_row = left.row_stride,
                                     .a_col = left.column_stride,
                                     .b = b.data<T>(),
                                     .b_row = right.row_stride,
                                     .b_col = right.column_stride,
                                     .c = out.data<T>(),
                                     .c_row = right.columns}});
  });
  return out;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, Transpose transpose_a, Transpose transpose_b) {
  Tensor out = product(a, b, transpose_a, transpose_b);
  record("matmul", out, {a, b}, [a, b, transpose_a, transpose_b](const Tensor& d_out, Grads& grads) {
    // A contribution to an argument that served the whole batch is summed over the batch by Grads::add.
    if (grads.wants(a))
      grads.add(a, transpose_a == Transpose::no ? product(d_out, b, Transpose::no, flip(transpose_b))
                                                : product(b, d_out, transpose_b, Transpose::yes));
    if (grads.wants(b))
      grads.add(b, transpose_b == Transpose::no ? product(a, d_out, flip(transpose_a), Transpose::no)
                                                : product(d_out, a, Transpose::yes, transpose_a));
  });
  return out;
}

}  // namespace npzoo
