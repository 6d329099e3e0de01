#include "npzoo/ops/transformer_layer/transformer_layer.h"

#include "npzoo/engine/precision.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/ops/attention_fixtures.h"

namespace npzoo {

namespace {

using namespace testing;

struct LayerSize {
  std::int64_t batch = 1, rows = 1, keys = 1, width = 64, hidden = 64;
  int head_width = 16;
};

struct LayerInputs {
  Tensor x, keys, values;
  TransformerLayerWeights weights;
};

/// Weights as of a trained layer: products of normal numbers stay near 1.
LayerInputs draw_layer(const LayerSize& s, DType dtype = DType::float32) {
  std::uint64_t seed = 1;
  const auto draw = [&](const Shape& shape, double scale, double shift = 0) {
    return affine(normal<double>(shape, seed++), scale, shift).to(dtype);
  };
  const double by_width = 1 / std::sqrt(static_cast<double>(s.width)),
               by_hidden = 1 / std::sqrt(static_cast<double>(s.hidden));
  const auto linear = [&](std::int64_t out, std::int64_t in, double scale) {
    return WeightAndBias{draw({out, in}, scale), draw({out}, 0.2)};
  };
  const auto norm = [&] { return WeightAndBias{draw({s.width}, 0.2, 1), draw({s.width}, 0.2)}; };
  return {draw({s.batch, s.rows, s.width}, 1),
          draw({s.batch, s.keys, s.width}, 1),
          draw({s.batch, s.keys, s.width}, 1),
          {linear(s.width, s.width, by_width), linear(s.width, s.width, by_width), linear(s.hidden, s.width, by_width),
           linear(s.width, s.hidden, by_hidden), norm(), norm()}};
}

LayerInputs in_double(LayerInputs in) {
  for (Tensor* each : {&in.x, &in.keys, &in.values}) *each = each->to(DType::float64);
  auto& w = in.weights;
  for (WeightAndBias* each : {&w.query, &w.out, &w.expand, &w.contract, &w.norm1, &w.norm2})
    *each = {each->weight.to(DType::float64), each->bias.defined() ? each->bias.to(DType::float64) : Tensor()};
  return in;
}

Tensor layer_of(const LayerInputs& in, const PrefixMask& mask, const TransformerLayerOptions& options) {
  return transformer_layer(in.x, in.keys, in.values, mask, in.weights, options);
}

bool is_fused(const LayerInputs& in, const TransformerLayerOptions& options) {
  return transformer_layer_is_fused(in.x, in.keys, in.values, in.weights, options);
}

/// Errors of one rounding of a factor; six products follow each other, and sums of squares do not grow.
double tolerance(Precision precision) {
  return precision == Precision::float32 ? 2e-6 : precision == Precision::tf32 ? 4 * 0x1p-11 : 4 * 0x1p-8;
}

void compare(const LayerSize& s, const PrefixMask& mask, TransformerLayerOptions options) {
  options.heads = static_cast<int>(s.width / s.head_width);
  const LayerInputs in = draw_layer(s);
  const Tensor exact = layer_of(in_double(in), mask, options);
  const bool on_gpu = default_device() == Device::cuda;
  CHECK(is_fused(in, options) == (on_gpu && in.x.numel() > 0));
  for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bf16}) {
    if (precision != Precision::float32 && !on_gpu) continue;  // the CPU knows float32 alone
    CAPTURE(to_string(precision));
    const PrecisionScope in_use(precision);
    const Tensor found = layer_of(in, mask, options);
    CHECK(found.shape() == in.x.shape());
    double largest = 1;
    for (const double value : doubles(exact)) largest = std::max(largest, std::abs(value));
    CHECK(largest_difference(found, doubles(exact)) <= tolerance(precision) * largest);
  }
}

}  // namespace

TEST_CASE("transformer layer: float32 is near the composed layer in double, in every precision") {
  const LayerSize s{2, 37, 70, 64, 80, 16};
  for (const bool pre_norm : {false, true})
    for (const bool gelu : {false, true}) {
      CAPTURE(pre_norm);
      CAPTURE(gelu);
      compare(s, PrefixMask::all(), {.pre_norm = pre_norm, .gelu = gelu});
    }
  compare({1, 140, 129, 64, 144, 32}, PrefixMask::all(), {.scale = 0.4, .pre_norm = true, .eps = 1e-2});
  compare({1, 70, 20, 128, 48, 16}, PrefixMask::all(), {.pre_norm = true});
  compare({1, 20, 70, 128, 16, 32}, PrefixMask::all(), {});
}

