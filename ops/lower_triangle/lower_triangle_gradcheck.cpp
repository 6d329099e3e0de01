#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/lower_triangle/lower_triangle.h"

namespace npzoo {

void lower_triangle_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t size : {0, 1, 5, 33}) {
    const Tensor x = cases.normal({2, size, size});
    cases.add("lower_triangle", {x}, [](const std::vector<Tensor>& in) { return lower_triangle(in[0]); });
    cases.add("lower_triangle, another diagonal", {x, cases.normal({2, size})},
              [](const std::vector<Tensor>& in) { return lower_triangle(in[0], in[1]); });
  }
}

}  // namespace npzoo
