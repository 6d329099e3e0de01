#include "npzoo/ops/random_feature_attention/random_feature_attention.h"

#include "npzoo/engine/measure/flops.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/ops/attention_fixtures.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/ops/random_feature_reference.h"

namespace npzoo {

void random_feature_attention_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

Function attention(const FeatureSize& s, const PrefixMask& mask, Stabiliser stabiliser = Stabiliser::none,
                   double scale = 0) {
  return [=](const auto& in) {
    return linear_attention(in[0], in[1], in[2], projection_of(s, in[0].dtype()), mask,
                            {.heads = s.heads, .scale = scale, .stabiliser = stabiliser});
  };
}

template <class R>
FeatureLoops<R> loops(const FeatureSize& s, const PrefixMask& mask, Stabiliser stabiliser,
                      const std::vector<Tensor>& in, double scale = 0) {
  return {s, mask, scale, stabiliser, projection_of(s, in[0].dtype()), in};
}

PrefixMask lengths(const std::vector<std::int64_t>& counts) {
  return PrefixMask::lengths(Tensor::from<std::int64_t>({static_cast<std::int64_t>(counts.size())}, std::span(counts)));
}

template <class T>
void compare(const FeatureSize& s, const PrefixMask& mask, Stabiliser stabiliser, double scale = 0) {
  const auto in = draw<T>(s);
  const auto found = with_gradients(attention(s, mask, stabiliser, scale), in),
             exact = loops<long double>(s, mask, stabiliser, in, scale).with_gradients();
  REQUIRE(found[0].shape() == Shape{s.batch, s.queries, s.heads * s.value_width});
  // One key takes all the weight whatever it is: gradients of queries and keys are what rounding leaves of 0. So are
  // those of queries where one feature is all there is.
  const bool one_key = s.batch == 1 && mask.visible(0, 0, s.keys) == 1;
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CAPTURE(s.keys);
    CAPTURE(s.features);
    // Exponents of size 10 are off by some units in their last place, and so are features relative to their size.
    const bool zero = one_key || (s.features == 1 && i == 1);
    CHECK((zero ? largest_difference : error)(found[i], doubles(exact[i])) <= 10 * kTolerance<T>);
  }
}

/// Points [begin, end) of every batch element of x, filled with `value`.
void fill_points(Tensor& x, std::int64_t begin, std::int64_t end, double value) {
  const std::int64_t channels = x.dim(2);
  for (std::int64_t b = 0; b < x.dim(0); ++b)
    for (std::int64_t i = (b * x.dim(1) + begin) * channels; i < (b * x.dim(1) + end) * channels; ++i)
      if (x.dtype() == DType::float32)
        x.data<float>()[i] = static_cast<float>(value);
      else
        x.data<double>()[i] = value;
}

}  // namespace

TEST_CASE_TEMPLATE("random_feature_attention: values and gradients are those of plain loops", T, float, double) {
  for (const Stabiliser stabiliser : kStabilisers) {
    CAPTURE(int(stabiliser));
    for (const FeatureSize& s :
         {FeatureSize{2, 5, 7, 2, 4, 3, 8}, FeatureSize{1, 1, 1, 1, 1, 1, 1}, FeatureSize{1, 33, 129, 2, 8, 8, 33},
          FeatureSize{3, 129, 33, 3, 5, 4, 7}, FeatureSize{1, 64, 64, 4, 16, 16, 64},
          FeatureSize{1, 3, 5, 2, 33, 17, 5}, FeatureSize{1, 65, 1300, 1, 3, 2, 129}}) {
      compare<T>(s, PrefixMask::all(), stabiliser);
      compare<T>(s, PrefixMask::first(s.keys / 2), stabiliser);
      compare<T>(s, PrefixMask::first(s.keys).after(1), stabiliser);
      compare<T>(s, PrefixMask::all(), stabiliser, 0.125);
    }
    const FeatureSize s{4, 6, 150, 2, 4, 3, 10};
    compare<T>(s, lengths({0, 1, 149, 200}), stabiliser);
    compare<T>({1, 2, 17000, 1, 2, 1, 3}, PrefixMask::all(), stabiliser);  // the longest chunks
    compare<T>({1, 17000, 2, 1, 2, 1, 3}, PrefixMask::all(), stabiliser);
  }
}

