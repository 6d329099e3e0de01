#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/moving_average/moving_average.h"

namespace npzoo {

void moving_average_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t length : {0, 1, 2, 7, 33})
    for (std::int64_t width : {1, 3, 25})
      cases.add("moving_average", {cases.normal({2, length, 3})},
                [width](const std::vector<Tensor>& in) { return moving_average(in[0], width); });
  cases.add("moving_average, wide rows", {cases.normal({1, 4, 129})},
            [](const std::vector<Tensor>& in) { return moving_average(in[0], 5); });
}

}  // namespace npzoo
