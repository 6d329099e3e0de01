#include "npzoo/engine/precision.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "tests/ops/attention_fixtures.h"

namespace npzoo {

namespace {

using namespace testing;

/// While it lives, products of float32 have this precision.
class MatmulPrecision {
 public:
  explicit MatmulPrecision(Precision precision) : before_(matmul_precision()) { set_matmul_precision(precision); }
  MatmulPrecision(const MatmulPrecision&) = delete;
  MatmulPrecision& operator=(const MatmulPrecision&) = delete;
  ~MatmulPrecision() { set_matmul_precision(before_); }

 private:
  Precision before_;
};

/// Returns the error of one rounding: half a unit in the last of 11 or 8 significant bits; of a product of float32.
double rounding(Precision precision) {
  return precision == Precision::float32 ? 0x1p-21 : precision == Precision::tf32 ? 0x1p-11 : 0x1p-8;
}

bool skipped() {
  if (default_device() != Device::cpu) return false;
  MESSAGE("skipped: the CPU has no tensor cores");
  return true;
}

/// Output and gradients from plain loops in double.
std::vector<Tensor> by_loops(const PrefixMask& mask, const AttentionSize& s, const std::vector<Tensor>& in,
                             double scale = 0) {
  const reference::Attention options{
      .heads = s.heads,
      .scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(s.width)),
      .sees = [=](std::int64_t b, std::int64_t i, std::int64_t j) { return j < mask.visible(b, i, s.keys); }};
  return attention_by_loops(options, to_double(in));
}

/// Errors, relative to the largest value, are those of a few roundings. Scores of normal numbers are near 1 and sums of
/// products whose two factors are rounded, so weights err by about two roundings; weights and values are rounded once
/// more before they are multiplied. Gradients come of two such steps.
void compare(const AttentionSize& s, const PrefixMask& mask, Precision precision, double scale = 0) {
  const MatmulPrecision in_use(precision);
  const auto in = draw<float>(s);
  const auto found = with_gradients(attention_under(mask, s.heads, scale), in), exact = by_loops(mask, s, in, scale);
  REQUIRE(found[0].shape() == in[0].shape());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    const std::vector<double> values = doubles(exact[i]);
    // Gradients of a row that sees one key are 0: the difference of two numbers near 1, which are of the same rounded
    // factors.
    double largest = precision == Precision::float32 ? 1 : 1e-3;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    CHECK(largest_difference(found[i], values) <= (i == 0 ? 4 : 8) * rounding(precision) * largest);
  }
}

constexpr Precision kShort[] = {Precision::tf32, Precision::bf16},
                    kAll[] = {Precision::float32, Precision::tf32, Precision::bf16};

}  // namespace

TEST_CASE("attention on tensor cores: values and gradients are near those of a dense mask") {
  if (skipped()) return;
  for (const Precision precision : kAll)
    for (const AttentionSize& s : {AttentionSize{2, 33, 70, 2, 16, 16}, AttentionSize{1, 150, 65, 1, 8, 8}}) {
      std::size_t number = 0;
      for (const PrefixMask& mask : masks_of(s)) {
        CAPTURE(to_string(precision));
        CAPTURE(s.queries);
        CAPTURE(number++);
        compare(s, mask, precision);
      }
    }
}

TEST_CASE("attention on tensor cores: heads of every width") {
  if (skipped()) return;
  for (const Precision precision : kAll)
    for (const std::int64_t width : {8, 24, 32, 40, 64, 72, 128}) {
      CAPTURE(to_string(precision));
      CAPTURE(width);
      compare({1, 70, 70, 2, width, width}, PrefixMask::all(), precision);
      compare({1, 70, 70, 1, width, width}, PrefixMask::growing(1), precision);
    }
}

TEST_CASE("attention on tensor cores: sums in segments") {
  if (skipped()) return;
  for (const Precision precision : kAll)
    for (const AttentionSize& s : {AttentionSize{1, 5, 1700, 2, 16, 16}, AttentionSize{1, 1700, 5, 2, 16, 16}})
      for (const PrefixMask& mask : {PrefixMask::all(), PrefixMask::growing(-3), PrefixMask::first(0)}) {
        CAPTURE(to_string(precision));
        CAPTURE(s.queries);
        compare(s, mask, precision);
      }
}

