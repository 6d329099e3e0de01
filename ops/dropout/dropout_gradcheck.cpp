#include "npzoo/ops/dropout/dropout.h"
#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

void dropout_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t n : {0, 1, 33, 129})
    for (double p : {0.0, 0.1, 0.9})
      cases.add("dropout", {cases.normal({3, n})}, [p](const std::vector<Tensor>& in) {
        Draws draws(7, Purpose::training, 3);  // the same mask in every call
        return dropout(in[0], p, draws);
      });
}

}  // namespace npzoo
