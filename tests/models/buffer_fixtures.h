#pragma once

#include <doctest/doctest.h>

#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/predictions/components.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/models/tnp/target_buffer.h"
#include "tests/models/model_fixtures.h"

// Helpers for tests of models with a buffer of targets.

namespace npzoo::testing {

inline const Autoregressive& buffered_sequence(const Prediction& prediction) {
  return dynamic_cast<const Autoregressive&>(prediction);
}

inline double difference_of_marginals(const Marginals& a, const Marginals& b) {
  double most = std::max(difference(a.mean, b.mean), difference(a.std, b.std));
  if (a.log_weight.defined()) most = std::max(most, difference(a.log_weight, b.log_weight));
  return most;
}

/// Counts that are the same in each of `batch` rows.
inline Tensor equal_counts(std::int64_t batch, const std::vector<std::int64_t>& row) {
  Tensor all = Tensor::empty({batch, std::ssize(row)}, DType::int64, Device::cpu);
  for (std::int64_t b = 0; b < batch; ++b) std::ranges::copy(row, all.data<std::int64_t>() + b * std::ssize(row));
  return all;
}

/// Buffer points see those before them, targets as many as `seen` (B, Nt) says.
inline BufferMasks masks_of_buffer(std::int64_t buffer, const Tensor& seen) {
  const std::int64_t batch = seen.dim(0), targets = seen.dim(1);
  Tensor all = Tensor::empty({batch, buffer + targets}, DType::int64, Device::cpu);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < buffer + targets; ++i)
      all.data<std::int64_t>()[b * (buffer + targets) + i] =
          i < buffer ? i : seen.data<std::int64_t>()[b * targets + i - buffer];
  return {PrefixMask::lengths(all), PrefixMask::lengths(seen)};
}

/// Checks that sample paths are drawn from the conditionals given the values of the path before, by the numbers that
/// `some_draws` gives.
inline void check_paths_follow_conditionals(const Autoregressive& prediction, std::int64_t components) {
  constexpr std::int64_t kPaths = 4;
  Draws draws = some_draws(), same = some_draws();
  const Tensor samples = prediction.sample(kPaths, draws);
  const std::int64_t batch = samples.dim(1), targets = samples.dim(2), width = samples.dim(3);
  std::vector<Marginals> given;
  for (std::int64_t k = 0; k < kPaths; ++k)
    given.push_back(
        on_host(prediction.given_those_before(slice(samples, 0, k, k + 1).view(samples.shape().without(0)))));
  for (std::int64_t t = 0; t < targets; ++t) {
    const Tensor which = components > 1 ? same.uniform(kPaths, batch, {1}, DType::float64, Device::cpu) : Tensor();
    const Tensor noise = same.normal(kPaths, batch, {width}, DType::float64, Device::cpu);
    for (std::int64_t k = 0; k < kPaths; ++k)
      for (std::int64_t b = 0; b < batch; ++b) {
        const Marginals& m = given[static_cast<std::size_t>(k)];
        std::vector<double> weights;
        for (std::int64_t i = 0; i < components; ++i)
          weights.push_back(components > 1 ? m.log_weight.data<double>()[(i * batch + b) * targets + t] : 0);
        const auto i =
            components > 1 ? static_cast<std::int64_t>(choose(weights, which.data<double>()[k * batch + b])) : 0;
        for (std::int64_t d = 0; d < width; ++d) {
          const std::int64_t at = ((i * batch + b) * targets + t) * width + d;
          CHECK(samples.data<double>()[((k * batch + b) * targets + t) * width + d] ==
                doctest::Approx(m.mean.data<double>()[at] +
                                m.std.data<double>()[at] * noise.data<double>()[(k * batch + b) * width + d])
                    .epsilon(1e-11));
        }
      }
  }
}

}  // namespace npzoo::testing
