#include "npzoo/ops/masked_attention/masked_attention.h"

#include <numeric>
#include <thread>

#include "npzoo/engine/measure/flops.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/ops/attention_fixtures.h"
#include "tests/ops/gradcheck_all.h"

namespace npzoo {

void masked_attention_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

/// The same as a dense mask.
reference::Attention dense(const PrefixMask& mask, const AttentionSize& s) {
  return {.heads = s.heads,
          .scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(s.width, 1))),
          .sees = [=](std::int64_t b, std::int64_t i, std::int64_t j) { return j < mask.visible(b, i, s.keys); }};
}

template <class T>
void compare(const AttentionSize& s, const PrefixMask& mask) {
  const auto in = draw<T>(s);
  const auto found = with_gradients(attention_under(mask, s.heads), in),
             exact = attention_by_loops(dense(mask, s), to_double(in));
  REQUIRE(found[0].shape() == Shape{s.batch, s.queries, s.heads * s.value_width});
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    // Values and gradients are near 1 in size; sums over the rows or keys of the larger sizes are of 129 terms.
    CHECK(largest_difference(found[i], doubles(exact[i])) <= 4 * kTolerance<T>);
  }
}

/// Channels [begin, end).
Tensor channels(const Tensor& x, std::int64_t begin, std::int64_t end) {
  Tensor out = Tensor::empty(x.shape().with(2, end - begin), x.dtype());
  for (std::int64_t i = 0; i < out.numel(); ++i)
    out.data<double>()[i] = x.data<double>()[i / (end - begin) * x.dim(2) + begin + i % (end - begin)];
  return out;
}

}  // namespace

TEST_CASE("prefix_mask: how many keys a row sees") {
  CHECK(PrefixMask::all().visible(0, 0, 5) == 5);
  CHECK(PrefixMask::first(3).visible(1, 9, 5) == 3);
  CHECK(PrefixMask::first(7).visible(0, 0, 5) == 5);
  CHECK(PrefixMask::first(-1).visible(0, 0, 5) == 0);
  CHECK(PrefixMask::growing(1).visible(0, 0, 5) == 1);
  CHECK(PrefixMask::growing(1).visible(0, 3, 5) == 4);
  CHECK(PrefixMask::growing(1).visible(0, 9, 5) == 5);
  const auto counts = PrefixMask::lengths(Tensor::from<std::int64_t>({2}, {1, 4}));
  CHECK(counts.visible(0, 8, 5) == 1);
  CHECK(counts.visible(1, 8, 5) == 4);
  const auto rows = PrefixMask::lengths(Tensor::from<std::int64_t>({2, 2}, {1, 2, 3, 9}));
  CHECK(rows.visible(0, 1, 5) == 2);
  CHECK(rows.visible(1, 0, 5) == 3);
  CHECK(rows.visible(1, 1, 5) == 5);
  CHECK(PrefixMask::lengths({}).visible(0, 0, 5) == 5);
}

TEST_CASE("prefix_mask: refuses lengths on a device, since the host reads them") {
  if (!has_gpu()) return;
  const Tensor counts = Tensor::from<std::int64_t>({2}, {1, 4});
  CHECK(error_of([&] { PrefixMask::lengths(counts.to(Device::cuda)); }) ==
        "[prefix_mask] lengths are on cuda, expected them on the CPU");
  CHECK_NOTHROW(PrefixMask::lengths(counts));
}

TEST_CASE("prefix_mask: a device has one copy of the counts for all threads") {
  if (!has_gpu()) return;
  const auto mask = PrefixMask::lengths(Tensor::from<std::int64_t>({2}, {1, 4}));
  const PrefixMask copy = mask.after(1);
  std::vector<PrefixRule> rules(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < rules.size(); ++i)
    threads.emplace_back([&, i] { rules[i] = (i % 2 ? mask : copy).rule(Device::cuda); });
  for (std::thread& thread : threads) thread.join();
  for (const PrefixRule& rule : rules) CHECK(rule.counts == rules[0].counts);
  CHECK(rules[0].counts != mask.rule(Device::cpu).counts);
}

TEST_CASE_TEMPLATE("masked_attention: values and gradients are those of a dense mask", T, float, double) {
  for (const AttentionSize& s :
       {AttentionSize{2, 5, 7, 2, 4, 3}, AttentionSize{1, 1, 1, 1, 1, 1}, AttentionSize{2, 33, 129, 2, 8, 8},
        AttentionSize{1, 129, 33, 3, 5, 4}, AttentionSize{1, 300, 40, 1, 16, 16}, AttentionSize{3, 6, 9, 4, 1, 1}}) {
    std::size_t number = 0;
    for (const PrefixMask& mask : masks_of(s)) {
      CAPTURE(s.queries);
      CAPTURE(number++);
      compare<T>(s, mask);
    }
  }
}

