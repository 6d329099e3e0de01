#include "npzoo/ops/incremental_cross_attention/incremental_cross_attention.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "tests/ops/attention_fixtures.h"
#include "tests/reference.h"

// Sizes at which kernels change their ways: widths between the tuned ones, edges of tiles, and sides so unlike that the
// longer one is cut into segments.

namespace npzoo {

namespace {

using namespace testing;

struct Kind {
  PrefixMask mask = PrefixMask::all();
  AttentionScore score = AttentionScore::dot_product;
};

Function attention(const AttentionSize& s, const Kind& kind, double scale = 0) {
  return [=](const auto& in) {
    return masked_attention(in[0], in[1], in[2], kind.mask, {.heads = s.heads, .scale = scale, .score = kind.score});
  };
}

template <class T>
void compare(const AttentionSize& s, const Kind& kind = {}) {
  CAPTURE(s.queries);
  CAPTURE(s.keys);
  CAPTURE(s.width);
  CAPTURE(s.value_width);
  const bool laplace = kind.score == AttentionScore::laplace;
  const auto width = static_cast<double>(s.width);
  const double scale = laplace ? 1 / width : 1 / std::sqrt(width);  // scores near 1 in size
  const reference::Attention options{
      .heads = s.heads,
      .scale = scale,
      .sees = [&](std::int64_t b, std::int64_t i, std::int64_t j) { return j < kind.mask.visible(b, i, s.keys); },
      .laplace = laplace};
  const auto in = draw<T>(s), exact = to_double(in);
  const Tensor out = reference::attention(options, exact[0], exact[1], exact[2]);
  const auto d = reference::attention_backward(options, exact[0], exact[1], exact[2], cotangent(out));
  const auto found = with_gradients(attention(s, kind, scale), in);
  const Tensor expected[] = {out, d.q, d.k, d.v};
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    // Gradients of the shorter side are sums over the longer one.
    const double terms = static_cast<double>(std::max(s.queries, s.keys) + s.width);
    CHECK(error(found[i], doubles(expected[i])) <= kTolerance<T> * std::max(1.0, std::sqrt(terms) / 8));
  }
}

/// Some rows see nothing, some all, and most something between.
PrefixMask uneven(const AttentionSize& s) {
  Tensor counts = Tensor::empty({s.batch, s.queries}, DType::int64);
  Random random(7);
  for (std::int64_t& count : counts.values<std::int64_t>()) count = random.integer(-s.keys / 4, s.keys * 5 / 4);
  return PrefixMask::lengths(counts);
}

}  // namespace

TEST_CASE_TEMPLATE("attention shapes: widths", T, float, double) {
  for (const std::int64_t width : {1, 7, 8, 9, 16, 24, 32, 64, 100, 128, 160}) {
    const AttentionSize s{1, 21, 19, 2, width, width};
    compare<T>(s);
    compare<T>(s, {PrefixMask::growing(-2)});
    compare<T>(s, {uneven(s), AttentionScore::laplace});
  }
  for (const AttentionSize& s : {AttentionSize{1, 9, 11, 2, 3, 40}, AttentionSize{1, 9, 11, 2, 40, 3},
                                 AttentionSize{2, 9, 11, 1, 2, 130}, AttentionSize{2, 9, 11, 1, 130, 2}})
    for (const auto score : {AttentionScore::dot_product, AttentionScore::laplace})
      compare<T>(s, {PrefixMask::growing(3), score});
}

TEST_CASE("attention shapes: edges of tiles") {
  for (const std::int64_t n : {31, 32, 33, 63, 64, 65, 127, 128, 129, 257}) {
    compare<float>({1, n, 260 - n, 1, 16, 16}, {PrefixMask::growing(-5)});
    compare<float>({1, 260 - n, n, 2, 5, 5}, {PrefixMask::growing(n / 2)});
  }
  for (const std::int64_t width : {8, 32, 64, 128})
    compare<float>({1, 140, 131, 1, width, width}, {PrefixMask::growing(1)});
}

TEST_CASE_TEMPLATE("attention shapes: few queries and many keys", T, float, double) {
  for (const AttentionSize& s : {AttentionSize{1, 5, 3001, 2, 16, 16}, AttentionSize{2, 3, 1500, 1, 8, 5},
                                 AttentionSize{1, 1, 1100, 1, 64, 64}}) {
    compare<T>(s);
    compare<T>(s, {PrefixMask::lengths(Tensor::full({s.batch}, static_cast<double>(s.keys - 701), DType::int64))});
    compare<T>(s, {uneven(s)});
    compare<T>(s, {uneven(s), AttentionScore::laplace});
  }
}

TEST_CASE_TEMPLATE("attention shapes: many queries and few keys", T, float, double) {
  for (const AttentionSize& s : {AttentionSize{1, 3001, 5, 2, 16, 16}, AttentionSize{2, 1500, 3, 1, 8, 5},
                                 AttentionSize{1, 1100, 1, 1, 64, 64}}) {
    compare<T>(s);
    compare<T>(s, {uneven(s)});
    compare<T>(s, {uneven(s), AttentionScore::laplace});
  }
}

