#include <cmath>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/local_taylor/kernels.h"

namespace npzoo {

template <class T>
void local_taylor_points(Cpu& cpu, const LocalTaylorPoints<T>& p) {
  const std::int64_t each = p.points - p.first;
  cpu.parallel_for(p.batch * each, 1 + 4096 / (1 + p.points), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) local_taylor_point(p, at / each, p.first + at % each);
  });
}

template <class T>
void input_encoding(Cpu& cpu, const InputEncoding<T>& p) {
  const std::int64_t half = p.width / 2;
  cpu.parallel_for(p.points * p.dim_x, 1 + 256 / (1 + p.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = 0; j < half; ++j) {
      const double period = p.least * std::pow(p.ratio, 2.0 * static_cast<double>(j) / static_cast<double>(p.width));
      for (std::int64_t i = begin; i < end; ++i) {
        const double angle = static_cast<double>(p.x[i]) / period;
        p.out[i * p.width + j] = static_cast<T>(std::sin(angle));
        p.out[i * p.width + half + j] = static_cast<T>(std::cos(angle));
      }
    }
  });
}

NPZOO_INSTANTIATE(local_taylor_points, LocalTaylorPoints);
NPZOO_INSTANTIATE(input_encoding, InputEncoding);

}  // namespace npzoo
