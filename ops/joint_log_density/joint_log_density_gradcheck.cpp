#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/joint_log_density/joint_log_density.h"
#include "npzoo/ops/lower_triangle/lower_triangle.h"

namespace npzoo {

void joint_log_density_gradcheck_cases(GradcheckCases& cases) {
  for (const auto& [points, width] : {std::pair{0, 1}, {1, 1}, {5, 1}, {4, 3}, {33, 1}, {43, 3}}) {
    const std::int64_t values = points * width;
    const Tensor error = cases.normal({3, points, width}), lengths = cases.integers({3}, 0, points + 1);
    // Small below the diagonal, of either sign on it: inverses of random triangles grow with their size.
    const Tensor below = cases.normal({3, values, values}, 0.3 / (1 + values));
    const Tensor sign = affine(cases.integers({3, values}, 0, 2).to(DType::float64).to(error.device()), 2, -1);
    const Tensor factor = lower_triangle(below, mul(sign, cases.uniform({3, values}, 0.5, 2)));
    for (const Tensor& first : {Tensor(), lengths})
      cases.add("cholesky_log_density", {error, factor},
                [first](const std::vector<Tensor>& in) { return cholesky_log_density(in[0], in[1], first); });
    for (const std::int64_t rank : {0, 1, 7})
      for (const Tensor& first : {Tensor(), lengths})
        cases.add("low_rank_log_density", {error, cases.normal({3, values, rank}), cases.uniform({3, values}, 0.5, 2)},
                  [first](const std::vector<Tensor>& in) { return low_rank_log_density(in[0], in[1], in[2], first); });
  }
}

}  // namespace npzoo
