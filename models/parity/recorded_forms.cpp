#include "npzoo/models/parity/recorded_forms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "npzoo/datasets/gaussian_processes/cholesky.h"
#include "npzoo/engine/error.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

double largest_value(const Tensor& x) {
  double top = 0;
  for (double value : x.values<double>()) top = std::max(top, std::abs(value));
  return top;
}

double difference(const Tensor& ours, const Tensor& theirs) {
  check(ours.numel() == theirs.numel(), "[parity] {} values computed, {} recorded", ours.shape(), theirs.shape());
  const Tensor a = ours.to(Device::cpu).to(DType::float64), b = theirs.to(DType::float64);
  const auto found = a.values<double>(), expected = b.values<double>();
  double top = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double d = std::abs(found[i] - expected[i]);
    top = d <= top ? top : std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
  }
  return top;
}

Tensor in_double(const Tensor& x) { return x.to(Device::cpu).to(DType::float64); }

double mean_of(const Tensor& x) {
  const Tensor values = in_double(x);
  double sum = 0;
  for (const double value : values.values<double>()) sum += value;
  return sum / static_cast<double>(values.numel());
}

Tensor scalar(double value) { return Tensor::full({}, value, DType::float64); }

OptimiserConfig optimiser_of(const RecordedAdam& recorded) {
  OptimiserConfig config{.kind = optimiser_kind(recorded.name),
                         .lr = recorded.lr,
                         .beta1 = 0.9,
                         .beta2 = 0.999,
                         .epsilon = recorded.epsilon};
  config.weight_decay = recorded.weight_decay;
  return config;
}

double mean_by_channel(const Prediction& p, const Task& task) {
  const Marginals m = p.marginals();
  const std::int64_t batch = task.yt.dim(0), channels = task.yt.dim(2), values = task.yt.dim(1) * channels;
  const Shape each_alone{m.mean.dim(0), batch, values, 1};
  const Marginals alone{reshape(m.mean, each_alone), reshape(m.std, each_alone)};
  const Tensor each = log_likelihood(alone, reshape(task.yt, {batch, values, 1}));  // (B, Nt · Dy)
  const Tensor weights = in_double(task.target_weights);                            // (B, Nt)
  double sum = 0, count = 0;
  for (std::int64_t i = 0; i < each.numel(); ++i) {
    const double weight = weights.data<double>()[i / channels];
    sum += weight * each.data<double>()[i];
    count += weight;
  }
  return sum / count;
}

Tensor as_recorded(const Tensor& ours, const Shape& theirs) {
  const std::int64_t count = ours.dim(0), batch = ours.dim(1), row = ours.numel() / (count * batch);
  if (count == 1) return theirs == Shape{batch, row} ? in_double(ours).view(theirs) : ours;
  if (theirs != Shape{count * batch, ours.dim(2), ours.dim(3)}) return ours;
  const Tensor from = in_double(ours);
  Tensor out = Tensor::empty(theirs, DType::float64, Device::cpu);
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t b = 0; b < batch; ++b)
      std::copy_n(from.data<double>() + (k * batch + b) * row, row, out.data<double>() + (b * count + k) * row);
  return out;
}

Tensor ascending(const Tensor& rows) {
  const Tensor from = in_double(rows);
  const std::int64_t count = rows.dim(0), n = rows.dim(1);
  Tensor out = Tensor::empty({count, n}, DType::int64, Device::cpu);
  for (std::int64_t k = 0; k < count; ++k) {
    const auto order = out.values<std::int64_t>().subspan(static_cast<std::size_t>(k * n), static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return from.data<double>()[k * n + i]; });
  }
  return out;
}

Tensor deviation(const Tensor& samples) {
  const std::int64_t count = samples.dim(0), each = samples.numel() / count;
  Tensor out = Tensor::empty({samples.dim(1), samples.dim(2), samples.dim(3)}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < each; ++i) {
    double mean = 0, squares = 0;
    for (std::int64_t k = 0; k < count; ++k) mean += samples.data<double>()[k * each + i] / static_cast<double>(count);
    for (std::int64_t k = 0; k < count; ++k) squares += std::pow(samples.data<double>()[k * each + i] - mean, 2);
    out.data<double>()[i] = std::sqrt(squares / static_cast<double>(count - 1));
  }
  return out;
}

