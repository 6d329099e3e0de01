#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/layer_norm/layer_norm.h"

namespace npzoo {

void layer_norm_gradcheck_cases(GradcheckCases& cases) {
  const auto normalise = [](const std::vector<Tensor>& in) { return layer_norm(in[0], in[1], in[2]); };
  for (std::int64_t width : {0, 1, 2, 33, 129})
    cases.add("layer_norm", {cases.normal({3, 5, width}), cases.normal({width}), cases.normal({width})}, normalise);
  cases.add("layer_norm, no rows", {cases.normal({0, 4}), cases.normal({4}), cases.normal({4})}, normalise);
  cases.add("layer_norm, one vector", {cases.normal({7}), cases.normal({7}), cases.normal({7})}, normalise);

  for (std::int64_t width : {1, 33})
    for (bool use_sum : {false, true})
      cases.add(
          use_sum ? "residual_layer_norm, both outputs" : "residual_layer_norm, norm alone",
          {cases.normal({2, 4, width}), cases.normal({2, 4, width}), cases.normal({width}), cases.normal({width})},
          [use_sum](const std::vector<Tensor>& in) {
            const auto [sum, norm] = residual_layer_norm(in[0], in[1], in[2], in[3]);
            return use_sum ? add(mul(sum, sum), norm) : norm;
          });
}

}  // namespace npzoo
