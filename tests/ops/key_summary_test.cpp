#include "npzoo/ops/concat/concat.h"
#include "tests/ops/random_feature_reference.h"

namespace npzoo {

namespace {

using namespace testing;

/// Results of one call that tests of large inputs compare.
struct Outcome {
  Tensor out;
  std::vector<Tensor> gradients;
  std::int64_t clamped;
};

Outcome attend(const FeatureSize& s, Stabiliser stabiliser, const std::vector<Tensor>& in) {
  const Tensor projection = projection_of(s, in[0].dtype());
  const CountScope clamped(clamped_denominator_counter());
  const auto results = with_gradients(
      [&](const auto& x) {
        return linear_attention(x[0], x[1], x[2], projection, PrefixMask::all(),
                                {.heads = s.heads, .stabiliser = stabiliser});
      },
      in);
  return {results[0], {results.begin() + 1, results.end()}, clamped.count()};
}

}  // namespace

TEST_CASE("key_summary: the sums of features and values") {
  const Tensor k = Tensor::from<double>({1, 3, 1}, {1, -1, 0.5}), v = Tensor::from<double>({1, 3, 1}, {2, 3, 5}),
               projection = Tensor::from<double>({2, 1}, {1, -2});
  const auto exponent = [](double w, double x) { return w * x - x * x / 2; };
  for (const Stabiliser stabiliser : kStabilisers) {
    const KeySummary keys =
        summarise_keys(k, v, projection, PrefixMask::first(2), {.scale = 1, .stabiliser = stabiliser});
    const double shift = stabiliser == Stabiliser::none ? 0 : exponent(-2, -1);
    CHECK(keys.sums.shape() == Shape{1, 1, 2, 2});
    CHECK(doubles(keys.shift) == std::vector<double>{shift});
    std::vector<double> expected;
    for (double w : {1, -2}) {
      const double a = std::exp(exponent(w, 1) - shift) / std::sqrt(2),
                   b = std::exp(exponent(w, -1) - shift) / std::sqrt(2);
      expected.insert(expected.end(), {2 * a + 3 * b, a + b});
    }
    CHECK(error(keys.sums, expected) <= kTolerance<double>);
  }
}

TEST_CASE_TEMPLATE("key_summary: parts merged in any order are the whole", T, float, double) {
  const FeatureSize s{2, 20, 1500, 2, 4, 3, 16};
  const auto in = draw<T>(s);
  const Tensor projection = projection_of(s, dtype_of<T>());
  for (const Stabiliser stabiliser : kStabilisers) {
    const RandomFeatureOptions options{.heads = 2, .stabiliser = stabiliser};
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      return summarise_keys(slice(in[1], 1, begin, end), slice(in[2], 1, begin, end), projection, PrefixMask::all(),
                            options);
    };
    const KeySummary whole = part(0, 1500), a = part(0, 7), b = part(7, 900), c = part(900, 1500);
    const Tensor expected = attend_to_summary(in[0], whole, projection, options);
    for (const KeySummary& keys : {merge(merge(a, b), c), merge(a, merge(b, c)), merge(c, merge(a, b))}) {
      CHECK(same_bits(keys.shift, whole.shift));
      CHECK(error(keys.sums, doubles(whole.sums)) <= kTolerance<T>);
      CHECK(error(attend_to_summary(in[0], keys, projection, options), doubles(expected)) <= kTolerance<T>);
    }
  }
}

TEST_CASE("key_summary: nothing merged with something is that, and with nothing nothing") {
  const FeatureSize s{2, 20, 40, 2, 4, 3, 16};
  const auto in = draw<double>(s, 3);
  const Tensor projection = projection_of(s);
  for (const Stabiliser stabiliser : kStabilisers) {
    const RandomFeatureOptions options{.heads = 2, .stabiliser = stabiliser};
    const auto first = [&](std::int64_t n) {
      return summarise_keys(in[1], in[2], projection, PrefixMask::first(n), options);
    };
    const KeySummary none = first(0), all = first(40);
    for (const KeySummary& keys : {merge(none, all), merge(all, none)}) {
      CHECK(same_bits(keys.sums, all.sums));
      CHECK(same_bits(keys.shift, all.shift));
    }
    const KeySummary both = merge(none, none);
    CHECK(same_bits(both.shift, none.shift));
    CHECK(doubles(both.sums) == std::vector<double>(static_cast<std::size_t>(both.sums.numel())));
  }
}

