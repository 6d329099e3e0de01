#include <limits>

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/incremental_cross_attention/incremental_cross_attention.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// Both parts of a state in one tensor.
Tensor joined(const AttentionState& state) {
  return concat({reshape(state.mean, {state.mean.numel()}), reshape(state.log_sum_exp, {state.log_sum_exp.numel()})},
                0);
}

}  // namespace

void incremental_cross_attention_gradcheck_cases(GradcheckCases& cases) {
  const auto add = [&cases](const std::string& label, std::int64_t latents, std::int64_t first, std::int64_t second,
                            const PrefixMask& mask, AttentionScore score = AttentionScore::dot_product,
                            double size = 1) {
    const AttentionOptions options{.heads = 2, .score = score};
    cases.add("incremental_cross_attention, " + label,
              {cases.normal({2, latents, 6}, size), cases.normal({2, first, 6}), cases.normal({2, first, 4}),
               cases.normal({2, second, 6}), cases.normal({2, second, 4})},
              [mask, options](const auto& in) {
                const auto once = incremental_cross_attention(in[0], in[1], in[2], PrefixMask::all(), options);
                return joined(absorb(once, in[0], in[3], in[4], mask, options));
              });
  };
  add("two updates", 3, 4, 5, PrefixMask::all());
  add("single", 1, 1, 1, PrefixMask::all());
  add("33 and 129 keys", 2, 33, 129, PrefixMask::all());
  add("129 latents", 129, 3, 2, PrefixMask::all());
  add("lengths", 3, 4, 5, PrefixMask::lengths(Tensor::from<std::int64_t>({2}, {0, 3})));
  add("nothing new is visible", 3, 4, 5, PrefixMask::first(0));
  add("laplace", 3, 4, 5, PrefixMask::all(), AttentionScore::laplace);
  add("large scores", 3, 4, 5, PrefixMask::all(), AttentionScore::dot_product, 30);
  add("scores near 1e4", 3, 4, 5, PrefixMask::all(), AttentionScore::dot_product, 1e4);
  // No gradient reaches a log-sum-exp of nothing, so the means alone are looked at.
  cases.add("incremental_cross_attention, no latents, then no keys", {cases.normal({2, 0, 6}), cases.normal({2, 3, 6})},
            [](const auto& in) {
              return incremental_cross_attention(in[0], in[1], in[1], PrefixMask::all(), {.heads = 2}).mean;
            });
  cases.add("incremental_cross_attention, from an empty state", {cases.normal({2, 3, 6}), cases.normal({2, 4, 6})},
            [](const auto& in) {
              const AttentionState state{
                  Tensor::zeros({2, 3, 6}, DType::float64),
                  Tensor::full({2, 2, 3}, -std::numeric_limits<double>::infinity(), DType::float64)};
              return joined(absorb(state, in[0], in[1], in[1], PrefixMask::all(), {.heads = 2}));
            });
}

}  // namespace npzoo