TEST_CASE("attention shapes: uniform scores of wide values") {
  const AttentionSize s{1, 6, 300, 1, 5, 140};
  const auto found = with_gradients(attention(s, {PrefixMask::growing(100), AttentionScore::uniform}), draw<double>(s));
  const auto in = draw<double>(s);
  for (std::int64_t i = 0; i < s.queries; ++i)
    for (std::int64_t c = 0; c < s.value_width; ++c) {
      double sum = 0;
      for (std::int64_t j = 0; j < 100 + i; ++j) sum += in[2].data<double>()[j * s.value_width + c];
      CHECK(std::abs(found[0].data<double>()[i * s.value_width + c] - sum / static_cast<double>(100 + i)) <= 1e-13);
    }
  for (std::size_t i : {1, 2})
    for (const double d : doubles(found[i])) CHECK(d == 0);
}

TEST_CASE("attention shapes: keys that no row sees may hold anything, in segments and wide heads too") {
  for (const AttentionSize& s : {AttentionSize{1, 4, 2000, 1, 16, 16}, AttentionSize{1, 1200, 40, 1, 16, 16},
                                 AttentionSize{1, 9, 40, 2, 160, 7}}) {
    const std::int64_t visible = s.keys - 7;
    const auto clean = draw<float>(s);
    auto poisoned = draw<float>(s);
    for (std::size_t which : {1, 2}) {
      const auto values = poisoned[which].values<float>();
      std::fill(values.end() - static_cast<std::ptrdiff_t>(7 * poisoned[which].dim(2)), values.end(),
                static_cast<float>(kNaN));
    }
    const Function f = attention(s, {PrefixMask::first(visible)});
    const auto expected = with_gradients(f, clean), found = with_gradients(f, poisoned);
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], expected[i]));
  }
}

TEST_CASE("attention shapes: rows of a wide or segmented problem that see nothing") {
  for (const AttentionSize& s : {AttentionSize{1, 4, 2000, 1, 16, 16}, AttentionSize{1, 1200, 40, 1, 16, 16},
                                 AttentionSize{1, 9, 40, 2, 160, 7}}) {
    Tensor counts = Tensor::full({1, s.queries}, static_cast<double>(s.keys), DType::int64);
    counts.values<std::int64_t>()[2] = 0;
    auto in = draw<float>(s);
    const std::int64_t row = in[0].dim(2), value_row = in[2].dim(2);
    for (std::int64_t c = 0; c < row; ++c) in[0].data<float>()[2 * row + c] = static_cast<float>(kNaN);
    const auto found = with_gradients(attention(s, {PrefixMask::lengths(counts)}), in);
    for (std::int64_t c = 0; c < value_row; ++c) CHECK(found[0].data<float>()[2 * value_row + c] == 0);
    for (std::int64_t c = 0; c < row; ++c) CHECK(found[1].data<float>()[2 * row + c] == 0);
    for (const Tensor& x : found) CHECK(std::ranges::all_of(doubles(x), [](double d) { return std::isfinite(d); }));
  }
}

TEST_CASE("attention shapes: the same bits in every run, in segments too") {
  for (const AttentionSize& s : {AttentionSize{1, 5, 3001, 2, 16, 16}, AttentionSize{1, 3001, 5, 2, 16, 16}})
    check_deterministic(attention(s, {uneven(s)}), draw<float>(s));
}

TEST_CASE_TEMPLATE("attention shapes: the log-sum-exp of many keys and its gradient", T, float, double) {
  constexpr std::int64_t kQueries = 3, kVisible = 2100, kWidth = 8, kHeads = 2, kRow = kHeads * kWidth;
  const auto in = draw<T>({1, kQueries, 2500, kHeads, kWidth, kWidth});
  const auto found = with_gradients(
      [](const auto& x) {
        return incremental_cross_attention(x[0], x[1], x[2], PrefixMask::first(kVisible), {.heads = kHeads})
            .log_sum_exp;
      },
      in);
  const std::vector<double> q = doubles(in[0]), k = doubles(in[1]), log_sums = doubles(found[0]),
                            d = doubles(cotangent(found[0]));
  const double scale = 1 / std::sqrt(double{kWidth});
  std::vector<double> d_q(q.size());
  for (std::size_t row = 0; row < log_sums.size(); ++row) {
    const std::size_t at = row % kQueries * kRow + row / kQueries * kWidth, head = row / kQueries * kWidth;
    double sum = 0, weighted[kWidth] = {};
    for (std::size_t j = 0; j < kVisible; ++j) {
      double score = 0;
      for (std::size_t c = 0; c < kWidth; ++c) score += scale * q[at + c] * k[j * kRow + head + c];
      sum += std::exp(score);
      for (std::size_t c = 0; c < kWidth; ++c) weighted[c] += std::exp(score) * k[j * kRow + head + c];
    }
    CHECK(std::abs(log_sums[row] - std::log(sum)) <= 8 * kTolerance<T>);
    for (std::size_t c = 0; c < kWidth; ++c) d_q[at + c] = d[row] * scale * weighted[c] / sum;
  }
  CHECK(error(found[1], d_q) <= 4 * kTolerance<T>);
  for (const double value : doubles(found[3])) CHECK(value == 0);
}

