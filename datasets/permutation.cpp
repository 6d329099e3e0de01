#include "npzoo/datasets/permutation.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

namespace npzoo {

namespace {

constexpr int kRounds = 4;  // a network of fewer can be told from a random permutation (Luby and Rackoff 1988)
/// Small networks know few permutations, so that those of a few items would not be equally likely.
constexpr int kLeastHalfBits = 4;
/// Streams of the seed that nothing else draws from.
constexpr std::uint64_t kStreams = std::uint64_t{0xfe} << 56;

}  // namespace

Permutation::Permutation(std::int64_t size, std::uint64_t seed, std::uint64_t number)
    : size_(size), seed_(seed), number_(number) {
  check(size >= 1, "[permutation] {} items, expected 1 or more", size);
  const int bits = std::bit_width(static_cast<std::uint64_t>(size - 1));
  half_bits_ = std::max(kLeastHalfBits, (bits + 1) / 2);
}

std::uint64_t Permutation::encrypt(std::uint64_t x) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_, right = x & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t word = philox({seed_, kStreams | number_, round << 32 | right})[0];
    left = std::exchange(right, left ^ (word & mask));
  }
  return left << half_bits_ | right;
}

std::int64_t Permutation::operator()(std::int64_t position) const {
  auto x = static_cast<std::uint64_t>(position);
  do x = encrypt(x);
  while (x >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(x);
}

std::vector<std::int64_t> items_of_batch(std::int64_t size, std::int64_t batch_size, std::uint64_t seed,
                                         std::uint64_t index) {
  check(size >= 1 && batch_size >= 1, "[permutation] batches of {} of {} items, expected 1 or more of both", batch_size,
        size);
  const auto count = static_cast<std::uint64_t>(size);
  std::uint64_t position = index * static_cast<std::uint64_t>(batch_size);
  std::uint64_t epoch = position / count;
  Permutation order(size, seed, epoch);
  std::vector<std::int64_t> items;
  for (std::int64_t i = 0; i < batch_size; ++i, ++position) {
    if (position / count != epoch) order = Permutation(size, seed, ++epoch);
    items.push_back(order(static_cast<std::int64_t>(position % count)));
  }
  return items;
}

}  // namespace npzoo
