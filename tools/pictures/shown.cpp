#include "tools/pictures/shown.h"

#include <algorithm>

#include "npzoo/engine/tape.h"

namespace npzoo::tools {

namespace {

std::vector<double> leading(const Tensor& x, std::int64_t row, std::int64_t count) {
  const auto values = x.values<float>().subspan(static_cast<std::size_t>(row * x.dim(1) * x.dim(2)),
                                                static_cast<std::size_t>(count * x.dim(2)));
  return {values.begin(), values.end()};
}

/// The first `count` of functions (K, 1, n, Dy).
std::vector<std::vector<double>> first_functions(const Tensor& functions, std::int64_t count) {
  const Tensor here = functions.to(Device::cpu).to(DType::float64);
  const auto values = static_cast<std::size_t>(here.dim(2) * here.dim(3));
  std::vector<std::vector<double>> first;
  for (std::int64_t k = 0; k < std::min(count, here.dim(0)); ++k) {
    const auto function = here.values<double>().subspan(static_cast<std::size_t>(k) * values, values);
    first.emplace_back(function.begin(), function.end());
  }
  return first;
}

}  // namespace

TaskRow row_of(const Task& task, std::int64_t row) {
  const std::int64_t nc = task.lengths.defined() ? task.lengths.values<std::int64_t>()[row] : task.xc.dim(1);
  return {leading(task.xc, row, nc), leading(task.yc, row, nc), leading(task.xt, row, task.xt.dim(1)),
          leading(task.yt, row, task.yt.dim(1))};
}

Tensor one_task(std::span<const double> values, std::int64_t width) {
  const auto points = std::ssize(values) / width;
  return Tensor::from<double>({1, points, width}, values).to(DType::float32);
}

Said predict(const Shown& shown, const TaskRow& row, const std::vector<double>& x, Draws draws,
             std::int64_t functions) {
  NoGrad off;
  const Model& model = *shown.model;
  const std::int64_t dim_x = model.dim_x();
  const auto state = model.condition({one_task(row.xc, dim_x), one_task(row.yc, model.dim_y())}, draws, kSamples);
  const auto prediction = model.query(*state, one_task(x, dim_x));
  const Moments p = moments(*prediction);
  const auto mean = p.mean.values<double>(), std = p.std.values<double>();
  Said said{{{mean.begin(), mean.end()}, {std.begin(), std.end()}}, {}};
  if (functions > 0 && shown.density != Density::marginal)
    said.functions = first_functions(
        shown.jointly() ? prediction->sample(functions, draws) : prediction->marginals().mean, functions);
  return said;
}

}  // namespace npzoo::tools
