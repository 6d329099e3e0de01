#include "npzoo/ops/convolution/convolution.h"

#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/memory.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/ops/product_tolerance.h"
#include "tests/testing.h"

namespace npzoo {

void convolution_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

struct ConvolutionSize {
  Shape x, weight;
  ConvolutionConfig config;
};

/// Calls f(x index, tap index, y index) for what meets: x at `in`, a tap, and y at `out` = (in + before − tap) / stride
/// where that is a whole number within `extent`. Transposed, out = stride · in + tap − before.
template <class F>
void for_meetings(std::int64_t in_extent, std::int64_t taps, std::int64_t out_extent, std::int64_t stride,
                  std::int64_t before, bool transposed, F f) {
  for (std::int64_t in = 0; in < in_extent; ++in)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t out = 0; out < out_extent; ++out)
        if (transposed ? out == stride * in + tap - before : in == stride * out + tap - before) f(in, tap, out);
}

/// By the definition, in double: every pair of positions is looked at. Images alone.
struct NaiveConvolution {
  Tensor y, d_x, d_weight, d_bias;

  NaiveConvolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvolutionConfig& c,
                   const Tensor& d_y, bool transposed)
      : y(Tensor::zeros_like(d_y)),
        d_x(Tensor::zeros_like(x)),
        d_weight(Tensor::zeros_like(weight)),
        d_bias(Tensor::zeros_like(bias)) {
    const std::int64_t in = weight.dim(2), out = y.dim(3) / c.groups;
    const double *x_at = x.data<double>(), *w_at = weight.data<double>(), *d_y_at = d_y.data<double>();
    double *y_at = y.data<double>(), *d_x_at = d_x.data<double>(), *d_w_at = d_weight.data<double>();
    for (std::int64_t i = 0; i < y.numel(); ++i) {
      y_at[i] = bias.data<double>()[i % y.dim(3)];
      d_bias.data<double>()[i % y.dim(3)] += d_y_at[i];
    }
    const auto rows = [&](auto f) {
      for_meetings(x.dim(1), weight.dim(0), y.dim(1), c.stride[0], c.padding[0].before, transposed, f);
    };
    const auto columns = [&](auto f) {
      for_meetings(x.dim(2), weight.dim(1), y.dim(2), c.stride[1], c.padding[1].before, transposed, f);
    };
    for (std::int64_t b = 0; b < x.dim(0); ++b)
      rows([&](std::int64_t x_row, std::int64_t tap_row, std::int64_t y_row) {
        columns([&](std::int64_t x_column, std::int64_t tap_column, std::int64_t y_column) {
          for (std::int64_t i = 0; i < x.dim(3); ++i)
            for (std::int64_t j = 0; j < out; ++j) {
              const std::int64_t o = i / in * out + j;
              const std::int64_t at_x = ((b * x.dim(1) + x_row) * x.dim(2) + x_column) * x.dim(3) + i;
              const std::int64_t at_w = ((tap_row * weight.dim(1) + tap_column) * in + i % in) * weight.dim(3) + o;
              const std::int64_t at_y = ((b * y.dim(1) + y_row) * y.dim(2) + y_column) * y.dim(3) + o;
              y_at[at_y] += x_at[at_x] * w_at[at_w];
              d_x_at[at_x] += d_y_at[at_y] * w_at[at_w];
              d_w_at[at_w] += d_y_at[at_y] * x_at[at_x];
            }
        });
      });
  }
};

Function convolve(const ConvolutionConfig& config, bool transposed) {
  return [config, transposed](const std::vector<Tensor>& in) {
    return transposed ? transposed_convolution(in[0], in[1], in[2], config) : convolution(in[0], in[1], in[2], config);
  };
}

template <class T>
std::vector<Tensor> convolution_inputs(const ConvolutionSize& size) {
  return {normal<T>(size.x, 1), normal<T>(size.weight, 2), normal<T>({size.weight.last()}, 3)};
}

