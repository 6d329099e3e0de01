#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

void gather_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t picks : {0, 1, 33, 129})
    for (std::int64_t width : {1, 33}) {
      const Tensor index = cases.integers({2, picks}, 0, 5);
      cases.add("gather", {cases.normal({2, 5, width})},
                [index](const std::vector<Tensor>& in) { return gather(in[0], index); });
      cases.add("gather, added to other gradients", {cases.normal({2, 5, width})},
                [index](const std::vector<Tensor>& in) { return mul(gather(in[0], index), gather(in[0], index)); });
    }
}

}  // namespace npzoo
