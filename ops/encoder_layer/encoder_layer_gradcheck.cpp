#include "npzoo/ops/encoder_layer/encoder_layer.h"
#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

namespace {

struct EncoderCase {
  std::string label;
  std::int64_t rows, keys;
  PrefixMask mask;
  TransformerLayerOptions options;
  bool biases = true;  // of linear layers
};

void add(GradcheckCases& cases, const EncoderCase& c) {
  constexpr std::int64_t e = 4, f = 6;
  std::vector<Tensor> inputs{cases.normal({2, c.rows, e})};
  for (const Shape& shape :
       {Shape{e, e}, Shape{e, e}, Shape{e, e}, Shape{e, e}, Shape{f, e}, Shape{e, f}, Shape{e}, Shape{e}}) {
    inputs.push_back(cases.normal(shape, 0.5));
    if (c.biases || shape.rank() == 1) inputs.push_back(cases.normal({shape[0]}, 0.5));
  }
  cases.add("encoder_layer, " + c.label, std::move(inputs), [c](const std::vector<Tensor>& in) {
    std::size_t i = 1;
    EncoderLayerWeights weights;
    auto& [query, out, expand, contract, norm1, norm2] = weights.layer;
    for (WeightAndBias* each : {&weights.key, &weights.value, &query, &out, &expand, &contract, &norm1, &norm2}) {
      each->weight = in[i++];
      if (c.biases || each->weight.rank() == 1) each->bias = in[i++];
    }
    return encoder_layer(in[0], c.keys, c.mask, weights, c.options);
  });
}

}  // namespace

void encoder_layer_gradcheck_cases(GradcheckCases& cases) {
  add(cases, {"post-norm, relu", 5, 3, PrefixMask::all(), {.heads = 2}});
  add(cases, {"pre-norm, relu", 4, 4, PrefixMask::growing(1), {.heads = 2, .pre_norm = true}});
  add(cases, {"GELU, scale", 3, 2, PrefixMask::first(0), {.heads = 1, .scale = 0.3, .gelu = true, .eps = 1e-3}});
  add(cases, {"no biases, relu", 3, 3, PrefixMask::all(), {.heads = 2, .pre_norm = true}, false});
  add(cases, {"no keys, relu", 2, 0, PrefixMask::all(), {.heads = 4}});
}

}  // namespace npzoo
