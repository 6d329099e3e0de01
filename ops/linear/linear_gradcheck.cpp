#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/linear/linear.h"

namespace npzoo {

void linear_gradcheck_cases(GradcheckCases& cases) {
  struct Size {
    std::int64_t rows, in, out;
  };
  for (const auto& [rows, in, out] : {Size{0, 3, 4}, Size{5, 0, 4}, Size{5, 3, 0}, Size{1, 1, 1}, Size{33, 2, 65},
                                      Size{7, 8, 3}, Size{7, 9, 3}, Size{129, 33, 17}, Size{20, 64, 2}})
    for (Activation activation : {Activation::none, Activation::relu})
      cases.add(activation == Activation::none ? "linear" : "linear, relu",
                {cases.normal({rows, in}), cases.normal({out, in}), cases.normal({out})},
                [activation](const auto& x) { return linear(x[0], x[1], x[2], activation); });
  cases.add("linear, no bias, batched", {cases.normal({2, 3, 12}), cases.normal({5, 12})},
            [](const auto& x) { return linear(x[0], x[1], {}); });
  cases.add("linear, shared weight", {cases.normal({4, 9}), cases.normal({9, 9}), cases.normal({9})},
            [](const auto& x) { return linear(linear(x[0], x[1], x[2], Activation::relu), x[1], x[2]); });
}

}  // namespace npzoo