TEST_CASE_TEMPLATE("masked_attention: sizes of nothing", T, float, double) {
  compare<T>({0, 4, 5, 2, 3, 3}, PrefixMask::all());
  compare<T>({2, 0, 5, 2, 3, 3}, PrefixMask::all());
  compare<T>({2, 4, 5, 2, 3, 0}, PrefixMask::all());
  compare<T>({2, 4, 5, 2, 0, 3}, PrefixMask::first(3));  // without channels to tell keys apart, their mean
  compare<T>({2, 4, 0, 2, 3, 3}, PrefixMask::all());     // an empty context gives 0
}

TEST_CASE("masked_attention: gradients") { gradcheck_all(masked_attention_gradcheck_cases); }

TEST_CASE("masked_attention: values and gradients in float32 are about as exact as those of plain loops") {
  const AttentionSize s{2, 150, 129, 2, 16, 16};
  for (const PrefixMask& mask : {PrefixMask::all(), PrefixMask::growing(1)}) {
    const auto in = draw<float>(s);
    const auto found = with_gradients(attention_under(mask, s.heads), in);
    check_as_exact_as(attention_by_loops(dense(mask, s), in), found, attention_by_loops(dense(mask, s), to_double(in)));
  }
}

TEST_CASE("masked_attention: the factor on the logits") {
  const AttentionSize s{2, 5, 7, 2, 4, 3};
  const auto in = draw<double>(s);
  auto options = dense(PrefixMask::all(), s);
  options.scale = 0.125;
  const Tensor found = masked_attention(in[0], in[1], in[2], PrefixMask::all(), {.heads = 2, .scale = 0.125});
  CHECK(largest_difference(found, doubles(reference::attention(options, in[0], in[1], in[2]))) <= kTolerance<double>);
}

TEST_CASE_TEMPLATE("masked_attention: a row that sees nothing gives 0 and takes no gradient", T, float, double) {
  const AttentionSize s{2, 4, 5, 2, 3, 3};
  const PrefixMask mask = PrefixMask::lengths(Tensor::from<std::int64_t>({2, 4}, {0, 5, 0, 2, 0, 0, 0, 0}));
  auto in = draw<T>(s);
  std::vector<std::int64_t> blind{0, 2, 4, 5, 6, 7};
  for (std::int64_t row : blind)
    for (std::int64_t c = 0; c < 6; ++c) in[0].template data<T>()[row * 6 + c] = static_cast<T>(kNaN);
  const auto results = with_gradients(attention_under(mask, 2), in);
  for (std::int64_t row : blind)
    for (std::int64_t c = 0; c < 6; ++c) {
      CHECK(results[0].template data<T>()[row * 6 + c] == 0);
      CHECK(results[1].template data<T>()[row * 6 + c] == 0);
    }
  for (const Tensor& result : results)
    for (double value : doubles(result)) CHECK(std::isfinite(value));
  for (std::size_t i : {2, 3}) {
    const std::vector<double> d = doubles(results[i]);
    CHECK(std::ranges::any_of(d.begin(), d.begin() + 30, [](double value) { return value != 0; }));
    CHECK(std::ranges::all_of(d.begin() + 30, d.end(), [](double value) { return value == 0; }));
  }
}

TEST_CASE_TEMPLATE("masked_attention: masked keys have no effect, whatever they hold", T, float, double) {
  for (const AttentionSize& s : {AttentionSize{2, 5, 9, 2, 4, 3}, AttentionSize{2, 5, 70, 2, 8, 40}})
    for (double poison : {kNaN, kInfinity, -kInfinity, 1e30}) {
      const std::int64_t visible = s.keys - 4;
      auto clean = draw<T>(s), poisoned = draw<T>(s);
      for (std::int64_t j = visible; j < s.keys; ++j) {
        fill_point(poisoned[1], j, poison);
        fill_point(poisoned[2], j, poison);
      }
      const auto expected = with_gradients(attention_under(PrefixMask::first(visible), s.heads), clean);
      const auto found = with_gradients(attention_under(PrefixMask::first(visible), s.heads), poisoned);
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], expected[i]));
    }
}

