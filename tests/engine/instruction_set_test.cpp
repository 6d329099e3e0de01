#include "npzoo/engine/backend.h"
#include "npzoo/engine/cpu/gemm_slices.h"
#include "npzoo/engine/cpu/peak.h"
#include "npzoo/engine/gemm.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr CpuFeatures kEverything{.avx2 = true,
                                  .fma = true,
                                  .bmi2 = true,
                                  .avx512f = true,
                                  .avx512bw = true,
                                  .avx512cd = true,
                                  .avx512dq = true,
                                  .avx512vl = true};

}  // namespace

TEST_CASE("cpu: an instruction set is chosen where the processor has all of it, and the build has it") {
  CHECK(best_isa(kEverything, true, true) == Isa::avx512);
  CHECK(best_isa(kEverything, true, false) == Isa::avx2);
  CHECK(best_isa(kEverything, false, false) == Isa::generic);
  CHECK(best_isa({}, true, true) == Isa::generic);
  for (const auto wide : {&CpuFeatures::avx512f, &CpuFeatures::avx512bw, &CpuFeatures::avx512cd, &CpuFeatures::avx512dq,
                          &CpuFeatures::avx512vl}) {
    CpuFeatures features = kEverything;
    features.*wide = false;
    CHECK(best_isa(features, true, true) == Isa::avx2);
    CHECK(best_isa(features, false, true) == Isa::generic);
  }
  for (const auto basic : {&CpuFeatures::avx2, &CpuFeatures::fma, &CpuFeatures::bmi2}) {
    CpuFeatures features = kEverything;
    features.*basic = false;
    CHECK(best_isa(features, true, true) == Isa::generic);
  }
}

TEST_CASE("cpu: NPZOO_ISA only lowers the choice") {
  CHECK(lowered_isa(Isa::avx2, nullptr) == Isa::avx2);
  CHECK(lowered_isa(Isa::avx512, "avx2") == Isa::avx2);
  CHECK(lowered_isa(Isa::avx2, "avx512") == Isa::avx2);
  CHECK(lowered_isa(Isa::avx512, "generic") == Isa::generic);
  CHECK(error_of([] { lowered_isa(Isa::avx2, "sse9"); }) ==
        "[cpu] NPZOO_ISA is 'sse9', expected generic, avx2 or avx512");
}

TEST_CASE("peak: the loops count their operations exactly") {
  const int lanes = active_isa() == Isa::avx512 ? 16 : active_isa() == Isa::avx2 ? 8 : 4;
  const int chains = active_isa() == Isa::avx512 ? 24 : 12;
  std::vector<float> sums(3), a(1000), b(1000, 1), c(1000, 2);
  double done = 0;
  with_cpu([&](const Backend& cpu) {
    // A multiplication and an addition for each lane of each chain in each round.
    run_fma_chains<float>(
        cpu, {.chunks = 3, .rounds = 50, .factor = 0.5f, .summand = 1, .sums = sums.data(), .done = &done});
    CHECK(done == 3.0 * 50 * chains * lanes * 2);
    run_triad<float>(cpu, {.n = 1000, .factor = 0.5f, .b = b.data(), .c = c.data(), .a = a.data(), .done = &done});
    CHECK(done == 3.0 * sizeof(float) * (1000 / lanes * lanes));
  });
  for (const float sum : sums) CHECK(sum == doctest::Approx(2.0 * lanes * chains));  // x = x / 2 + 1 ends at 2
  CHECK(a[0] == 2);
}

TEST_CASE("gemm: long sums for a small result are cut into slices, by the extents alone") {
  using gemm_plan::slices_of;
  CHECK(slices_of(8, 8, 100'000) == 12);     // of work enough for a thread each
  CHECK(slices_of(64, 64, 100'000) == 64);   // no more than that
  CHECK(slices_of(256, 256, 100'000) == 8);  // as many partial results as caches hold
  CHECK(slices_of(257, 256, 100'000) == 1);  // a large result is shared out by rows
  CHECK(slices_of(64, 64, 255) == 1);        // a short sum, too
  CHECK(slices_of(64, 64, 256) == 2);
}

TEST_CASE("gemm: the slices of a sum are added in their order") {
  constexpr std::int64_t kM = 8, kN = 8, kK = 100'000, kDepth = (kK + 11) / 12;
  Random random(1);
  std::vector<float> a(kM * kK), b(kK * kN), c(kM * kN), part(kM * kN), expected(kM * kN);
  for (std::vector<float>* const x : {&a, &b})
    for (float& value : *x) value = static_cast<float>(random.normal());
  const Gemm<float> whole{.m = kM,
                          .n = kN,
                          .k = kK,
                          .a = a.data(),
                          .a_row = kK,
                          .a_col = 1,
                          .b = b.data(),
                          .b_row = kN,
                          .b_col = 1,
                          .c = c.data(),
                          .c_row = kN};
  with_cpu([&](const Backend& cpu) {
    for (const int threads : {1, 3}) {
      const ThreadCount count(threads);
      gemm(cpu, whole);
      for (std::int64_t first = 0; first < kK; first += kDepth) {
        Gemm<float> slice = whole;
        slice.k = std::min(kDepth, kK - first);
        slice.a += first;
        slice.b += first * kN;
        slice.c = part.data();
        gemm_serial(cpu, slice);
        for (std::size_t i = 0; i < part.size(); ++i) expected[i] = first == 0 ? part[i] : expected[i] + part[i];
      }
      CHECK(c == expected);
    }
  });
}
