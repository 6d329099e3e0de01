#include "npzoo/models/forecast/auto_correlation.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/tape.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"
#include "npzoo/ops/top_softmax/top_softmax.h"

namespace npzoo {

namespace {

Tensor of_length(const Tensor& x, std::int64_t length) {
  const std::int64_t steps = x.dim(1);
  if (steps >= length) return slice(x, 1, 0, length);
  return concat({x, Tensor::zeros(x.shape().with(1, length - steps), x.dtype(), x.device())}, 1);
}

}  // namespace

AutoCorrelation::AutoCorrelation(std::int64_t width, double factor, Initializer& init)
    : projections(width, init), factor_(factor) {}

Tensor AutoCorrelation::operator()(const Tensor& x, const Tensor& memory, const SeriesPass& pass) const {
  const std::int64_t batch = x.dim(0), length = x.dim(1), width = x.dim(2);
  const Tensor queries = projections.query(x);                         // (B, L, E)
  const Tensor keys = of_length(projections.key(memory), length);      // (B, L, E)
  const Tensor values = of_length(projections.value(memory), length);  // (B, L, E)
  const Tensor correlation =
      affine(circular_correlation(queries, keys, method), 1 / static_cast<double>(width), 0);  // (B, L)
  if (pass.trace != nullptr) pass.trace->correlations.push_back(correlation);
  Tensor by = correlation;
  if (pass.training) {
    const NoGrad off;
    by = broadcast_to(reshape(mean(correlation, 0), {1, length}), {batch, length});
  }
  const auto delays = static_cast<std::int64_t>(factor_ * std::log(static_cast<double>(length)));
  const Tensor weights = top_softmax(correlation, by, std::max<std::int64_t>(delays, 1));  // (B, L)
  if (pass.trace != nullptr) pass.trace->weights.push_back(weights);
  return projections.out(delayed_sum(weights, values, method));  // (B, L, E)
}

}  // namespace npzoo
