#include <cmath>

#include "npzoo/engine/for_each.h"
#include "npzoo/ops/fourier_code/kernels.h"

namespace npzoo {

template <class T>
void fourier_code(KernelContext& context, const FourierCode<T>& p) {
  for_each(context, "fourier_code", p.n, p.width, [p] NPZOO_EACH(std::int64_t i, std::int64_t place) {
    constexpr double kPi = 3.14159265358979323846;
    const std::int64_t half = p.width / 2, k = place < half ? place : place - half;
    const double angle = ldexp(kPi, static_cast<int>(k) - 2) * static_cast<double>(p.x[i]);
    p.out[i * p.width + place] = static_cast<T>(place < half ? sine(angle) : cosine(angle));
  });
}

NPZOO_INSTANTIATE(fourier_code, FourierCode);

}  // namespace npzoo
