#include "npzoo/engine/boundary.h"

#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

#include "npzoo/engine/error.h"
#include "npzoo/engine/memory.h"

namespace npzoo {

void rethrow_as_error() try { throw; } catch (const Error&) {
  throw;
} catch (const std::bad_alloc&) {
  throw OutOfMemory("[memory] the system is out of memory");
} catch (const std::length_error&) {
  throw OutOfMemory("[memory] an array has more bytes than memory can hold");
} catch (const std::filesystem::filesystem_error& e) {
  fail("[{}] {}", e.path1().string(), e.code().message());
} catch (const std::system_error& e) {
  fail("[system] {}", e.what());
} catch (const std::exception& e) {
  fail("[internal] {}", e.what());
}

}  // namespace npzoo
