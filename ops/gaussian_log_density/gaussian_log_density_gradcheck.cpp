#include "npzoo/ops/gaussian_log_density/gaussian_log_density.h"
#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

void gaussian_log_density_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t width : {0, 1, 3, 33, 129})
    for (const Shape& shape : {Shape{width}, Shape{2, 3, width}, Shape{0, width}, Shape{300, width}})
      cases.add("gaussian_log_density", {cases.normal(shape), cases.normal(shape), cases.uniform(shape, 0.5, 2)},
                [](const std::vector<Tensor>& in) { return gaussian_log_density(in[0], in[1], in[2]); });
}

}  // namespace npzoo
