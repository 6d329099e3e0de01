#include "npzoo/engine/random.h"

#include <numeric>
#include <thread>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

using Block = std::array<std::uint32_t, 4>;

namespace {

struct Moments {
  double mean = 0, variance = 0;
};

template <class F>
Moments moments(int count, F draw) {
  Moments m;
  for (int i = 0; i < count; ++i) {
    const double x = draw();
    m.mean += x / count;
    m.variance += x * x / count;
  }
  m.variance -= m.mean * m.mean;
  return m;
}

/// Within five standard errors of what was to be expected.
void check_mean(double found, double expected, double variance, int count) {
  CHECK(std::abs(found - expected) <= 5 * std::sqrt(variance / count));
}

}  // namespace

TEST_CASE("random: the known answers of Random123 for philox4x32-10") {
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  CHECK(philox({0, 0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({kOnes, kOnes, kOnes}) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  // Digits of pi: counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0.
  CHECK(philox({.seed = 0x299f31d0a4093822, .stream = 0x0370734413198a2e, .offset = 0x85a308d3243f6a88}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random: the state is all there is") {
  Random random(7, 3);
  random.normal();
  random.uniform();
  Random same(random.state());
  CHECK(same.state() == RandomState{7, 3, 2});
  for (int i = 0; i < 10; ++i) CHECK(same.next_block() == random.next_block());

  const RandomState reserved = random.reserve(100);
  CHECK(reserved.offset == 12);
  CHECK(random.state().offset == 112);
  CHECK(random.next_block() == philox({7, 3, 112}));
}

TEST_CASE("random: streams are the same on any thread and differ from each other") {
  const auto draw = [](std::uint64_t seed, std::uint64_t stream) {
    Random random(seed, stream);
    std::vector<double> values(1000);
    random.fill_normal(values);
    return values;
  };
  std::vector<std::vector<double>> found(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i) threads.emplace_back([&found, &draw, i] { found[i] = draw(5, i); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == draw(5, i));
    for (std::size_t j = 0; j < i; ++j) {
      const double product = std::inner_product(found[i].begin(), found[i].end(), found[j].begin(), 0.0) / 1000;
      check_mean(product, 0, 1, 1000);
    }
  }
  CHECK(draw(6, 0) != found[0]);
}

TEST_CASE("random: uniform numbers") {
  CHECK(unit_interval(0, 0) == 0);
  CHECK(unit_interval(~0u, ~0u) == 1 - 0x1p-53);
  Random random(1);
  constexpr int kCount = 200'000;
  double low = 1, high = 0;
  const Moments m = moments(kCount, [&] {
    const double x = random.uniform();
    low = std::min(low, x);
    high = std::max(high, x);
    return x;
  });
  CHECK(low >= 0);
  CHECK(high < 1);
  CHECK(high - low > 0.9999);
  check_mean(m.mean, 0.5, 1.0 / 12, kCount);
  check_mean(m.variance, 1.0 / 12, 1.0 / 180, kCount);
  for (int i = 0; i < 1000; ++i) {
    const double x = random.uniform(-3, -1);
    CHECK(-3 <= x);
    CHECK(x < -1);
  }
}

TEST_CASE("random: integers") {
  Random random(2);
  std::vector<int> counts(7);
  constexpr int kCount = 70'000;
  for (int i = 0; i < kCount; ++i) ++counts.at(static_cast<std::size_t>(random.integer(-3, 4) + 3));
  for (int count : counts) check_mean(count / double{kCount}, 1.0 / 7, 6.0 / 49, kCount);
  CHECK(random.integer(5, 6) == 5);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 100; ++i) CHECK(random.integer(0, kMax) >= 0);
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  int negative = 0, below_half = 0;
  for (int i = 0; i < kCount; ++i) {  // spans that no int64 holds
    negative += random.integer(kLeast, kMost) < 0;
    const std::int64_t x = random.integer(kLeast, kLeast / -2);
    CHECK(x < kLeast / -2);
    below_half += x < kLeast / 4;
  }
  CHECK(std::abs(negative - kCount / 2) < 4 * std::sqrt(kCount / 4.0));
  CHECK(std::abs(below_half - kCount / 2) < 4 * std::sqrt(kCount / 4.0));
  CHECK(error_of([&] { random.integer(4, 4); }) == "[random] [4, 4) holds no integer");
  CHECK(error_of([&] { random.integer(kMost, kLeast); }) ==
        "[random] [9223372036854775807, -9223372036854775808) holds no integer");
}

TEST_CASE("random: normal numbers") {
  constexpr int kCount = 200'000;
  std::vector<double> x(kCount);
  Random(3).fill_normal(x);
  double third = 0, fourth = 0;
  int beyond_two = 0;
  std::size_t i = 0;
  const Moments m = moments(kCount, [&] {
    third += x[i] * x[i] * x[i] / kCount;
    fourth += x[i] * x[i] * x[i] * x[i] / kCount;
    beyond_two += std::abs(x[i]) > 2;
    return x[i++];
  });
  check_mean(m.mean, 0, 1, kCount);
  check_mean(m.variance, 1, 2, kCount);
  check_mean(third, 0, 15, kCount);
  check_mean(fourth, 3, 96, kCount);
  check_mean(beyond_two / double{kCount}, 0.0455, 0.0434, kCount);

  std::vector<double> odd(3), longer(4);
  Random(3).fill_normal(odd);
  Random(3).fill_normal(longer);
  CHECK(std::equal(odd.begin(), odd.end(), longer.begin()));
  CHECK(Random(3).normal() == odd[0]);
}

TEST_CASE("random: gamma and beta numbers") {
  Random random(4);
  constexpr int kCount = 100'000;
  for (double shape : {1.0, 2.5, 40.0}) {
    const Moments m = moments(kCount, [&] { return random.gamma(shape); });
    check_mean(m.mean, shape, shape, kCount);
    check_mean(m.variance, shape, 2 * shape * shape + 6 * shape, kCount);
  }
  const Moments m = moments(kCount, [&] { return random.beta(2, 3); });
  check_mean(m.mean, 0.4, 0.04, kCount);
  CHECK(error_of([&] { random.gamma(0.5); }) == "[random] gamma shape 0.5 is below 1");
}

TEST_CASE("random: permutations are drawn evenly") {
  Random random(5);
  std::vector<int> counts(6);
  constexpr int kCount = 60'000;
  for (int i = 0; i < kCount; ++i) {
    std::array<std::int64_t, 3> order;
    random.fill_permutation(order);
    ++counts.at(static_cast<std::size_t>(order[0] * 2 + (order[1] > order[2])));
  }
  for (int count : counts) check_mean(count / double{kCount}, 1.0 / 6, 5.0 / 36, kCount);

  std::vector<std::int64_t> order(1000), sorted(1000);
  random.fill_permutation(order);
  std::iota(sorted.begin(), sorted.end(), 0);
  CHECK(order != sorted);
  std::ranges::sort(order);
  CHECK(order == sorted);
  random.fill_permutation({});
}