TEST_CASE("attention shapes: sums in several spans, under masks") {
  // A span has up to 12288 keys or 8192 queries on the CPU. On tensor cores it has 2048 points, and 33 heads keep the
  // points of the emulated device in one segment.
  std::vector<AttentionSize> sizes{{1, 2, 13'000, 1, 8, 8}, {16, 8300, 2, 1, 8, 8}};
  if (default_device() == Device::cuda)
    sizes = {{33, 2, 2100, 1, 8, 8}, {33, 2100, 2, 1, 8, 8}, {1, 2, 2100, 1, 132, 132}, {1, 2100, 2, 1, 132, 132}};
  for (const AttentionSize& s : sizes)
    for (const AttentionScore score : {AttentionScore::dot_product, AttentionScore::laplace})
      compare<float>(s, {uneven(s), score});
}

TEST_CASE("attention shapes: sums over many keys lose no digits") {
  // Equal terms are the worst case: each addition to a long sum rounds in the same direction. Weights are 1 / keys.
  constexpr std::int64_t kWidth = 4;
  const bool cpu = default_device() == Device::cpu;
  const std::int64_t heads = cpu ? 1 : 8, keys = cpu ? 1'000'000 : 100'000;  // 8 heads keep a GPU from cutting the keys
  Tensor q = Tensor::zeros({heads, 1, kWidth}, DType::float32),
         k = Tensor::empty({heads, keys, kWidth}, DType::float32, Device::cpu), v = k.clone();
  for (std::int64_t i = 0; i < k.numel(); ++i) {
    const bool even = i / kWidth % 2 == 0;
    k.data<float>()[i] = even ? 1 : -1;
    v.data<float>()[i] = even ? 0.3F : 0.1F;
  }
  k = k.to(default_device());
  v = v.to(default_device());
  for (const AttentionScore score : {AttentionScore::dot_product, AttentionScore::laplace}) {
    CAPTURE(static_cast<int>(score));
    const AttentionOptions options{.scale = 0.5, .score = score};
    for (const double x : doubles(masked_attention(q, k, v, PrefixMask::all(), options)))
      CHECK(std::abs(x - 0.2) <= 0.2 * 1e-5);
    if (!cpu) continue;  // gradients of so many keys take the emulated device half a minute
    Tape tape;
    tape.watch(q);
    AttentionState state;
    {
      const Recording on(tape);
      state = incremental_cross_attention(q, k, v, PrefixMask::all(), options);
    }
    for (const double x : doubles(state.mean)) CHECK(std::abs(x - 0.2) <= 0.2 * 1e-5);
    // The gradient of a score is ±0.1 · width / keys, with the sign of the key.
    const double slope = 0.5 * 0.1 * kWidth;
    const Tensor d_q = tape.backward(state.mean, Tensor::full(state.mean.shape(), 1)).of(q);
    for (const double x : doubles(d_q)) CHECK(std::abs(x - slope) <= slope * 3e-5);
    q = q.detach();
  }
}

TEST_CASE("attention shapes: sums over many queries lose no digits") {
  const bool cpu = default_device() == Device::cpu;
  const std::int64_t heads = cpu ? 16 : 8, queries = cpu ? 500'000 : 20'000;
  Tensor k = Tensor::full({heads, 1, 1}, 1), v = k.clone();
  const Tensor q = Tensor::full({heads, queries, 1}, 1);
  Tape tape;
  tape.watch(v);
  Tensor out;
  {
    const Recording on(tape);
    out = masked_attention(q, k, v, PrefixMask::all(), {});
  }
  const Tensor d_v = tape.backward(out, Tensor::full(out.shape(), 0.1)).of(v);
  const double sum = static_cast<double>(queries) * double{0.1F};
  for (const double x : doubles(d_v)) CHECK(std::abs(x - sum) <= sum * 1e-5);
}

TEST_CASE("attention shapes: parts of the queries have copies of key gradients, of at most 256 MiB") {
  const OnCpu cpu;
  const auto peak_of = [](std::int64_t keys) {
    const std::vector<Tensor> in{normal<float>({1, 2000, 4}, 1), Tensor::zeros({1, keys, 4}),
                                 Tensor::zeros({1, keys, 4})};
    reset_peak_memory();
    const std::int64_t before = memory_stats().live_bytes;
    with_gradients(attention_under(PrefixMask::first(64), 1), in);
    return memory_stats().peak_live_bytes - before;
  };
  constexpr std::int64_t kFew = 4096, kMany = 1000000, kGradients = 8 * sizeof(float);  // of a key and its value
  CHECK(peak_of(kFew) >= 8 * kFew * kGradients);
  CHECK(peak_of(kMany) <= (256 << 20) + kMany * kGradients + (4 << 20));
}

}  // namespace npzoo
