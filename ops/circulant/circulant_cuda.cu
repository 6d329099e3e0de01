#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/circulant/kernels.h"

namespace npzoo {

template <class T>
void circulant_forward(Cuda& cuda, const CirculantForward<T>& p) {
  for_each(cuda, "circulant", p.batch * p.length * p.length, [p] __device__(std::int64_t i) {
    const std::int64_t row = i / p.length, t = row % p.length, shift = i % p.length - t;
    p.out[i] = p.a[row / p.length * p.length + (shift < 0 ? shift + p.length : shift)];
  });
}

template <class T>
void circulant_add_up(Cuda& cuda, const CirculantSums<T>& p) {
  for_each(cuda, "circulant_sums", p.batch * p.length, [p] __device__(std::int64_t i) {
    const T* x = p.x + i / p.length * p.length * p.length;
    double sum = 0;
    std::int64_t s = i % p.length;
    for (std::int64_t t = 0; t < p.length; ++t) {
      sum += static_cast<double>(x[t * p.length + s]);
      s = s + 1 == p.length ? 0 : s + 1;
    }
    p.out[i] = static_cast<T>(sum);
  });
}

NPZOO_INSTANTIATE(circulant_forward, CirculantForward);
NPZOO_INSTANTIATE(circulant_add_up, CirculantSums);

}  // namespace npzoo
