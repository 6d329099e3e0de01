#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/mean_nll/mean_nll.h"

namespace npzoo {

void mean_nll_gradcheck_cases(GradcheckCases& cases) {
  for (const Shape& shape : {Shape{1}, Shape{33}, Shape{3, 1}, Shape{9, 33}, Shape{2, 5, 129}}) {
    const Tensor weights = cases.uniform(shape, 0, 2), totals = cases.uniform(shape.without(-1), 1, 9);
    cases.add("mean_nll", {cases.normal(shape)}, [](const std::vector<Tensor>& in) { return mean_nll(in[0]); });
    cases.add("mean_nll, weights", {cases.normal(shape)}, [weights](const std::vector<Tensor>& in) {
      return mean_nll(in[0], weights.to(in[0].dtype()).to(in[0].device()));
    });
    cases.add("mean_nll, weights and totals", {cases.normal(shape)}, [weights, totals](const std::vector<Tensor>& in) {
      const auto like = [&](const Tensor& x) { return x.to(in[0].dtype()).to(in[0].device()); };
      return mean_nll(in[0], like(weights), like(totals));
    });
  }
}

}  // namespace npzoo