TEST_CASE("key_summary: summaries whose shifts are far apart") {
  const FeatureSize s{1, 5, 6, 1, 3, 2, 8};
  const auto in = draw<double>(s);
  const Tensor projection = projection_of(s), far = normal<double>({1, 6, 3}, 7, 60);
  const RandomFeatureOptions options{.stabiliser = Stabiliser::maximum};
  const KeySummary near = summarise_keys(in[1], in[2], projection, PrefixMask::all(), options),
                   other = summarise_keys(far, in[2], projection, PrefixMask::all(), options);
  REQUIRE(other.shift.item() < near.shift.item() - 800);  // and exp(−800) is 0
  const KeySummary keys = merge(other, near);
  CHECK(same_bits(keys.shift, near.shift));
  CHECK(same_bits(keys.sums, near.sums));
}

TEST_CASE_TEMPLATE("key_summary: with the maximum, large inputs are those of a wider arithmetic", T, float, double) {
  const FeatureSize s{2, 70, 130, 2, 16, 3, 64};
  const Tensor projection = projection_of(s, dtype_of<T>());
  for (double size : {10.0, 100.0}) {  // logits of about 1e2 and 1e4
    const auto in = draw<T>(s, size);
    FeatureLoops<long double> exact(s, PrefixMask::all(), 0, Stabiliser::maximum, projection, in);
    const Outcome found = attend(s, Stabiliser::maximum, in);
    // Exponents, of about size²/2 · 4, are off by some units in their last place.
    CHECK(largest_difference(found.out, doubles(exact.out())) <= 2 * size * size * kTolerance<T>);
    CHECK(found.clamped == exact.clamped());
    for (const Tensor& gradient : found.gradients)
      for (double x : doubles(gradient)) CHECK(std::isfinite(x));
  }
}

TEST_CASE_TEMPLATE("key_summary: without a stabiliser large inputs collapse, and that is counted", T, float, double) {
  const FeatureSize s{2, 70, 30, 2, 16, 3, 64};
  for (int threads : {1, 3}) {
    const ThreadCount count(threads);
    CHECK(attend(s, Stabiliser::none, draw<T>(s)).clamped == 0);
    const auto in = draw<T>(s, 20);
    FeatureLoops<T> loops(s, PrefixMask::all(), 0, Stabiliser::none, projection_of(s, dtype_of<T>()), in);
    const Outcome found = attend(s, Stabiliser::none, in);
    CHECK(loops.clamped() == 2 * 2 * 70);
    CHECK(found.clamped == loops.clamped());
    CHECK(largest_difference(found.out, doubles(loops.out())) <= kTolerance<T>);
    for (const Tensor& gradient : found.gradients)
      for (double x : doubles(gradient)) CHECK(std::isfinite(x));
  }
}

TEST_CASE("key_summary: keys whose norms overflow give NaN and a finite shift") {
  const FeatureSize s{1, 5, 6, 2, 3, 2, 8};
  auto in = draw<float>(s);
  in[1] = normal<float>({1, 6, 6}, 2, 1e25);
  for (const Stabiliser stabiliser : kStabilisers) {
    const Outcome found = attend(s, stabiliser, in);
    CHECK(found.clamped == 0);
    for (double x : doubles(found.out)) CHECK(std::isnan(x));
    for (double x : doubles(summarise_keys(in[1], in[2], projection_of(s, DType::float32), PrefixMask::all(),
                                           {.heads = 2, .stabiliser = stabiliser})
                                .shift))
      CHECK(std::isfinite(x));
  }
}

