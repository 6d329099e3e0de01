#include "npzoo/ops/batch_norm/batch_norm.h"
#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

void batch_norm_gradcheck_cases(GradcheckCases& cases) {
  for (const Shape& shape :
       {Shape{1, 1}, Shape{2, 3}, Shape{3, 5, 33}, Shape{129, 2}, Shape{2, 3, 4, 5}, Shape{4, 0}}) {
    const std::int64_t channels = shape.last();
    cases.add("batch_norm, training", {cases.normal(shape), cases.normal({channels}), cases.normal({channels})},
              [](const std::vector<Tensor>& in) { return batch_norm(in[0], in[1], in[2]).out; });
    cases.add("batch_norm, evaluation",
              {cases.normal(shape), cases.normal({channels}), cases.uniform({channels}, 0.5, 2),
               cases.normal({channels}), cases.normal({channels})},
              [](const std::vector<Tensor>& in) { return batch_norm(in[0], in[1], in[2], in[3], in[4]); });
  }
}

}  // namespace npzoo
