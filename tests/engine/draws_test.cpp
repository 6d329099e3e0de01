#include "npzoo/engine/draws.h"

#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>

#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/cuda/transfer.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

Draws some_draws(std::uint64_t step = 5) { return {7, Purpose::training, step}; }

Tensor normals(Draws draws, std::int64_t samples, std::int64_t tasks, const Shape& each, DType dtype = DType::float64) {
  return draws.normal(samples, tasks, each, dtype, Device::cpu);
}

Tensor bounds(std::initializer_list<std::int64_t> below) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(below.size())}, below);
}

/// Element (sample, task, i) of (K, B, n).
template <class T>
T at(const Tensor& x, std::int64_t sample, std::int64_t task, std::int64_t i) {
  return x.values<T>()[static_cast<std::size_t>((sample * x.dim(1) + task) * x.dim(2) + i)];
}

}  // namespace

TEST_CASE("draws: a function of seed, purpose, step, call, task and sample, and of each of them") {
  std::vector<Draws> all{{7, Purpose::training, 5},
                         {8, Purpose::training, 5},
                         {7, Purpose::evaluation, 5},
                         {7, Purpose::prediction, 5},
                         {7, Purpose::training, 6}};
  all.push_back(all[0].from(3));
  all.push_back(all[0]);
  all.back().generator(1, Device::cpu);
  std::set<double> seen;
  std::size_t count = 0;
  for (const Draws& draws : all) {
    const Tensor x = normals(draws, 2, 3, {5});
    CHECK(same_bits(x, normals(draws, 2, 3, {5})));
    seen.insert(x.values<double>().begin(), x.values<double>().end());
    count += x.values<double>().size();
  }
  CHECK(seen.size() == count);
}

TEST_CASE("draws: uniform numbers are spread over [0, 1), for each task and sample others") {
  Draws draws = some_draws();
  const Tensor x = draws.uniform(2, 3, {4000}, DType::float64, Device::cpu);
  CHECK(x.shape() == Shape{2, 3, 4000});
  double sum = 0, square = 0;
  for (const double u : x.values<double>()) {
    CHECK((u >= 0 && u < 1));
    sum += u;
    square += u * u;
  }
  CHECK(std::abs(sum / 24'000 - 0.5) <= 5 / std::sqrt(12.0 * 24'000));
  CHECK(std::abs(square / 24'000 - 1.0 / 3) <= 5 * std::sqrt(4.0 / 45 / 24'000));
  Draws part = some_draws().from(2);
  const Tensor last = part.uniform(1, 1, {7}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < 7; ++i) CHECK(at<double>(last, 0, 0, i) == at<double>(x, 0, 2, i));
}

TEST_CASE("draws: threads, parts of a batch and further samples change nothing") {
  const Tensor whole = normals(some_draws(), 4, 9, {33});
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadCount count(threads);
    CHECK(same_bits(normals(some_draws(), 4, 9, {33}), whole));
  }
  const Tensor part = normals(some_draws().from(2).from(1), 2, 4, {33});
  for (std::int64_t k = 0; k < 2; ++k)
    for (std::int64_t b = 0; b < 4; ++b)
      for (std::int64_t i = 0; i < 33; ++i) CHECK(at<double>(part, k, b, i) == at<double>(whole, k, b + 3, i));
  Draws one = some_draws(), other = one;
  one.integers(1, bounds({3, 4}), 6);
  other.integers(1, bounds({5, 6}), 2);
  CHECK(one.calls() == 1);
  CHECK(same_bits(normals(one, 1, 1, {3}), normals(other, 1, 1, {3})));
}

TEST_CASE("draws: shapes, and float32 is the float64 rounded") {
  CHECK(normals(some_draws(), 2, 3, {}).shape() == Shape{2, 3});
  CHECK(normals(some_draws(), 2, 3, {4, 5}).shape() == Shape{2, 3, 4, 5});
  for (const Shape& each : {Shape{0}, Shape{1}, Shape{7}})
    for (const std::int64_t tasks : {0, 1, 3}) {
      const Tensor wide = normals(some_draws(), 2, tasks, each);
      CHECK(wide.numel() == 2 * tasks * each.numel());
      CHECK(same_bits(wide.to(DType::float32), normals(some_draws(), 2, tasks, each, DType::float32)));
    }
}

TEST_CASE("draws: normal numbers are") {
  const Tensor x = normals(some_draws(), 10, 100, {100});
  const double n = static_cast<double>(x.numel());
  double mean = 0, square = 0, fourth = 0, neighbours = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double value = x.values<double>()[static_cast<std::size_t>(i)];
    mean += value / n;
    square += value * value / n;
    fourth += value * value * value * value / n;
    if (i > 0) neighbours += value * x.values<double>()[static_cast<std::size_t>(i - 1)] / n;
  }
  CHECK(std::abs(mean) < 4 / std::sqrt(n));
  CHECK(std::abs(square - 1) < 4 * std::sqrt(2 / n));
  CHECK(std::abs(fourth - 3) < 4 * std::sqrt(96 / n));
  CHECK(std::abs(neighbours) < 4 / std::sqrt(n));
}

