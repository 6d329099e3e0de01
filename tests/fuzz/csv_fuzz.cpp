// libFuzzer entry: any bytes are either a table of finite numbers or an Error.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engine/error.h"
#include "engine/io/csv.h"

namespace {

/// A file in memory, so that the reader meets a real descriptor and no disk.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {}
  std::string path() const { return fmt::format("/proc/self/fd/{}", file_.get()); }
  const npzoo::Descriptor& descriptor() const { return file_; }

 private:
  npzoo::Descriptor file_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file;
  npzoo::write_all(file.descriptor(), std::as_bytes(std::span(data, size)), "input");
  try {
    npzoo::CsvReader reader(file.path());
    std::vector<double> values;
    std::int64_t rows = 0;
    for (std::int64_t more = 1; more > 0; rows += more) more = reader.read(3, values);
    const bool whole = values.size() == static_cast<std::size_t>(rows) * reader.header().size();
    if (!whole || !std::ranges::all_of(values, [](double x) { return std::isfinite(x); })) std::abort();
  } catch (const npzoo::Error&) {
  }
  return 0;
}
