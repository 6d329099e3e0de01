#include "npzoo/ops/batch_norm/batch_norm.h"

#include <algorithm>

#include "npzoo/engine/tape.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

void check_channels(const Tensor& x, const Tensor& channels, const char* what) {
  check(channels.rank() == 1 && x.rank() >= 1 && channels.dim(0) == x.dim(-1),
        "[batch_norm] {} {} must have the channels of x {}", what, channels.shape(), x.shape());
  check(channels.dtype() == x.dtype(), "[batch_norm] x is {}, {} {}", to_string(x.dtype()), what,
        to_string(channels.dtype()));
}

Tensor inverse_deviation(const Tensor& variance, double eps) { return reciprocal(sqrt(affine(variance, 1, eps))); }

}  // namespace

BatchNorm batch_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps) {
  check_channels(x, gain, "gain");
  check_channels(x, bias, "bias");
  const std::int64_t rows = x.shape().with(-1, 1).numel();
  check(rows > 0, "[batch_norm] x {} has no rows, expected at least one for its statistics", x.shape());
  const Tensor flat = reshape(x, {rows, x.dim(-1)});
  const Tensor average = mean(flat, 0);                               // (C)
  const Tensor centred = sub(flat, average);                          // (rows, C)
  const Tensor variance = mean(square(centred), 0);                   // (C)
  const Tensor factor = mul(gain, inverse_deviation(variance, eps));  // (C)
  const Tensor out = reshape(add(mul(centred, factor), bias), x.shape());
  return {out, average.detach(), variance.detach()};
}

Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& gain, const Tensor& bias,
                  double eps) {
  check_channels(x, mean, "mean");
  check_channels(x, variance, "variance");
  check_channels(x, gain, "gain");
  check_channels(x, bias, "bias");
  const Tensor factor = mul(gain, inverse_deviation(variance, eps));
  return add(mul(x, factor), sub(bias, mul(mean, factor)));
}

RunningStatistics running_statistics(const RunningStatistics& before, const BatchNorm& batch, double momentum) {
  const NoGrad off;
  const auto rows = static_cast<double>(batch.out.shape().with(-1, 1).numel());
  const double unbiased = rows / std::max(rows - 1, 1.0);
  const auto follow = [momentum](const Tensor& old, const Tensor& now, double factor) {
    return add(affine(old, 1 - momentum, 0), affine(now, momentum * factor, 0));
  };
  return {follow(before.mean, batch.mean, 1), follow(before.variance, batch.variance, unbiased)};
}

}  // namespace npzoo