TEST_CASE_TEMPLATE("masked_attention: NaN reaches the rows that see it", T, float, double) {
  const AttentionSize s{1, 6, 6, 1, 4, 2};
  for (std::size_t poisoned : {1, 2}) {
    auto in = draw<T>(s);
    fill_point(in[poisoned], 3, kNaN);
    const auto out = doubles(attention_under(PrefixMask::growing(1), 1)(in));
    for (std::size_t i = 0; i < out.size(); ++i) CHECK(std::isnan(out[i]) == (i / 2 >= 3));
  }
  auto in = draw<T>(s);
  fill_point(in[0], 2, kNaN);
  const auto out = doubles(attention_under(PrefixMask::all(), 1)(in));
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(std::isnan(out[i]) == (i / 2 == 2));
}

TEST_CASE_TEMPLATE("masked_attention: large logits and equal logits", T, float, double) {
  const Tensor values = normal<T>({1, 37, 5}, 3);
  // All equal, of any size: the mean of the values.
  for (double logit : {0.0, 1e4, -1e4}) {
    const Tensor q = Tensor::full({1, 3, 1}, logit, dtype_of<T>()), k = Tensor::full({1, 37, 1}, 1, dtype_of<T>());
    const auto results = with_gradients(attention_under(PrefixMask::all(), 1), {q, k, values});
    for (std::int64_t c = 0; c < 5; ++c) {
      double mean = 0;
      for (std::int64_t j = 0; j < 37; ++j) mean += double{values.data<T>()[j * 5 + c]} / 37;
      for (std::int64_t i = 0; i < 3; ++i)
        CHECK(std::abs(results[0].template data<T>()[i * 5 + c] - mean) <= kTolerance<T>);
    }
    for (const Tensor& result : results)
      for (double value : doubles(result)) CHECK(std::isfinite(value));
  }
  // One stands out by 2e4: its value alone, and no gradient to the logits.
  Tensor k = Tensor::full({1, 37, 1}, -1, dtype_of<T>());
  k.data<T>()[35] = 1;
  const Tensor q = Tensor::full({1, 3, 1}, 1e4, dtype_of<T>());
  const auto results = with_gradients(attention_under(PrefixMask::all(), 1), {q, k, values});
  for (std::int64_t i = 0; i < 15; ++i) CHECK(results[0].template data<T>()[i] == values.data<T>()[35 * 5 + i % 5]);
  CHECK(doubles(results[1]) == std::vector<double>(3));
  CHECK(doubles(results[2]) == std::vector<double>(37));
}

TEST_CASE("masked_attention: the order of the visible keys does not matter") {
  const AttentionSize s{2, 6, 20, 2, 4, 3};
  const auto in = draw<double>(s);
  std::vector<std::int64_t> order(15);
  Random(5).fill_permutation(order);
  const Function f = attention_under(PrefixMask::first(15), 2);
  const Tensor expected = f(in), found = f({in[0], permuted(in[1], order), permuted(in[2], order)});
  CHECK(largest_difference(found, doubles(expected)) <= kTolerance<double>);
}

TEST_CASE("masked_attention: heads do not see each other") {
  const AttentionSize s{2, 6, 9, 3, 4, 2};
  const auto in = draw<double>(s);
  const Tensor together = attention_under(PrefixMask::growing(2), 3)(in);
  for (std::int64_t head = 0; head < 3; ++head) {
    const Tensor alone = attention_under(
        PrefixMask::growing(2), 1)({channels(in[0], 4 * head, 4 * head + 4), channels(in[1], 4 * head, 4 * head + 4),
                                    channels(in[2], 2 * head, 2 * head + 2)});
    CHECK(largest_difference(channels(together, 2 * head, 2 * head + 2), doubles(alone)) <= kTolerance<double>);
  }
}

TEST_CASE_TEMPLATE("masked_attention: recorded and unrecorded runs give the same bits", T, float, double) {
  for (const AttentionSize& s : {AttentionSize{2, 150, 70, 2, 8, 8}, AttentionSize{3, 5, 129, 4, 3, 5}})
    for (const PrefixMask& mask : masks_of(s)) {
      const auto in = draw<T>(s);
      const Function f = attention_under(mask, s.heads);
      const Tensor recorded = with_gradients(f, in)[0];
      CHECK(same_bits(f(in), recorded));
    }
}

