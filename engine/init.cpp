#include "npzoo/engine/init.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace npzoo {

namespace {

double inverse_sqrt(std::int64_t n) { return 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(n, 1))); }

}  // namespace

/// `draw` gives one element.
template <class Draw>
Tensor Initializer::make(const Shape& shape, Draw draw) {
  for (std::int64_t extent : shape)
    check(extent <= elements_left_, "[init] a weight of shape {} exceeds the {} elements allowed", shape,
          elements_left_);
  check(shape.numel() <= elements_left_, "[init] a weight of shape {} exceeds the {} elements allowed", shape,
        elements_left_);
  elements_left_ -= shape.numel();
  if (!drawn_) return Tensor::empty(shape);
  Tensor result = Tensor::empty(shape, DType::float32, Device::cpu);
  for (float& x : result.values<float>()) x = static_cast<float>(draw());
  return result.to(default_device());
}

RandomState Initializer::new_stream(std::int64_t elements) {
  check(elements <= elements_left_, "[init] {} random features exceed the {} elements allowed", elements,
        elements_left_);
  elements_left_ -= elements;
  return {random_.state().seed, kStream + ++streams_, 0};
}

Tensor Initializer::uniform(const Shape& shape, double bound) {
  return make(shape, [&] { return random_.uniform(-bound, bound); });
}

Tensor Initializer::truncated_normal(const Shape& shape, double deviation) {
  // A normal cut off at two deviations has this deviation itself; jax divides by it, and so the variance comes out
  // right.
  constexpr double kCutDeviation = 0.87962566103423978;
  return make(shape, [&] {
    double draw;
    do draw = random_.normal();
    while (std::abs(draw) > 2);
    return draw * deviation / kCutDeviation;
  });
}

Tensor Initializer::linear_weight(std::int64_t out, std::int64_t in) {
  switch (framework_) {
    case Framework::torch: return uniform({out, in}, inverse_sqrt(in));
    case Framework::flax: return truncated_normal({out, in}, inverse_sqrt(in));
    case Framework::tensorflow: return xavier_uniform(out, in, out, in);
    case Framework::flax_orthogonal: return orthogonal(out, in);
  }
  fail("[init] unknown framework");
}

Tensor Initializer::linear_bias(std::int64_t out, std::int64_t in) {
  return framework_ == Framework::torch ? uniform({out}, inverse_sqrt(in)) : Tensor::zeros({out});
}

Tensor Initializer::convolution_weight(const Shape& shape, std::optional<std::int64_t> fan_in) {
  const std::int64_t out = shape.last(), inputs = shape.with(-1, 1).numel();
  const std::int64_t taps = shape.with(-1, 1).with(-2, 1).numel(), fan = fan_in.value_or(inputs);
  switch (framework_) {
    case Framework::torch: return uniform(shape, inverse_sqrt(fan));
    case Framework::flax:
    case Framework::flax_orthogonal: return truncated_normal(shape, inverse_sqrt(fan));
    case Framework::tensorflow: return uniform(shape, std::sqrt(6.0) * inverse_sqrt(fan + taps * out));
  }
  fail("[init] unknown framework");
}

Tensor Initializer::xavier_normal(const Shape& shape, std::int64_t fan_in, std::int64_t fan_out) {
  const double deviation = std::sqrt(2.0) * inverse_sqrt(fan_in + fan_out);
  return make(shape, [&] { return random_.normal() * deviation; });
}

Tensor Initializer::xavier_uniform(std::int64_t out, std::int64_t in, std::int64_t fan_out, std::int64_t fan_in) {
  return uniform({out, in}, std::sqrt(6.0) * inverse_sqrt(fan_in + fan_out));
}

Tensor Initializer::orthogonal(std::int64_t out, std::int64_t in) {
  const Tensor drawn = standard_normal({out, in});
  if (!drawn_) return drawn;
  // Gram–Schmidt in double, twice for each vector, which keeps the distribution uniform over rotations.
  Tensor result = drawn.to(Device::cpu);
  const auto x = result.values<float>();
  const std::int64_t length = std::max(out, in), count = std::min(out, in);
  const std::int64_t step = in >= out ? 1 : in, stride = in >= out ? in : 1;  // within a vector, and between vectors
  std::vector<double> done(static_cast<std::size_t>(count * length));
  for (std::int64_t i = 0; i < count; ++i) {
    double* own = done.data() + i * length;
    for (std::int64_t c = 0; c < length; ++c) own[c] = static_cast<double>(x[i * stride + c * step]);
    for (int round = 0; round < 2; ++round)
      for (std::int64_t j = 0; j < i; ++j) {
        const double* other = done.data() + j * length;
        const double along = std::inner_product(own, own + length, other, 0.0);
        for (std::int64_t c = 0; c < length; ++c) own[c] -= along * other[c];
      }
    const double norm = std::sqrt(std::inner_product(own, own + length, own, 0.0));
    for (std::int64_t c = 0; c < length; ++c) {
      own[c] /= norm;
      x[i * stride + c * step] = static_cast<float>(own[c]);
    }
  }
  return result.to(default_device());
}

Tensor Initializer::standard_normal(const Shape& shape) {
  return make(shape, [&] { return random_.normal(); });
}

}  // namespace npzoo
