#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/cuda/epilogue.h"
#include "npzoo/engine/cuda/gemm_plan.h"
#include "npzoo/engine/memory.h"
#include "npzoo/engine/precision.h"
#include "tests/engine/fake_cublas.h"
#include "tests/testing.h"

// Runs gemm_nvidia.cpp unchanged on a library that computes on the host, in builds with kernels for NVIDIA devices. Its
// arrays are those of the emulated device, which the host can read.

namespace npzoo {

namespace {

/// As the kernel says.
template <class T>
void epilogue_on_host(CudaContext<Gpu::nvidia>&, const Epilogue<T>& p) {
  for (std::int64_t batch = 0; batch < p.batch; ++batch)
    for (std::int64_t i = 0; i < p.rows; ++i)
      for (std::int64_t j = 0; j < p.width; ++j) {
        T& c = p.c[batch * p.step + i * p.row + j];
        T value = p.zero ? T(0) : c;
        if (p.bias) value += p.bias[j];
        c = p.activation == Activation::relu && value < 0 ? T(0) : value;
      }
}

}  // namespace

template <class T>
void gemm_on_fake(CudaContext<Gpu::nvidia>& cuda, const BatchedGemm<T>& p);
template <class T>
void one_gemm_on_fake(CudaContext<Gpu::nvidia>& cuda, const Gemm<T>& p);

}  // namespace npzoo

#define cublas_lt fake_cublas_lt
#define cublas fake_cublas
#define apply_epilogue epilogue_on_host
#define batched_gemm gemm_on_fake
#define gemm one_gemm_on_fake
#include "npzoo/engine/cuda/gemm_nvidia.cpp"
#undef cublas_lt
#undef cublas
#undef apply_epilogue
#undef batched_gemm
#undef gemm

namespace npzoo {

namespace {

using namespace testing;

struct Shape3 {
  std::int64_t m, n, k;
};

/// Both products of a batch by the fake and by the CPU, from the same numbers. Rows of C have room behind them.
template <class T>
void compare(Shape3 s, bool a_by_columns, bool b_by_columns, bool bias, bool accumulate, Activation activation) {
  constexpr std::int64_t kBatch = 2;
  const Tensor a = normal<T>({kBatch, s.m, s.k}, 1), b = normal<T>({kBatch, s.k, s.n}, 2), add = normal<T>({s.n}, 3);
  Tensor expected = normal<T>({kBatch, s.m, s.n + 3}, 4), found = expected.clone();
  BatchedGemm<T> p{kBatch,
                   s.m * s.k,
                   s.k * s.n,
                   s.m * (s.n + 3),
                   {.m = s.m,
                    .n = s.n,
                    .k = s.k,
                    .a = a.data<T>(),
                    .a_row = a_by_columns ? 1 : s.k,
                    .a_col = a_by_columns ? s.m : 1,
                    .b = b.data<T>(),
                    .b_row = b_by_columns ? 1 : s.n,
                    .b_col = b_by_columns ? s.k : 1,
                    .c = found.data<T>(),
                    .c_row = s.n + 3,
                    .alpha = T(0.5),
                    .accumulate = accumulate,
                    .bias = bias ? add.data<T>() : nullptr,
                    .activation = activation}};
  CudaContext<Gpu::nvidia> cuda;
  gemm_on_fake(cuda, p);
  with_cpu([&](const Backend& cpu) {
    for (std::int64_t i = 0; i < kBatch; ++i) {
      Gemm<T> one = p.one;
      one.a += i * p.a_step, one.b += i * p.b_step, one.c = expected.data<T>() + i * p.c_step;
      gemm(cpu, one);
    }
  });
  CHECK(largest_difference(found, doubles(expected)) <= 100 * kTolerance<T>);
}

template <class T>
void compare_all() {
  for (const Shape3 s : {Shape3{3, 4, 5}, {4, 1, 7}, {1, 6, 3}, {5, 3, 1}, {2, 3, 0}})
    for (int bits = 0; bits < 32; ++bits)
      compare<T>(s, bits & 1, bits & 2, bits & 4, bits & 8, bits & 16 ? Activation::relu : Activation::none);
}

/// Resets the library for a test. Plans of other tests stay, with their descriptions, so each test uses its own shapes.
struct Reset {
  Reset() {
    auto alive = std::move(fake::library.alive);
    fake::library = {};
    fake::library.alive = std::move(alive);
  }
};

}  // namespace

TEST_CASE("cublas: products, transposes, batches, bias, sums and activations are as on the CPU") {
  if (!has_gpu() || active_gpu() != Gpu::emulated) return;
  const OnCpu cpu;
  const Reset reset;
  compare_all<float>();
  compare_all<double>();
  CHECK(fake::library.lt_products > 0);
  CHECK(fake::library.strided_products == 0);
  const int searches = fake::library.searches;
  compare<float>({3, 4, 5}, false, false, true, false, Activation::none);
  CHECK(fake::library.searches == searches);  // a plan is found once
}

TEST_CASE("cublas: where cuBLASLt adds no bias, or knows no algorithm at all, results are the same") {
  if (!has_gpu() || active_gpu() != Gpu::emulated) return;
  const OnCpu cpu;
  for (const cublasStatus_t status : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_SUCCESS}) {
    const Reset reset;
    const std::int64_t odd = status == CUBLAS_STATUS_SUCCESS ? 13 : 17;  // shapes without a plan yet
    fake::library.without_algorithm = status;
    fake::library.has_algorithm = [](const fake::Product& p) { return p.epilogue == CUBLASLT_EPILOGUE_DEFAULT; };
    compare<float>({odd, 4, 5}, false, true, true, false, Activation::none);
    CHECK(fake::library.searches == 2);
    CHECK(fake::library.lt_products == 1);
    fake::library.has_algorithm = [](const fake::Product&) { return false; };
    compare<float>({odd, 4, 6}, false, true, true, false, Activation::none);
    compare<float>({odd, 4, 6}, true, false, true, true, Activation::relu);
    compare<double>({odd, 1, 6}, true, false, true, false, Activation::relu);
    CHECK(fake::library.strided_products == 3);
    CHECK(fake::library.lt_products == 1);
  }
  CHECK((fake::library.calls.empty() || fake::library.calls == "create stream workspace "));  // a stream forgets it
}