TEST_CASE("attention on tensor cores: sums over many keys lose no digits") {
  // In one sum of loads of 16 keys, equal terms would err by 6e-6. So many batch elements keep the emulated device from
  // cutting the keys into segments.
  if (skipped()) return;
  constexpr std::int64_t kBatch = 33, kKeys = 10'000, kWidth = 8;
  const Tensor q = Tensor::zeros({kBatch, 1, kWidth}, DType::float32),
               k = Tensor::zeros({kBatch, kKeys, kWidth}, DType::float32);
  Tensor v = Tensor::empty({kBatch, kKeys, kWidth}, DType::float32, Device::cpu);
  for (std::int64_t i = 0; i < v.numel(); ++i) v.data<float>()[i] = i / kWidth % 2 == 0 ? 0.3F : 0.1F;
  const Tensor out = masked_attention(q, k, v.to(default_device()), PrefixMask::all(), {});
  for (const double x : doubles(out)) CHECK(std::abs(x - 0.2) <= 0.2 * 3e-6);
}

TEST_CASE("attention on tensor cores: sizes of nothing, and the factor on the logits") {
  if (skipped()) return;
  for (const Precision precision : kAll) {
    compare({0, 4, 5, 2, 8, 8}, PrefixMask::all(), precision);
    compare({2, 0, 5, 2, 8, 8}, PrefixMask::all(), precision);
    compare({2, 4, 0, 2, 8, 8}, PrefixMask::all(), precision);
    compare({1, 1, 1, 1, 8, 8}, PrefixMask::all(), precision);
    compare({1, 9, 11, 1, 8, 8}, PrefixMask::growing(2), precision, -0.125);
  }
}

TEST_CASE("attention on tensor cores: masked keys have no effect, whatever they hold") {
  if (skipped()) return;
  for (const Precision precision : kAll) {
    const MatmulPrecision in_use(precision);
    const AttentionSize s{2, 5, 70, 2, 16, 16};
    for (const double poison : {kNaN, kInfinity, -kInfinity, 1e30, 3.4e38}) {
      const auto clean = draw<float>(s);
      auto poisoned = draw<float>(s);
      for (std::int64_t j = s.keys - 4; j < s.keys; ++j)
        for (std::size_t i : {1, 2}) fill_point(poisoned[i], j, poison);
      const Function f = attention_under(PrefixMask::first(s.keys - 4), s.heads);
      const auto expected = with_gradients(f, clean), found = with_gradients(f, poisoned);
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], expected[i]));
    }
  }
}

TEST_CASE("attention on tensor cores: numbers that are not finite reach the rows that see them, and no others") {
  if (skipped()) return;
  const AttentionSize s{1, 40, 40, 1, 16, 16};
  for (const Precision precision : kAll) {
    const MatmulPrecision in_use(precision);
    const auto clean = draw<float>(s);
    const Function f = attention_under(PrefixMask::growing(1), 1);
    const auto expected = with_gradients(f, clean);
    for (const double poison : {kNaN, kInfinity, 3.4e38})
      for (const std::size_t which : {0, 1, 2}) {
        CAPTURE(to_string(precision));
        CAPTURE(poison);
        CAPTURE(which);
        auto in = clean;
        in[which] = in[which].clone();
        fill_point(in[which], 20, poison);
        const auto found = with_gradients(f, in);
        // Query 20 alone is touched, or those that see key 20; then the keys that one of the touched sees.
        for (std::int64_t i = 0; i < s.queries * s.width; ++i) {
          const std::int64_t row = i / s.width;
          const bool touched = which == 0 ? row == 20 : row >= 20;
          for (std::size_t of : {0, 1}) {
            const double x = found[of].data<float>()[i], y = expected[of].data<float>()[i];
            if (!touched) CHECK(std::abs(x - y) <= 1e-5);
            if (touched && std::isnan(poison)) CHECK((std::isnan(x) || (of == 1 && which == 2 && row == 20)));
          }
          if (which != 0 || row <= 20) continue;
          for (std::size_t of : {2, 3})
            CHECK(std::abs(found[of].data<float>()[i] - expected[of].data<float>()[i]) <= 1e-5);
        }
      }
  }
}

