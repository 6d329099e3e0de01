#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/masked_attention/kernels.h"

namespace npzoo {

template <class T>
void sphere_points(Cuda& cuda, const SpherePoints<T>& p) {
  for_each(cuda, "sphere_points", p.n, [p] __device__(std::int64_t i) {
    constexpr double kRadians = 3.14159265358979323846 / 180;
    const double longitude = static_cast<double>(p.degrees[2 * i]) * kRadians,
                 latitude = static_cast<double>(p.degrees[2 * i + 1]) * kRadians;
    p.points[3 * i] = static_cast<T>(cosine(latitude) * cosine(longitude));
    p.points[3 * i + 1] = static_cast<T>(cosine(latitude) * sine(longitude));
    p.points[3 * i + 2] = static_cast<T>(sine(latitude));
  });
}

NPZOO_INSTANTIATE(sphere_points, SpherePoints);

}  // namespace npzoo
