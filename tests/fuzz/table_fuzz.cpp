// libFuzzer entry: any bytes are either a table, whose columns of numbers hold finite ones or none, or an Error.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "npzoo/datasets/tables/table.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"

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
    npzoo::Table table = npzoo::Table::read(file.path());
    const std::vector<npzoo::ColumnSummary> summaries = table.summaries();
    for (std::size_t column = 0; column < summaries.size(); ++column) {
      using Kind = npzoo::ColumnSummary::Kind;
      if (summaries[column].kind == Kind::text) static_cast<void>(table.labels(column));
      const auto numbers = table.numbers(std::span(&column, 1), {});
      const auto missing = std::ranges::count_if(numbers[0].values, [](double x) { return std::isnan(x); });
      const bool finite = std::ranges::none_of(numbers[0].values, [](double x) { return std::isinf(x); });
      if (!finite || missing != summaries[column].missing || summaries[column].kind == Kind::text) std::abort();
    }
  } catch (const npzoo::Error&) {
  }
  return 0;
}
