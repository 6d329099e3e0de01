#include "npzoo/ops/joint_log_density/joint_log_density.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/joint_log_density/kernels.h"
#include "npzoo/ops/mask_points/lengths.h"

namespace npzoo {

namespace {

/// `other` is what belongs to error, (B, `rows` = M, …).
void check_part(const char* op, const char* name, const Tensor& error, const Tensor& other, const Shape& expected) {
  check(other.shape() == expected, "[{}] {} {} does not fit error {}, expected {}", op, name, other.shape(),
        error.shape(), expected);
  check(other.dtype() == error.dtype(), "[{}] error is {}, {} {}", op, to_string(error.dtype()), name,
        to_string(other.dtype()));
}

void check_error(const char* op, const Tensor& error, const Tensor& lengths) {
  check(error.rank() == 3, "[{}] error is {}, expected (B, N, D)", op, error.shape());
  if (lengths.defined()) check_lengths(op, error, lengths);
}

std::int64_t values_of(const Tensor& error) { return error.dim(1) * error.dim(2); }

/// `lengths` are where the error is.
template <class T>
JointValues<T> joint_values(const Tensor& error, const Tensor& lengths) {
  return {error.dim(0), values_of(error), error.dim(2), lengths.data<std::int64_t>(), error.data<T>()};
}

Tensor lengths_there(const Tensor& lengths, const Tensor& error) {
  return lengths.defined() ? lengths.to(error.device()) : lengths;
}

Tensor work_for(const Tensor& error, std::int64_t of_a_task) {
  return Tensor::empty({error.dim(0), of_a_task}, DType::float64, error.device());
}

Tensor wanted(const Tensor& x, const Grads& grads) { return grads.wants(x) ? Tensor::empty_like(x) : Tensor(); }

}  // namespace

Tensor cholesky_log_density(const Tensor& error, const Tensor& factor, const Tensor& lengths) {
  constexpr const char* kOp = "cholesky_log_density";
  check_error(kOp, error, lengths);
  const std::int64_t values = values_of(error);
  check_part(kOp, "factor", error, factor, {error.dim(0), values, values});
  Tensor out = Tensor::empty({error.dim(0)}, error.dtype(), error.device()), work = work_for(error, values);
  const Tensor there = lengths_there(lengths, error);
  run(kOp, error, [&]<class T>(const Backend& device) {
    cholesky_density_forward<T>(device,
                                {joint_values<T>(error, there), factor.data<T>(), out.data<T>(), work.data<double>()});
  });
  record("cholesky_log_density", out, {error, factor}, [error, factor, there](const Tensor& d_out, Grads& grads) {
    Tensor d_error = wanted(error, grads), d_factor = wanted(factor, grads),
           own = work_for(error, 2 * values_of(error));
    run(kOp, error, [&]<class T>(const Backend& device) {
      cholesky_density_backward<T>(device, {joint_values<T>(error, there), factor.data<T>(), d_out.data<T>(),
                                            d_error.data<T>(), d_factor.data<T>(), own.data<double>()});
    });
    grads.add(error, std::move(d_error));
    grads.add(factor, std::move(d_factor));
  });
  return out;
}

Tensor low_rank_log_density(const Tensor& error, const Tensor& factor, const Tensor& diagonal, const Tensor& lengths) {
  constexpr const char* kOp = "low_rank_log_density";
  check_error(kOp, error, lengths);
  check(factor.rank() == 3, "[{}] factor is {}, expected (B, M, R)", kOp, factor.shape());
  const std::int64_t values = values_of(error), rank = factor.dim(2);
  check_part(kOp, "factor", error, factor, {error.dim(0), values, rank});
  check_part(kOp, "diagonal", error, diagonal, {error.dim(0), values});
  Tensor out = Tensor::empty({error.dim(0)}, error.dtype(), error.device()),
         work = work_for(error, values + rank + rank * rank);
  const Tensor there = lengths_there(lengths, error);
  run(kOp, error, [&]<class T>(const Backend& device) {
    low_rank_density_forward<T>(device, {joint_values<T>(error, there), rank, factor.data<T>(), diagonal.data<T>(),
                                         out.data<T>(), work.data<double>()});
  });
  const auto backward = [error, factor, diagonal, there](const Tensor& d_out, Grads& grads) {
    Tensor d_error = wanted(error, grads), d_factor = wanted(factor, grads), d_diagonal = wanted(diagonal, grads);
    const std::int64_t columns = factor.dim(2);
    Tensor own = work_for(error, values_of(error) + columns + 2 * columns * columns);
    run(kOp, error, [&]<class T>(const Backend& device) {
      low_rank_density_backward<T>(
          device, {joint_values<T>(error, there), columns, factor.data<T>(), diagonal.data<T>(), d_out.data<T>(),
                   d_error.data<T>(), d_factor.data<T>(), d_diagonal.data<T>(), own.data<double>()});
    });
    grads.add(error, std::move(d_error));
    grads.add(factor, std::move(d_factor));
    grads.add(diagonal, std::move(d_diagonal));
  };
  record("low_rank_log_density", out, {error, factor, diagonal}, backward);
  return out;
}

}  // namespace npzoo