const std::vector<ConvolutionSize>& convolution_sizes() {
  static const std::vector<ConvolutionSize> sizes = {
      {{2, 1, 1, 1}, {1, 1, 1, 1}, {}},
      {{0, 4, 5, 2}, {3, 3, 2, 3}, {}},
      {{1, 9, 33, 33}, {3, 5, 33, 17}, ConvolutionConfig::same(3, 5)},
      {{3, 28, 28, 16}, {5, 5, 16, 32}, ConvolutionConfig::same(5, 5)},
      {{2, 12, 9, 64}, {3, 3, 64, 64}, ConvolutionConfig::same(3, 3)},
      {{1, 3, 4, 300}, {2, 2, 300, 70}, {}},
      {{1, 2, 700, 3}, {1, 4, 3, 129}, {.stride = {1, 2}, .padding = {{{0, 0}, {1, 2}}}}},
      {{2, 11, 10, 3}, {2, 2, 3, 8}, {.stride = {3, 4}, .padding = {{{0, 1}, {1, 0}}}}},
      {{2, 7, 6, 4}, {2, 2, 4, 5}, {.stride = {2, 1}, .padding = {{{1, 1}, {1, 1}}}}},
      {{2, 9, 8, 12}, {3, 3, 4, 6}, {.stride = {2, 2}, .padding = {{{1, 0}, {0, 1}}}, .groups = 3}},
      {{2, 9, 8, 48}, {3, 3, 1, 48}, {.padding = {{{1, 1}, {1, 1}}}, .groups = 48}},
      {{2, 1, 300, 19}, {1, 19, 1, 19}, {.padding = {{{0, 0}, {9, 9}}}, .groups = 19}},
      {{1, 7, 40, 33}, {3, 7, 1, 33}, {.stride = {2, 3}, .padding = {{{2, 0}, {0, 4}}}, .groups = 33}},
      {{1, 5, 4, 3}, {3, 3, 1, 6}, {.padding = {{{1, 1}, {1, 1}}}, .groups = 3}}};
  return sizes;
}

}  // namespace

TEST_CASE("convolution: gradients") { gradcheck_all(convolution_gradcheck_cases); }

TEST_CASE_TEMPLATE("convolution: values and gradients of both kinds", T, float, double) {
  for (const ConvolutionSize& size : convolution_sizes())
    for (const bool transposed : {false, true}) {
      CAPTURE(to_string(size.x));
      CAPTURE(to_string(size.weight));
      CAPTURE(transposed);
      const auto in = convolution_inputs<T>(size);
      const auto found = with_gradients(convolve(size.config, transposed), in);
      const auto here = [](const Tensor& x) { return x.to(Device::cpu).to(DType::float64); };
      const NaiveConvolution exact(here(in[0]), here(in[1]), here(in[2]), size.config, here(cotangent(found[0])),
                                   transposed);
      // Twice the products: in double the plain loops are rounded as often.
      const std::int64_t taps = 2 * size.weight[0] * size.weight[1];
      CHECK(largest_difference(found[0], doubles(exact.y)) <= product_tolerance<T>(taps * size.weight[2]));
      CHECK(largest_difference(found[1], doubles(exact.d_x)) <=
            product_tolerance<T>(taps * size.weight[3] / size.config.groups));
      const std::int64_t positions = 2 * std::max(in[0].numel(), found[0].numel());
      CHECK(largest_difference(found[2], doubles(exact.d_weight)) <= product_tolerance<T>(positions));
      CHECK(largest_difference(found[3], doubles(exact.d_bias)) <= product_tolerance<T>(positions));
    }
}

