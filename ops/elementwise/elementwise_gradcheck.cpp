#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

void elementwise_gradcheck_cases(GradcheckCases& cases) {
  struct Function {
    const char* name;
    Tensor (*apply)(const Tensor&);
    bool positive_only;
  };
  constexpr Function kFunctions[] = {{"relu", relu, false},
                                     {"elu", elu, false},
                                     {"gelu", gelu, false},
                                     {"gelu_tanh", gelu_tanh, false},
                                     {"softplus", softplus, false},
                                     {"sigmoid", sigmoid, false},
                                     {"tanh", tanh, false},
                                     {"exp", exp, false},
                                     {"log", log, true},
                                     {"square", square, false},
                                     {"sqrt", sqrt, true},
                                     {"reciprocal", reciprocal, true},
                                     {"abs", abs, false},
                                     {"log_normal_cdf", log_normal_cdf, false},
                                     {"binet", binet, true}};
  for (const Function& f : kFunctions)
    for (std::int64_t n : {0, 1, 33, 129})
      cases.add(f.name, {f.positive_only ? cases.uniform({3, n}, 0.3, 3) : cases.normal({3, n}, 2)},
                [f](const std::vector<Tensor>& in) { return f.apply(in[0]); });
  cases.add("binet", {cases.uniform({129}, 3, 40)}, [](const std::vector<Tensor>& in) { return binet(in[0]); });
  cases.add("affine", {cases.normal({2, 33})}, [](const std::vector<Tensor>& in) { return affine(in[0], -1.5, 0.25); });
  cases.add("clamp", {cases.normal({2, 33})}, [](const std::vector<Tensor>& in) { return clamp(in[0], -0.7, 0.9); });

  struct Pair {
    Shape a, b;
  };
  const Pair pairs[] = {{{3, 33}, {3, 33}},  {{3, 33}, {33}}, {{1}, {2, 5}},          {{}, {4}},
                        {{2, 1, 5}, {3, 1}}, {{0, 3}, {3}},   {{2, 3, 4}, {2, 1, 4}}, {{1, 129}, {2, 1}}};
  for (const auto& [a, b] : pairs) {
    cases.add("add", {cases.normal(a), cases.normal(b)}, [](const auto& in) { return add(in[0], in[1]); });
    cases.add("sub", {cases.normal(a), cases.normal(b)}, [](const auto& in) { return sub(in[0], in[1]); });
    cases.add("mul", {cases.normal(a), cases.normal(b)}, [](const auto& in) { return mul(in[0], in[1]); });
    cases.add("div", {cases.normal(a), cases.uniform(b, 0.5, 2)}, [](const auto& in) { return div(in[0], in[1]); });
  }
  cases.add("mul, one tensor twice", {cases.normal({7})}, [](const auto& in) { return mul(in[0], in[0]); });
}

}  // namespace npzoo
