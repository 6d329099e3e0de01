#include "npzoo/ops/geglu/geglu.h"
#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

void geglu_gradcheck_cases(GradcheckCases& cases) {
  const auto gated = [](const std::vector<Tensor>& in) { return geglu(in[0]); };
  for (std::int64_t width : {0, 1, 2, 33, 129}) cases.add("geglu", {cases.normal({3, 5, 2 * width})}, gated);
  cases.add("geglu, no rows", {cases.normal({0, 4})}, gated);
  cases.add("geglu, one vector", {cases.normal({14})}, gated);
  cases.add("geglu, large gates", {cases.normal({4, 20}, 30)}, gated);
}

}  // namespace npzoo
