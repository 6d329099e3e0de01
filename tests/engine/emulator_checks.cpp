#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "engine/cuda/device_code.h"
#include "tests/testing.h"

// Of the emulated device: that it computes what CUDA's language says, and finds what a GPU would let pass.

using namespace npzoo;
using npzoo::testing::error_of;

namespace {

void run(int blocks, int threads, std::size_t shared, const std::function<void()>& kernel) {
  emulator::launch("probe", dim3(static_cast<unsigned>(blocks)), threads, shared, kernel);
}

}  // namespace

TEST_CASE("emulator: the threads of a block share memory and meet at barriers") {
  constexpr int kThreads = 96;
  std::vector<int> out(2 * kThreads, -1);
  run(2, kThreads, kThreads * sizeof(int), [&] {
    int* shared = shared_memory<int>();
    const int i = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
    for (int round = 0; round < 3; ++round) {
      shared[i] = 1000 * block + i + round;
      __syncthreads();
      out[block * kThreads + i] = shared[kThreads - 1 - i];
      __syncthreads();
    }
  });
  for (int block = 0; block < 2; ++block)
    for (int i = 0; i < kThreads; ++i) CHECK(out[block * kThreads + i] == 1000 * block + kThreads - 1 - i + 2);
}

TEST_CASE("emulator: the lanes of a warp exchange values") {
  std::vector<double> sums(64), largest(64), shifted(64);
  run(1, 64, 0, [&] {
    const int i = static_cast<int>(threadIdx.x);
    sums[i] = warp_sum(static_cast<double>(i));
    largest[i] = warp_max(i == 40 ? std::nan("") : static_cast<double>(i));
    shifted[i] = __shfl_up_sync(kAllLanes, static_cast<double>(i), 1);
  });
  for (int i = 0; i < 64; ++i) {
    CHECK(sums[i] == (i < 32 ? 31 * 16 : 31 * 16 + 32 * 32));
    CHECK((i < 32 ? largest[i] == 31 : std::isnan(largest[i])));
    CHECK(shifted[i] == (i % 32 == 0 ? i : i - 1));
  }
}

TEST_CASE("emulator: a barrier that not all threads reach is an error, and the next kernel runs") {
  const auto of_some = [](auto barrier) {
    return error_of([&] {
      run(1, 64, 0, [&] {
        if (threadIdx.x < 40) barrier();
      });
    });
  };
  CHECK(of_some([] { __syncthreads(); }) == "[emulator] kernel probe: __syncthreads that not all threads reach");
  CHECK(of_some([] { __syncwarp(); }) == "[emulator] kernel probe: a warp's exchange that not all threads reach");
  int done = 0;
  run(1, 1, 0, [&] { ++done; });
  CHECK(done == 1);
}

TEST_CASE("emulator: shared memory starts as NaN, and nothing may be written behind it") {
  double first = 0;
  run(1, 1, 64, [&] { first = shared_memory<double>()[7]; });
  CHECK(std::isnan(first));
  CHECK(error_of([] { run(1, 1, 64, [] { shared_memory<double>()[8] = 1; }); }) ==
        "[emulator] kernel probe: a write behind the end of its 64 bytes of shared memory");
}

TEST_CASE("emulator: threads and blocks take turns in another order each time, so that races show") {
  const auto last_writer = [](int blocks, int threads) {
    const testing::ThreadCount one(1);
    int last = -1;
    run(blocks, threads, 0, [&] { last = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); });
    return last;
  };
  CHECK(last_writer(1, 64) != last_writer(1, 64));
  CHECK(last_writer(8, 1) != last_writer(8, 1));
}

TEST_CASE("emulator: what no device of this kind can launch is refused") {
  CHECK(error_of([] { run(1, 1025, 0, [] {}); }).find("1025 threads a block") != std::string::npos);
  CHECK(error_of([] { run(1, 1, 228 << 10, [] {}); }).find("233472 bytes of shared memory") != std::string::npos);
  CHECK(error_of([] { emulator::launch("probe", dim3(1, 65'536), 1, 0, [] {}); }).find("65536") != std::string::npos);
}
