#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/mask_points/mask_points.h"

namespace npzoo {

void mask_points_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t points : {0, 1, 33})
    for (std::int64_t width : {0, 1, 33, 129}) {
      const Tensor lengths = cases.integers({3}, 0, points + 1);
      cases.add("mask_points", {cases.normal({3, points, width})},
                [lengths](const std::vector<Tensor>& in) { return mask_points(in[0], lengths); });
      cases.add("mask_points, used twice", {cases.normal({3, points, width})},
                [lengths](const std::vector<Tensor>& in) { return mul(mask_points(in[0], lengths), in[0]); });
    }
}

}  // namespace npzoo
