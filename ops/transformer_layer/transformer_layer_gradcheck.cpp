#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/transformer_layer/transformer_layer.h"

namespace npzoo {

namespace {

struct LayerSize {
  std::int64_t batch, rows, keys, width, hidden;
};

void add(GradcheckCases& cases, const std::string& label, const LayerSize& s, const PrefixMask& mask,
         const TransformerLayerOptions& options, bool biases = true) {  // of linear layers
  const std::int64_t e = s.width, f = s.hidden;
  std::vector<Tensor> inputs{cases.normal({s.batch, s.rows, e}), cases.normal({s.batch, s.keys, e}),
                             cases.normal({s.batch, s.keys, e})};
  for (const Shape& shape : {Shape{e, e}, Shape{e, e}, Shape{f, e}, Shape{e, f}, Shape{e}, Shape{e}}) {
    inputs.push_back(cases.normal(shape, 0.5));
    if (biases || shape.rank() == 1) inputs.push_back(cases.normal({shape[0]}, 0.5));
  }
  cases.add(label, std::move(inputs), [mask, options, biases](const std::vector<Tensor>& in) {
    std::size_t i = 3;
    const auto next = [&] {
      WeightAndBias both{in[i++], {}};
      if (biases || both.weight.rank() == 1) both.bias = in[i++];
      return both;
    };
    TransformerLayerWeights weights;
    for (WeightAndBias* each :
         {&weights.query, &weights.out, &weights.expand, &weights.contract, &weights.norm1, &weights.norm2})
      *each = next();
    return transformer_layer(in[0], in[1], in[2], mask, weights, options);
  });
}

}  // namespace

void transformer_layer_gradcheck_cases(GradcheckCases& cases) {
  const LayerSize size{2, 3, 4, 4, 6};
  add(cases, "transformer_layer, post-norm, relu", size, PrefixMask::all(), {.heads = 2});
  add(cases, "transformer_layer, pre-norm, relu", size, PrefixMask::growing(1), {.heads = 2, .pre_norm = true});
  add(cases, "transformer_layer, GELU, scale", size, PrefixMask::first(0),
      {.heads = 1, .scale = 0.3, .gelu = true, .eps = 1e-3});
  add(cases, "transformer_layer, no biases, relu", size, PrefixMask::all(), {.heads = 2, .pre_norm = true}, false);
  add(cases, "transformer_layer, no rows, relu", {2, 0, 4, 4, 6}, PrefixMask::all(), {.heads = 2});
  add(cases, "transformer_layer, no keys, relu", {1, 2, 0, 4, 2}, PrefixMask::all(), {.heads = 4, .pre_norm = true});
}

}  // namespace npzoo
