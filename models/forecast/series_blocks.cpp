#include "npzoo/models/forecast/series_blocks.h"

#include <algorithm>
#include <cmath>

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/convolution/convolution.h"
#include "npzoo/ops/dropout/dropout.h"
#include "npzoo/ops/elementwise/elementwise.h"

namespace npzoo {

namespace {

constexpr std::int64_t kTaps = 3;

/// N(0, 2 / ((1 + 0.01²) fan_in)): Kaiming's for a leaky ReLU.
Tensor token_weight(std::int64_t dim_y, std::int64_t width, Initializer& init) {
  constexpr double kSlope = 0.01;
  const double deviation = std::sqrt(2 / ((1 + kSlope * kSlope) * static_cast<double>(kTaps * dim_y)));
  const Tensor standard = init.standard_normal({kTaps, dim_y, width});
  return init.drawn() ? affine(standard, deviation, 0) : standard;
}

/// (L, E): sin(t ω) and cos(t ω) in turn.
Tensor position_table(std::int64_t length, std::int64_t width, const Tensor& like) {
  Tensor table = Tensor::empty({length, width}, DType::float64, Device::cpu);
  for (std::int64_t t = 0; t < length; ++t)
    for (std::int64_t c = 0; c < width; ++c) {
      const double rate = std::pow(10'000.0, -static_cast<double>(c - c % 2) / static_cast<double>(width));
      const double angle = static_cast<double>(t) * rate;
      table.data<double>()[t * width + c] = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  return table.to(like.dtype()).to(like.device());
}

}  // namespace

Tensor SeriesPass::dropped(const Tensor& x) const {
  return training && dropout > 0 ? npzoo::dropout(x, dropout, draws) : x;
}

Tensor circular(const Tensor& x, std::int64_t count) {
  const std::int64_t length = x.dim(1);
  if (count > length) return circular(circular(x, length), count - length);
  return concat({slice(x, 1, length - count, length), x, slice(x, 1, 0, count)}, 1);
}

SeriesEmbedding::SeriesEmbedding(std::int64_t dim_y, std::int64_t marks, std::int64_t width, bool positions,
                                 Initializer& init)
    : value{token_weight(dim_y, width, init)}, positions_(positions) {
  if (marks > 0) time = Linear::without_bias(marks, width, init);
}

Tensor SeriesEmbedding::operator()(const Tensor& y, const Tensor& marks, const SeriesPass& pass) const {
  Tensor tokens = convolution(circular(y, kTaps / 2), value.value, {});  // (B, L, E)
  if (time) tokens = add(tokens, (*time)(marks));
  if (positions_) tokens = add(tokens, position_table(y.dim(1), tokens.dim(2), tokens));
  return pass.dropped(tokens);
}

void SeriesEmbedding::visit(ModuleVisitor& visitor) {
  visitor("value", value);
  if (time) visitor("time", *time);
}

SeriesNetwork::SeriesNetwork(std::int64_t width, std::int64_t hidden, bool biases, bool gelu, Initializer& init)
    : expand(biases ? Linear(width, hidden, init) : Linear::without_bias(width, hidden, init)),
      contract(biases ? Linear(hidden, width, init) : Linear::without_bias(hidden, width, init)),
      gelu_(gelu) {}

Tensor SeriesNetwork::operator()(const Tensor& x, const SeriesPass& pass) const {
  const Tensor hidden = gelu_ ? gelu(expand(x)) : expand(x, Activation::relu);  // (B, L, hidden)
  return pass.dropped(contract(pass.dropped(hidden)));
}

void SeriesNetwork::visit(ModuleVisitor& visitor) {
  visitor("expand", expand);
  visitor("contract", contract);
}

SeriesProjections::SeriesProjections(std::int64_t width, Initializer& init)
    : query(width, width, init), key(width, width, init), value(width, width, init), out(width, width, init) {}

void SeriesProjections::visit(ModuleVisitor& visitor) {
  visitor("query", query);
  visitor("key", key);
  visitor("value", value);
  visitor("out", out);
}

}  // namespace npzoo
