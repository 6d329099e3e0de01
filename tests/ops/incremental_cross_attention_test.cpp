#include "npzoo/ops/incremental_cross_attention/incremental_cross_attention.h"

#include "npzoo/engine/measure/flops.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/reshape/reshape.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace npzoo {

void incremental_cross_attention_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

constexpr std::int64_t kBatch = 2, kLatents = 9, kKeys = 61, kWidth = 4, kValueWidth = 3;
constexpr int kHeads = 2;
const AttentionOptions kOptions{.heads = kHeads};

template <class T>
std::vector<Tensor> draw(std::int64_t keys = kKeys) {
  return {normal<T>({kBatch, kLatents, kHeads * kWidth}, 1), normal<T>({kBatch, keys, kHeads * kWidth}, 2),
          normal<T>({kBatch, keys, kHeads * kValueWidth}, 3)};
}

AttentionState attend(const std::vector<Tensor>& in, const PrefixMask& mask = PrefixMask::all()) {
  return incremental_cross_attention(in[0], in[1], in[2], mask, kOptions);
}

AttentionState empty_state(DType dtype) {
  return {Tensor::zeros({kBatch, kLatents, kHeads * kValueWidth}, dtype),
          Tensor::full({kBatch, kHeads, kLatents}, -kInfinity, dtype)};
}

/// Largest difference of means and log-sum-exps.
double difference(const AttentionState& a, const AttentionState& b) {
  return std::max(largest_difference(a.mean, doubles(b.mean)),
                  largest_difference(a.log_sum_exp, doubles(b.log_sum_exp)));
}

bool same_state(const AttentionState& a, const AttentionState& b) {
  return same_bits(a.mean, b.mean) && same_bits(a.log_sum_exp, b.log_sum_exp);
}

/// Keys and values in another order.
std::vector<Tensor> reordered(const std::vector<Tensor>& in, Random& random) {
  const std::int64_t keys = in[1].dim(1);
  Tensor order = Tensor::empty({kBatch, keys}, DType::int64);
  for (std::int64_t b = 0; b < kBatch; ++b)
    random.fill_permutation(
        order.values<std::int64_t>().subspan(static_cast<std::size_t>(b * keys), static_cast<std::size_t>(keys)));
  return {in[0], gather(in[1], order), gather(in[2], order)};
}

/// The state after random chunks, some of them empty, taken one by one.
AttentionState streamed(const std::vector<Tensor>& in, Random& random) {
  AttentionState state = empty_state(in[0].dtype());
  for (std::int64_t begin = 0; begin < in[1].dim(1);) {
    const std::int64_t end = std::min(begin + random.integer(0, 20), in[1].dim(1));
    state = absorb(state, in[0], slice(in[1], 1, begin, end), slice(in[2], 1, begin, end), PrefixMask::all(), kOptions);
    begin = end;
  }
  return state;
}

/// The state of chunks that are merged in pairs, in random order.
AttentionState merged(const std::vector<Tensor>& in, Random& random) {
  std::vector<AttentionState> states;
  for (std::int64_t begin = 0; begin < in[1].dim(1);) {
    const std::int64_t end = std::min(begin + random.integer(1, 20), in[1].dim(1));
    states.push_back(attend({in[0], slice(in[1], 1, begin, end), slice(in[2], 1, begin, end)}));
    begin = end;
  }
  while (states.size() > 1) {
    const auto i = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(states.size()) - 1));
    states[i] = merge(states[i], states[i + 1]);
    states.erase(states.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return states[0];
}

}  // namespace

