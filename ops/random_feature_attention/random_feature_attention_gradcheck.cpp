#include <cmath>

#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"

namespace npzoo {

namespace {

struct FeatureSize {
  std::int64_t batch, queries, keys;
  int heads;
  std::int64_t width, value_width, features;
};

Tensor projection_of(const FeatureSize& s) {
  if (s.width == 0) return Tensor::empty({s.features, 0}, DType::float64);
  Random random(5);
  return orthogonal_random_features(s.features, s.width, FeatureNorms::chi, random);
}

std::vector<Tensor> draw(GradcheckCases& cases, const FeatureSize& s, double logit_size) {
  return {cases.normal({s.batch, s.queries, s.heads * s.width}, std::sqrt(logit_size)),
          cases.normal({s.batch, s.keys, s.heads * s.width}, std::sqrt(logit_size)),
          cases.normal({s.batch, s.keys, s.heads * s.value_width})};
}

void add(GradcheckCases& cases, const std::string& label, const FeatureSize& s, const PrefixMask& mask,
         Stabiliser stabiliser, double scale = 0, double logit_size = 1) {
  const RandomFeatureOptions options{.heads = s.heads, .scale = scale, .stabiliser = stabiliser};
  cases.add("linear_attention, " + label, draw(cases, s, logit_size),
            [mask, options, projection = projection_of(s)](const auto& in) {
              return linear_attention(in[0], in[1], in[2], projection, mask, options);
            });
}

/// Each step by itself, and a merge.
void add_steps(GradcheckCases& cases) {
  const FeatureSize s{2, 4, 9, 2, 3, 2, 5};
  const RandomFeatureOptions options{.heads = s.heads};
  const Tensor projection = projection_of(s);
  cases.add("summarise_keys", {cases.normal({2, 9, 6}), cases.normal({2, 9, 4})},
            [projection, options](const auto& in) {
              return summarise_keys(in[0], in[1], projection, PrefixMask::first(7), options).sums;
            });
  cases.add("attend_to_summary", {cases.normal({2, 4, 6}), cases.uniform({2, 2, 5, 3}, 0.5, 2)},
            [projection, options](const auto& in) {
              const KeySummary keys{in[1], Tensor::zeros({2, 2}, DType::float64)};
              return attend_to_summary(in[0], keys, projection, options);
            });
  cases.add("attend_to_summary, denominators below the smallest",
            {cases.normal({2, 4, 6}, 8), cases.uniform({2, 2, 5, 3}, 0.5, 2)}, [projection, options](const auto& in) {
              const KeySummary keys{in[1], Tensor::zeros({2, 2}, DType::float64)};
              return attend_to_summary(in[0], keys, projection, options);
            });
  for (const Stabiliser stabiliser : {Stabiliser::none, Stabiliser::maximum})
    cases.add("merge", draw(cases, s, 1), [projection, stabiliser](const auto& in) {
      const RandomFeatureOptions options{.heads = 2, .stabiliser = stabiliser};
      const auto lengths = [](std::int64_t a, std::int64_t b) {
        return PrefixMask::lengths(Tensor::from<std::int64_t>({2}, {a, b}));
      };
      const KeySummary a = summarise_keys(in[1], in[2], projection, lengths(5, 0), options),
                       b = summarise_keys(affine(in[1], 0.5, 0.1), in[2], projection, lengths(9, 2), options);
      return attend_to_summary(in[0], merge(a, b), projection, options);
    });
}

}  // namespace

void random_feature_attention_gradcheck_cases(GradcheckCases& cases) {
  for (const Stabiliser stabiliser : {Stabiliser::none, Stabiliser::maximum}) {
    const std::string label = stabiliser == Stabiliser::none ? "no stabiliser" : "maximum";
    for (const FeatureSize& s :
         {FeatureSize{2, 5, 7, 2, 4, 4, 8}, FeatureSize{1, 1, 1, 1, 1, 1, 1}, FeatureSize{1, 33, 129, 1, 3, 2, 7},
          FeatureSize{1, 129, 33, 2, 2, 3, 5}, FeatureSize{2, 0, 5, 2, 3, 3, 4}, FeatureSize{2, 4, 0, 2, 3, 3, 4},
          FeatureSize{0, 4, 5, 2, 3, 3, 4}, FeatureSize{2, 3, 4, 1, 0, 2, 3}, FeatureSize{1, 5, 6, 1, 33, 17, 9}})
      add(cases, label, s, PrefixMask::all(), stabiliser);
    const FeatureSize size{2, 6, 5, 2, 3, 4, 9};
    add(cases, label + ", first 3 keys", size, PrefixMask::first(3), stabiliser);
    add(cases, label + ", no key visible", size, PrefixMask::first(0), stabiliser);
    add(cases, label + ", lengths", size, PrefixMask::lengths(Tensor::from<std::int64_t>({2}, {0, 4})), stabiliser);
    add(cases, label + ", scale", size, PrefixMask::all(), stabiliser, 0.125);
    add(cases, label + ", large logits", size, PrefixMask::first(4), stabiliser, 0, 5);
  }
  add_steps(cases);
}

}  // namespace npzoo
