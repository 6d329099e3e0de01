#include "npzoo/datasets/kinds/synthetic/truth.h"

#include <cmath>
#include <numeric>

namespace npzoo {

namespace {

std::vector<double> in_process(const KnownTask& task, std::span<const double> y) {
  std::vector<double> values(y.begin(), y.end());
  for (double& v : values) v = (task.shift + task.std * v) / task.scale;
  return values;
}

GpPosterior posterior(const KnownTask& known, const GpRow& row) {
  return {known.process, row.xc, in_process(known, row.yc), known.process->noise()};
}

}  // namespace

std::optional<std::vector<double>> SyntheticTruth::log_likelihood(const Task& task, Density density) const {
  const Task exact = in_double(task);
  std::vector<double> sums;
  for (std::int64_t b = 0; b < exact.xt.dim(0); ++b) {
    const GpRow row(exact, b);
    const KnownTask& known = tasks_[b];
    const GpPosterior given = posterior(known, row);
    const std::vector<double> yt = in_process(known, row.yt);
    const double noise = known.process->noise();
    double sum = static_cast<double>(yt.size()) * std::log(known.std / known.scale);
    if (density == Density::joint) {
      sum += given.joint_log_likelihood(row.xt, yt, noise);
    } else {
      const std::vector<double> points = given.log_likelihood(row.xt, yt, noise);
      sum += std::accumulate(points.begin(), points.end(), 0.0);
    }
    sums.push_back(sum);
  }
  return sums;
}

std::optional<Curve> SyntheticTruth::curve(const Task& task, std::int64_t row, std::span<const double> x) const {
  const Task exact = in_double(task);
  const GpRow given(exact, row);
  const KnownTask& known = tasks_[row];
  auto [mean, variance] = posterior(known, given).marginals({x, given.xc.dims}, known.process->noise());
  for (double& m : mean) m = (known.scale * m - known.shift) / known.std;
  for (double& v : variance) v = known.scale * std::sqrt(v) / known.std;
  return Curve{std::move(mean), std::move(variance)};
}

}  // namespace npzoo