TEST_CASE("draws: integers lie below the bound of their task, all alike, whatever stands behind them") {
  const Tensor below = bounds({1, 7, 0, 1000});
  Draws draws = some_draws();
  const Tensor x = draws.integers(100, below, 70);
  std::array<double, 7> counts{};
  for (std::int64_t k = 0; k < 100; ++k)
    for (std::int64_t i = 0; i < 70; ++i) {
      CHECK(at<std::int64_t>(x, k, 0, i) == 0);
      CHECK(at<std::int64_t>(x, k, 2, i) == 0);
      CHECK((at<std::int64_t>(x, k, 3, i) >= 0 && at<std::int64_t>(x, k, 3, i) < 1000));
      ++counts.at(static_cast<std::size_t>(at<std::int64_t>(x, k, 1, i)));
    }
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - 1000) * (count - 1000) / 1000;
  CHECK(chi_square < 22.5);  // six degrees of freedom, 1 in 1000
  Draws padded = some_draws();
  const Tensor more = padded.integers(100, below, 80);
  for (std::int64_t k = 0; k < 100; ++k)
    for (std::int64_t i = 0; i < 70; ++i) CHECK(at<std::int64_t>(more, k, 3, i) == at<std::int64_t>(x, k, 3, i));
}

TEST_CASE("draws: no stream is one of data, initial weights or random features") {
  for (const Purpose purpose : {Purpose::training, Purpose::evaluation, Purpose::prediction})
    for (const std::uint64_t step : {std::uint64_t{0}, (std::uint64_t{1} << 32) - 1}) {
      Draws draws(1, purpose, step);
      const Tensor words = draws.generator(1, Device::cpu);
      const auto stream = std::bit_cast<std::uint64_t>(words.values<std::int64_t>()[1]);
      CHECK((stream >> 56) == static_cast<std::uint64_t>(purpose));
      CHECK((stream >> 56) > 3);                  // splits of data: npzoo/datasets/kinds/gp/sampler.cpp
      CHECK(stream >= (std::uint64_t{1} << 63));  // initial weights and random features: npzoo/engine/init.h
    }
}