TEST_CASE("convolution: one axis is an image of one row, bit for bit") {
  const ConvolutionConfig line{.stride = {2, 1}, .padding = {{{1, 2}, {0, 0}}}},
      image{.stride = {1, 2}, .padding = {{{0, 0}, {1, 2}}}};
  const Tensor x = normal<float>({3, 40, 5}, 1), weight = normal<float>({4, 5, 7}, 2), bias = normal<float>({7}, 3);
  const Tensor tall = x.view({3, 1, 40, 5}), flat = weight.view({1, 4, 5, 7});
  const Tensor y = convolution(x, weight, bias, line), z = transposed_convolution(x, weight, bias, line);
  CHECK(y.shape() == Shape{3, 20, 7});
  CHECK(z.shape() == Shape{3, 79, 7});
  CHECK(same_bits(y.view({3, 1, 20, 7}), convolution(tall, flat, bias, image)));
  CHECK(same_bits(z.view({3, 1, 79, 7}), transposed_convolution(tall, flat, bias, image)));
}

TEST_CASE("convolution: output padding makes the output longer at its end, where only the bias may be") {
  const Tensor x = normal<double>({1, 3, 2}, 1), weight = normal<double>({2, 2, 3}, 2), bias = normal<double>({3}, 3);
  const auto with_more = [&](std::int64_t more) {
    return transposed_convolution(x, weight, bias, {.stride = {4}, .output_padding = {more}});
  };
  const Tensor shorter = with_more(0), longer = with_more(3);
  REQUIRE(shorter.shape() == Shape{1, 10, 3});
  REQUIRE(longer.shape() == Shape{1, 13, 3});
  const std::vector<double> s = doubles(shorter), l = doubles(longer), b = doubles(bias);
  CHECK(std::equal(s.begin(), s.end(), l.begin()));
  for (std::size_t i = s.size(); i < l.size(); ++i) CHECK(l[i] == b[i % 3]);
}

TEST_CASE("convolution: in float32 about as exact as plain loops") {
  const Tensor x = normal<float>({2, 14, 14, 32}, 1), weight = normal<float>({5, 5, 32, 16}, 2);
  const Tensor found = convolution(x, weight, {}, ConvolutionConfig::same(5, 5)).to(Device::cpu);
  const Tensor x_here = x.to(Device::cpu), weight_here = weight.to(Device::cpu);
  std::vector<double> exact;
  double loops_error = 0, scale = 0;
  for (std::int64_t at = 0; at < found.numel(); ++at) {
    const std::int64_t o = at % 16, column = at / 16 % 14, row = at / 16 / 14 % 14, image = at / 16 / 14 / 14;
    double sum = 0;
    float loops = 0;
    for (std::int64_t i = std::max<std::int64_t>(row - 2, 0); i < std::min<std::int64_t>(row + 3, 14); ++i)
      for (std::int64_t j = std::max<std::int64_t>(column - 2, 0); j < std::min<std::int64_t>(column + 3, 14); ++j)
        for (std::int64_t c = 0; c < 32; ++c) {
          const float a = x_here.data<float>()[((image * 14 + i) * 14 + j) * 32 + c];
          const float b = weight_here.data<float>()[(((i - row + 2) * 5 + j - column + 2) * 32 + c) * 16 + o];
          sum += static_cast<double>(a) * static_cast<double>(b);
          loops += a * b;
        }
    exact.push_back(sum);
    loops_error = std::max(loops_error, std::abs(static_cast<double>(loops) - sum));
    scale = std::max(scale, std::abs(sum));
  }
  CHECK(error(found, exact) <= 2 * loops_error / scale);
}

TEST_CASE("convolution: computes only the requested gradients") {
  const ConvolutionSize size = convolution_sizes()[8];
  for (const bool transposed : {false, true}) {
    const auto in = convolution_inputs<double>(size);
    const auto f = convolve(size.config, transposed);
    const std::int64_t before = counted_flops();
    const auto all = with_gradients(f, in);
    const std::int64_t flops = (counted_flops() - before) / 3;
    for (std::size_t wanted : {0, 1, 2}) {
      std::vector<Tensor> inputs = in;
      Tape tape;
      const Recording on(tape);
      tape.watch(inputs[wanted]);
      const Tensor y = f(inputs);
      const std::int64_t start = counted_flops();
      CHECK(same_bits(tape.backward(y, cotangent(y)).of(inputs[wanted]), all[1 + wanted]));
      CHECK(counted_flops() - start == (wanted == 2 ? 0 : flops));
    }
  }
}