TEST_CASE("key_summary: a denominator that is limited is a constant to the gradient") {
  const FeatureSize s{1, 40, 30, 1, 4, 3, 16};
  const auto in = draw<double>(s, 5);
  FeatureLoops<double> loops(s, PrefixMask::all(), 0, Stabiliser::none, projection_of(s), in);
  REQUIRE(loops.clamped() > 5);
  REQUIRE(loops.clamped() < 35);
  const auto expected = loops.with_gradients();
  const Outcome found = attend(s, Stabiliser::none, in);
  CHECK(error(found.out, doubles(expected[0])) <= 4 * kTolerance<double>);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(error(found.gradients[i], doubles(expected[i + 1])) <= 4 * kTolerance<double>);
}

TEST_CASE("key_summary: errors") {
  const Tensor q = Tensor::zeros({2, 3, 4}), k = Tensor::zeros({2, 5, 4}), w = Tensor::zeros({6, 2});
  const auto summary = [](const Tensor& k, const Tensor& v, const Tensor& projection, int heads = 2,
                          const PrefixMask& mask = PrefixMask::all(), double scale = 0) {
    return error_of([&] { summarise_keys(k, v, projection, mask, {.heads = heads, .scale = scale}); });
  };
  CHECK(summary(q.view({6, 4}), k, w) ==
        "[summarise_keys] k (6, 4) and v (2, 5, 4) must have the axes (batch, points, channels)");
  CHECK(summary(k, q, w) == "[summarise_keys] k (2, 5, 4) and v (2, 3, 4) must agree in the batch and in the points");
  CHECK(summary(k, k, w, 3) == "[summarise_keys] 3 heads do not divide the channels of k (2, 5, 4) and v (2, 5, 4)");
  CHECK(summary(k, k, w, 0) == "[summarise_keys] 0 heads do not divide the channels of k (2, 5, 4) and v (2, 5, 4)");
  CHECK(summary(k, Tensor::zeros({2, 5, 3}), w) ==
        "[summarise_keys] 2 heads do not divide the channels of k (2, 5, 4) and v (2, 5, 3)");
  CHECK(summary(k, k.to(DType::float64), w) == "[summarise_keys] k is float32, v float64");
  const char* varies =
      "[summarise_keys] the mask varies by row, expected one number of visible keys for each batch element";
  CHECK(summary(k, k, w, 2, PrefixMask::growing(1)) == varies);
  CHECK(summary(k, k, w, 2, PrefixMask::lengths(Tensor::zeros({2, 3}, DType::int64))) == varies);
  CHECK(summary(k, k, w, 2, PrefixMask::lengths(Tensor::zeros({3}, DType::int64))) ==
        "[prefix_mask] lengths (3) do not fit 2 batch elements of 1 queries");
  CHECK(summary(k, k, Tensor::zeros({6, 3})) ==
        "[summarise_keys] projection (6, 3) must be (features, 2) for 2 heads in (2, 5, 4), with at least one feature");
  CHECK(summary(k, k, Tensor::zeros({0, 2})) ==
        "[summarise_keys] projection (0, 2) must be (features, 2) for 2 heads in (2, 5, 4), with at least one feature");
  CHECK(summary(k, k, Tensor::zeros({12})) ==
        "[summarise_keys] projection (12) must be (features, 2) for 2 heads in (2, 5, 4), with at least one feature");
  CHECK(summary(k, k, w.to(DType::float64)) == "[summarise_keys] projection is float64, expected float32");
  CHECK(summary(k, k, w, 2, PrefixMask::all(), -0.5) ==
        "[summarise_keys] scale is -0.5, expected a positive number, or 0 for one over the root of the width");
  CHECK(summary(k, k, w, 2, PrefixMask::all(), kNaN) ==
        "[summarise_keys] scale is nan, expected a positive number, or 0 for one over the root of the width");
  const Tensor whole = Tensor::zeros({1, 1, 1}, DType::int64);
  CHECK(summary(whole, whole, whole.view({1, 1}), 1) == "[backend] expected float32 or float64 elements, found int64");
  Tape tape;
  Tensor variable = w.clone();
  tape.watch(variable);
  const Recording on(tape);
  CHECK(summary(k, k, variable) ==
        "[summarise_keys] projection is a variable, expected a constant: it gets no gradient");
}

