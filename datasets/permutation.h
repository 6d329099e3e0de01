#pragma once

#include <cstdint>
#include <vector>

namespace npzoo {

/// A permutation of 0 … size − 1 that is computed and not kept: a Feistel network on the least square power of two that
/// holds the numbers, walked on until it comes back among them (Black and Rogaway, "Ciphers with arbitrary finite
/// domains", CT-RSA 2002), with Philox as its round function.
class Permutation {
 public:
  /// Each `number` of a seed is another permutation. Throws Error if `size` is below 1.
  Permutation(std::int64_t size, std::uint64_t seed, std::uint64_t number);

  /// The element at `position`, which is one of 0 … size − 1.
  std::int64_t operator()(std::int64_t position) const;

 private:
  std::uint64_t encrypt(std::uint64_t x) const;

  std::int64_t size_;
  std::uint64_t seed_, number_;
  int half_bits_;
};

/// Which of `size` items are in batch `index` of an endless walk through them: each epoch visits every item once, in an
/// order of its own. A batch may hold the last items of an epoch and the first ones of the next.
std::vector<std::int64_t> items_of_batch(std::int64_t size, std::int64_t batch_size, std::uint64_t seed,
                                         std::uint64_t index);

}  // namespace npzoo
