#include "npzoo/ops/encoder_layer/encoder_layer.h"

#include <cmath>

#include "npzoo/engine/precision.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/ops/attention_fixtures.h"
#include "tests/ops/gradcheck_all.h"

namespace npzoo {

void encoder_layer_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

struct EncoderSize {
  std::int64_t batch = 1, rows = 1, keys = 1, hidden = 64;
  int head_width = 16;
  bool biases = true;
};

constexpr std::int64_t kWidth = 64;

/// Points and weights, in the order in which `layer_of` takes them.
std::vector<Tensor> draw_encoder(const EncoderSize& s) {
  std::uint64_t seed = 1;
  const auto draw = [&](const Shape& shape, double scale, double shift = 0) {
    return affine(normal<double>(shape, seed++), scale, shift).to(DType::float32);
  };
  std::vector<Tensor> in{draw({s.batch, s.rows, kWidth}, 1)};
  const auto linear = [&](std::int64_t out, std::int64_t columns) {
    in.push_back(draw({out, columns}, 1 / std::sqrt(static_cast<double>(columns))));
    if (s.biases) in.push_back(draw({out}, 0.2));
  };
  for (int i = 0; i < 4; ++i) linear(kWidth, kWidth);
  linear(s.hidden, kWidth);
  linear(kWidth, s.hidden);
  for (int i = 0; i < 2; ++i) {
    in.push_back(draw({kWidth}, 0.2, 1));
    in.push_back(draw({kWidth}, 0.2));
  }
  return in;
}

EncoderLayerWeights weights_of(const std::vector<Tensor>& in) {
  EncoderLayerWeights weights;
  auto& [query, out, expand, contract, norm1, norm2] = weights.layer;
  const bool biases = in.size() == 17;
  std::size_t i = 1;
  for (WeightAndBias* each : {&weights.key, &weights.value, &query, &out, &expand, &contract, &norm1, &norm2}) {
    each->weight = in[i++];
    if (biases || each->weight.rank() == 1) each->bias = in[i++];
  }
  return weights;
}

Function layer_function(const EncoderSize& s, const PrefixMask& mask, TransformerLayerOptions options) {
  options.heads = static_cast<int>(kWidth) / s.head_width;
  return [=](const std::vector<Tensor>& in) { return encoder_layer(in[0], s.keys, mask, weights_of(in), options); };
}

bool is_fused(const EncoderSize& s, const std::vector<Tensor>& in) {
  return encoder_layer_is_fused(in[0].shape(), s.keys, weights_of(in),
                                {.heads = static_cast<int>(kWidth) / s.head_width});
}

double norm(const std::vector<double>& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return std::sqrt(squares);
}

/// The distance of an output or a gradient from the exact one, relative to that one or to the one before: the gradient
/// of the keys' bias is 0 but for roundings, and that of their matrix comes before it.
double relative_distance(const std::vector<Tensor>& found, const std::vector<Tensor>& exact, std::size_t i) {
  const std::vector<double> expected = doubles(exact[i]);
  std::vector<double> difference = doubles(found[i]);
  for (std::size_t j = 0; j < difference.size(); ++j) difference[j] -= expected[j];
  const double scale = std::max(norm(expected), i > 1 ? norm(doubles(exact[i - 1])) : 0);
  return scale == 0 ? norm(difference) : norm(difference) / scale;
}

/// Roundings of one factor, some products after each other. A unit of ReLU whose input a rounding takes to the other
/// side of 0 has another slope: with an error of 2⁻⁸ that is one in some hundred.
double tolerance(Precision precision, bool gradient, bool gelu) {
  if (precision == Precision::float32) return gradient ? 5e-6 : 2e-6;
  const double rounding = precision == Precision::tf32 ? 0x1p-11 : 0x1p-8;
  return rounding * (gradient ? gelu ? 4 : 32 : 4);
}

/// Compares the layer and all its gradients with the composed layer in double.
void compare_with_composed(const EncoderSize& s, const PrefixMask& mask, const TransformerLayerOptions& options,
                           std::initializer_list<Precision> precisions = {Precision::float32}) {
  const std::vector<Tensor> in = draw_encoder(s);
  const Function layer = layer_function(s, mask, options);
  const std::vector<Tensor> exact = with_gradients(layer, to_double(in));
  const bool on_gpu = default_device() == Device::cuda;
  CHECK(is_fused(s, in) == (on_gpu && in[0].numel() > 0));
  for (const Precision precision : precisions) {
    if (precision != Precision::float32 && !on_gpu) continue;  // the CPU knows float32 alone
    CAPTURE(to_string(precision));
    const PrecisionScope in_use(precision);
    const std::vector<Tensor> found = with_gradients(layer, in);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(i);
      CHECK(found[i].shape() == exact[i].shape());
      CHECK(relative_distance(found, exact, i) <= tolerance(precision, i > 0, options.gelu));
    }
  }
}

constexpr std::initializer_list<Precision> kPrecisions{Precision::float32, Precision::tf32, Precision::bf16};

}  // namespace

TEST_CASE("encoder layer: values and gradients are near those of the composed layer in double, in every precision") {
  for (const bool pre_norm : {false, true})
    for (const bool gelu : {false, true}) {
      CAPTURE(pre_norm);
      CAPTURE(gelu);
      compare_with_composed({2, 37, 21, 80, 16}, PrefixMask::all(), {.pre_norm = pre_norm, .gelu = gelu}, kPrecisions);
    }
  compare_with_composed({1, 70, 70, 16, 32}, PrefixMask::all(), {.scale = 0.4, .pre_norm = true, .eps = 1e-2},
                        kPrecisions);
  compare_with_composed({1, 130, 128, 64, 32, false}, PrefixMask::first(120), {});
}