TEST_CASE("key_summary: errors of attention and of a merge") {
  const Tensor q = Tensor::zeros({2, 3, 4}), w = Tensor::zeros({6, 2});
  const KeySummary keys{Tensor::zeros({2, 2, 6, 4}), Tensor::zeros({2, 2})};
  const auto message = [](const Tensor& q, const KeySummary& keys, const Tensor& projection, int heads = 2) {
    return error_of([&] { attend_to_summary(q, keys, projection, {.heads = heads}); });
  };
  CHECK(message(q.view({6, 4}), keys, w) ==
        "[attend_to_summary] q (6, 4) must have the axes (batch, points, channels)");
  CHECK(message(q, keys, w, 3) == "[attend_to_summary] 3 heads do not divide the channels of q (2, 3, 4)");
  CHECK(message(q, keys, w, 0) == "[attend_to_summary] 0 heads do not divide the channels of q (2, 3, 4)");
  CHECK(message(q, {keys.sums, Tensor::zeros({2})}, w) ==
        "[attend_to_summary] sums float32 (2, 2, 6, 4) and shift float32 (2) do not form a key summary");
  CHECK(message(q, {Tensor::zeros({2, 2, 6, 0}), keys.shift}, w) ==
        "[attend_to_summary] sums float32 (2, 2, 6, 0) and shift float32 (2, 2) do not form a key summary");
  CHECK(message(q, {keys.sums, keys.shift.to(DType::float64)}, w) ==
        "[attend_to_summary] sums float32 (2, 2, 6, 4) and shift float64 (2, 2) do not form a key summary");
  CHECK(message(Tensor::zeros({1, 3, 4}), keys, w) ==
        "[attend_to_summary] q (1, 3, 4) with 2 heads does not fit sums (2, 2, 6, 4), which are (batch, heads, "
        "features, channels)");
  CHECK(message(q, keys, w, 4) ==
        "[attend_to_summary] q (2, 3, 4) with 4 heads does not fit sums (2, 2, 6, 4), which are (batch, heads, "
        "features, channels)");
  CHECK(message(q.to(DType::float64), keys, w.to(DType::float64)) ==
        "[attend_to_summary] q is float64, the key summary float32");
  CHECK(message(q, keys, Tensor::zeros({6, 4})) ==
        "[attend_to_summary] projection (6, 4) must be (features, 2) for 2 heads in (2, 3, 4), with at least one "
        "feature");
  CHECK(message(q, keys, Tensor::zeros({5, 2})) ==
        "[attend_to_summary] projection (5, 2) does not fit sums (2, 2, 6, 4)");

  const auto merged = [](const KeySummary& a, const KeySummary& b) { return error_of([&] { merge(a, b); }); };
  const KeySummary wide{keys.sums.to(DType::float64), keys.shift.to(DType::float64)},
      other{Tensor::zeros({2, 2, 5, 4}), keys.shift}, broken{keys.sums, Tensor::zeros({2, 3})};
  CHECK(merged(keys, wide) ==
        "[merge] key summaries of sums float32 (2, 2, 6, 4) and float64 (2, 2, 6, 4) must agree in shape and dtype");
  CHECK(merged(keys, other) ==
        "[merge] key summaries of sums float32 (2, 2, 6, 4) and float32 (2, 2, 5, 4) must agree in shape and dtype");
  for (const std::string& found : {merged(broken, keys), merged(keys, broken)})
    CHECK(found == "[merge] sums float32 (2, 2, 6, 4) and shift float32 (2, 3) do not form a key summary");
}

}  // namespace npzoo