TEST_CASE("cublas: the plans used last are kept, and no others") {
  if (!has_gpu() || active_gpu() != Gpu::emulated) return;
  const OnCpu cpu;
  const Reset reset;
  const auto searches_for = [](std::int64_t i) {
    const int before = fake::library.searches;
    compare<double>({1 + i % 32, 1 + i / 32, 2}, false, false, false, false, Activation::none);
    return fake::library.searches - before;
  };
  constexpr auto kCount = static_cast<std::int64_t>(kMostPlans);
  for (std::int64_t i = 0; i < kCount; ++i) REQUIRE(searches_for(i) == 1);
  CHECK(searches_for(0) == 0);
  const std::size_t full = fake::library.alive.size();
  CHECK(searches_for(kCount) == 1);
  CHECK(fake::library.alive.size() == full);
  CHECK(searches_for(1) == 1);  // gone
  CHECK(searches_for(0) == 0);
}

TEST_CASE("cublas: another error of the library is an Error") {
  if (!has_gpu() || active_gpu() != Gpu::emulated) return;
  const OnCpu cpu;
  const Reset reset;
  fake::library.has_algorithm = [](const fake::Product&) { return false; };
  fake::library.without_algorithm = CUBLAS_STATUS_INTERNAL_ERROR;
  CHECK(error_of([] {
          compare<float>({19, 4, 5}, false, false, false, false, Activation::none);
        }) == "[cublas] choosing an algorithm: internal error");
}

TEST_CASE("cublas: NaN passes a ReLU") {
  if (!has_gpu() || active_gpu() != Gpu::emulated) return;
  const OnCpu cpu;
  const Reset reset;
  const float a[] = {NAN, -1}, b[] = {1};
  alignas(64) static const float bias[16] = {};
  for (const float* const added : {static_cast<const float*>(nullptr), bias}) {
    float c[2] = {};
    CudaContext<Gpu::nvidia> cuda;
    gemm_on_fake(cuda, BatchedGemm<float>{1,
                                          0,
                                          0,
                                          0,
                                          {.m = 2,
                                           .n = 1,
                                           .k = 1,
                                           .a = a,
                                           .a_row = 1,
                                           .a_col = 1,
                                           .b = b,
                                           .b_row = 1,
                                           .b_col = 1,
                                           .c = c,
                                           .c_row = 1,
                                           .bias = added,
                                           .activation = Activation::relu}});
    CHECK(std::isnan(c[0]));
    CHECK(c[1] == 0);
  }
}

TEST_CASE("cublas: alignments are those of the arrays, and the precision is the chosen one") {
  if (!has_gpu() || active_gpu() != Gpu::emulated) return;
  const OnCpu cpu;
  const Reset reset;
  alignas(64) float memory[3][64] = {};
  CudaContext<Gpu::nvidia> cuda;
  const Precision before = matmul_precision();
  set_matmul_precision(Precision::tf32);
  gemm_on_fake(cuda, BatchedGemm<float>{1,
                                        0,
                                        0,
                                        0,
                                        {.m = 2,
                                         .n = 23,
                                         .k = 1,
                                         .a = memory[0] + 4,
                                         .a_row = 1,
                                         .a_col = 1,
                                         .b = memory[1] + 1,
                                         .b_row = 23,
                                         .b_col = 1,
                                         .c = memory[2],
                                         .c_row = 23}});
  set_matmul_precision(before);
  CHECK(fake::library.wishes[CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES] == 4);   // of our B
  CHECK(fake::library.wishes[CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES] == 16);  // of our A
  CHECK(fake::library.wishes[CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES] == 64);
  CHECK(fake::library.wishes[CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES] == 64);
  CHECK(fake::library.compute == CUBLAS_COMPUTE_32F_FAST_TF32);
}

}  // namespace npzoo
