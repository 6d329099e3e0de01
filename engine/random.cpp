#include "npzoo/engine/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/engine/philox.h"

namespace npzoo {

std::array<std::uint32_t, 4> philox(const RandomState& state) {
  std::uint32_t words[4];
  philox_words(state, words);
  return std::to_array(words);
}

RandomState Random::reserve(std::uint64_t blocks) {
  const RandomState before = state_;
  state_.offset += blocks;
  return before;
}

std::array<std::uint32_t, 4> Random::next_block() { return philox(reserve(1)); }

double Random::uniform() {
  const auto block = next_block();
  return unit_interval(block[0], block[1]);
}

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  check(low < high, "[random] [{}, {}) holds no integer", low, high);
  // In unsigned numbers, which wrap around: the range may be wider than an int64.
  const auto first = static_cast<std::uint64_t>(low);
  const auto range = static_cast<unsigned __int128>(static_cast<std::uint64_t>(high) - first);
  const auto block = next_block();
  const std::uint64_t bits = (static_cast<std::uint64_t>(block[0]) << 32) | block[1];
  return static_cast<std::int64_t>(first + static_cast<std::uint64_t>((bits * range) >> 64));
}

namespace {

std::pair<double, double> box_muller(const std::array<std::uint32_t, 4>& block) {
  const double u = 1 - unit_interval(block[0], block[1]);  // (0, 1], so that the logarithm is finite
  const double v = unit_interval(block[2], block[3]);
  const double radius = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

double Random::normal() { return box_muller(next_block()).first; }

void Random::fill_normal(std::span<double> out) {
  for (std::size_t i = 0; i < out.size(); i += 2) {
    const auto [first, second] = box_muller(next_block());
    out[i] = first;
    if (i + 1 < out.size()) out[i + 1] = second;
  }
}

double Random::gamma(double shape) {
  check(shape >= 1, "[random] gamma shape {} is below 1", shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - uniform()) < 0.5 * x * x + d * (1 - v + std::log(v))) return d * v;
  }
}

double Random::beta(double a, double b) {
  const double x = gamma(a), y = gamma(b);
  return x / (x + y);
}

void Random::fill_permutation(std::span<std::int64_t> out) {
  std::iota(out.begin(), out.end(), std::int64_t{0});
  for (std::size_t i = out.size(); i > 1; --i)
    std::swap(out[i - 1], out[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(i)))]);
}

}  // namespace npzoo
