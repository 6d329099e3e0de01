#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/top_softmax/top_softmax.h"

namespace npzoo {

void top_softmax_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t width : {0, 1, 2, 33, 129})
    for (std::int64_t k : {0, 1, 4, 200}) {
      const Tensor by = cases.normal({3, width});
      cases.add("top_softmax", {cases.normal({3, width}, 2)},
                [by, k](const std::vector<Tensor>& in) { return top_softmax(in[0], by, k); });
    }
}

}  // namespace npzoo