TEST_CASE("convolution: the same bits in every run and with any number of threads") {
  for (const bool transposed : {false, true}) {
    const ConvolutionSize strided{{5, 30, 31, 24}, {3, 3, 24, 40}, {.stride = {2, 2}, .padding = {{{1, 1}, {1, 1}}}}};
    const ConvolutionSize line{{2, 3000, 16}, {5, 16, 16}, ConvolutionConfig::same(5)};
    for (const ConvolutionSize& size : {strided, line})
      check_deterministic(convolve(size.config, transposed), convolution_inputs<float>(size));
  }
}

TEST_CASE("convolution: needs less memory beside its input and output than these take") {
  const OnCpu cpu;
  if (kGuardBuild) return;
  const ThreadCount threads(2);
  Tensor x = normal<float>({16, 28, 28, 64}, 1), weight = normal<float>({5, 5, 64, 64}, 2);
  const Tensor d_y = normal<float>({16, 28, 28, 64}, 3);
  Tape tape;
  tape.watch(x);
  tape.watch(weight);
  const std::int64_t before = memory_stats().live_bytes, image = static_cast<std::int64_t>(x.bytes());
  reset_peak_memory();
  const Recording on(tape);
  const Tensor y = convolution(x, weight, {}, ConvolutionConfig::same(5, 5));
  CHECK(memory_stats().peak_live_bytes - before <= image + image);  // y and what is beside it
  reset_peak_memory();
  static_cast<void>(tape.backward(y, d_y));
  CHECK(memory_stats().peak_live_bytes - before <= image + 2 * image + 2 * image);  // y; d_x, d_weight; beside them
}

TEST_CASE("convolution: the stride of a single window means nothing, however long it is") {
  const std::int64_t longest = std::int64_t{1} << 31;
  const std::vector<Tensor> in{normal<float>({2, 3, 4, 6}, 1), normal<float>({2, 3, 3, 6}, 2), normal<float>({6}, 3)};
  const auto strided = [](std::int64_t stride) {
    return ConvolutionConfig{.stride = {stride, stride}, .padding = {{{1, 0}, {0, 1}}}, .groups = 2};
  };
  const auto expected = with_gradients(convolve(strided(5), false), in);
  CHECK(expected[0].shape() == Shape{2, 1, 1, 6});
  CHECK(std::ranges::equal(with_gradients(convolve(strided(longest), false), in), expected, same_bits));
  const std::vector<Tensor> point{normal<float>({2, 1, 1, 6}, 4), in[1], in[2]};
  const auto transposed = with_gradients(convolve(strided(5), true), point);
  CHECK(std::ranges::equal(with_gradients(convolve(strided(longest), true), point), transposed, same_bits));
}