Tensor covariance(const JointGaussian& joint) {
  const Tensor factors = in_double(joint.factor());
  const std::int64_t batch = factors.dim(0), m = factors.dim(1), rank = factors.dim(2);
  Tensor all = Tensor::zeros({batch, m, m}, DType::float64, Device::cpu);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < m; ++j) {
        double& value = all.data<double>()[(b * m + i) * m + j];
        for (std::int64_t r = 0; r < rank; ++r)
          value += factors.data<double>()[(b * m + i) * rank + r] * factors.data<double>()[(b * m + j) * rank + r];
        if (i == j && joint.diagonal().defined()) value += in_double(joint.diagonal()).data<double>()[b * m + i];
      }
  return all;
}

Tensor scale_tril(const JointGaussian& joint) {
  if (!joint.diagonal().defined()) return in_double(joint.factor());
  Tensor factors = covariance(joint);
  const std::int64_t m = factors.dim(1);
  for (std::int64_t b = 0; b < factors.dim(0); ++b) {
    const std::span<double> matrix = factors.values<double>().subspan(b * m * m, m * m);
    const Cholesky cholesky(std::vector<double>(matrix.begin(), matrix.end()), m);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < m; ++j) matrix[i * m + j] = j <= i ? cholesky(i, j) : 0;
  }
  return factors;
}

Tensor without_padding(const Tensor& x, const Tensor& weights) {
  Tensor real = in_double(x).clone();
  if (!weights.defined() || x.rank() < 2 || x.dim(0) != weights.dim(0) || x.dim(1) != weights.dim(1)) return real;
  const Tensor counted = in_double(weights);
  const std::int64_t each = x.numel() / std::max<std::int64_t>(1, weights.numel());
  for (std::int64_t i = 0; i < weights.numel(); ++i)
    if (counted.data<double>()[i] == 0) std::fill_n(real.data<double>() + i * each, each, 0.0);
  return real;
}

Tensor in_order(const Tensor& samples, const Tensor& order) {
  const std::int64_t count = samples.dim(0), batch = samples.dim(1), targets = samples.dim(2), width = samples.dim(3);
  check(order.dtype() == DType::int64 && order.shape() == Shape{count, targets},
        "[parity] an order {} {} found, expected int64 {}", to_string(order.dtype()), order.shape(),
        Shape{count, targets});
  for (std::int64_t k = 0; k < count; ++k) {
    std::vector<bool> seen(static_cast<std::size_t>(targets));
    for (std::int64_t t = 0; t < targets; ++t) {
      const std::int64_t at = order.data<std::int64_t>()[k * targets + t];
      check(0 <= at && at < targets && !seen[static_cast<std::size_t>(at)],
            "[parity] row {} of an order holds {}, expected 0 to {} once each", k, at, targets - 1);
      seen[static_cast<std::size_t>(at)] = true;
    }
  }
  Tensor out = Tensor::empty_like(samples);
  for (std::int64_t row = 0; row < count * batch; ++row)
    for (std::int64_t t = 0; t < targets; ++t)
      std::copy_n(
          samples.data<double>() + (row * targets + order.data<std::int64_t>()[row / batch * targets + t]) * width,
          width, out.data<double>() + (row * targets + t) * width);
  return out;
}

Tensor split_into_heads(const Tensor& x, std::int64_t heads) {
  const Tensor from = in_double(x.detach());
  const std::int64_t batch = x.dim(0), points = x.dim(1), width = x.dim(2) / heads;
  Tensor out = Tensor::empty({batch, heads, points, width}, DType::float64, Device::cpu);
  double* to = out.data<double>();
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < points; ++i, to += width)
        std::copy_n(from.data<double>() + ((b * points + i) * heads + h) * width, width, to);
  return out;
}

double norm_of(const Grads& grads, std::span<const NamedParameter> parameters) {
  double squares = 0;
  for (const NamedParameter& p : parameters) {
    const Tensor gradient = in_double(grads.of(p.parameter->value));
    for (const double each : gradient.values<double>()) squares += each * each;
  }
  return std::sqrt(squares);
}

}  // namespace npzoo