TEST_CASE("draws: a generator begins where the numbers of its first task do") {
  Draws draws = some_draws().from(2);
  Draws same = draws;
  const Tensor words = draws.generator(3, Device::cpu);
  const auto word = [&](std::size_t i) { return std::bit_cast<std::uint64_t>(words.values<std::int64_t>()[i]); };
  const Tensor x = same.normal(1, 3, {6}, DType::float64, Device::cpu);
  for (std::int64_t task = 0; task < 3; ++task) {
    Random random(RandomState{word(0), word(1), word(2) + static_cast<std::uint64_t>(task) * kBlocksOfATask});
    std::vector<double> expected(6);
    random.fill_normal(expected);
    for (std::int64_t i = 0; i < 6; ++i) CHECK(at<double>(x, 0, task, i) == expected[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("draws: recorded numbers come in the order of the calls, to each part its own") {
  const Tensor first = normals(some_draws(), 2, 4, {3}), second = normals(some_draws(6), 2, 4, {5});
  const Tensor third = Tensor::from<std::int64_t>({1, 4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Draws recorded = Draws::recorded({first, second, third});
  Draws whole = recorded, part = recorded.from(1);
  CHECK(same_bits(whole.normal(2, 4, {3}, DType::float64, Device::cpu), first));
  CHECK(same_bits(whole.normal(2, 4, {5}, DType::float32, Device::cpu), second.to(DType::float32)));
  CHECK(same_bits(whole.integers(1, bounds({9, 9, 9, 9}), 2), third));
  const Tensor own = part.normal(2, 2, {3}, DType::float64, Device::cpu);
  for (std::int64_t k = 0; k < 2; ++k)
    for (std::int64_t i = 0; i < 6; ++i)
      CHECK(at<double>(own, k, i / 3, i % 3) == at<double>(first, k, 1 + i / 3, i % 3));
  CHECK(error_of([&] { whole.normal(1, 1, {}, DType::float64, Device::cpu); }) ==
        "[draws] 3 recorded tensors found, expected one more");
  CHECK(error_of([&] { part.normal(2, 2, {3}, DType::float64, Device::cpu); }) ==
        "[draws] recorded tensor 1 is float64 (2, 4, 5), expected float64 (2, 2, 3) from task 1 on");
  CHECK(error_of([&] { part.normal(2, 4, {5}, DType::float64, Device::cpu); }) ==
        "[draws] recorded tensor 1 is float64 (2, 4, 5), expected float64 (2, 4, 5) from task 1 on");
  Draws again = recorded;
  CHECK(error_of([&] { again.normal(2, 3, {3}, DType::float64, Device::cpu); }) ==
        "[draws] recorded tensor 0 is float64 (2, 4, 3), expected float64 (2, 3, 3)");
  CHECK(error_of([&] {
          again.integers(2, bounds({1, 1, 1, 1}), 3);
        }) == "[draws] recorded tensor 0 is float64 (2, 4, 3), expected int64 (2, 4, 3)");
  CHECK(error_of([&] { again.generator(4, Device::cpu); }) ==
        "[draws] a recording has no numbers for a kernel that draws its own");
}

TEST_CASE("draws: a recording repeats the noted numbers") {
  std::vector<Tensor> notes;
  Draws noted = some_draws().noted_in(notes), plain = some_draws();
  const Tensor x = noted.normal(2, 4, {3}, DType::float64, Device::cpu), i = noted.integers(2, bounds({5, 6}), 3);
  CHECK(same_bits(x, plain.normal(2, 4, {3}, DType::float64, Device::cpu)));
  CHECK(same_bits(i, plain.integers(2, bounds({5, 6}), 3)));
  noted.derived({1}, [](std::span<std::int64_t> out) { out[0] = 1; });
  REQUIRE(notes.size() == 2);
  Draws again = Draws::recorded(notes);
  CHECK(same_bits(x, again.normal(2, 4, {3}, DType::float64, Device::cpu)));
  CHECK(same_bits(i, again.integers(2, bounds({5, 6}), 3)));
}

TEST_CASE("draws: errors") {
  Draws draws = some_draws();
  CHECK(error_of([] { Draws(1, Purpose::training, std::uint64_t{1} << 32); }) ==
        "[draws] step 4294967296 found, expected one below 2^32");
  CHECK(error_of([&] { draws.normal(1, (1 << 20) + 1, {}, DType::float64, Device::cpu); }) ==
        "[draws] 1048577 tasks found, expected 1048576 at most");
  CHECK(error_of([&] { draws.from(1 << 20).generator(1, Device::cpu); }) ==
        "[draws] 1048577 tasks found, expected 1048576 at most");
  CHECK(error_of([&] { draws.integers((1 << 16) + 1, bounds({1}), 1); }) ==
        "[draws] 65537 samples found, expected 65536 at most");
  CHECK(error_of([&] { draws.integers(1, bounds({1}), (1 << 28) + 1); }) ==
        "[draws] 268435457 integers in a sample found, expected 268435456 at most");
  CHECK(error_of([&] { draws.normal(1, 1, {(1 << 29) + 1}, DType::float64, Device::cpu); }) ==
        "[draws] 536870913 numbers in a sample found, expected 536870912 at most");
  CHECK(error_of([&] { draws.uniform(1, 1, {(1 << 28) + 1}, DType::float64, Device::cpu); }) ==
        "[draws] 268435457 numbers in a sample found, expected 268435456 at most");
  CHECK(draws.calls() == 0);
}

TEST_CASE("draws: kept ones are the same, filled anew for each step, bounds included") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  Tensor below = bounds({3, 9});
  KeptDraws kept;
  Draws first = some_draws(0).kept_in(kept), plain = some_draws(0);
  const Tensor x = first.normal(2, 2, {3}, DType::float32, Device::cpu), indices = first.integers(2, below, 4);
  CHECK(same_bits(x, plain.normal(2, 2, {3}, DType::float32, Device::cpu)));
  CHECK(same_bits(indices, plain.integers(2, below, 4)));
  const auto doubled = [&](Draws& draws) {
    return draws.derived({2}, [=](std::span<std::int64_t> out) {
      for (std::size_t i = 0; i < 2; ++i) out[i] = 2 * below.values<std::int64_t>()[i];
    });
  };
  const Tensor derived = doubled(first);
  CHECK(same_bits(derived, bounds({6, 18})));
  const Tensor y = first.normal(1, 2, {3}, DType::float32, Device::cpu);  // the third call: nothing was drawn between
  CHECK(same_bits(y, plain.normal(1, 2, {3}, DType::float32, Device::cpu)));
  below.values<std::int64_t>()[1] = 4;
  kept.refill(some_draws(1));
  Draws later = some_draws(1);
  CHECK(same_bits(x, later.normal(2, 2, {3}, DType::float32, Device::cpu)));
  CHECK(same_bits(indices, later.integers(2, below, 4)));
  CHECK(same_bits(derived, bounds({6, 8})));
  CHECK(same_bits(y, later.normal(1, 2, {3}, DType::float32, Device::cpu)));
  Draws other = some_draws(2).kept_in(kept);
  CHECK(error_of([&] { other.normal(2, 2, {4}, DType::float32, Device::cpu); }) ==
        "[draws] call 0 of a repeated step is for float32 (2, 2, 4), expected float32 (2, 2, 3) as before");
}

TEST_CASE("draws: the largest draw of a sample does not reach the next sample") {
  constexpr std::int64_t kBlocks = std::int64_t{1} << 28;  // between the streams of two samples
  const auto blocks_of = [](auto&& draw) {
    Random random(1);
    draw(random);
    return static_cast<std::int64_t>(random.state().offset);
  };
  CHECK(blocks_of([](Random& random) { random.uniform(); }) * (1 << 28) <= kBlocks);
  CHECK(blocks_of([](Random& random) { random.integer(0, 9); }) * (1 << 28) <= kBlocks);
  CHECK(blocks_of([](Random& random) {
          double pair[2];
          random.fill_normal(pair);
        }) * ((1 << 29) / 2) <=
        kBlocks);
}