TEST_CASE("encoder layer: gradient check") { gradcheck_all(encoder_layer_gradcheck_cases); }

TEST_CASE("encoder layer: every kind of mask, and no keys or rows") {
  const EncoderSize s{2, 23, 19, 32, 16};
  const AttentionSize same{s.batch, s.rows, s.keys, 4, 16, 16};
  std::size_t number = 0;
  for (const PrefixMask& mask : masks_of(same)) {
    CAPTURE(number);
    compare_with_composed(s, mask, {.pre_norm = number++ % 2 == 1});
  }
  compare_with_composed({2, 3, 0, 32, 16}, PrefixMask::all(), {});
  compare_with_composed({2, 0, 0, 32, 16}, PrefixMask::all(), {});
}

TEST_CASE("encoder layer: gradients of a batch are the same bits in every run") {
  const EncoderSize s{2, 67, 40, 32, 16};
  check_deterministic(layer_function(s, PrefixMask::all(), {}), draw_encoder(s));
}

TEST_CASE("encoder layer: forms that are not one kernel are composed") {
  const EncoderSize small{1, 3, 2, 64, 16};
  const std::vector<Tensor> in = draw_encoder(small);
  CHECK(!is_fused(small, to_double(in)));
  CHECK(!is_fused({1, 3, 2, 64, 8}, in));
  for (const EncoderSize& s : {EncoderSize{1, 140, 129, 32, 16}, EncoderSize{1, 3, 2, 40, 16}}) {
    const std::vector<Tensor> inputs = draw_encoder(s);
    CHECK(!is_fused(s, inputs));
    const Function layer = layer_function(s, PrefixMask::all(), {});
    CHECK(largest_difference(layer(inputs), doubles(layer(to_double(inputs)))) <= 2e-5);
  }
}

TEST_CASE("encoder layer: NaN stays in its row, and points that no row sees have no effect on others") {
  const EncoderSize s{1, 40, 30, 32, 16};
  const std::vector<Tensor> clean = draw_encoder(s);
  const Function layer = layer_function(s, PrefixMask::growing(-10), {.pre_norm = true});
  const std::vector<double> expected = doubles(layer(clean));
  for (const double poison : {kNaN, kInfinity}) {
    CAPTURE(poison);
    std::vector<Tensor> in = clean;
    in[0] = in[0].clone();
    fill_point(in[0], 20, poison);  // rows from 31 on see it
    const std::vector<double> found = doubles(layer(in));
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool sees = i / kWidth == 20 || i / kWidth >= 31;
      CHECK((sees ? std::isnan(found[i]) : found[i] == expected[i]));
    }
  }
}

TEST_CASE("encoder layer: a gradient that is not finite reaches what its row depends on, and nothing else") {
  const EncoderSize s{1, 40, 30, 32, 16};
  const std::vector<Tensor> in = draw_encoder(s);
  for (const bool pre_norm : {false, true}) {
    const Function layer = layer_function(s, PrefixMask::growing(-10), {.pre_norm = pre_norm});
    Tape tape;
    std::vector<Tensor> inputs = in;
    for (Tensor& x : inputs) tape.watch(x);
    Tensor out;
    {
      const Recording on(tape);
      out = layer(inputs);
    }
    Tensor d_out = Tensor::full(out.shape(), 1, DType::float32);
    fill_point(d_out, 35, kNaN);  // it sees the first 25 points
    const Grads& grads = tape.backward(out, d_out);
    const std::vector<double> d_x = doubles(grads.of(inputs[0]));
    for (std::size_t i = 0; i < d_x.size(); ++i) CHECK(std::isnan(d_x[i]) == (i / kWidth < 25 || i / kWidth == 35));
    for (std::size_t i = 1; i < inputs.size(); ++i) CHECK(std::isnan(doubles(grads.of(inputs[i]))[0]));
  }
}

TEST_CASE("encoder layer: a recording keeps one operation, and gradients add to those that are there") {
  const EncoderSize s{2, 9, 7, 32, 16};
  std::vector<Tensor> in = draw_encoder(s);
  const Function layer = layer_function(s, PrefixMask::growing(2), {});
  const auto twice = [&](const std::vector<Tensor>& x) {
    std::vector<Tensor> second = x;
    second[0] = layer(x);
    return layer(second);
  };
  const auto found = with_gradients(twice, in), exact = with_gradients(twice, to_double(in));
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(relative_distance(found, exact, i) <= 1e-5);
  }
  if (default_device() == Device::cpu) return;
  Tape tape;
  const Recording on(tape);
  for (Tensor& x : in) tape.watch(x);
  static_cast<void>(layer(in));
  CHECK(tape.size() == 1);
}

TEST_CASE("encoder layer: keys that are not points, and weights that do not fit, are refused") {
  const EncoderSize s{1, 3, 4, 32, 16};
  const Function layer = layer_function(s, PrefixMask::all(), {});
  std::vector<Tensor> in = draw_encoder(s);
  CHECK(error_of([&] { layer(in); }) == "[encoder_layer] 4 keys found, expected at most the points of x (1, 3, 64)");
  std::swap(in[3], in[11]);  // the value's matrix for that of the network
  CHECK(error_of([&] { layer(in); }).starts_with("[encoder_layer] contract has weight (64, 64)"));
  in = draw_encoder(s);
  in[0] = normal<double>({1, 5, 64}, 1);
  CHECK(!error_of([&] { layer(in); }).empty());
  in[0] = in[0].to(DType::float32);
  in[2] = {};
  CHECK(layer(in).shape() == Shape{1, 5, 64});
  in[1] = in[9];
  CHECK(error_of([&] { layer(in); }) ==
        "[encoder_layer] key has weight (32, 64) and bias (), expected (64, 64) and (64)");
}

}  // namespace npzoo