TEST_CASE_TEMPLATE("random_feature_attention: sizes at the edges of tiles", T, float, double) {
  for (const Stabiliser stabiliser : kStabilisers) {
    CAPTURE(int(stabiliser));
    for (const FeatureSize& s : {FeatureSize{1, 66, 65, 1, 64, 64, 256}, FeatureSize{1, 63, 128, 2, 17, 33, 65},
                                 FeatureSize{2, 700, 1500, 1, 16, 16, 1}, FeatureSize{1, 129, 300, 2, 32, 16, 33},
                                 FeatureSize{2, 30, 70, 1, 65, 70, 33}, FeatureSize{1, 3, 3, 1, 130, 1, 128},
                                 FeatureSize{1, 3, 3, 1, 1, 130, 64}}) {
      compare<T>(s, PrefixMask::all(), stabiliser);
      compare<T>(s, PrefixMask::first(2 * s.keys / 3), stabiliser);
    }
    compare<T>({3, 65, 600, 2, 8, 4, 70}, lengths({64, 0, 513}), stabiliser);
  }
}

TEST_CASE("random_feature_attention: a million keys are summed as exactly as a few") {
  // All keys are the same, so that only the values tell how exact the sum is.
  const std::int64_t keys = 1 << 20;
  const Tensor k = Tensor::full({1, keys, 2}, 0.5), q = Tensor::full({1, 1, 2}, 0.25),
               v = normal<float>({1, keys, 1}, 3, 1, 1);
  double mean = 0;
  for (double x : doubles(v)) mean += x / static_cast<double>(keys);
  const FeatureSize s{1, 1, keys, 1, 2, 1, 3};
  for (const Stabiliser stabiliser : kStabilisers)
    CHECK(error(attention(s, PrefixMask::all(), stabiliser)({q, k, v}), {mean}) <= kTolerance<float>);
}

TEST_CASE_TEMPLATE("random_feature_attention: sizes of nothing", T, float, double) {
  for (const Stabiliser stabiliser : kStabilisers) {
    compare<T>({0, 4, 5, 2, 3, 3, 4}, PrefixMask::all(), stabiliser);
    compare<T>({2, 0, 5, 2, 3, 3, 4}, PrefixMask::all(), stabiliser);
    compare<T>({2, 4, 0, 2, 3, 3, 4}, PrefixMask::all(), stabiliser);  // an empty context gives 0
    compare<T>({2, 4, 5, 2, 3, 0, 4}, PrefixMask::all(), stabiliser);
    compare<T>({2, 4, 5, 2, 0, 3, 4}, PrefixMask::first(3), stabiliser);  // nothing tells keys apart: their mean
  }
}

TEST_CASE("random_feature_attention: gradients") { gradcheck_all(random_feature_attention_gradcheck_cases); }

TEST_CASE("random_feature_attention: values and gradients in float32 are about as exact as those of plain loops") {
  for (const FeatureSize& s : {FeatureSize{2, 150, 129, 2, 16, 16, 64}, FeatureSize{1, 300, 700, 1, 4, 3, 100}})
    for (const Stabiliser stabiliser : kStabilisers) {
      CAPTURE(int(stabiliser));
      const auto in = draw<float>(s);
      const PrefixMask mask = PrefixMask::all();
      const Tensor projection = projection_of(s, DType::float32);
      const auto by_loops = [&]<class R>(R) {
        return FeatureLoops<R>(s, mask, 0, stabiliser, projection, in).with_gradients();
      };
      check_as_exact_as(by_loops(0.0f), with_gradients(attention(s, mask, stabiliser), in), by_loops(0.0));
    }
}

