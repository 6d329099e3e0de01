#include "npzoo/ops/circular_correlation/circular_correlation.h"
#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

void circular_correlation_gradcheck_cases(GradcheckCases& cases) {
  for (const CircularMethod method : {CircularMethod::products, CircularMethod::fourier})
    for (const std::int64_t length : {0, 1, 2, 11, 33}) {  // of 11 and 33, transforms are longer than the series
      cases.add("circular_correlation", {cases.normal({2, length, 3}), cases.normal({2, length, 3})},
                [method](const std::vector<Tensor>& in) { return circular_correlation(in[0], in[1], method); });
      cases.add("delayed_sum", {cases.normal({2, length}), cases.normal({2, length, 3})},
                [method](const std::vector<Tensor>& in) { return delayed_sum(in[0], in[1], method); });
    }
  cases.add("circular_correlation, many channels", {cases.normal({1, 3, 129}), cases.normal({1, 3, 129})},
            [](const std::vector<Tensor>& in) { return circular_correlation(in[0], in[1], CircularMethod::fourier); });
  cases.add("delayed_sum, many channels", {cases.normal({1, 3}), cases.normal({1, 3, 129})},
            [](const std::vector<Tensor>& in) { return delayed_sum(in[0], in[1], CircularMethod::fourier); });
}

}  // namespace npzoo
