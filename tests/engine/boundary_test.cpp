#include "npzoo/engine/boundary.h"

#include <filesystem>
#include <new>
#include <system_error>
#include <vector>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/memory.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

template <class E>
std::string as_error(const E& thrown) {
  return error_of([&] { with_errors([&] { throw thrown; }); });
}

}  // namespace

TEST_CASE("boundary: whatever is thrown leaves as an Error of one line") {
  CHECK(with_errors([] { return 3; }) == 3);
  CHECK(as_error(Error("[here] wrong")) == "[here] wrong");
  CHECK(as_error(std::bad_alloc()) == "[memory] the system is out of memory");
  CHECK(error_of([] { with_errors([] { std::vector<int>().reserve(std::size_t{1} << 62); }); }) ==
        "[memory] an array has more bytes than memory can hold");
  const auto missing = std::make_error_code(std::errc::no_such_file_or_directory);
  CHECK(as_error(std::filesystem::filesystem_error("stat", "some/file", missing)) ==
        "[some/file] No such file or directory");
  CHECK(as_error(std::system_error(missing, "thread")) == "[system] thread: No such file or directory");
  CHECK(as_error(std::logic_error("odd")) == "[internal] odd");
  CHECK_THROWS_AS(with_errors([] { throw std::bad_alloc(); }), OutOfMemory);
  CHECK_THROWS_AS(with_errors([] { throw Interrupted("[stop] stopped"); }), Interrupted);
}
