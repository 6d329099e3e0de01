#include <numeric>

#include "npzoo/engine/memory.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "tests/ops/attention_fixtures.h"

#include <doctest/doctest.h>

namespace npzoo {

namespace {

using namespace testing;

constexpr AttentionSize kSize{2, 37, 150, 2, 3, 5};

Function attention(AttentionScore score, double scale, const PrefixMask& mask = PrefixMask::all(),
                   int heads = kSize.heads) {
  return [=](const auto& in) {
    return masked_attention(in[0], in[1], in[2], mask, {.heads = heads, .scale = scale, .score = score});
  };
}

reference::Attention laplace(double scale, const PrefixMask& mask) {
  return {kSize.heads, scale,
          [=](std::int64_t b, std::int64_t i, std::int64_t j) { return j < mask.visible(b, i, kSize.keys); }, true};
}

std::vector<PrefixMask> masks() {
  return {PrefixMask::all(), PrefixMask::first(0), PrefixMask::growing(1), PrefixMask::growing(90),
          PrefixMask::lengths(Tensor::from<std::int64_t>({kSize.batch}, {101, 0}))};
}

}  // namespace

TEST_CASE_TEMPLATE("attention scores: laplace is that of plain loops", T, float, double) {
  for (const double scale : {1.0, 0.3, 4.0})
    for (const PrefixMask& mask : masks()) {
      const auto in = draw<T>(kSize);
      const auto found = with_gradients(attention(AttentionScore::laplace, scale, mask), in),
                 exact = attention_by_loops(laplace(scale, mask), to_double(in));
      for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        CHECK(largest_difference(found[i], doubles(exact[i])) <= 8 * scale * kTolerance<T> + 4 * kTolerance<T>);
      }
    }
}

TEST_CASE("attention scores: laplace in float32 is about as exact as plain loops") {
  const auto in = draw<float>(kSize);
  const auto options = laplace(1, PrefixMask::all());
  check_as_exact_as(attention_by_loops(options, in), with_gradients(attention(AttentionScore::laplace, 1), in),
                    attention_by_loops(options, to_double(in)));
}

TEST_CASE("attention scores: the factor of laplace is 1 where none is given") {
  const auto in = draw<double>(kSize);
  CHECK(same_bits(attention(AttentionScore::laplace, 0)(in), attention(AttentionScore::laplace, 1)(in)));
}

TEST_CASE_TEMPLATE("attention scores: uniform attention is the mean of the visible values", T, float, double) {
  for (const PrefixMask& mask : masks()) {
    const auto in = draw<T>(kSize);
    const auto found = with_gradients(attention(AttentionScore::uniform, 0, mask), in);
    // Without channels to tell keys apart, all dot products are equal.
    const auto expected = with_gradients(attention(AttentionScore::dot_product, 1, mask),
                                         {Tensor::zeros({kSize.batch, kSize.queries, 0}, dtype_of<T>()),
                                          Tensor::zeros({kSize.batch, kSize.keys, 0}, dtype_of<T>()), in[2]});
    CHECK(same_bits(found[0], expected[0]));
    CHECK(same_bits(found[3], expected[3]));
    for (std::size_t i : {1, 2}) CHECK(doubles(found[i]) == std::vector<double>(doubles(in[i - 1]).size()));
  }
}

TEST_CASE("attention scores: limits of laplace") {
  const auto in = draw<double>(kSize);
  const Tensor uniform = attention(AttentionScore::uniform, 0)(in);
  CHECK(largest_difference(attention(AttentionScore::laplace, 1e-15)(in), doubles(uniform)) <= 1e-12);

  // A steep one takes the value of the nearest key.
  const Tensor nearest = attention(AttentionScore::laplace, 1e6)(in);
  for (std::int64_t b = 0; b < kSize.batch; ++b)
    for (std::int64_t i = 0; i < kSize.queries; ++i)
      for (std::int64_t h = 0; h < kSize.heads; ++h) {
        const auto distance = [&](std::int64_t j) {
          double sum = 0;
          for (std::int64_t c = h * kSize.width; c < (h + 1) * kSize.width; ++c)
            sum += std::abs(in[0].data<double>()[(b * kSize.queries + i) * kSize.heads * kSize.width + c] -
                            in[1].data<double>()[(b * kSize.keys + j) * kSize.heads * kSize.width + c]);
          return sum;
        };
        std::vector<std::int64_t> keys(kSize.keys);
        std::iota(keys.begin(), keys.end(), 0);
        const std::int64_t best = *std::ranges::min_element(keys, {}, distance);
        for (std::int64_t c = h * kSize.value_width; c < (h + 1) * kSize.value_width; ++c)
          CHECK(nearest.data<double>()[(b * kSize.queries + i) * kSize.heads * kSize.value_width + c] ==
                doctest::Approx(in[2].data<double>()[(b * kSize.keys + best) * kSize.heads * kSize.value_width + c]));
      }
}

