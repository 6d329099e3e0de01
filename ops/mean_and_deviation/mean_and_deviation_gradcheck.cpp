#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/mean_and_deviation/mean_and_deviation.h"

namespace npzoo {

void mean_and_deviation_gradcheck_cases(GradcheckCases& cases) {
  for (const DeviationForm& form :
       {DeviationForm{}, DeviationForm{DeviationCurve::softplus, 0.9, 0.1},
        DeviationForm{DeviationCurve::root_softplus, 1, 0.5}, DeviationForm{DeviationCurve::half_exp, 0.7, 0.3}})
    for (const Shape& shape : {Shape{0}, Shape{2}, Shape{3, 0, 4}, Shape{33, 6}, Shape{2, 3, 258}})
      cases.add("mean_and_deviation", {cases.normal(shape)}, [form](const std::vector<Tensor>& in) {
        const auto parts = mean_and_deviation(in[0], form);
        return concat({parts[1], parts[0]}, -1);
      });
  cases.add("mean_and_deviation, one half used", {cases.normal({5, 6})},
            [](const std::vector<Tensor>& in) { return mean_and_deviation(in[0], {})[1]; });
}

}  // namespace npzoo