TEST_CASE_TEMPLATE("incremental_cross_attention: the mean is attention, the rest its log-sum-exp", T, float, double) {
  const auto in = draw<T>();
  const auto [mean, log_sum_exp, weights] = attend(in);
  CHECK(!weights.defined());
  CHECK(same_bits(mean, masked_attention(in[0], in[1], in[2], PrefixMask::all(), kOptions)));
  REQUIRE(log_sum_exp.shape() == Shape{kBatch, kHeads, kLatents});
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t l = 0; l < kLatents; ++l) {
        double sum = 0;
        for (std::int64_t j = 0; j < kKeys; ++j) {
          double score = 0;
          for (std::int64_t c = h * kWidth; c < (h + 1) * kWidth; ++c)
            score += double{in[0].template data<T>()[(b * kLatents + l) * kHeads * kWidth + c]} *
                     double{in[1].template data<T>()[(b * kKeys + j) * kHeads * kWidth + c]};
          sum += std::exp(score / 2);  // √4
        }
        CHECK(std::abs(log_sum_exp.template data<T>()[(b * kHeads + h) * kLatents + l] - std::log(sum)) <=
              8 * kTolerance<T>);
      }
}

TEST_CASE("incremental_cross_attention: gradients") { gradcheck_all(incremental_cross_attention_gradcheck_cases); }

TEST_CASE_TEMPLATE("incremental_cross_attention: 1,000 chunkings and orders give what all keys at once give", T, float,
                   double) {
  const double limit = sizeof(T) == 4 ? 1e-5 : 1e-12;
  const auto in = draw<T>();
  const AttentionState at_once = attend(in);
  Random random(3);
  double worst = 0;
  for (int i = 0; i < 500; ++i) {
    const auto shuffled = reordered(in, random);
    worst = std::max(
        {worst, difference(streamed(shuffled, random), at_once), difference(merged(shuffled, random), at_once)});
  }
  CAPTURE(worst);
  CHECK(worst <= limit);
}

TEST_CASE("incremental_cross_attention: a state absorbs scores of any size") {
  // Chunks whose scores differ by thousands: what is small must not be lost where it is all there is.
  for (const double size : {1e-4, 30.0, 1e4}) {
    auto in = draw<double>();
    for (double& value : in[0].values<double>()) value *= size;
    Random random(4);
    const AttentionState at_once = attend(in);
    CHECK(difference(streamed(in, random), at_once) <= 1e-12 * std::max(1.0, size));
  }
}

TEST_CASE_TEMPLATE("incremental_cross_attention: nothing seen", T, float, double) {
  const AttentionState nothing = empty_state(dtype_of<T>());
  CHECK(same_state(attend(draw<T>(0)), nothing));
  CHECK(same_state(attend(draw<T>(), PrefixMask::first(0)), nothing));
  CHECK(same_state(merge(nothing, nothing), nothing));
  const AttentionState some = attend(draw<T>());
  CHECK(same_state(merge(nothing, some), some));
  CHECK(same_state(merge(some, nothing), some));
}

TEST_CASE("incremental_cross_attention: padding is never read") {
  const PrefixMask mask = PrefixMask::lengths(Tensor::from<std::int64_t>({kBatch}, {50, 0}));
  auto poisoned = draw<double>();
  for (std::size_t i : {1, 2})
    for (std::int64_t b = 0; b < kBatch; ++b) {
      const std::int64_t row = poisoned[i].dim(2), from = (b * kKeys + (b == 0 ? 50 : 0)) * row;
      std::fill(poisoned[i].data<double>() + from, poisoned[i].data<double>() + (b + 1) * kKeys * row, kNaN);
    }
  const auto f = [&mask](const std::vector<Tensor>& in) {
    return absorb(attend(in, mask), in[0], in[1], in[2], mask, kOptions).mean;
  };
  const auto clean = with_gradients(f, draw<double>()), found = with_gradients(f, poisoned);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], clean[i]));
}

TEST_CASE("incremental_cross_attention: a chunk of a padded context is masked by the rest of its length") {
  const auto in = draw<double>();
  const PrefixMask mask = PrefixMask::lengths(Tensor::from<std::int64_t>({kBatch}, {50, 7}));
  AttentionState state = empty_state(DType::float64);
  for (std::int64_t begin = 0; begin < kKeys; begin += 10) {
    const std::int64_t end = std::min(begin + 10, kKeys);
    state = absorb(state, in[0], slice(in[1], 1, begin, end), slice(in[2], 1, begin, end), mask.after(begin), kOptions);
  }
  CHECK(difference(state, attend(in, mask)) <= 1e-12);
}

