#include "npzoo/models/blocks/convolution.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

double largest_of(const Tensor& x) {
  double largest = 0;
  for (const double value : doubles(x)) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace

TEST_CASE("Convolution: parameters and results") {
  Initializer init(Framework::torch, {.seed = 1});
  const ConvolutionConfig config{.padding = {{{2, 2}, {1, 1}}}, .groups = 2};
  Convolution layer({{5, 3}, 4, 600}, config, init);
  CHECK(layer.weight.value.shape() == Shape{5, 3, 2, 600});
  CHECK(layer.bias.value.shape() == Shape{600});
  for (const Tensor* parameter : {&layer.weight.value, &layer.bias.value}) {
    CHECK(largest_of(*parameter) <= 1 / std::sqrt(30.0) * (1 + 1e-7));
    CHECK(largest_of(*parameter) >= 0.97 / std::sqrt(30.0));
  }
  const auto named = named_parameters(layer);
  REQUIRE(named.size() == 2);
  CHECK(named[0].name == "weight");
  CHECK(named[1].name == "bias");
  const Tensor x = normal<float>({2, 6, 7, 4}, 1);
  CHECK(same_bits(layer(x), convolution(x, layer.weight.value, layer.bias.value, config)));
  Convolution bare = Convolution::without_bias({{3}, 4, 6}, ConvolutionConfig::same(3), init);
  CHECK(named_parameters(bare).size() == 1);
  CHECK(bare(normal<float>({2, 9, 4}, 1)).shape() == Shape{2, 9, 6});
}

TEST_CASE("TransposedConvolution: torch counts its outputs, flax its inputs") {
  const ConvolutionConfig config{.stride = {2}, .padding = {{{1, 1}}}, .output_padding = {1}};
  const ConvolutionExtents extents{{5}, 400, 20};
  Initializer torch(Framework::torch, {.seed = 1}), flax(Framework::flax, {.seed = 1});
  TransposedConvolution layer(extents, config, torch), other(extents, config, flax);
  CHECK(layer.weight.value.shape() == Shape{5, 400, 20});
  CHECK(largest_of(layer.weight.value) <= 0.1 * (1 + 1e-7));
  CHECK(largest_of(layer.weight.value) >= 0.099);
  const double cut = 2 / std::sqrt(2000.0) / 0.87962566103423978;
  CHECK(largest_of(other.weight.value) <= cut * (1 + 1e-7));
  CHECK(largest_of(other.weight.value) >= 0.98 * cut);
  CHECK(largest_of(other.bias.value) == 0);
  const Tensor x = normal<float>({3, 8, 400}, 1);
  const Tensor y = layer(x);
  CHECK(y.shape() == Shape{3, 18, 20});
  CHECK(same_bits(y, transposed_convolution(x, layer.weight.value, layer.bias.value, config)));
  CHECK(named_parameters(layer).size() == 2);
}

TEST_CASE("Convolution: channels that cannot be cut into groups") {
  Initializer init(Framework::torch, {.seed = 1});
  CHECK(error_of([&] {
          Convolution({{3}, 4, 6}, {.groups = 4}, init);
        }) == "[convolution] 4 channels to 6 cannot be cut into 4 equal groups");
}
