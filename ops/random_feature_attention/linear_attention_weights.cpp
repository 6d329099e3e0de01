#include "npzoo/ops/random_feature_attention/linear_attention_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "npzoo/ops/random_feature_attention/kernels.h"

namespace npzoo {

namespace {

/// A head of some points, in double.
struct HeadPoints {
  const double* first;  // channels of the first point
  std::int64_t count, stride;
};

/// w·x − ‖x‖²/2 of each point and feature, x = √scale · point.
std::vector<double> feature_exponents(const HeadPoints& points, const Tensor& projection, double scale) {
  const std::int64_t features = projection.dim(0), width = projection.dim(1);
  const double* const directions = projection.data<double>();
  const double root = std::sqrt(scale);
  std::vector<double> exponents;
  exponents.reserve(static_cast<std::size_t>(points.count * features));
  for (std::int64_t i = 0; i < points.count; ++i) {
    const double* const x = points.first + i * points.stride;
    const double square = std::inner_product(x, x + width, x, 0.0);
    for (std::int64_t f = 0; f < features; ++f)
      exponents.push_back(root * std::inner_product(x, x + width, directions + f * width, 0.0) - scale * square / 2);
  }
  return exponents;
}

/// exp(exponent − shift) / √features
void to_features(std::span<double> exponents, double shift, std::int64_t features) {
  const double normaliser = 1 / std::sqrt(static_cast<double>(features));
  for (double& value : exponents) value = normaliser * std::exp(value - shift);
}

/// Weights of the visible keys for one query, from the features of all of them.
void weigh_keys(std::span<const double> query, std::span<const double> keys, double* weights) {
  const std::size_t features = query.size();
  double sum = 0;
  for (std::size_t j = 0; j * features < keys.size(); ++j)
    sum += weights[j] =
        std::inner_product(query.begin(), query.end(), keys.begin() + std::ptrdiff_t(j * features), 0.0);
  for (std::size_t j = 0; j * features < keys.size(); ++j) weights[j] /= std::max(sum, kSmallestDenominator<double>);
}

}  // namespace

Tensor linear_attention_weights(const Tensor& q, const Tensor& k, const Tensor& projection, const PrefixMask& mask,
                                const RandomFeatureOptions& options) {
  check(q.rank() == 3 && k.rank() == 3 && q.dim(0) == k.dim(0) && q.dim(2) == k.dim(2) &&
            q.dim(2) == options.heads * projection.dim(1),
        "[linear_attention_weights] q {}, k {} and projection {} do not fit together with {} heads", q.shape(),
        k.shape(), projection.shape(), options.heads);
  const auto host = [](const Tensor& x) { return x.detach().to(Device::cpu).to(DType::float64); };
  const Tensor queries = host(q), keys = host(k), directions = host(projection);
  const std::int64_t batch = q.dim(0), heads = options.heads, width = projection.dim(1), row = q.dim(2);
  const std::int64_t features = projection.dim(0), nq = q.dim(1), nk = k.dim(1);
  const double scale =
      options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(width, 1)));
  const bool shifted = options.stabiliser == Stabiliser::maximum;
  Tensor weights = Tensor::zeros({batch, heads, nq, nk}, DType::float64, Device::cpu);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t seen = mask.visible(b, 0, nk);
      if (seen == 0) continue;
      auto of_keys = feature_exponents({keys.data<double>() + b * nk * row + h * width, seen, row}, directions, scale);
      to_features(of_keys, shifted ? std::ranges::max(of_keys) : 0, features);
      auto of_queries =
          feature_exponents({queries.data<double>() + b * nq * row + h * width, nq, row}, directions, scale);
      for (std::int64_t i = 0; i < nq; ++i) {
        const std::span query(of_queries.data() + i * features, static_cast<std::size_t>(features));
        to_features(query, shifted ? std::ranges::max(query) : 0, features);
        weigh_keys(query, of_keys, weights.data<double>() + ((b * heads + h) * nq + i) * nk);
      }
    }
  return weights;
}

}  // namespace npzoo