TEST_CASE("attention scores: a single key gives its value, whatever the score") {
  const Tensor q = normal<double>({2, 9, 4}, 1), k = normal<double>({2, 1, 4}, 2), v = normal<double>({2, 1, 4}, 3);
  for (const auto score : {AttentionScore::dot_product, AttentionScore::laplace, AttentionScore::uniform}) {
    const auto out = doubles(attention(score, 0)({q, k, v}));
    for (std::size_t i = 0; i < out.size(); ++i) CHECK(out[i] == v.data<double>()[i / 36 * 4 + i % 4]);
  }
}

TEST_CASE("attention scores: zero queries or equal keys make the dot product uniform") {
  const auto in = draw<double>(kSize);
  const Tensor uniform = attention(AttentionScore::uniform, 0)(in);
  const Tensor zero = Tensor::zeros_like(in[0]), equal = Tensor::full(in[1].shape(), 0.7, DType::float64);
  CHECK(largest_difference(attention(AttentionScore::dot_product, 0)({zero, in[1], in[2]}), doubles(uniform)) <=
        kTolerance<double>);
  CHECK(largest_difference(attention(AttentionScore::dot_product, 0)({in[0], equal, in[2]}), doubles(uniform)) <=
        kTolerance<double>);
}

TEST_CASE("attention scores: the same bits in every run and with any number of threads") {
  for (const auto score : {AttentionScore::laplace, AttentionScore::uniform})
    check_deterministic(attention(score, 0, PrefixMask::growing(1)), draw<float>(kSize));
}

TEST_CASE("masked_attention: no array of queries × keys, in neither direction") {
  constexpr std::int64_t kPoints = 2000, kChannels = 16;
  const auto in = [](std::uint64_t seed) { return normal<float>({1, kPoints, kChannels}, seed); };
  const std::vector<Tensor> points{in(1), in(2), in(3)};
  const ThreadCount one(1);
  for (const PrefixMask& mask : {PrefixMask::all(), PrefixMask::growing(1)}) {
    reset_peak_memory();
    const std::int64_t before = memory_stats().live_bytes;
    with_gradients(attention(AttentionScore::dot_product, 0, mask, 1), points);
    // Inputs, output and gradients once or twice each, and the parts of the key gradients: far from 16 MB of scores.
    CHECK(memory_stats().peak_live_bytes - before <= 64 * kPoints * kChannels * std::int64_t{sizeof(float)});
  }
}

TEST_CASE_TEMPLATE("masked_attention: rows in one block that see different keys keep their own", T, float, double) {
  // Values that are not finite stand behind the sight of some rows of a block, and in sight of others.
  constexpr std::int64_t kN = 40;
  const std::vector<Tensor> clean{normal<T>({1, kN, 4}, 1), normal<T>({1, kN, 4}, 2), normal<T>({1, kN, 4}, 3)};
  for (const double poison : {kNaN, kInfinity}) {
    for (std::size_t which : {1, 2}) {
      auto in = clean;
      in[which] = in[which].clone();
      for (std::int64_t c = 0; c < 4; ++c) in[which].template data<T>()[20 * 4 + c] = static_cast<T>(poison);
      const auto expected = with_gradients(attention(AttentionScore::dot_product, 0, PrefixMask::growing(1), 1), clean);
      const auto found = with_gradients(attention(AttentionScore::dot_product, 0, PrefixMask::growing(1), 1), in);
      for (std::int64_t i = 0; i < 20 * 4; ++i) {
        CHECK(std::abs(found[0].template data<T>()[i] - expected[0].template data<T>()[i]) <= 4 * kTolerance<T>);
        CHECK(std::abs(found[1].template data<T>()[i] - expected[1].template data<T>()[i]) <= 16 * kTolerance<T>);
      }
    }
  }
}

}  // namespace npzoo
