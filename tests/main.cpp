#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include "npzoo/engine/cpu/context.h"
#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/device.h"
#include "npzoo/engine/error.h"

// Under a sanitizer an allocation that is too large fails as it does without one.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

// In a forked child the other threads are gone, and what was theirs would count as leaked.
static const pid_t kFirstProcess = ::getpid();
extern "C" int __lsan_is_turned_off() { return ::getpid() != kFirstProcess; }

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

/// Prints the seconds of processor of each test case, of all threads together: `--reporters=seconds`.
class Seconds final : public doctest::IReporter {
 public:
  explicit Seconds(const doctest::ContextOptions&) {}
  void test_case_start(const doctest::TestCaseData& data) override { name_ = data.m_name, start_ = std::clock(); }
  void test_case_end(const doctest::CurrentTestCaseStats&) override {
    const double seconds = static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC;
    std::printf("%8.3f %s\n", seconds, name_);
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  const char* name_ = "";
  std::clock_t start_ = 0;
};
DOCTEST_REGISTER_REPORTER("seconds", 0, Seconds);

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
