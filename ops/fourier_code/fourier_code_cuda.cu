#include <cmath>

#include "npzoo/engine/cuda/device_code.h"
#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/fourier_code/kernels.h"

namespace npzoo {

template <class T>
void fourier_code(Cuda& cuda, const FourierCode<T>& p) {
  for_each(cuda, "fourier_code", p.n * p.width, [p] __device__(std::int64_t i) {
    constexpr double kPi = 3.14159265358979323846;
    const std::int64_t half = p.width / 2, place = i % p.width, k = place % half;
    const double angle = ldexp(kPi, static_cast<int>(k) - 2) * static_cast<double>(p.x[i / p.width]);
    p.out[i] = static_cast<T>(place < half ? sine(angle) : cosine(angle));
  });
}

NPZOO_INSTANTIATE(fourier_code, FourierCode);

}  // namespace npzoo
