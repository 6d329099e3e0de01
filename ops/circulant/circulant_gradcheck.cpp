#include "npzoo/ops/circulant/circulant.h"
#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

void circulant_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t length : {0, 1, 2, 33}) {
    cases.add("circulant", {cases.normal({2, length})}, [](const std::vector<Tensor>& in) { return circulant(in[0]); });
    cases.add("circulant_sums", {cases.normal({2, length, length})},
              [](const std::vector<Tensor>& in) { return circulant_sums(in[0]); });
  }
  cases.add("circulant, many shifts", {cases.normal({1, 129})},
            [](const std::vector<Tensor>& in) { return circulant_sums(circulant(in[0])); });
}

}  // namespace npzoo
