#include "tests/attention_weights.h"

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/incremental_cross_attention/incremental_cross_attention.h"
#include "npzoo/ops/masked_attention/attention_weights.h"
#include "npzoo/ops/random_feature_attention/linear_attention_weights.h"
#include "tests/ops/attention_fixtures.h"
#include "tests/ops/random_feature_reference.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Whether rows of weights add up to 1, or to 0 if nothing is seen.
bool add_up(const Tensor& weights, const PrefixMask& mask) {
  const std::vector<double> sums = row_sums(weights);
  const std::int64_t heads = weights.dim(1), queries = weights.dim(2);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const bool sees = mask.visible(row / (heads * queries), row % queries, weights.dim(3)) > 0;
    if (!(std::abs(sums[i] - (sees ? 1 : 0)) <= kTolerance<double>)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE_TEMPLATE("attention_weights: times values they are attention, under every mask and score", T, float, double) {
  const AttentionSize size{3, 5, 9, 2, 4, 3};
  for (const AttentionScore score : {AttentionScore::dot_product, AttentionScore::laplace, AttentionScore::uniform})
    for (const double scale : {0.0, 0.3})
      for (const PrefixMask& mask : masks_of(size)) {
        auto in = draw<T>(size);
        const AttentionOptions options{.heads = size.heads, .scale = scale, .score = score};
        const Tensor weights = attention_weights(in[0], in[1], mask, options);
        REQUIRE(weights.shape() == Shape{3, 2, 5, 9});
        CHECK(weights.dtype() == DType::float64);
        CHECK(add_up(weights, mask));
        const Tensor out = masked_attention(in[0], in[1], in[2], mask, options);
        CHECK(largest_difference(out, doubles(weighed(weights, in[2]))) <= kTolerance<T>);
      }
}

TEST_CASE("attention_weights: keys that no row sees may be NaN, scores of any size") {
  const AttentionSize size{1, 2, 4, 1, 3, 3};
  auto in = draw<double>(size);
  const Tensor clean = attention_weights(in[0], in[1], PrefixMask::first(3), {});
  fill_point(in[1], 3, kNaN);
  CHECK(same_bits(attention_weights(in[0], in[1], PrefixMask::first(3), {}), clean));
  fill_point(in[0], 0, 1e3);
  fill_point(in[1], 2, 1e3);
  CHECK(doubles(attention_weights(in[0], in[1], PrefixMask::first(3), {}))[2] == 1);
}

TEST_CASE_TEMPLATE("linear_attention_weights: times values they are linear attention", T, float, double) {
  for (const Stabiliser stabiliser : kStabilisers)
    for (const std::int64_t seen : {0, 1, 8, 20}) {
      const FeatureSize size{2, 5, 9, 2, 4, 3, 8};
      const auto in = draw<T>(size);
      const Tensor projection = projection_of(size, in[0].dtype());
      const PrefixMask mask = PrefixMask::first(seen);
      const RandomFeatureOptions options{.heads = 2, .stabiliser = stabiliser};
      const Tensor weights = linear_attention_weights(in[0], in[1], projection, mask, options);
      REQUIRE(weights.shape() == Shape{2, 2, 5, 9});
      CHECK(add_up(weights, mask));
      const Tensor out = linear_attention(in[0], in[1], in[2], projection, mask, options);
      // Exponents of size 10 are off by some units in their last place.
      CHECK(largest_difference(out, doubles(weighed(weights, in[2]))) <= 10 * kTolerance<T>);
    }
}

TEST_CASE("linear_attention_weights: where the denominator is limited they add up to less, as in the operation") {
  const Tensor q = Tensor::full({1, 1, 1}, 6), k = Tensor::full({1, 2, 1}, -6),
               v = Tensor::from<float>({1, 2, 1}, {1, 2}), projection = Tensor::full({1, 1}, 0.1);
  const Tensor weights = linear_attention_weights(q, k, projection, PrefixMask::all(), {});
  const double feature = std::exp(-36);  // of both, since w·q + w·k = 0
  CHECK(largest_difference(weights, {feature / 1e-6, feature / 1e-6}) <= 1e-15 * feature / 1e-6 * 10);
  const double out = doubles(linear_attention(q, k, v, projection, PrefixMask::all(), {}))[0];
  CHECK(std::abs(out - 3 * feature / 1e-6) <= 10 * kTolerance<float> * out);
}

TEST_CASE("incremental_cross_attention: kept weights of chunks are those of all keys at once") {
  const AttentionSize size{2, 3, 11, 2, 4, 3};
  const auto in = draw<double>(size);
  const PrefixMask mask = PrefixMask::lengths(Tensor::from<std::int64_t>({2}, {5, 11}));
  const AttentionOptions options{.heads = 2};
  const KeepAttention keep;
  AttentionState state;
  for (const auto& [begin, end] : {std::pair{0, 4}, {4, 4}, {4, 9}, {9, 11}}) {
    const auto part = incremental_cross_attention(in[0], slice(in[1], 1, begin, end), slice(in[2], 1, begin, end),
                                                  mask.after(begin), options);
    state = begin == 0 ? part : merge(state, part);
  }
  const Tensor expected = attention_weights(in[0], in[1], mask, options);
  REQUIRE(state.weights.shape() == expected.shape());
  CHECK(largest_difference(state.weights, doubles(expected)) <= kTolerance<double>);
  CHECK(largest_difference(state.mean, doubles(weighed(state.weights, in[2]))) <= kTolerance<double>);
}

TEST_CASE("attention_weights: errors") {
  const Tensor q = Tensor::zeros({1, 2, 4}), k = Tensor::zeros({1, 3, 6});
  CHECK(error_of([&] { attention_weights(q, k, PrefixMask::all(), {}); }) ==
        "[attention_weights] q (1, 2, 4) and k (1, 3, 6) must agree in the last extent");
  CHECK(error_of([&] {
          linear_attention_weights(q, k, Tensor::zeros({5, 4}), PrefixMask::all(), {});
        }) ==
        "[linear_attention_weights] q (1, 2, 4), k (1, 3, 6) and projection (5, 4) do not fit together with 1 heads");
}
