#include "datasets/gp/oracle.h"

#include <numeric>

namespace npzoo {

namespace {

/// On the CPU.
GpBatch in_double(const GpBatch& batch) {
  GpBatch result = batch;
  for (Tensor Task::*part : {&Task::xc, &Task::yc, &Task::xt, &Task::yt})
    result.task.*part = (batch.task.*part).to(Device::cpu).to(DType::float64);
  return result;
}

/// The leading `count` points of one row of a (B, N, D) tensor of doubles.
Points row_of(const Tensor& t, std::int64_t row, std::int64_t count) {
  const std::int64_t n = t.dim(1), dims = t.dim(2);
  return {t.values<double>().subspan(row * n * dims, count * dims), dims};
}

GpPosterior posterior_in_double(const GpBatch& batch, std::int64_t row) {
  const Task& task = batch.task;
  const std::int64_t nc = task.lengths.defined() ? task.lengths.values<std::int64_t>()[row] : task.xc.dim(1);
  return GpPosterior(batch.kernels[row], row_of(task.xc, row, nc), row_of(task.yc, row, nc).values,
                     batch.context_noise);
}

/// Mean over rows and points of what `score(posterior, xt, yt)` sums up.
template <class Score>
double mean_score(const GpBatch& batch, const Score& score) {
  const GpBatch exact = in_double(batch);
  const Task& task = exact.task;
  const std::int64_t rows = task.xt.dim(0), nt = task.xt.dim(1);
  double sum = 0;
  for (std::int64_t b = 0; b < rows; ++b)
    sum += score(posterior_in_double(exact, b), row_of(task.xt, b, nt), row_of(task.yt, b, nt).values);
  return sum / static_cast<double>(rows * nt);
}

}  // namespace

GpPosterior exact_posterior(const GpBatch& batch, std::int64_t row) {
  return posterior_in_double(in_double(batch), row);
}

double exact_marginal_log_likelihood(const GpBatch& batch) {
  return mean_score(batch, [&](const GpPosterior& posterior, Points xt, std::span<const double> yt) {
    const auto values = posterior.log_likelihood(xt, yt, batch.target_noise);
    return std::accumulate(values.begin(), values.end(), 0.0);
  });
}

double exact_joint_log_likelihood(const GpBatch& batch) {
  return mean_score(batch, [&](const GpPosterior& posterior, Points xt, std::span<const double> yt) {
    return posterior.joint_log_likelihood(xt, yt, batch.target_noise);
  });
}

}  // namespace npzoo
