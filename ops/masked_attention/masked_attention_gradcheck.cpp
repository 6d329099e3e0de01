#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/masked_attention/masked_attention.h"

namespace npzoo {

void biased_attention_gradcheck_cases(GradcheckCases& cases);  // biased_attention_gradcheck.cpp

namespace {

struct AttentionSize {
  std::int64_t batch, queries, keys;
  int heads;
  std::int64_t width, value_width;
};

void add(GradcheckCases& cases, const std::string& label, const AttentionSize& s, const PrefixMask& mask,
         double scale = 0, double logit_size = 1, AttentionScore score = AttentionScore::dot_product) {
  cases.add(
      label,
      {cases.normal({s.batch, s.queries, s.heads * s.width}, logit_size),
       cases.normal({s.batch, s.keys, s.heads * s.width}), cases.normal({s.batch, s.keys, s.heads * s.value_width})},
      [mask, scale, score, heads = s.heads](const auto& in) {
        return masked_attention(in[0], in[1], in[2], mask, {.heads = heads, .scale = scale, .score = score});
      });
}

}  // namespace

void masked_attention_gradcheck_cases(GradcheckCases& cases) {
  for (const AttentionSize& s :
       {AttentionSize{2, 5, 7, 2, 4, 4}, AttentionSize{1, 1, 1, 1, 1, 1}, AttentionSize{1, 33, 129, 1, 3, 2},
        AttentionSize{1, 129, 33, 2, 2, 3}, AttentionSize{2, 0, 5, 2, 3, 3}, AttentionSize{2, 4, 0, 2, 3, 3},
        AttentionSize{0, 4, 5, 2, 3, 3}, AttentionSize{2, 3, 4, 1, 0, 2}})
    add(cases, "masked_attention", s, PrefixMask::all());
  const AttentionSize size{2, 6, 5, 2, 3, 4};
  add(cases, "masked_attention, first 3 keys", size, PrefixMask::first(3));
  add(cases, "masked_attention, no key visible", size, PrefixMask::first(0));
  add(cases, "masked_attention, causal", size, PrefixMask::growing(1));
  add(cases, "masked_attention, strictly causal", size, PrefixMask::growing(0));
  add(cases, "masked_attention, lengths", size, PrefixMask::lengths(Tensor::from<std::int64_t>({2}, {0, 4})));
  add(cases, "masked_attention, row lengths", size,
      PrefixMask::lengths(Tensor::from<std::int64_t>({2, 6}, {0, 1, 5, 5, 2, 0, 3, 3, 3, 0, 0, 5})));
  add(cases, "masked_attention, scale", size, PrefixMask::all(), 0.125);
  add(cases, "masked_attention, large logits", size, PrefixMask::first(4), 0, 1e2);
  add(cases, "masked_attention, logits near 1e4", size, PrefixMask::all(), 0, 1e4);
  for (const auto score : {AttentionScore::laplace, AttentionScore::uniform}) {
    const std::string kind = score == AttentionScore::laplace ? "laplace" : "uniform";
    for (const AttentionSize& s :
         {AttentionSize{2, 5, 7, 2, 2, 4}, AttentionSize{1, 1, 1, 1, 1, 1}, AttentionSize{1, 33, 129, 1, 2, 2},
          AttentionSize{1, 129, 33, 1, 1, 1}, AttentionSize{2, 0, 5, 2, 3, 3}, AttentionSize{2, 4, 0, 2, 3, 3}})
      add(cases, "masked_attention, " + kind, s, PrefixMask::all(), 0, 1, score);
    add(cases, "masked_attention, " + kind + ", causal", size, PrefixMask::growing(0), 0.7, 1, score);
    add(cases, "masked_attention, " + kind + ", lengths", size,
        PrefixMask::lengths(Tensor::from<std::int64_t>({2}, {0, 4})), 3, 1, score);
  }
  biased_attention_gradcheck_cases(cases);
}

}  // namespace npzoo
