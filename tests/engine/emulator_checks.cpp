#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/precision.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"
#include "tests/testing.h"

// Tests that the emulated device computes by the rules of CUDA, and finds faults that a GPU would let pass.

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

TEST_CASE("device code: powers of two are exact to the last place, from the largest number to the smallest") {
  const auto error = [](float x) {  // in units of the last place
    const double exact = std::exp2(static_cast<double>(x));
    return std::abs(static_cast<double>(exponential2(x)) - exact) /
           std::ldexp(1.0, std::max(std::ilogb(exact) - 23, -149));
  };
  double worst = 0;
  for (float x = -149; x < 128; x += 0.0009765625f) worst = std::max(worst, error(x));
  for (float x = 1e-9f; x < 1; x *= 1.001f) worst = std::max({worst, error(x), error(-x)});
  CHECK(worst <= 0.9);
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  CHECK(exponential2(0.0f) == 1);
  CHECK(exponential2(-kInfinite) == 0);
  CHECK(exponential2(-1e30f) == 0);
  CHECK(exponential2(128.0f) == kInfinite);
  CHECK(exponential2(kInfinite) == kInfinite);
  CHECK(std::isnan(exponential2(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("emulator: a barrier that not all threads reach is an error, and the next kernel runs") {
  const auto of_some = [](auto barrier) {
    return error_of([&] {
      run(1, 64, 0, [&] {
        if (threadIdx.x < 40) barrier();
      });
    });
  };
  CHECK(of_some([] { __syncthreads(); }) ==
        "[emulator] kernel probe: found __syncthreads that some threads do not reach");
  CHECK(of_some([] { __syncwarp(); }) ==
        "[emulator] kernel probe: found an exchange of a warp that some threads do not reach");
  int done = 0;
  run(1, 1, 0, [&] { ++done; });
  CHECK(done == 1);
}

TEST_CASE("emulator: shared memory starts as NaN, and nothing may be written behind it") {
  double first = 0;
  run(1, 1, 64, [&] { first = shared_memory<double>()[7]; });
  CHECK(std::isnan(first));
  CHECK(error_of([] { run(1, 1, 64, [] { shared_memory<double>()[8] = 1; }); }) ==
        "[emulator] kernel probe: it wrote past the end of its 64 bytes of shared memory");
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

TEST_CASE("emulator: refuses launches beyond the limits of a device") {
  CHECK(error_of([] { run(1, 1025, 0, [] {}); }).find("1025 threads a block") != std::string::npos);
  CHECK(error_of([] { run(1, 1, 228 << 10, [] {}); }).find("233472 bytes of shared memory") != std::string::npos);
  CHECK_NOTHROW(run(1, 1, 48 << 10, [] {}));
  CHECK(error_of([] { run(1, 1, (48 << 10) + 1, [] {}); }) ==
        "[emulator] kernel probe: 49153 bytes of shared memory found, expected at most the 49152 that it was allowed");
  CHECK(error_of([] { emulator::launch("probe", dim3(1, 65'536), 1, 0, [] {}); }).find("65536") != std::string::npos);
}

namespace {

__global__ void do_nothing() {}

}  // namespace

TEST_CASE("emulator: a grid that a device cannot count is refused before it wraps") {
  CudaContext<Gpu::emulated> cuda{nullptr, 1, 99 << 10, true};
  const auto message = [&](const Grid& grid) {
    return error_of([&] { launch(cuda, "probe", do_nothing, grid, 1, 0); });
  };
  constexpr std::int64_t kWrap = std::int64_t{1} << 32;
  for (const std::int64_t blocks : {std::int64_t{1} << 31, kWrap, kWrap + 1, std::int64_t{1} << 40})
    CHECK(message(blocks) ==
          fmt::format("[launch] kernel probe: {} × 1 × 1 blocks found, expected at most 2147483647 × "
                      "65535 × 65535",
                      blocks));
  for (const std::int64_t blocks : {std::int64_t{65536}, kWrap, kWrap + 1})
    for (const Grid& grid : {Grid(1, blocks), Grid(1, 1, blocks)}) CHECK(message(grid).starts_with("[launch] kernel "));
  for (const Grid& grid : {Grid(3), Grid(1, 65535), Grid(1, 1, 65535), Grid(0, kWrap), Grid(kWrap, 0)})
    CHECK(message(grid) == "no error");
}

namespace {

__global__ void write_end(int* last, int bytes) {
  shared_memory<unsigned char>()[bytes - 1] = 7;
  *last = shared_memory<unsigned char>()[bytes - 1];
}

}  // namespace

TEST_CASE("emulator: a launch can get more shared memory than the default, up to the limit of the device") {
  CudaContext<Gpu::emulated> small{nullptr, 1, 99 << 10, true};
  int last = 0;
  const auto launch_with = [&](int bytes) {
    launch(small, "probe", write_end, 1, 1, static_cast<std::size_t>(bytes), &last, bytes);
  };
  for (const int bytes : {48 << 10, (48 << 10) + 1, 99 << 10}) {
    last = 0;
    CHECK_NOTHROW(launch_with(bytes));
    CHECK(last == 7);
  }
  CHECK(error_of([&] { launch_with((99 << 10) + 1); }) ==
        "[emulator] kernel probe: 101377 bytes of shared memory found, expected at most 101376, the limit of this "
        "device");
}

namespace {

/// While it lives, blocks of the emulated device have this much shared memory at most.
class SharedLimit {
 public:
  explicit SharedLimit(int bytes) { cuda_context<Gpu::emulated>().shared_bytes = bytes; }
  SharedLimit(const SharedLimit&) = delete;
  SharedLimit& operator=(const SharedLimit&) = delete;
  ~SharedLimit() { cuda_context<Gpu::emulated>().shared_bytes = before_; }

 private:
  int before_ = cuda_context<Gpu::emulated>().shared_bytes;
};

/// Attention of the widest heads, and what else takes much shared memory.
std::vector<Tensor> run_large_tiles(DType dtype) {
  constexpr std::int64_t kPoints = 70, kWidth = 128;
  const auto draw = [dtype](std::uint64_t seed) {
    return testing::normal<double>({1, kPoints, kWidth}, seed, 0.3).to(dtype);
  };
  const std::vector<Tensor> in{draw(1), draw(2), draw(3)};
  std::vector<Tensor> out = testing::with_gradients(
      [](const std::vector<Tensor>& x) { return masked_attention(x[0], x[1], x[2], PrefixMask::growing(1), {}); }, in);
  Random random(4);
  const Tensor projection = orthogonal_random_features(70, kWidth, FeatureNorms::fixed, random).to(dtype);
  for (const Tensor& x : testing::with_gradients(
           [&](const std::vector<Tensor>& x) {
             return linear_attention(x[0], x[1], x[2], projection, PrefixMask::all(), {});
           },
           in))
    out.push_back(x);
  return out;
}

}  // namespace

TEST_CASE("emulator: devices with less shared memory take smaller tiles, or say that a kernel does not fit") {
  if (!testing::has_gpu() || active_gpu() != Gpu::emulated) return;
  const testing::OnGpu gpu;
  struct Restored {
    Precision before = matmul_precision();
    ~Restored() { set_matmul_precision(before); }
  } const restored;
  for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bf16})
    for (const int bytes : {99 << 10, 163 << 10, 227 << 10}) {  // of sm_86 and sm_89, sm_80, sm_90
      CAPTURE(bytes);
      set_matmul_precision(precision);
      const SharedLimit limit(bytes);
      CHECK_NOTHROW(run_large_tiles(DType::float32));
      if (precision == Precision::float32) CHECK_NOTHROW(run_large_tiles(DType::float64));
    }
  const SharedLimit limit(60 << 10);
  const std::string message = error_of([] { run_large_tiles(DType::float32); });
  CHECK(message.starts_with("[emulator] kernel attention_forward: "));
  CHECK(message.ends_with(" bytes of shared memory found, expected at most 61440, the limit of this device"));
}