TEST_CASE(
    "attention on tensor cores: gradients that are not finite reach the keys that their row sees, and no others") {
  if (skipped()) return;
  const AttentionSize s{1, 40, 40, 1, 16, 16};
  for (const Precision precision : kAll) {
    const MatmulPrecision in_use(precision);
    Tape tape;
    auto in = draw<float>(s);
    for (Tensor& x : in) tape.watch(x);
    Tensor out;
    {
      Recording on(tape);
      out = attention_under(PrefixMask::growing(1), 1)(in);
    }
    Tensor d_out = cotangent(out);
    fill_point(d_out, 20, kInfinity);
    const Grads& grads = tape.backward(out, d_out);
    for (std::size_t i = 0; i < 3; ++i) {
      const Tensor d = grads.of(in[i]);
      for (std::int64_t j = 0; j < d.numel(); ++j) {
        const std::int64_t row = j / s.width;
        const bool touched = i == 0 ? row == 20 : row <= 20;
        CHECK(std::isfinite(d.data<float>()[j]) != touched);
      }
    }
  }
}

TEST_CASE("attention on tensor cores: a row that sees nothing gives 0 and takes no gradient") {
  if (skipped()) return;
  for (const Precision precision : kAll) {
    const MatmulPrecision in_use(precision);
    const std::vector<std::int64_t> seen{0, 5, 0, 2, 0, 0, 0, 0};
    Tensor counts = Tensor::empty({2, 4}, DType::int64, Device::cpu);
    std::ranges::copy(seen, counts.values<std::int64_t>().begin());
    auto in = draw<float>(AttentionSize{2, 4, 5, 2, 8, 8});
    for (std::size_t row = 0; row < seen.size(); ++row)
      for (std::size_t c = 0; c < 16 && seen[row] == 0; ++c)
        in[0].data<float>()[row * 16 + c] = static_cast<float>(kNaN);
    const auto results = with_gradients(attention_under(PrefixMask::lengths(counts), 2), in);
    for (const Tensor& result : results)
      for (double value : doubles(result)) CHECK(std::isfinite(value));
    for (std::size_t i = 0; i < seen.size() * 16; ++i)
      for (std::size_t of : {0, 1}) CHECK((results[of].data<float>()[i] == 0) == (seen[i / 16] == 0));
  }
}

TEST_CASE("attention on tensor cores: large logits and equal logits") {
  if (skipped()) return;
  const Tensor values = normal<float>({1, 37, 8}, 3);
  for (const Precision precision : kAll) {
    const MatmulPrecision in_use(precision);
    for (const double logit : {0.0, 1e4, -1e4}) {
      const Tensor q = Tensor::full({1, 3, 8}, logit / 8), k = Tensor::full({1, 37, 8}, 1);
      const auto results = with_gradients(attention_under(PrefixMask::all(), 1, 1), {q, k, values});
      for (std::int64_t c = 0; c < 8; ++c) {
        double mean = 0;
        for (std::int64_t j = 0; j < 37; ++j) mean += double{values.data<float>()[j * 8 + c]} / 37;
        CHECK(std::abs(results[0].data<float>()[c] - mean) <= rounding(precision));
      }
      for (const Tensor& result : results)
        for (double value : doubles(result)) CHECK(std::isfinite(value));
    }
  }
}

TEST_CASE("attention on tensor cores: the same bits in every run, recorded or not") {
  if (skipped()) return;
  for (const Precision precision : kAll) {
    const MatmulPrecision in_use(precision);
    for (const AttentionSize& s : {AttentionSize{2, 150, 70, 2, 16, 16}, AttentionSize{1, 5, 1100, 1, 16, 16}}) {
      const auto in = draw<float>(s);
      const Function f = attention_under(PrefixMask::growing(1), s.heads);
      check_deterministic(f, in);
      CHECK(same_bits(f(in), with_gradients(f, in)[0]));
    }
  }
}

TEST_CASE("attention on tensor cores: the products are short, and exact again afterwards") {
  if (skipped()) return;
  const AttentionSize s{1, 33, 40, 1, 16, 16};
  const auto in = draw<float>(s), exact = by_loops(PrefixMask::all(), s, in);
  const Precision before = matmul_precision();
  for (const Precision precision : kShort) {
    const MatmulPrecision in_use(precision);
    CHECK(error(attention_under(PrefixMask::all(), 1)(in), doubles(exact[0])) >= rounding(precision) / 16);
  }
  CHECK(matmul_precision() == before);
}

}  // namespace npzoo
