#include <dlfcn.h>

#include "npzoo/engine/cuda/cublas.h"
#include "npzoo/engine/cuda/cufft.h"
#include "tests/engine/curand_probe.h"
#include "tests/testing.h"

// Tests of builds with kernels for NVIDIA devices that need no such device.

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("curand: its Philox gives the words of Random123") {
  Random random(13);
  const auto number = [&] {
    const auto block = random.next_block();
    return (std::uint64_t{block[0]} << 32) | block[1];
  };
  constexpr std::uint64_t kEnds[] = {0, 1, 0xffffffff, 0x100000000, ~std::uint64_t{0}};
  std::vector<RandomState> states;
  for (std::uint64_t seed : kEnds)
    for (std::uint64_t stream : kEnds)
      for (std::uint64_t offset : kEnds) states.push_back({seed, stream, offset});
  for (int i = 0; i < 100'000; ++i) states.push_back({number(), number(), number()});
  const auto different = std::ranges::find_if_not(states, [](const RandomState& state) {
    std::uint32_t words[4];
    curand_words(state, words);
    return std::ranges::equal(words, philox(state));
  });
  CHECK(different == states.end());
}

TEST_CASE("cublas: everything that is used of it is found") {
  const auto text = cublas_lt().cublasLtGetStatusString;
  CHECK(std::string(text(CUBLAS_STATUS_SUCCESS)) != text(CUBLAS_STATUS_NOT_SUPPORTED));
  const bool found = cublas().cublasCreate_v2 != nullptr;
  CHECK(found);
}

TEST_CASE("cufft: everything that is used of it is found") {
  CHECK(cufft().cufftSetAutoAllocation(-1, 0) == CUFFT_INVALID_PLAN);
}

TEST_CASE("shared library: found by the system, or in the folder that is named") {
  using Function = double (*)(double);
  CHECK(SharedLibrary("libm.so.6", "/none").function<Function>("floor")(2.5) == 2);
  Dl_info mathematics{};
  REQUIRE(::dladdr(reinterpret_cast<void*>(static_cast<Function>(std::floor)), &mathematics) != 0);
  const TemporaryDirectory folder;
  std::filesystem::create_symlink(std::filesystem::canonical(mathematics.dli_fname), folder / "libnpzoo-none.so.7");
  CHECK(SharedLibrary("libnpzoo-none.so.7", (folder / "").string()).function<Function>("floor")(3.5) == 3);
}

TEST_CASE("shared library: a one-line error names the missing library and the searched places") {
  CHECK(error_of([] { SharedLibrary("libnpzoo-none.so.7", "/usr/none"); }) ==
        "[library] libnpzoo-none.so.7 cannot be loaded: "
        "libnpzoo-none.so.7: cannot open shared object file: No such file or directory; "
        "/usr/none/libnpzoo-none.so.7: cannot open shared object file: No such file or directory");
  CHECK(error_of([] { SharedLibrary("libm.so.6", "").function<void (*)()>("npzoo_none"); }) ==
        "[library] libm.so.6 has no function npzoo_none");
}
