#include "npzoo/datasets/kinds/sawtooth/source.h"

#include <cmath>
#include <numbers>

#include "npzoo/engine/random.h"

namespace npzoo {

double sawtooth(double x, double frequency, double shift, std::int64_t terms) {
  double sum = 0;
  for (std::int64_t k = 1; k <= terms; ++k) {
    const auto wave = static_cast<double>(k);
    const double each = std::sin(2 * std::numbers::pi * wave * frequency * (x + shift)) / wave;
    sum += k % 2 == 0 ? each : -each;
  }
  return 0.5 - sum / std::numbers::pi;
}

Batch SawtoothSource::batch(std::uint64_t index) const {
  const SawtoothDistribution& d = distribution_;
  Random random(options_.seed, static_cast<std::uint64_t>(options_.split) << 56 | index);
  const std::int64_t batch = options_.batch_size, nc = d.context.draw(random), nt = d.targets.draw(random);
  const auto empty = [&](std::int64_t points) {
    return Tensor::empty({batch, points, 1}, DType::float64, Device::cpu);
  };
  Tensor xc = empty(nc), yc = empty(nc), xt = empty(nt), yt = empty(nt);
  for (std::int64_t b = 0; b < batch; ++b) {
    const double frequency = random.uniform(d.lowest_frequency, d.highest_frequency);
    const double shift = random.uniform(d.lowest_shift, d.highest_shift);
    const std::int64_t terms = d.terms.draw(random);
    const double height = d.heights ? random.uniform(d.heights->first, d.heights->second) : 1;
    const double middle = d.heights ? 0.5 : 0;
    const auto observe = [&](Tensor& x, Tensor& y) {
      for (std::int64_t i = b * x.dim(1); i < (b + 1) * x.dim(1); ++i) {
        const double at = random.uniform(d.low, d.high);
        x.data<double>()[i] = at;
        y.data<double>()[i] = height * (sawtooth(at, frequency, shift, terms) - middle);
      }
    };
    observe(xc, yc);
    observe(xt, yt);
  }
  const DType dtype = options_.dtype;
  return {Task{xc.to(dtype), yc.to(dtype), xt.to(dtype), yt.to(dtype)}.to(options_.device), {}};
}

}  // namespace npzoo
