#include "npzoo/models/taylor/taylor_features.h"

#include <cmath>
#include <vector>

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/local_taylor/local_taylor.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr double kEpsilon = 1e-3, kMomentum = 0.01;  // Keras' of batch normalisation

Tensor zeros_like(const Tensor& x) { return Tensor::zeros(x.shape(), x.dtype(), x.device()); }

Tensor filled(const Tensor& x, double value) {
  return Tensor::full({x.dim(0), x.dim(1), 1}, value, x.dtype(), x.device());
}

}  // namespace

Tensor TaylorInputs::of_x(const Tensor& features) const {
  return slice(features, 2, features.dim(2) - x_width, features.dim(2));
}

TaylorFeatures::TaylorFeatures(const TaylorFeaturesConfig& config) : config_(config) {
  const std::int64_t channels = config.dim_x * config.dim_y;
  gain.value = Tensor::full({channels}, 1);
  bias.value = Tensor::zeros({channels});
  mean = {Tensor::zeros({channels}), false};
  variance = {Tensor::full({channels}, 1), false};
}

std::int64_t TaylorFeatures::x_width() const {
  return config_.dim_x * config_.encoding + (config_.local ? 2 * config_.dim_x * config_.dim_x : 0);
}

std::int64_t TaylorFeatures::xy_width() const {
  return config_.dim_y * (config_.local ? 1 + 4 * config_.dim_x : 1) + 1 + x_width();
}

Tensor TaylorFeatures::encoded(const Tensor& x) const {
  return input_encoding(x, config_.encoding, config_.least, 100 * config_.most / config_.least);
}

TaylorInputs TaylorFeatures::without_neighbours(const TaylorPoints& points, std::int64_t first) const {
  const std::int64_t all = points.x.dim(1), context = std::max<std::int64_t>(points.context - first, 0);
  const Tensor x = slice(points.x, 1, first, all), y = slice(points.y, 1, first, all), of_x = encoded(x);
  const Tensor key = concat({y, filled(x, 0), of_x}, 2), hidden = concat({zeros_like(y), filled(x, 1), of_x}, 2);
  return {concat({slice(key, 1, 0, context), slice(hidden, 1, context, all - first)}, 1), key, y, zeros_like(y),
          x_width()};
}

TaylorInputs TaylorFeatures::operator()(const TaylorPoints& points, std::int64_t first,
                                        const Tensor& statistics) const {
  if (!config_.local) return without_neighbours(points, first);
  const std::int64_t all = points.x.dim(1), context = std::max<std::int64_t>(points.context - first, 0);
  const LocalTaylor near = local_taylor(points.x, points.y, points.context, points.lengths, first, points.noise);
  const std::int64_t channels = near.derivative.dim(2);
  const Tensor centre = statistics.defined() ? reshape(slice(statistics, 0, 0, 1), {channels}) : mean.value,
               spread = statistics.defined() ? reshape(slice(statistics, 0, 1, 2), {channels}) : variance.value;
  const Tensor normal = div(sub(near.derivative, centre), sqrt(affine(spread, 1, kEpsilon))),
               derivative = add(mul(normal, gain.value), bias.value);
  const Tensor x = slice(points.x, 1, first, all), y = slice(points.y, 1, first, all);
  const Tensor of_x = concat({encoded(x), near.x_difference, near.x_near}, 2);
  const Tensor own = concat({y, near.y_difference, derivative, near.kept}, 2);
  const Tensor shared = concat({near.y_near, filled(x, 0), of_x}, 2), key = concat({own, shared}, 2);
  // A target's own channels are hidden from its query, which a flag says.
  const Tensor hidden = concat({zeros_like(own), near.y_near, filled(x, 1), of_x}, 2);
  const Tensor query = concat({slice(key, 1, 0, context), slice(hidden, 1, context, all - first)}, 1);
  const Tensor nearest = slice(near.y_near, 2, 0, config_.dim_y);
  return {query, key, y, config_.order == 0 ? nearest : add(nearest, near.first_order), x_width()};
}

Tensor TaylorFeatures::statistics(std::span<const TaylorPoints> orders, const Tensor& target_lengths) const {
  if (!config_.local) return {};
  std::vector<Tensor> derivatives;
  for (const TaylorPoints& points : orders)
    derivatives.push_back(local_taylor(points.x, points.y, points.context, points.lengths, 0, points.noise)
                              .derivative.to(Device::cpu)
                              .to(DType::float64));
  const TaylorPoints& points = orders.front();
  const std::int64_t rows = points.x.dim(0), all = points.x.dim(1), channels = config_.dim_x * config_.dim_y;
  const auto is_real = [&](std::int64_t row, std::int64_t i) {
    const Tensor& lengths = i < points.context ? points.lengths : target_lengths;
    return !lengths.defined() || i - (i < points.context ? 0 : points.context) < lengths.data<std::int64_t>()[row];
  };
  double count = 0;
  std::vector<double> sum(channels), square(channels);
  const auto for_real = [&](const auto& visit) {
    for (const Tensor& derivative : derivatives)
      for (std::int64_t i = 0; i < rows * all; ++i)
        if (is_real(i / all, i % all)) visit(derivative.data<double>() + i * channels);
  };
  for_real([&](const double* d) {
    ++count;
    for (std::int64_t c = 0; c < channels; ++c) sum[c] += d[c];
  });
  for (double& s : sum) s /= std::max(count, 1.0);
  for_real([&](const double* d) {
    for (std::int64_t c = 0; c < channels; ++c) square[c] += (d[c] - sum[c]) * (d[c] - sum[c]);
  });
  Tensor both = Tensor::empty({2, channels}, DType::float64, Device::cpu);
  for (std::int64_t c = 0; c < channels; ++c) {
    both.data<double>()[c] = sum[c];
    both.data<double>()[channels + c] = square[c] / std::max(count, 1.0);
  }
  return both.to(points.x.dtype()).to(points.x.device());
}

void TaylorFeatures::keep(const Tensor& statistics) {
  const auto towards = [](const Tensor& old, const Tensor& batch) {
    return add(affine(old, 1 - kMomentum, 0), affine(reshape(batch, old.shape()), kMomentum, 0));
  };
  mean.value = towards(mean.value, slice(statistics, 0, 0, 1));
  variance.value = towards(variance.value, slice(statistics, 0, 1, 2));
}

Tensor TaylorFeatures::draw_noise(std::int64_t batch, std::int64_t points, const Tensor& like, Draws& draws) const {
  if (!config_.local || config_.dim_x == 1 || config_.neighbour_noise == 0) return {};
  std::vector<Tensor> of_neighbours;
  for (std::int64_t n = 0; n < config_.dim_x; ++n)
    of_neighbours.push_back(reshape(draws.normal(1, batch, {points, config_.dim_x}, like.dtype(), like.device()),
                                    {batch, points, config_.dim_x}));
  return affine(concat(of_neighbours, 2), config_.neighbour_noise, 0);
}

void TaylorFeatures::visit(ModuleVisitor& visitor) {
  if (!config_.local) return;
  visitor("gain", gain);
  visitor("bias", bias);
  visitor("mean", mean);
  visitor("variance", variance);
}

}  // namespace npzoo
