#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "datasets/gp/sampler.h"
#include "datasets/loader.h"
#include "datasets/protocol.h"
#include "engine/error.h"

using namespace npzoo;

namespace {

/// Batch i holds the number i; some take far longer than others. Fails from `broken` on.
class Counter final : public TaskSource {
 public:
  explicit Counter(std::uint64_t broken = ~0ull) : broken_(broken) {}

  Task sample(std::uint64_t index) const override {
    ++made;
    check(index < broken_, "[counter] no batch {}", index);
    volatile double work = 0;
    for (std::uint64_t i = 0; i < (index * 7919 % 5) * 20000; ++i) work = work + 1;
    return {Tensor::full({1}, static_cast<double>(index), DType::float64), {}, {}, {}, {}};
  }

  mutable std::atomic<int> made = 0;

 private:
  std::uint64_t broken_;
};

double number(const Task& task) { return task.xc.item(); }

}  // namespace

TEST_CASE("[loader] batches come in order, from any index, whatever the number of threads") {
  for (int threads : {0, 1, 3})
    for (int capacity : {0, 1, 8})
      for (std::uint64_t first : {0, 41}) {
        CAPTURE(threads);
        CAPTURE(capacity);
        const Counter source;
        BatchLoader loader(source, first, threads, capacity);
        for (std::uint64_t i = first; i < first + 60; ++i) {
          REQUIRE(loader.position() == i);
          REQUIRE(number(loader.next()) == static_cast<double>(i));
        }
      }
}

TEST_CASE("[loader] no more than the capacity is made ahead") {
  const Counter source;
  {
    BatchLoader loader(source, 0, 2, 3);
    for (int i = 0; i < 10; ++i) loader.next();
  }
  CHECK(source.made <= 10 + 3);
  { const BatchLoader unused(source, 0, 4); }
  CHECK(source.made <= 10 + 3 + 8);
}

TEST_CASE("[loader] an exception reaches the consumer at its place, again and again") {
  for (int threads : {0, 1, 3}) {
    CAPTURE(threads);
    const Counter source(5);
    BatchLoader loader(source, 2, threads);
    for (int i = 2; i < 5; ++i) CHECK(number(loader.next()) == i);
    for (int repeat = 0; repeat < 2; ++repeat) CHECK_THROWS_WITH_AS(loader.next(), "[counter] no batch 5", Error);
    CHECK(loader.position() == 5);
  }
}

TEST_CASE("[loader] Gaussian-process batches are the same bits for 0, 1 and 4 threads") {
  const GpSampler sampler(load_protocol("tnp-kr/gp1d-matern").data, 8, 3, Split::training);
  BatchLoader inline_loader(sampler, 7, 0), one(sampler, 7, 1), four(sampler, 7, 4);
  for (int i = 0; i < 20; ++i) {
    const Task expected = inline_loader.next();
    for (const Task& task : {one.next(), four.next()})
      for (Tensor Task::*part : {&Task::xc, &Task::yc, &Task::xt, &Task::yt, &Task::lengths})
        REQUIRE(std::ranges::equal((task.*part).raw(), (expected.*part).raw()));
  }
}

TEST_CASE("[loader] negative counts are refused") {
  const Counter source;
  CHECK_THROWS_WITH_AS(BatchLoader(source, 0, -1), "[loader] -1 threads and a capacity of 0, expected 0 or more",
                       Error);
}