TEST_CASE_TEMPLATE("random_feature_attention: masked keys have no effect, whatever they hold", T, float, double) {
  for (const FeatureSize& s : {FeatureSize{2, 5, 9, 2, 4, 3, 8}, FeatureSize{2, 5, 700, 2, 8, 16, 16}})
    for (const Stabiliser stabiliser : kStabilisers)
      for (double poison : {kNaN, kInfinity, -kInfinity, 1e30}) {
        const std::int64_t visible = s.keys - 4;
        const auto clean = draw<T>(s);
        auto poisoned = draw<T>(s);
        for (std::size_t i : {1, 2}) fill_points(poisoned[i], visible, s.keys, poison);
        const Function f = attention(s, PrefixMask::first(visible), stabiliser);
        const auto expected = with_gradients(f, clean), found = with_gradients(f, poisoned);
        for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], expected[i]));
      }
}

TEST_CASE_TEMPLATE("random_feature_attention: NaN reaches the rows that see it", T, float, double) {
  const FeatureSize s{2, 6, 9, 2, 4, 2, 8};
  for (const Stabiliser stabiliser : kStabilisers) {
    for (std::size_t poisoned : {1, 2}) {
      auto in = draw<T>(s);
      fill_points(in[poisoned], 4, 5, kNaN);
      const auto out = doubles(attention(s, lengths({4, 5}), stabiliser)(in));
      for (std::size_t i = 0; i < out.size(); ++i) CHECK(std::isnan(out[i]) == (i >= out.size() / 2));
    }
    auto in = draw<T>(s);
    fill_points(in[0], 2, 3, kNaN);
    const auto out = doubles(attention(s, PrefixMask::all(), stabiliser)(in));
    for (std::size_t i = 0; i < out.size(); ++i) CHECK(std::isnan(out[i]) == (i / 4 % 6 == 2));
  }
}

TEST_CASE_TEMPLATE("random_feature_attention: without visible keys the output is 0 and takes no gradient", T, float,
                   double) {
  const FeatureSize s{2, 70, 9, 2, 4, 2, 8};
  for (const Stabiliser stabiliser : kStabilisers) {
    auto in = draw<T>(s);
    for (std::int64_t i = 0; i < s.queries * 8; ++i) in[0].template data<T>()[i] = static_cast<T>(kNaN);
    fill_points(in[1], 0, 9, 0.5);
    const CountScope clamped(clamped_denominator_counter());
    const auto results = with_gradients(attention(s, lengths({0, 9}), stabiliser), in);
    CHECK(clamped.count() == 0);
    for (const Tensor& result : results) {
      const auto all = doubles(result);
      const auto half = all.begin() + std::ptrdiff_t(all.size() / 2);
      CHECK(std::all_of(all.begin(), half, [](double x) { return x == 0; }));
      CHECK(std::all_of(half, all.end(), [](double x) { return std::isfinite(x); }));
    }
    const KeySummary keys =
        summarise_keys(in[1], in[2], projection_of(s, dtype_of<T>()), lengths({0, 9}), {.heads = 2});
    CHECK(doubles(keys.shift) == std::vector<double>{-kInfinity, -kInfinity, 0, 0});
    for (std::int64_t i = 0; i < keys.sums.numel() / 2; ++i) CHECK(keys.sums.data<T>()[i] == 0);
  }
}

TEST_CASE("random_feature_attention: a constant value comes back") {
  const FeatureSize s{2, 33, 70, 2, 4, 3, 16};
  for (const Stabiliser stabiliser : kStabilisers) {
    auto in = draw<double>(s);
    in[2] = Tensor::full(in[2].shape(), -2.5, DType::float64);
    const Tensor out = attention(s, PrefixMask::all(), stabiliser)(in);
    CHECK(error(out, std::vector<double>(static_cast<std::size_t>(out.numel()), -2.5)) <= kTolerance<double>);
  }
}

TEST_CASE("random_feature_attention: outputs are means of the values with positive weights") {
  const FeatureSize s{1, 50, 20, 1, 4, 1, 16};
  const auto in = draw<double>(s);
  const auto [low, high] = std::ranges::minmax(in[2].values<double>());
  for (double x : doubles(attention(s, PrefixMask::all())(in))) {
    CHECK(x > low);
    CHECK(x < high);
  }
}

