#include <bit>

#include "npzoo/engine/backend.h"
#include "tests/engine/tensor_core_probe.h"
#include "tests/testing.h"

namespace npzoo {

namespace {

using namespace testing;

using Format = TensorCoreProbe::Format;

constexpr Format kFormats[] = {Format::tf32, Format::bf16, Format::tf32_pairs};

/// With the last bits of the fraction rounded away: to the even neighbour in the middle between two (bf16), or away
/// from 0 (tf32).
double rounded(float x, Format format) {
  if (!std::isfinite(x) || format == Format::tf32_pairs) return x;
  const bool bf16 = format == Format::bf16;
  const int dropped = bf16 ? 16 : 13;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x), -126) - 23 + dropped);
  const double scaled = double{x} / unit;
  const double whole = bf16 ? std::nearbyint(scaled) : std::round(scaled);
  return static_cast<float>(whole * unit);  // infinite beyond the largest
}

struct Found {
  std::vector<double> product, chained, turned, straight, crossed, stored, rounded, finite;
};

bool skipped() {
  if (default_device() == Device::cuda) return false;
  MESSAGE("skipped: on the CPU there are none");
  return true;
}

Found probe(Format format, const Tensor& matrices, const Tensor& x) {
  const Tensor in = matrices.to(Device::cuda), numbers = x.to(Device::cuda);
  Tensor products = Tensor::empty({6, 16, 16}, DType::float32, Device::cuda);
  Tensor roundings = Tensor::empty({2, 64}, DType::float32, Device::cuda);
  const auto* m = in.data<float>();
  auto *p = products.data<float>(), *r = roundings.data<float>();
  with_cuda([&](const Backend& backend) {
    backend.with_cuda_context([&](auto& cuda) {
      probe_tensor_cores(cuda, {format, m, m + 256, m + 512, p, p + 256, p + 512, p + 768, p + 1024, p + 1280,
                                numbers.data<float>(), r, r + 64});
    });
  });
  const std::vector<double> of = doubles(products.to(Device::cpu)), rs = doubles(roundings.to(Device::cpu));
  const auto product = [&of](int i) { return std::vector(of.begin() + 256 * i, of.begin() + 256 * (i + 1)); };
  return {product(0),
          product(1),
          product(2),
          product(3),
          product(4),
          product(5),
          {rs.begin(), rs.begin() + 64},
          {rs.begin() + 64, rs.end()}};
}

Tensor on_cpu(const Shape& shape, std::uint64_t seed) {
  Tensor x = Tensor::empty(shape, DType::float32, Device::cpu);
  Random random(seed);
  for (float& value : x.values<float>()) value = static_cast<float>(random.normal());
  return x;
}

}  // namespace

TEST_CASE("tensor cores: products of rounded factors") {
  if (skipped()) return;
  const Tensor matrices = on_cpu({3, 16, 16}, 1), x = on_cpu({64}, 2);
  const auto in = matrices.values<float>();
  for (const Format format : kFormats) {
    CAPTURE(static_cast<int>(format));
    const auto element = [&](int m, int i, int j) { return rounded(in[m * 256 + i * 16 + j], format); };
    const Found found = probe(format, matrices, x);
    // Each of 16 terms is cut off somewhere below the 22nd bit of the largest.
    const auto check_product = [](const std::vector<double>& of, const auto& left, const auto& right) {
      for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 16; ++j) {
          double expected = 0, size = 0;
          for (int k = 0; k < 16; ++k) {
            expected += left(i, k) * right(k, j);
            size += std::abs(left(i, k) * right(k, j));
          }
          CHECK(std::abs(of[i * 16 + j] - expected) <= 16 * 0x1p-22 * size);
        }
    };
    const auto a = [&](int i, int j) { return element(0, i, j); };
    const auto c = [&](int i, int j) { return element(2, i, j); };
    const auto c_turned = [&](int i, int j) { return element(2, j, i); };
    const auto of_product = [&](int i, int j) {
      return rounded(static_cast<float>(found.product[i * 16 + j]), format);
    };
    check_product(found.product, a, [&](int i, int j) { return element(1, j, i); });
    check_product(found.chained, of_product, c);
    check_product(found.turned, of_product, c_turned);
    check_product(found.straight, a, c);
    check_product(
        found.crossed, [&](int i, int j) { return element(0, j, i); }, c);
    for (int i = 0; i < 256; ++i) CHECK(found.stored[i] == of_product(i / 16, i % 16));
  }
}

TEST_CASE("tensor cores: roundings") {
  if (skipped()) return;
  const Tensor matrices = on_cpu({3, 16, 16}, 1);
  Tensor x = on_cpu({64}, 2);
  const auto values = x.values<float>();
  std::size_t n = 0;
  for (const float value :
       {0.0f, -0.0f, 1.0f, 0x1.01p0f, 0x1.03p0f, -0x1.01p0f, 0x1.010002p0f, 0x1.002p0f, 0x1.006p0f, -0x1.002p0f,
        0x1.001ffep0f, 3e38f, 3.4e38f, -3.4e38f, 0x1p-126f, 0x1.8p-130f, INFINITY, -INFINITY, NAN})
    values[n++] = value;
  for (const Format format : kFormats) {
    CAPTURE(static_cast<int>(format));
    const Found found = probe(format, matrices, x);
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(values[i]);
      const double expected = rounded(values[i], format);
      if (std::isnan(expected))
        CHECK(std::isnan(found.rounded[i]));
      else
        CHECK(found.rounded[i] == expected);
      CHECK(found.finite[i] == (std::isfinite(expected) ? expected : 0));
    }
  }
}

}  // namespace npzoo
