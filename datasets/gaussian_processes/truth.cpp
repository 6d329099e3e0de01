#include "npzoo/datasets/gaussian_processes/truth.h"

#include <cmath>
#include <numeric>

namespace npzoo {

namespace {

/// The leading `count` points of one row of a (B, N, D) tensor of doubles.
Inputs leading(const Tensor& t, std::int64_t row, std::int64_t count) {
  const std::int64_t n = t.dim(1), dims = t.dim(2);
  return {t.values<double>().subspan(row * n * dims, count * dims), dims};
}

}  // namespace

Task in_double(const Task& task) {
  Task result = task;
  for (Tensor Task::*part : {&Task::xc, &Task::yc, &Task::xt, &Task::yt})
    result.*part = (task.*part).to(Device::cpu).to(DType::float64);
  return result;
}

GpRow::GpRow(const Task& task, std::int64_t row) {
  const std::int64_t nc = task.lengths.defined() ? task.lengths.values<std::int64_t>()[row] : task.xc.dim(1);
  const std::int64_t nt = task.xt.dim(1);
  xc = leading(task.xc, row, nc);
  yc = leading(task.yc, row, nc).values;
  xt = leading(task.xt, row, nt);
  yt = leading(task.yt, row, nt).values;
}

GpPosterior GpTruth::posterior(const GpRow& task, std::int64_t row) const {
  return GpPosterior(kernels_[row], task.xc, task.yc, context_noise_);
}

std::optional<std::vector<double>> GpTruth::log_likelihood(const Task& task, Density density) const {
  if (density == Density::joint && target_noise_ == 0) return {};
  const Task exact = in_double(task);
  std::vector<double> tasks;
  for (std::int64_t b = 0; b < exact.xt.dim(0); ++b) {
    const GpRow row(exact, b);
    const GpPosterior known = posterior(row, b);
    if (density == Density::joint) {
      tasks.push_back(known.joint_log_likelihood(row.xt, row.yt, target_noise_));
    } else {
      const std::vector<double> points = known.log_likelihood(row.xt, row.yt, target_noise_);
      tasks.push_back(std::accumulate(points.begin(), points.end(), 0.0));
    }
  }
  return tasks;
}

std::optional<Curve> GpTruth::curve(const Task& task, std::int64_t row, std::span<const double> x) const {
  const Task exact = in_double(task);
  const GpRow given(exact, row);
  auto [mean, variance] = posterior(given, row).marginals({x, given.xc.dims}, target_noise_);
  for (double& v : variance) v = std::sqrt(v);
  return Curve{std::move(mean), std::move(variance)};
}

}  // namespace npzoo
