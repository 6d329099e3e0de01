#include "npzoo/datasets/kinds/test_function/source.h"

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/sobol.h"
#include "npzoo/engine/random.h"

namespace npzoo {

TestFunctionSource::TestFunctionSource(const TestFunctionTasks& tasks, const SourceOptions& options)
    : tasks_(tasks), options_(options) {
  constexpr std::int64_t kPoints = 4096;
  const auto dims = static_cast<std::size_t>(tasks.dims);
  const std::vector<double> points = sobol_points(tasks.dims, 0, kPoints, 0);
  std::vector<double> values;
  for (std::size_t i = 0; i < points.size(); i += dims) values.push_back(value(std::span(points).subspan(i, dims)));
  double sum = 0, squares = 0;
  for (const double v : values) sum += v;
  const double mean = sum / kPoints;
  for (const double v : values) squares += (v - mean) * (v - mean);
  mean_ = mean;
  std_ = std::sqrt(squares / kPoints);
}

double TestFunctionSource::value(std::span<const double> unit) const {
  std::vector<double> x(unit.begin(), unit.end());
  for (std::size_t d = 0; d < x.size(); ++d) {
    const Interval box = d == 0 ? tasks_.function->first : tasks_.function->others;
    x[d] = box.low + (box.high - box.low) * x[d];
  }
  return (tasks_.function->value(x) - mean_) / std_;
}

Batch TestFunctionSource::batch(std::uint64_t index) const {
  Random random(options_.seed, static_cast<std::uint64_t>(options_.split) << 56 | index);
  const std::int64_t batch = options_.batch_size, dims = tasks_.dims;
  const auto task_of = [&](std::int64_t points, std::int64_t width) {
    return Tensor::empty({batch, points, width}, DType::float64, Device::cpu);
  };
  Tensor xc = task_of(tasks_.initial, dims), yc = task_of(tasks_.initial, 1), xt = task_of(tasks_.candidates, dims),
         yt = task_of(tasks_.candidates, 1);
  const auto fill = [&](std::span<const double> unit, std::int64_t b, Tensor& x, Tensor& y) {
    const std::int64_t points = x.dim(1);
    for (std::int64_t i = 0; i < points; ++i)
      y.data<double>()[b * points + i] =
          value(unit.subspan(static_cast<std::size_t>(i * dims), static_cast<std::size_t>(dims)));
    std::ranges::transform(unit, x.data<double>() + b * points * dims, [this](double u) {
      return tasks_.domain.low + (tasks_.domain.high - tasks_.domain.low) * u;
    });
  };
  constexpr std::int64_t kSeeds = std::int64_t{1} << 62;
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<double> given(static_cast<std::size_t>(tasks_.initial * dims));
    std::ranges::generate(given, [&] { return random.uniform(); });
    fill(given, b, xc, yc);
    fill(sobol_points(dims, 0, tasks_.candidates, static_cast<std::uint64_t>(random.integer(0, kSeeds))), b, xt, yt);
  }
  const Task task{xc.to(options_.dtype), yc.to(options_.dtype), xt.to(options_.dtype), yt.to(options_.dtype)};
  return {task.to(options_.device)};
}

}  // namespace npzoo
