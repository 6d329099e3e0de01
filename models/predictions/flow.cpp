#include "npzoo/models/predictions/flow.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/scores.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr std::int64_t kRowsAtATime = 4096;  // probes · tasks · targets of one backward pass

/// Rows (n · B, Nt, Dy) as samples (n, B, Nt, Dy), float64 on the CPU.
Tensor as_samples(const Tensor& rows, const Tensor& like) {
  const std::int64_t batch = like.dim(0);
  return on_host(rows).view({rows.dim(0) / std::max<std::int64_t>(batch, 1), batch, like.dim(1), like.dim(2)});
}

/// y (B, Nt, Dy) once for each of `count` samples: (count · B, Nt, Dy).
Tensor repeated(const Tensor& y, std::int64_t count) {
  if (count == 1) return y;
  const Shape& s = y.shape();
  return reshape(broadcast_to(y, {count, s[0], s[1], s[2]}), {count * s[0], s[1], s[2]});
}

/// All unit vectors of a task's values: (Nt · Dy, B, Nt, Dy).
Tensor unit_vectors(const Tensor& like) {
  const std::int64_t batch = like.dim(0), values = like.dim(1) * like.dim(2);
  Tensor all = Tensor::zeros({values, batch, like.dim(1), like.dim(2)}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < values; ++i)
    for (std::int64_t b = 0; b < batch; ++b) all.data<double>()[(i * batch + b) * values + i] = 1;
  return all;
}

/// The log-density of one target's numbers at time 0; targets are the rows of `source` (B, Nt, Dy).
double source_density(const Tensor& source, std::int64_t row) {
  const std::int64_t channels = source.dim(2);
  double sum = 0;
  for (std::int64_t c = 0; c < channels; ++c)
    sum += log_normal_density(source.data<double>()[row * channels + c], 0, 1);
  return sum;
}

}  // namespace

Flow::Flow(const Tensor& like, const Draws& draws, const FlowOptions& options)
    : like_(like), draws_(draws), options_(options) {
  check(like.rank() == 3 && options.steps >= 1 && options.samples >= 1 && options.probes >= 1,
        "[prediction] a flow of {} with {} steps, {} samples and {} probes found, expected (B, Nt, Dy) and 1 or more",
        like.shape(), options.steps, options.samples, options.probes);
}

Tensor Flow::follow(const Tensor& source, Rule rule) const {
  const double h = 1 / static_cast<double>(options_.steps);
  Tensor y = source;
  for (std::int64_t k = 0; k < options_.steps; ++k) {
    throw_if_stopped();
    const double t = static_cast<double>(k) * h;
    Tensor v = velocity(y, t);
    if (rule == Rule::midpoint) v = velocity(add(y, affine(v, h / 2, 0)), t + h / 2);
    y = add(y, affine(v, h, 0));
  }
  return y;
}

Tensor Flow::draw(std::int64_t n, Draws& draws) const {
  const Tensor source = draws.normal(n, like_.dim(0), {like_.dim(1), like_.dim(2)}, like_.dtype(), like_.device());
  return follow(source.view({n * like_.dim(0), like_.dim(1), like_.dim(2)}), Rule::euler);
}

Tensor Flow::sample(std::int64_t n, Draws& draws) const {
  const NoGrad off;
  return as_samples(draw(n, draws), like_);
}

Marginals Flow::marginals() const {
  Draws draws = draws_;
  const Tensor drawn = sample(options_.samples, draws);
  const std::int64_t count = options_.samples, each = drawn.numel() / count;
  Tensor mean = drawn.clone(), std = Tensor::empty_like(drawn);
  // A kernel estimate whose centres are drawn together, so that it has the deviation of the samples (West, 1993).
  constexpr double kLeast = 1e-3;  // of the deviation, as the authors' code has it for single samples
  const double width = std::min(1.0, 1.06 * std::pow(static_cast<double>(count), -0.2));
  for (std::int64_t i = 0; i < each; ++i) {
    double sum = 0, squares = 0;
    for (std::int64_t k = 0; k < count; ++k) sum += drawn.data<double>()[k * each + i];
    const double centre = sum / static_cast<double>(count);
    for (std::int64_t k = 0; k < count; ++k) squares += std::pow(drawn.data<double>()[k * each + i] - centre, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(count - 1, 1)));
    for (std::int64_t k = 0; k < count; ++k) {
      double& at = mean.data<double>()[k * each + i];
      at = centre + std::sqrt(1 - width * width) * (at - centre);
      std.data<double>()[k * each + i] = std::max(width * deviation, kLeast);
    }
  }
  const auto back = [&](const Tensor& x) { return x.to(like_.dtype()).to(like_.device()); };
  return {back(mean), back(std)};
}

