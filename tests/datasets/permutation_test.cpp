#include "npzoo/datasets/permutation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "npzoo/engine/error.h"

using namespace npzoo;

namespace {

std::vector<std::int64_t> order_of(std::int64_t size, std::uint64_t seed, std::uint64_t number) {
  const Permutation permutation(size, seed, number);
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < size; ++i) order.push_back(permutation(i));
  return order;
}

}  // namespace

TEST_CASE("[permutation] every item once, whatever the number of items") {
  for (const std::int64_t size : {1, 2, 3, 10, 255, 256, 257, 1000, 1021, 70'000}) {
    CAPTURE(size);
    for (const std::uint64_t number : {0, 1, 77}) {
      const auto order = order_of(size, 5, number);
      CHECK(std::ranges::all_of(order, [&](std::int64_t item) { return 0 <= item && item < size; }));
      CHECK(std::set(order.begin(), order.end()).size() == static_cast<std::size_t>(size));
    }
  }
}

TEST_CASE("[permutation] a function of seed and number, another one for each") {
  for (const std::int64_t size : {10, 1000}) {
    std::set<std::vector<std::int64_t>> orders;
    for (const std::uint64_t seed : {0, 1, 2})
      for (const std::uint64_t number : {0, 1, 2}) {
        const auto order = order_of(size, seed, number);
        CHECK(order == order_of(size, seed, number));
        CHECK(orders.insert(order).second);
      }
  }
}

TEST_CASE("[permutation] all orders of few items are equally likely") {
  constexpr int kDraws = 24'000;
  for (const auto& [size, orders] : {std::pair{2, 2}, {3, 6}, {4, 24}}) {
    std::map<std::vector<std::int64_t>, int> counts;
    for (std::uint64_t number = 0; number < kDraws; ++number) ++counts[order_of(size, 3, number)];
    CHECK(counts.size() == static_cast<std::size_t>(orders));
    const double expected = static_cast<double>(kDraws) / orders;
    double chi_square = 0;
    for (const auto& entry : counts) chi_square += std::pow(entry.second - expected, 2) / expected;
    const double freedom = orders - 1;
    CHECK(chi_square < freedom + 4 * std::sqrt(2 * freedom) + 4);
  }
}

TEST_CASE("[permutation] no place keeps its item, and neighbours part") {
  constexpr std::int64_t kSize = 1000;
  double fixed = 0, followers = 0;
  for (std::uint64_t number = 0; number < 100; ++number) {
    const auto order = order_of(kSize, 1, number);
    for (std::size_t i = 0; i < kSize; ++i) fixed += order[i] == static_cast<std::int64_t>(i);
    for (std::size_t i = 1; i < kSize; ++i) followers += order[i] == order[i - 1] + 1;
  }
  CHECK(std::abs(fixed / 100 - 1) < 0.4);  // of a random permutation 1 ± 0.1 on average, whatever its size
  CHECK(std::abs(followers / 100 - 1) < 0.4);
}

TEST_CASE("[permutation] the batches of an epoch hold every item once") {
  for (const std::int64_t size : {1, 2, 3, 10, 1000, 1021})
    for (const std::int64_t batch_size : {1, 3, 16, 1500}) {
      CAPTURE(size);
      CAPTURE(batch_size);
      std::vector<std::int64_t> walk;
      for (std::uint64_t index = 0; std::ssize(walk) < 3 * size; ++index) {
        const auto items = items_of_batch(size, batch_size, 9, index);
        REQUIRE(std::ssize(items) == batch_size);
        walk.insert(walk.end(), items.begin(), items.end());
      }
      for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        const auto begin = walk.begin() + epoch * size;
        CHECK(std::set(begin, begin + size).size() == static_cast<std::size_t>(size));
        CHECK(std::equal(begin, begin + size, order_of(size, 9, static_cast<std::uint64_t>(epoch)).begin()));
      }
    }
}

TEST_CASE("[permutation] of nothing") {
  CHECK_THROWS_WITH_AS(Permutation(0, 1, 1), "[permutation] 0 items, expected 1 or more", Error);
  CHECK_THROWS_WITH_AS(items_of_batch(3, 0, 1, 1), "[permutation] batches of 0 of 3 items, expected 1 or more of both",
                       Error);
  CHECK_THROWS_WITH_AS(items_of_batch(0, 2, 1, 1), "[permutation] batches of 2 of 0 items, expected 1 or more of both",
                       Error);
}
