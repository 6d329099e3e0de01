#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/masked_attention/distance_bias.h"

namespace npzoo {

namespace {

struct BiasedSize {
  std::int64_t batch, queries, keys;
  int heads;
  std::int64_t width, value_width, terms;
};

/// A group of coordinates and its bias.
struct BiasedGroup {
  BiasForm form;
  DistanceKind distance = DistanceKind::euclidean;
  std::int64_t dims = 2;
};

/// Places of a group; those on a sphere are in degrees.
Tensor draw_places(GradcheckCases& cases, const BiasedGroup& group, std::int64_t batch, std::int64_t points) {
  return cases.normal({batch, points, group.dims}, group.distance == DistanceKind::great_circle ? 60 : 1);
}

void add(GradcheckCases& cases, const char* label, const BiasedSize& s, const std::vector<BiasedGroup>& groups,
         const PrefixMask& mask = PrefixMask::all(), std::int64_t scan_chunk = 0) {
  std::vector<Tensor> inputs{cases.normal({s.batch, s.queries, s.heads * s.width}),
                             cases.normal({s.batch, s.keys, s.heads * s.width}),
                             cases.normal({s.batch, s.keys, s.heads * s.value_width})};
  std::vector<DistanceBias> biases;
  for (const BiasedGroup& group : groups) {
    const bool scalar = group.form == BiasForm::scalar, sphere = group.distance == DistanceKind::great_circle;
    const Shape shape = scalar ? Shape{s.heads} : Shape{s.heads, s.terms};
    biases.push_back({group.form, group.distance, draw_places(cases, group, s.batch, s.queries),
                      draw_places(cases, group, s.batch, s.keys)});
    inputs.push_back(cases.normal(shape, sphere && scalar ? 0.02 : 1));
    if (!scalar) inputs.push_back(cases.uniform(shape, 0.2, sphere ? 0.3 : 1.5));
    if (group.form == BiasForm::tisa) inputs.push_back(cases.normal(shape));
  }
  cases.add(label, std::move(inputs), [biases, mask, scan_chunk, heads = s.heads](const auto& in) {
    std::vector<DistanceBias> all = biases;
    std::size_t next = 3;
    for (DistanceBias& bias : all) {
      bias.query_places = bias.query_places.to(in[0].dtype());
      bias.key_places = bias.key_places.to(in[0].dtype());
      bias.a = in[next++];
      if (bias.form != BiasForm::scalar) bias.b = in[next++];
      if (bias.form == BiasForm::tisa) bias.c = in[next++];
    }
    return biased_attention(in[0], in[1], in[2], mask, {.heads = heads, .scan_chunk = scan_chunk}, all);
  });
}

}  // namespace

void biased_attention_gradcheck_cases(GradcheckCases& cases) {
  constexpr BiasedGroup kRbf{BiasForm::rbf}, kTisa{BiasForm::tisa}, kScalar{BiasForm::scalar};
  constexpr BiasedGroup kTime{BiasForm::rbf, DistanceKind::euclidean, 1},
      kGeodesic{BiasForm::exponential, DistanceKind::great_circle},
      kGeodesicRbf{BiasForm::rbf, DistanceKind::great_circle};
  for (const BiasedSize& s :
       {BiasedSize{2, 5, 7, 2, 4, 3, 3}, BiasedSize{1, 1, 1, 1, 1, 1, 1}, BiasedSize{1, 33, 129, 1, 3, 2, 2},
        BiasedSize{1, 129, 33, 2, 2, 3, 1}, BiasedSize{2, 0, 5, 2, 3, 3, 2}, BiasedSize{2, 4, 0, 2, 3, 3, 2},
        BiasedSize{0, 4, 5, 2, 3, 3, 2}})
    add(cases, "biased_attention", s, {kRbf});
  const BiasedSize size{2, 6, 5, 2, 3, 4, 2};
  for (const BiasedGroup& group : {kTisa, kScalar, kGeodesic, kGeodesicRbf})
    add(cases, "biased_attention, another form", size, {group});
  add(cases, "biased_attention, three groups", size, {kScalar, kTisa, kTime});
  add(cases, "biased_attention, a scan", size, {kScalar, kTime}, PrefixMask::all(), 2);
  add(cases, "biased_attention, a scan without biases", size, {}, PrefixMask::all(), 1024);
  add(cases, "biased_attention, lengths", size, {kTisa, kTime},
      PrefixMask::lengths(Tensor::from<std::int64_t>({2}, {0, 4})), 3);
  add(cases, "biased_attention, row lengths", size, {kTisa},
      PrefixMask::lengths(Tensor::from<std::int64_t>({2, 6}, {0, 2, 5, 5, 2, 0, 3, 3, 3, 0, 0, 5})));
}

}  // namespace npzoo
