#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

void reshape_gradcheck_cases(GradcheckCases& cases) {
  using Inputs = std::vector<Tensor>;
  for (std::int64_t n : {0, 1, 33, 129}) {
    cases.add("reshape", {cases.normal({2, 3, n})}, [n](const Inputs& in) { return reshape(in[0], {n, 6}); });
    cases.add("reshape, used twice", {cases.normal({2, n})}, [n](const Inputs& in) {
      return mul(reshape(in[0], {n, 2}), reshape(square(in[0]), {n, 2}));
    });

    cases.add("broadcast_to, new axes", {cases.normal({n})}, [n](const Inputs& in) {
      return broadcast_to(in[0], {2, 3, n});
    });
    cases.add("broadcast_to, last axis", {cases.normal({3, 1})}, [n](const Inputs& in) {
      return broadcast_to(in[0], {3, n});
    });
    cases.add("broadcast_to, several axes", {cases.normal({2, 1, 3, 1})}, [n](const Inputs& in) {
      return broadcast_to(in[0], {4, 2, n, 3, 2});
    });
  }
  cases.add("broadcast_to, from a scalar", {cases.normal({})}, [](const Inputs& in) {
    return broadcast_to(in[0], {2, 3});
  });
}

}  // namespace npzoo