TEST_CASE("incremental_cross_attention: merging is associative and commutative") {
  const auto in = draw<double>();
  const auto part = [&in](std::int64_t begin, std::int64_t end) {
    return attend({in[0], slice(in[1], 1, begin, end), slice(in[2], 1, begin, end)});
  };
  const AttentionState a = part(0, 20), b = part(20, 21), c = part(21, kKeys);
  CHECK(difference(merge(merge(a, b), c), merge(a, merge(b, c))) <= 1e-14 * 64);
  CHECK(difference(merge(a, b), merge(b, a)) <= kTolerance<double>);
}

TEST_CASE("incremental_cross_attention: in float32 two halves are about as exact as plain loops over all") {
  const auto in = draw<float>(150);
  const reference::Attention options{kHeads, 0.5, [](std::int64_t, std::int64_t, std::int64_t) { return true; }};
  const auto by_loops = [&options](const std::vector<Tensor>& x) {
    const Tensor out = reference::attention(options, x[0], x[1], x[2]);
    const auto d = reference::attention_backward(options, x[0], x[1], x[2], cotangent(out));
    return std::vector<Tensor>{out, d.q, d.k, d.v};
  };
  const auto halves = [](const std::vector<Tensor>& x) {
    const auto k = split(x[1], 1, {70, 80}), v = split(x[2], 1, {70, 80});
    return absorb(attend({x[0], k[0], v[0]}), x[0], k[1], v[1], PrefixMask::all(), kOptions).mean;
  };
  check_as_exact_as(by_loops(in), with_gradients(halves, in), by_loops(to_double(in)));
}

TEST_CASE("incremental_cross_attention: a merge with a state that has seen nothing keeps NaN") {
  auto in = draw<double>();
  in[1] = Tensor::full(in[1].shape(), kNaN, DType::float64);
  const AttentionState odd = attend(in), none = attend(draw<double>(), PrefixMask::first(0));
  for (const AttentionState& both : {merge(odd, none), merge(none, odd)})
    for (const Tensor& part : {both.mean, both.log_sum_exp})
      for (const double value : doubles(part)) CHECK(std::isnan(value));
}

TEST_CASE("incremental_cross_attention: the same bits in every run and with any number of threads") {
  check_deterministic(
      [](const auto& in) {
        const AttentionState state = absorb(attend(in), in[0], in[1], in[2], PrefixMask::first(20), kOptions);
        return concat(
            {reshape(state.mean, {state.mean.numel()}), reshape(state.log_sum_exp, {state.log_sum_exp.numel()})}, 0);
      },
      draw<float>());
}

TEST_CASE("incremental_cross_attention: computes visible keys only") {
  const auto in = draw<float>();
  const std::int64_t before = counted_flops();
  attend(in, PrefixMask::first(10));
  CHECK(counted_flops() - before == kBatch * kLatents * 10 * kHeads * 2 * (kWidth + kValueWidth));
}

TEST_CASE("incremental_cross_attention: errors") {
  const auto in = draw<float>();
  CHECK(
      error_of([&] {
        attend({in[0], in[1], slice(in[2], 1, 0, 3)});
      }) ==
      "[incremental_cross_attention] q (2, 9, 8), k (2, 61, 8) and v (2, 3, 6) must agree in the batch, k and v in the "
      "points");
  const AttentionState state = attend(in), fewer = attend({slice(in[0], 1, 0, 5), in[1], in[2]});
  CHECK(
      error_of([&] { merge(state, fewer); }) ==
      "[merge] states of float32 (2, 9, 6) with 2 heads and of float32 (2, 5, 6) with 2 heads do not belong together");
  CHECK(
      error_of([&] { merge(state, attend(to_double(in))); }) ==
      "[merge] states of float32 (2, 9, 6) with 2 heads and of float64 (2, 9, 6) with 2 heads do not belong together");
  CHECK(error_of([&] {
          merge({state.mean, fewer.log_sum_exp}, state);
        }) ==
        "[merge] mean (2, 9, 6) and log-sum-exp (2, 2, 5) must be (batch, latents, heads · width) and (batch, "
        "heads, latents)");
}

}  // namespace npzoo
