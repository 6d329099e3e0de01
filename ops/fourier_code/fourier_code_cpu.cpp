#include <cmath>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/fourier_code/kernels.h"

namespace npzoo {

template <class T>
void fourier_code(Cpu& cpu, const FourierCode<T>& p) {
  constexpr double kPi = 3.14159265358979323846;
  const std::int64_t half = p.width / 2;
  cpu.parallel_for(p.n, 1 + 256 / (1 + p.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t k = 0; k < half; ++k) {
        const double angle = std::ldexp(kPi, static_cast<int>(k) - 2) * static_cast<double>(p.x[i]);
        p.out[i * p.width + k] = static_cast<T>(std::sin(angle));
        p.out[i * p.width + half + k] = static_cast<T>(std::cos(angle));
      }
  });
}

NPZOO_INSTANTIATE(fourier_code, FourierCode);

}  // namespace npzoo
