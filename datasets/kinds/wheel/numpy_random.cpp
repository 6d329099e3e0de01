#include "npzoo/datasets/kinds/wheel/numpy_random.h"

#include <bit>
#include <cmath>
#include <utility>

namespace npzoo {

double NumpyRandom::uniform() {
  const auto high = static_cast<std::uint32_t>(words_()) >> 5, low = static_cast<std::uint32_t>(words_()) >> 6;
  return (high * 0x1p26 + low) * 0x1p-53;
}

double NumpyRandom::normal() {
  if (kept_) return *std::exchange(kept_, std::nullopt);
  double a = 0, b = 0, square = 0;
  do {
    a = 2 * uniform() - 1;
    b = 2 * uniform() - 1;
    square = a * a + b * b;
  } while (square >= 1 || square == 0);
  const double scale = std::sqrt(-2 * std::log(square) / square);
  kept_ = scale * a;
  return scale * b;
}

std::uint32_t NumpyRandom::integer(std::uint32_t most) {
  if (most == 0) return 0;  // takes no word
  const std::uint32_t mask = ~std::uint32_t{0} >> std::countl_zero(most);
  std::uint32_t value = 0;
  do value = static_cast<std::uint32_t>(words_()) & mask;
  while (value > most);
  return value;
}

void NumpyRandom::shuffle(std::span<std::int64_t> values) {
  for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[integer(static_cast<std::uint32_t>(i))]);
}

std::vector<double> torch_uniforms(std::uint32_t seed, std::int64_t count) {
  std::mt19937 words(seed);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(words() & 0xffffffU) * 0x1p-24);
  return numbers;
}

}  // namespace npzoo
