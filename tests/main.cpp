#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "engine/cpu/context.h"
#include "engine/cuda/gpu.h"
#include "engine/device.h"
#include "engine/error.h"

// Under a sanitizer an allocation that is too large fails as it does without one.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace {

constexpr int kSkipped = 77;  // as Meson reads exit statuses

/// Whether this processor has the instruction set that NPZOO_ISA asks for: tests of another one would mean nothing.
bool has_instruction_set() {
  const char* const wish = std::getenv("NPZOO_ISA");
  const std::string_view isa = npzoo::to_string(npzoo::active_isa());
  if (!wish || isa == wish) return true;
  std::printf("skipped: NPZOO_ISA is %s, and the best that this processor and this build have is %s\n", wish,
              isa.data());
  return false;
}

}  // namespace

/// With `--device cuda` or `--device emulated` all tests run there: tensors are made on it, in memory that the host
/// reads as well.
int main(int argc, char** argv) {
  std::vector<char*> arguments;
  try {
    for (int i = 0; i < argc; ++i) {
      if (std::string_view(argv[i]) != "--device" || i + 1 == argc) {
        arguments.push_back(argv[i]);
        continue;
      }
      npzoo::use_unified_memory();
      npzoo::select_device(argv[++i]);
    }
    if (!has_instruction_set()) return kSkipped;
  } catch (const npzoo::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return doctest::Context(static_cast<int>(arguments.size()), arguments.data()).run();
}
