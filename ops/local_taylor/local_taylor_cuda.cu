#include <cmath>

#include "npzoo/engine/cuda/device_code.h"
#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/local_taylor/kernels.h"

namespace npzoo {

template <class T>
void local_taylor_points(Cuda& cuda, const LocalTaylorPoints<T>& p) {
  const std::int64_t each = p.points - p.first;
  for_each(cuda, "local_taylor", p.batch * each,
           [p, each] __device__(std::int64_t at) { local_taylor_point(p, at / each, p.first + at % each); });
}

template <class T>
void input_encoding(Cuda& cuda, const InputEncoding<T>& p) {
  for_each(cuda, "input_encoding", p.points * p.dim_x * p.width, [p] __device__(std::int64_t i) {
    const std::int64_t half = p.width / 2, channel = i % p.width;
    const double power = 2.0 * static_cast<double>(channel % half) / static_cast<double>(p.width),
                 angle = static_cast<double>(p.x[i / p.width]) / (p.least * pow(p.ratio, power));
    p.out[i] = static_cast<T>(channel < half ? sine(angle) : cosine(angle));
  });
}

NPZOO_INSTANTIATE(local_taylor_points, LocalTaylorPoints);
NPZOO_INSTANTIATE(input_encoding, InputEncoding);

}  // namespace npzoo
