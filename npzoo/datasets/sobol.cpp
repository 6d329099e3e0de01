#include "npzoo/datasets/sobol.h"

#include <array>
#include <bit>

#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

namespace npzoo {

namespace {

constexpr std::uint64_t kSobolStream = 0x50;
constexpr int kDigits = 32;

/// A primitive polynomial: its degree, its inner coefficients, and the first direction numbers.
struct SobolPolynomial {
  int degree;
  std::uint32_t coefficients;
  std::array<std::uint32_t, 4> first;
};

constexpr std::array<SobolPolynomial, kMostSobolDims> kPolynomials{
    {{0, 0, {}}, {1, 0, {1}}, {2, 1, {1, 3}}, {3, 1, {1, 3, 1}}, {3, 2, {1, 1, 1}}, {4, 1, {1, 1, 3, 3}}}};

std::array<std::uint32_t, kDigits> sobol_directions(const SobolPolynomial& p) {
  std::array<std::uint32_t, kDigits> v{};
  for (int i = 0; i < kDigits; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (p.degree == 0) {
      v[at] = 1U << (kDigits - 1 - i);
    } else if (i < p.degree) {
      v[at] = p.first[at] << (kDigits - 1 - i);
    } else {
      const auto before = static_cast<std::size_t>(i - p.degree);
      v[at] = v[before] ^ (v[before] >> p.degree);
      for (int k = 1; k < p.degree; ++k)
        if ((p.coefficients >> (p.degree - 1 - k)) & 1U) v[at] ^= v[static_cast<std::size_t>(i - k)];
    }
  }
  return v;
}

}  // namespace

std::vector<double> sobol_points(std::int64_t dims, std::int64_t first, std::int64_t count, std::uint64_t seed) {
  check(dims >= 1 && dims <= kMostSobolDims, "[sobol] {} coordinates, expected 1 to {}", dims, kMostSobolDims);
  check(first >= 0 && count >= 0 && first + count <= 0xffffffffLL,
        "[sobol] point {} asked for, expected fewer than 2^32", first + count);
  std::vector<double> points(static_cast<std::size_t>(count * dims));
  Random random(seed, kSobolStream);
  for (std::int64_t d = 0; d < dims; ++d) {
    const std::array<std::uint32_t, kDigits> v = sobol_directions(kPolynomials[static_cast<std::size_t>(d)]);
    const std::uint32_t shift = random.next_block()[0];
    for (std::int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::uint32_t>(first + i);
      std::uint32_t digits = shift;
      for (std::uint32_t gray = index ^ (index >> 1); gray != 0; gray &= gray - 1)
        digits ^= v[static_cast<std::size_t>(std::countr_zero(gray))];
      points[static_cast<std::size_t>(i * dims + d)] = (digits + 0.5) * 0x1p-32;
    }
  }
  return points;
}

}  // namespace npzoo
