#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/softmax/softmax.h"

namespace npzoo {

void softmax_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t width : {0, 1, 2, 33, 129})
    for (const Shape& shape : {Shape{width}, Shape{2, 3, width}, Shape{0, width}}) {
      cases.add("softmax", {cases.normal(shape, 2)}, [](const std::vector<Tensor>& in) { return softmax(in[0]); });
      cases.add("log_softmax", {cases.normal(shape, 2)},
                [](const std::vector<Tensor>& in) { return log_softmax(in[0]); });
    }
}

}  // namespace npzoo
