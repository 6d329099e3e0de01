#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/reduce/reduce.h"

namespace npzoo {

namespace {

void add_axis_cases(GradcheckCases& cases, const Shape& shape, int axis) {
  cases.add("sum, one axis", {cases.normal(shape)}, [axis](const auto& in) { return sum(in[0], axis); });
  if (shape[axis] == 0 && shape.without(axis).numel() > 0) return;  // the others of nothing are not finite
  cases.add("mean, one axis", {cases.normal(shape)}, [axis](const auto& in) { return mean(in[0], axis); });
  cases.add("logsumexp", {cases.normal(shape)}, [axis](const auto& in) { return logsumexp(in[0], axis); });
}

}  // namespace

void reduce_gradcheck_cases(GradcheckCases& cases) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{33}, Shape{3, 129}}) {
    cases.add("sum", {cases.normal(shape)}, [](const auto& in) { return sum(in[0]); });
    cases.add("mean", {cases.normal(shape)}, [](const auto& in) { return mean(in[0]); });
  }
  cases.add("sum of nothing", {cases.normal({2, 0})}, [](const auto& in) { return sum(in[0]); });

  for (std::int64_t n : {0, 1, 33, 129}) {
    add_axis_cases(cases, {n}, 0);
    add_axis_cases(cases, {3, n}, -1);
    add_axis_cases(cases, {n, 5}, 0);
    add_axis_cases(cases, {2, n, 33}, 1);
    add_axis_cases(cases, {2, n, 0}, 1);
  }
  for (std::int64_t points : {0, 1, 33})
    for (std::int64_t width : {0, 1, 33, 129}) {
      const Tensor lengths = cases.integers({3}, 0, points + 1);
      cases.add("masked_mean", {cases.normal({3, points, width})},
                [lengths](const auto& in) { return masked_mean(in[0], lengths); });
      cases.add("masked_mean, all points", {cases.normal({3, points, width})},
                [](const auto& in) { return masked_mean(in[0]); });
    }
}

}  // namespace npzoo
