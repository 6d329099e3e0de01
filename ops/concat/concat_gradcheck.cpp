#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

void concat_gradcheck_cases(GradcheckCases& cases) {
  using Inputs = std::vector<Tensor>;
  for (std::int64_t n : {0, 1, 33, 129}) {
    cases.add("concat, first axis", {cases.normal({n, 3}), cases.normal({2, 3}), cases.normal({1, 3})},
              [](const Inputs& in) {
                return concat({in[0], in[1], in[2]}, 0);
              });
    cases.add("concat, middle axis", {cases.normal({2, 3, n}), cases.normal({2, 1, n})}, [](const Inputs& in) {
      return concat({in[0], in[1]}, 1);
    });
    cases.add("concat, the same tensor twice", {cases.normal({2, n})}, [](const Inputs& in) {
      return concat({in[0], square(in[0]), in[0]}, -1);
    });

    cases.add("concat_points", {cases.normal({2, n, 1}), cases.normal({2, n, 2}), cases.normal({2, 3, 1})},
              [](const Inputs& in) {
                return concat_points({{{in[0], in[1]}}, {{in[2]}}});
              });
    const Tensor lengths = cases.integers({2}, 0, n + 1);
    cases.add("concat_points, padding", {cases.normal({2, n, 4})}, [lengths](const Inputs& in) {
      return concat_points({{{in[0], in[0]}, lengths}, {{square(in[0])}, lengths}});
    });

    cases.add("slice", {cases.normal({2, n + 3, 4})}, [n](const Inputs& in) { return slice(in[0], 1, 1, n + 2); });
    cases.add("slice, overlapping", {cases.normal({2, n + 2})},
              [n](const Inputs& in) { return mul(slice(in[0], -1, 0, n + 1), slice(in[0], -1, 1, n + 2)); });

    cases.add("split", {cases.normal({2, n + 3})}, [n](const Inputs& in) {
      const auto pieces = split(in[0], -1, {1, n, 1, 1});
      return mul(mul(pieces[1], pieces[0]), pieces[3]);  // nothing depends on one of them
    });
    cases.add("split, added to other gradients", {cases.normal({n + 3, 2})}, [n](const Inputs& in) {
      const Tensor all = square(in[0]);
      const auto pieces = split(in[0], 0, {1, n + 2});
      return mul(all, pieces[0]);
    });
  }
}

}  // namespace npzoo
