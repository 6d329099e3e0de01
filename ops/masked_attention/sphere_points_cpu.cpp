#include <cmath>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/masked_attention/kernels.h"

namespace npzoo {

template <class T>
void sphere_points(Cpu& cpu, const SpherePoints<T>& p) {
  constexpr double kRadians = 3.14159265358979323846 / 180;
  cpu.parallel_for(p.n, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double longitude = static_cast<double>(p.degrees[2 * i]) * kRadians,
                   latitude = static_cast<double>(p.degrees[2 * i + 1]) * kRadians;
      p.points[3 * i] = static_cast<T>(std::cos(latitude) * std::cos(longitude));
      p.points[3 * i + 1] = static_cast<T>(std::cos(latitude) * std::sin(longitude));
      p.points[3 * i + 2] = static_cast<T>(std::sin(latitude));
    }
  });
}

NPZOO_INSTANTIATE(sphere_points, SpherePoints);

}  // namespace npzoo