TEST_CASE("convolution: errors of tensors") {
  const Tensor x = Tensor::zeros({2, 5, 4}), weight = Tensor::zeros({3, 4, 6}), bias = Tensor::zeros({6});
  const auto message = [](const Tensor& a, const Tensor& b, const Tensor& c, const ConvolutionConfig& config = {}) {
    return error_of([&] { static_cast<void>(convolution(a, b, c, config)); });
  };
  CHECK(message(Tensor::zeros({5, 4}), weight, bias) ==
        "[convolution] x (5, 4) and weight (3, 4, 6) must be (B, L, C) and (K, C, O), or (B, H, W, C) and (KH, KW, C, "
        "O)");
  CHECK(message(x, Tensor::zeros({3, 3, 4, 6}), bias) ==
        "[convolution] x (2, 5, 4) and weight (3, 3, 4, 6) must be (B, L, C) and (K, C, O), or (B, H, W, C) and (KH, "
        "KW, C, O)");
  CHECK(message(x, weight.to(DType::float64), bias) == "[convolution] x is float32, weight float64");
  CHECK(message(x, weight, bias.to(DType::float64)) == "[convolution] x is float32, bias float64");
  CHECK(message(x, Tensor::zeros({3, 5, 6}), bias) ==
        "[convolution] weight (3, 5, 6) has 5 channels in a group, expected 4 of x (2, 5, 4)");
  CHECK(message(x, weight, bias, {.groups = 4}) == "[convolution] 4 channels to 6 cannot be cut into 4 equal groups");
  CHECK(message(x, weight, bias, {.groups = 2}) ==
        "[convolution] weight (3, 4, 6) has 4 channels in a group, expected 2 of x (2, 5, 4)");
  CHECK(message(x, weight, Tensor::zeros({5})) == "[convolution] bias (5) must be (6) for weight (3, 4, 6)");
  CHECK(message(x, Tensor::zeros({0, 4, 6}), bias) ==
        "[convolution] weight (0, 4, 6) has no taps, expected 1 or more along each axis");
}

TEST_CASE("convolution: errors of the configuration") {
  const Tensor x = Tensor::zeros({2, 5, 4}), weight = Tensor::zeros({3, 4, 6});
  const auto message = [&](const ConvolutionConfig& config) {
    return error_of([&] { static_cast<void>(convolution(x, weight, {}, config)); });
  };
  const auto transposed = [&](const Tensor& in, const ConvolutionConfig& config) {
    return error_of([&] { static_cast<void>(transposed_convolution(in, weight, {}, config)); });
  };
  CHECK(message({.groups = 0}) == "[convolution] 0 groups found, expected 1 or more");
  CHECK(message({.stride = {0}}) == "[convolution] stride 0 found, expected 1 or more");
  constexpr std::int64_t kLarge = std::numeric_limits<std::int64_t>::max();
  CHECK(message({.stride = {kLarge}}) ==
        fmt::format("[convolution] stride or padding {} found, expected at most {}", kLarge, std::int64_t{1} << 31));
  CHECK(message({.padding = {{{kLarge, kLarge}}}}) ==
        fmt::format("[convolution] stride or padding {} found, expected at most {}", kLarge, std::int64_t{1} << 31));
  CHECK(message({.padding = {{{1, -2}}}}) == "[convolution] padding 1 and -2 found, expected 0 or more");
  constexpr Padding kLongest{std::int64_t{1} << 31, std::int64_t{1} << 31};
  CHECK(error_of([&] {
          static_cast<void>(convolution(Tensor::zeros({1, 1, 1, 4}), Tensor::zeros({1, 1, 4, 2}), {},
                                        {.padding = {{kLongest, kLongest}}}));
        }) == "[convolution] padded images are (4294967297, 4294967297, 4), expected at most 281474976710656 elements");
  CHECK(message({.output_padding = {1}}) == "[convolution] output padding 1 found, expected 0");
  CHECK(error_of([&] {
          static_cast<void>(convolution(Tensor::zeros({2, 1, 4}), weight, {}, {.padding = {{{1, 0}}}}));
        }) == "[convolution] 3 taps found, expected at most the 2 positions of the padded input");
  CHECK(transposed(x, {.stride = {2}, .output_padding = {2}}) ==
        "[transposed_convolution] output padding 2 found, expected less than the stride");
  CHECK(transposed(x, {.padding = {{{4, 3}}}}) ==
        "[transposed_convolution] 5 positions and 3 taps with padding 4 and 3 give no output");
  CHECK(transposed(Tensor::zeros({2, 0, 4}), {}) ==
        "[transposed_convolution] 0 positions and 3 taps with padding 0 and 0 give no output");
}

}  // namespace npzoo
