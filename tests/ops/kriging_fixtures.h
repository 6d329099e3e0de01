#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/kriging/kriging.h"
#include "tests/testing.h"

namespace npzoo::testing {

inline constexpr std::size_t kKernelFields = sizeof(KrigingKernel) / sizeof(double),
                             kEvidenceField = offsetof(KrigingKernel, log_evidence) / sizeof(double);

struct Observed {
  std::int64_t dims;
  std::vector<double> x, y;

  std::span<const double> place(std::int64_t i) const {
    return std::span(x).subspan(static_cast<std::size_t>(i * dims), static_cast<std::size_t>(dims));
  }
  std::int64_t count() const { return std::ssize(y); }
  Tensor xs() const { return Tensor::from<double>({1, count(), dims}, std::span(x)).to(default_device()); }
  Tensor ys() const { return Tensor::from<double>({1, count(), 1}, std::span(y)).to(default_device()); }
};

inline Observed draw(std::int64_t count, std::int64_t dims, std::uint64_t seed) {
  Random random(seed);
  Observed o{dims, {}, {}};
  for (std::int64_t i = 0; i < count * dims; ++i) o.x.push_back(4 * random.uniform() - 2);
  for (std::int64_t i = 0; i < count; ++i)
    o.y.push_back(std::sin(3 * o.x[static_cast<std::size_t>(i * dims)]) + 0.1 * random.normal());
  return o;
}

inline std::vector<KrigingKernel> few_kernels() {
  return {{.smoothness = 0, .inverse_length = {1, 1, 1}, .noise = 0.01},
          {.smoothness = 1, .inverse_length = {2, 0.5, 1}, .noise = 0.05, .trend = 0.7, .log_weight = -1},
          {.smoothness = 2, .inverse_length = {0.3, 0.4, 0.2}, .relative = 1, .noise = 0.2},
          {.smoothness = 0, .inverse_length = {0.1, 0.2, 0.1}, .noise = 0.02, .share = 0.4, .ratio = 9}};
}

/// Gradients of the sum of means and deviations.
inline std::vector<double> place_slopes(const KrigingFit& fit, std::vector<double> places) {
  Tensor x = Tensor::from<double>({1, std::ssize(places), 1}, std::span<const double>(places)).to(default_device());
  Tape tape;
  tape.watch(x);
  Tensor out;
  {
    const Recording on(tape);
    const KrigingMoments said = kriging_predict(fit, x);
    out = concat({said.mean, said.std}, 1);
  }
  return doubles(tape.backward(out, Tensor::full(out.shape(), 1, DType::float64)).of(x));
}

}  // namespace npzoo::testing
