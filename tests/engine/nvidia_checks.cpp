#include <dlfcn.h>

#include "engine/cuda/cublas.h"
#include "tests/testing.h"

// Of builds with kernels for NVIDIA devices: what can be tested where there is none.

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("cublas: everything that is used of it is found") {
  const auto text = cublas().cublasLtGetStatusString;
  CHECK(std::string(text(CUBLAS_STATUS_SUCCESS)) != text(CUBLAS_STATUS_NOT_SUPPORTED));
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

TEST_CASE("shared library: one line tells what is missing, and where it was looked for") {
  CHECK(error_of([] { SharedLibrary("libnpzoo-none.so.7", "/usr/none"); }) ==
        "[library] libnpzoo-none.so.7 cannot be loaded: "
        "libnpzoo-none.so.7: cannot open shared object file: No such file or directory; "
        "/usr/none/libnpzoo-none.so.7: cannot open shared object file: No such file or directory");
  CHECK(error_of([] { SharedLibrary("libm.so.6", "").function<void (*)()>("npzoo_none"); }) ==
        "[library] libm.so.6 has no function npzoo_none");
}