TEST_CASE("random_feature_attention: neither the order of the keys nor having them twice matters") {
  const FeatureSize s{2, 33, 129, 2, 4, 3, 16};
  for (const Stabiliser stabiliser : kStabilisers) {
    const auto in = draw<double>(s);
    const Function f = attention(s, PrefixMask::first(100), stabiliser);
    const Tensor expected = f(in);
    std::vector<std::int64_t> order(100);
    Random(5).fill_permutation(order);
    CHECK(error(f({in[0], permuted(in[1], order), permuted(in[2], order)}), doubles(expected)) <= kTolerance<double>);
    const auto twice = [](const Tensor& x) {
      const Tensor seen = slice(x, 1, 0, 100);
      return concat({seen, seen}, 1);
    };
    const Tensor found = attention(s, PrefixMask::all(), stabiliser)({in[0], twice(in[1]), twice(in[2])});
    CHECK(error(found, doubles(expected)) <= kTolerance<double>);
  }
}

TEST_CASE("random_feature_attention: heads do not see each other") {
  const FeatureSize s{2, 70, 90, 3, 4, 2, 8}, one{2, 70, 90, 1, 4, 2, 8};
  const auto in = draw<double>(s);
  for (const Stabiliser stabiliser : kStabilisers) {
    const Tensor together = attention(s, PrefixMask::all(), stabiliser)(in);
    for (std::int64_t head = 0; head < 3; ++head) {
      const Tensor alone = attention(one, PrefixMask::all(), stabiliser)({slice(in[0], 2, 4 * head, 4 * head + 4),
                                                                          slice(in[1], 2, 4 * head, 4 * head + 4),
                                                                          slice(in[2], 2, 2 * head, 2 * head + 2)});
      CHECK(error(slice(together, 2, 2 * head, 2 * head + 2), doubles(alone)) <= kTolerance<double>);
    }
  }
}

TEST_CASE_TEMPLATE("random_feature_attention: queries in parts get the same bits", T, float, double) {
  const FeatureSize s{1, 300, 90, 2, 4, 3, 9};
  const auto in = draw<T>(s);
  for (const Stabiliser stabiliser : kStabilisers) {
    const RandomFeatureOptions options{.heads = 2, .stabiliser = stabiliser};
    const Tensor projection = projection_of(s, dtype_of<T>());
    const KeySummary keys = summarise_keys(in[1], in[2], projection, PrefixMask::all(), options);
    const Tensor whole = attend_to_summary(in[0], keys, projection, options);
    std::vector<Tensor> parts;
    for (std::int64_t begin = 0, length = 1; begin < 300; begin += length, length = 3 * length)
      parts.push_back(attend_to_summary(slice(in[0], 1, begin, std::min(begin + length, std::int64_t{300})), keys,
                                        projection, options));
    CHECK(same_bits(concat(parts, 1), whole));
  }
}

TEST_CASE("random_feature_attention: one tensor for queries, keys and values") {
  const FeatureSize s{2, 9, 9, 2, 3, 3, 8};
  const Tensor x = normal<double>({2, 9, 6}, 1);
  const Function f = attention(s, PrefixMask::all());
  const auto shared = with_gradients([&f](const auto& in) { return f({in[0], in[0], in[0]}); }, {x});
  const auto apart = with_gradients(f, {x, x.clone(), x.clone()});
  CHECK(same_bits(shared[0], apart[0]));
  CHECK(largest_difference(shared[1], doubles(add(add(apart[1], apart[2]), apart[3]))) <= kTolerance<double>);
}

TEST_CASE("random_feature_attention: computes visible keys only") {
  const FeatureSize s{2, 10, 20, 2, 4, 3, 8};
  const auto in = draw<float>(s);
  const std::int64_t before = counted_flops();
  attention(s, lengths({5, 0}))(in);
  CHECK(counted_flops() - before == 2 * 2 * 8 * (4 + 3 + 1) * (5 + 2 * 10));
}

TEST_CASE("random_feature_attention: the same bits in every run and with any number of threads") {
  const FeatureSize s{2, 1700, 1900, 2, 16, 16, 32};
  for (const Stabiliser stabiliser : kStabilisers)
    check_deterministic(attention(s, lengths({1100, 1900}), stabiliser), draw<float>(s));
}

}  // namespace npzoo