TEST_CASE("transformer layer: every kind of mask, and no keys or rows") {
  const LayerSize s{2, 19, 70, 64, 32, 16};
  const AttentionSize same{s.batch, s.rows, s.keys, 4, 16, 16};
  std::size_t number = 0;
  for (const PrefixMask& mask : masks_of(same)) {
    CAPTURE(number++);
    compare(s, mask, {.pre_norm = true});
  }
  compare({2, 3, 0, 64, 32, 16}, PrefixMask::all(), {});
  compare({2, 0, 3, 64, 32, 16}, PrefixMask::all(), {});
}

TEST_CASE("transformer layer: forms that are not one kernel are composed") {
  const TransformerLayerOptions options{.heads = 4};
  for (const LayerSize& s : {LayerSize{1, 3, 4, 32, 64}, LayerSize{1, 3, 4, 64, 40}}) {
    const LayerInputs in = draw_layer(s);
    CHECK(!is_fused(in, options));
    CHECK(largest_difference(layer_of(in, PrefixMask::all(), options),
                             doubles(layer_of(in_double(in), PrefixMask::all(), options))) <= 2e-5);
  }
  const LayerInputs in = draw_layer({1, 3, 4, 64, 64});
  CHECK(!is_fused(in_double(in), options));
  CHECK(!is_fused(in, {.heads = 8}));
}

TEST_CASE("transformer layer: NaN stays in its row, and hidden keys have no effect") {
  const TransformerLayerOptions options{.heads = 4, .pre_norm = true};
  const LayerInputs clean = draw_layer({1, 40, 30, 64, 64});
  const PrefixMask mask = PrefixMask::first(24);
  const Tensor expected = layer_of(clean, mask, options);
  for (const double poison : {kNaN, kInfinity, 3.4e38}) {
    CAPTURE(poison);
    LayerInputs in = clean;
    in.keys = in.keys.clone();
    in.values = in.values.clone();
    for (std::int64_t j = 24; j < 30; ++j)
      for (Tensor* each : {&in.keys, &in.values}) fill_point(*each, j, poison);
    CHECK(same_bits(layer_of(in, mask, options), expected));
    in.x = in.x.clone();
    fill_point(in.x, 17, poison);
    const std::vector<double> found = doubles(layer_of(in, mask, options)), before = doubles(expected);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (i / 64 != 17) CHECK(found[i] == before[i]);
    if (std::isnan(poison)) CHECK(std::isnan(found[17 * 64]));
  }
}

TEST_CASE("transformer layer: the recording keeps one operation, whose gradients are those of the composed layer") {
  const TransformerLayerOptions options{.heads = 4, .pre_norm = true};
  const LayerInputs in = draw_layer({2, 9, 7, 64, 32});
  const auto f = [&](const std::vector<Tensor>& x) {
    LayerInputs with = x[0].dtype() == DType::float64 ? in_double(in) : in;
    with.x = x[0];
    with.keys = x[1];
    with.weights.expand.weight = x[2];
    return layer_of(with, PrefixMask::growing(2), options);
  };
  const std::vector<Tensor> inputs{in.x, in.keys, in.weights.expand.weight};
  const auto found = with_gradients(f, inputs), exact = with_gradients(f, to_double(inputs));
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    double largest = 1;
    for (const double value : doubles(exact[i])) largest = std::max(largest, std::abs(value));
    CHECK(largest_difference(found[i], doubles(exact[i])) <= 5e-6 * largest);
  }
  Tape tape;
  const Recording on(tape);
  Tensor x = in.x.detach();
  tape.watch(x);
  static_cast<void>(f({x, in.keys, in.weights.expand.weight}));
  CHECK(tape.size() == 1);
}

TEST_CASE("transformer layer: weights that do not fit are named") {
  LayerInputs in = draw_layer({1, 3, 4, 64, 32});
  in.weights.contract.bias = {};
  CHECK(layer_of(in, PrefixMask::all(), {.heads = 4}).shape() == in.x.shape());
  in.weights.contract.weight = in.weights.out.weight;
  CHECK(error_of([&] { layer_of(in, PrefixMask::all(), {.heads = 4}); }) ==
        "[transformer_layer] contract has weight (64, 64) and bias (), expected (64, 32) and (64)");
  in = draw_layer({1, 3, 4, 64, 32});
  in.weights.norm2.bias = {};
  CHECK(error_of([&] { layer_of(in, PrefixMask::all(), {.heads = 4}); }) ==
        "[transformer_layer] norm2 has weight (64) and bias (), expected (64) and (64)");
}

}  // namespace npzoo