TEST_CASE("masked_attention: one tensor for queries, keys and values") {
  const Tensor x = normal<double>({2, 9, 6}, 1);
  const Function f = attention_under(PrefixMask::growing(1), 2);
  const auto shared = with_gradients([&f](const auto& in) { return f({in[0], in[0], in[0]}); }, {x});
  const auto apart = with_gradients(f, {x, x.clone(), x.clone()});
  CHECK(same_bits(shared[0], apart[0]));
  CHECK(largest_difference(shared[1], doubles(add(add(apart[1], apart[2]), apart[3]))) <= kTolerance<double>);
}

TEST_CASE("masked_attention: computes visible keys only") {
  const auto in = draw<float>(AttentionSize{1, 10, 10, 2, 4, 4});
  const auto flops = [&](const PrefixMask& mask) {
    const std::int64_t before = counted_flops();
    attention_under(mask, 2)(in);
    return counted_flops() - before;
  };
  CHECK(flops(PrefixMask::all()) == 100 * 2 * (2 * 4 + 2 * 4));
  CHECK(flops(PrefixMask::growing(1)) == 55 * 2 * (2 * 4 + 2 * 4));
  CHECK(flops(PrefixMask::first(0)) == 0);
}

TEST_CASE("masked_attention: the same bits in every run and with any number of threads") {
  const AttentionSize s{3, 200, 90, 2, 16, 16};
  for (const PrefixMask& mask : {PrefixMask::all(), PrefixMask::growing(1)})
    check_deterministic(attention_under(mask, s.heads), draw<float>(s));
}

TEST_CASE("masked_attention: errors") {
  const Tensor q = Tensor::zeros({2, 3, 4}), k = Tensor::zeros({2, 5, 4});
  const auto message = [](const Tensor& q, const Tensor& k, const Tensor& v, int heads = 1,
                          const PrefixMask& mask = PrefixMask::all()) {
    return error_of([&] { masked_attention(q, k, v, mask, {.heads = heads}); });
  };
  CHECK(message(Tensor::zeros({3, 4}), k, k) ==
        "[masked_attention] q (3, 4), k (2, 5, 4) and v (2, 5, 4) must have the axes (batch, points, channels)");
  CHECK(message(q, k, Tensor::zeros({2, 6, 4})) ==
        "[masked_attention] q (2, 3, 4), k (2, 5, 4) and v (2, 6, 4) must agree in the batch, k and v in the points");
  CHECK(message(q, Tensor::zeros({1, 5, 4}), k) ==
        "[masked_attention] q (2, 3, 4), k (1, 5, 4) and v (2, 5, 4) must agree in the batch, k and v in the points");
  CHECK(message(q, Tensor::zeros({2, 5, 6}), k) ==
        "[masked_attention] q (2, 3, 4) and k (2, 5, 6) must agree in the last extent");
  CHECK(message(q, k, k, 3) == "[masked_attention] 3 heads do not divide the channels of q (2, 3, 4) and v (2, 5, 4)");
  CHECK(message(q, k, Tensor::zeros({2, 5, 3}), 2) ==
        "[masked_attention] 2 heads do not divide the channels of q (2, 3, 4) and v (2, 5, 3)");
  CHECK(message(q, k, k, 0) == "[masked_attention] 0 heads do not divide the channels of q (2, 3, 4) and v (2, 5, 4)");
  CHECK(message(q, k.to(DType::float64), k) == "[masked_attention] q is float32, k float64, v float32");
  CHECK(message(q, k, k, 1, PrefixMask::lengths(Tensor::zeros({3}, DType::int64))) ==
        "[prefix_mask] lengths (3) do not fit 2 batch elements of 3 queries");
  CHECK(message(q, k, k, 1, PrefixMask::lengths(Tensor::zeros({2, 5}, DType::int64))) ==
        "[prefix_mask] lengths (2, 5) do not fit 2 batch elements of 3 queries");
  CHECK(error_of([] { PrefixMask::lengths(Tensor::zeros({3})); }) ==
        "[prefix_mask] lengths must be int64 of shape (B) or (B, Nq), found float32 of shape (3)");
  CHECK(error_of([] {
          PrefixMask::lengths(Tensor::zeros({1, 1, 3}, DType::int64));
        }) == "[prefix_mask] lengths must be int64 of shape (B) or (B, Nq), found int64 of shape (1, 1, 3)");
  const Tensor whole = Tensor::zeros({1, 1, 1}, DType::int64);
  CHECK(message(whole, whole, whole) == "[backend] expected float32 or float64 elements, found int64");
}

}  // namespace npzoo
