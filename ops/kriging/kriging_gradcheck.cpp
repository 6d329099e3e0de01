#include "ops/concat/concat.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gradcheck_cases.h"
#include "ops/kriging/kriging.h"

namespace npzoo {

namespace {

/// One kernel of each kind.
Tensor bank() {
  return kriging_bank({{.smoothness = 0, .noise = 0.01},
                       {.smoothness = 1, .inverse_length = {2, 0.5, 1}, .noise = 0.05, .trend = 0.7},
                       {.smoothness = 2, .inverse_length = {0.3, 0.4, 0.2}, .relative = 1, .noise = 0.2},
                       {.inverse_length = {0.1, 0.2, 0.1}, .noise = 0.02, .share = 0.4, .ratio = 9},
                       {.smoothness = 1, .noise = 0.02, .share = 0.5, .ratio = 0.2, .inverse_width = 1}});
}

}  // namespace

/// Nothing is recorded of kriging: what is multiplied by it has it for its gradient.
void kriging_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t dims : {1, 2, 3})
    for (std::int64_t points : {0, 1, 33}) {
      const Tensor x = cases.normal({2, points, dims}), y = cases.normal({2, points, 1}),
                   xt = cases.normal({2, 9, dims});
      cases.add("kriging", {cases.normal({2, 27})}, [x, y, xt](const std::vector<Tensor>& in) {
        const KrigingFit fit = kriging_fit(x, y, {}, bank().to(x.device()), 4);
        const KrigingMoments said = kriging_predict(fit, xt);
        return mul(in[0], concat({said.mean, said.std, said.spread}, 1));
      });
      cases.add("kriging, leaving one out", {cases.normal({2, 2 * points})}, [x, y](const std::vector<Tensor>& in) {
        const KrigingFit fit = kriging_fit(x, y, {}, bank().to(x.device()), 4);
        const KrigingMoments said = kriging_leave_one_out(fit, x.dtype());
        return mul(in[0], concat({said.mean, said.std}, 1));
      });
    }
}

}  // namespace npzoo
