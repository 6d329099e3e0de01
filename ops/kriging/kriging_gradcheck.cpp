#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/kriging/kriging.h"

namespace npzoo {

namespace {

/// Returns the predictions at x: mean, deviation and spread.
Tensor at(const KrigingFit& fit, const Tensor& x) {
  const KrigingMoments said = kriging_predict(fit, x);
  return concat({said.mean, said.std, said.spread}, 1);
}

/// One kernel of each kind.
Tensor bank() {
  return kriging_bank({{.smoothness = 0, .noise = 0.01},
                       {.smoothness = 1, .inverse_length = {2, 0.5, 1}, .noise = 0.05, .trend = 0.7},
                       {.smoothness = 2, .inverse_length = {0.3, 0.4, 0.2}, .relative = 1, .noise = 0.2},
                       {.inverse_length = {0.1, 0.2, 0.1}, .noise = 0.02, .share = 0.4, .ratio = 9},
                       {.smoothness = 1, .noise = 0.02, .share = 0.5, .ratio = 0.2, .inverse_width = 1}});
}

}  // namespace

/// Nothing is recorded of a fit and of leaving one out: what is multiplied by it has it for its gradient.
void kriging_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t dims : {1, 2, 3})
    for (std::int64_t points : {0, 1, 33}) {
      const Tensor x = cases.normal({2, points, dims}), y = cases.normal({2, points, 1}),
                   xt = cases.normal({2, 9, dims});
      cases.add("kriging_predict", {cases.normal({2, 27}), xt}, [x, y](const std::vector<Tensor>& in) {
        return mul(in[0], at(kriging_fit(x, y, {}, bank().to(x.device()), 4), in[1]));
      });
      cases.add("kriging, leaving one out", {cases.normal({2, 2 * points})}, [x, y](const std::vector<Tensor>& in) {
        const KrigingFit fit = kriging_fit(x, y, {}, bank().to(x.device()), 4);
        const KrigingMoments said = kriging_leave_one_out(fit, x.dtype());
        return mul(in[0], concat({said.mean, said.std}, 1));
      });
    }
  // Each kernel alone: of several the waves are seldom kept.
  const Tensor x = cases.uniform({2, 40, 1}, -2, 2), y = cases.normal({2, 40, 1}), kernels = bank();
  for (std::int64_t k = 0; k < kernels.dim(0); ++k)
    cases.add("kriging_predict, one kernel", {cases.uniform({2, 9, 1}, -2.5, 2.5)}, [=](const std::vector<Tensor>& in) {
      return at(kriging_fit(x, y, {}, slice(kernels, 0, k, k + 1).to(x.device()), 1), in[0]);
    });
}

}  // namespace npzoo