/// z'Jz of each probe z (P, B, Nt, Dy), split by targets: (P, B, Nt).
Tensor Flow::divergences(const Tensor& y, double time, const Tensor& probes) const {
  const std::int64_t count = probes.dim(0), batch = like_.dim(0), targets = like_.dim(1), channels = like_.dim(2);
  const std::int64_t step = std::max<std::int64_t>(kRowsAtATime / std::max<std::int64_t>(batch * targets, 1), 1);
  Tensor out = Tensor::empty({count, batch, targets}, DType::float64, Device::cpu);
  for (std::int64_t first = 0; first < count; first += step) {
    throw_if_stopped();
    const std::int64_t n = std::min(step, count - first);
    const Tensor z = slice(probes, 0, first, first + n);
    const Tensor cotangent = z.view({n * batch, targets, channels}).to(like_.dtype()).to(like_.device());
    Tensor at = repeated(y, n).clone();
    Tape tape;
    tape.watch(at);
    Tensor v;
    {
      const Recording on(tape);
      v = velocity(at, time);
    }
    const Tensor products = on_host(tape.backward(v, cotangent).of(at));  // J'z
    for (std::int64_t row = 0; row < n * batch * targets; ++row) {
      double sum = 0;
      for (std::int64_t c = 0; c < channels; ++c)
        sum += z.data<double>()[row * channels + c] * products.data<double>()[row * channels + c];
      out.data<double>()[first * batch * targets + row] = sum;
    }
  }
  return out;
}

Flow::Density Flow::density(const Tensor& y, const Tensor& probes) const {
  const NoGrad off;
  const Tensor signs = on_host(probes);
  const double h = 1 / static_cast<double>(options_.steps);
  Tensor at = y.to(like_.dtype()).to(like_.device());
  Tensor integral = Tensor::zeros({signs.dim(0), like_.dim(0), like_.dim(1)}, DType::float64, Device::cpu);
  for (std::int64_t k = options_.steps; k > 0; --k) {
    throw_if_stopped();
    const double t = static_cast<double>(k) * h;
    const Tensor middle = sub(at, affine(velocity(at, t), h / 2, 0));
    const Tensor slopes = divergences(middle, t - h / 2, signs);
    for (std::int64_t i = 0; i < integral.numel(); ++i) integral.data<double>()[i] += h * slopes.data<double>()[i];
    at = sub(at, affine(velocity(middle, t - h / 2), h, 0));
  }
  const Tensor source = on_host(at);
  const std::int64_t rows = like_.dim(0) * like_.dim(1);
  for (std::int64_t i = 0; i < integral.numel(); ++i) {
    double& density = integral.data<double>()[i];
    density = source_density(source, i % rows) - density;
  }
  return {integral, source};
}

Flow::Density Flow::exact_density(const Tensor& y) const {
  // The sum of the unit vectors' products is the trace: each of them has the normal density once too often.
  const Density each = density(y, unit_vectors(like_));
  const std::int64_t count = each.of_targets.dim(0), rows = like_.dim(0) * like_.dim(1);
  Tensor all = Tensor::zeros({1, like_.dim(0), like_.dim(1)}, DType::float64, Device::cpu);
  for (std::int64_t row = 0; row < rows; ++row) {
    const double normal = source_density(each.source, row);
    for (std::int64_t i = 0; i < count; ++i)
      all.data<double>()[row] += each.of_targets.data<double>()[i * rows + row] - normal;
    all.data<double>()[row] += normal;
  }
  return {all, each.source};
}

Tensor Flow::joint_log_likelihood(const Tensor& y) const {
  check(y.shape() == like_.shape(), "[prediction] y {} found, expected {}", y.shape(), like_.shape());
  Density found;
  if (exact()) {
    found = exact_density(y);
  } else {
    Draws draws = draws_;
    Tensor signs =
        on_host(draws.normal(options_.probes, like_.dim(0), {like_.dim(1), like_.dim(2)}, DType::float64, Device::cpu));
    for (double& z : signs.values<double>()) z = z < 0 ? 1 : -1;
    found = density(y, signs);
  }
  const std::int64_t count = found.of_targets.dim(0), batch = like_.dim(0), targets = like_.dim(1);
  Tensor joint = Tensor::zeros({batch}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < found.of_targets.numel(); ++i)
    joint.data<double>()[i / std::max<std::int64_t>(targets, 1) % batch] +=
        found.of_targets.data<double>()[i] / static_cast<double>(count);
  return joint;
}

DensityForms Flow::forms() const {
  const std::string trace = exact() ? "exact divergence" : fmt::format("{} probes of the divergence", options_.probes);
  return {fmt::format("{} samples, smoothed", options_.samples), fmt::format("{} steps, {}", options_.steps, trace),
          true};
}

}  // namespace npzoo
