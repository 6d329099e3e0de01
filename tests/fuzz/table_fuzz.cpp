// libFuzzer entry: any bytes are either a table, whose columns of numbers hold finite ones or none, or an Error; and a
// question that `predict` answers has finite inputs and values, or is an Error.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "npzoo/datasets/tables/table.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/models/applications/tables/fill_table.h"

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

void check_columns(npzoo::Table& table) {
  const std::vector<npzoo::ColumnSummary> summaries = table.summaries();
  for (std::size_t column = 0; column < summaries.size(); ++column) {
    using Kind = npzoo::ColumnSummary::Kind;
    if (summaries[column].kind == Kind::text) static_cast<void>(table.labels(column));
    const auto numbers = table.numbers(std::span(&column, 1), {});
    const auto missing = std::ranges::count_if(numbers[0].values, [](double x) { return std::isnan(x); });
    const bool finite = std::ranges::none_of(numbers[0].values, [](double x) { return std::isinf(x); });
    // A column of mixed notations of dates is text, until somebody names it as an input.
    const bool text = summaries[column].kind == Kind::text && numbers[0].form.kind == npzoo::ColumnForm::Kind::number;
    if (!finite || missing != summaries[column].missing || text) std::abort();
  }
}

void check_question(npzoo::Table table) {
  const auto rows = static_cast<std::size_t>(table.rows());
  const npzoo::FillTables read = npzoo::read_fill_tables({.table = std::move(table)});
  const npzoo::TableNumbers& found = read.observed;
  if (found.x.size() != rows * found.forms.size() || read.columns.values.empty()) std::abort();
  if (!std::ranges::all_of(found.x, [](double x) { return std::isfinite(x); })) std::abort();
  if (!found.of_rows.empty() && found.of_rows.size() != rows) std::abort();
  for (const std::vector<double>& y : found.y)
    if (y.size() != rows || std::ranges::any_of(y, [](double v) { return std::isinf(v); })) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file;
  npzoo::write_all(file.descriptor(), std::as_bytes(std::span(data, size)), "input");
  try {
    npzoo::Table table = npzoo::Table::read(file.path());
    check_columns(table);
    check_question(std::move(table));
  } catch (const npzoo::Error&) {
  }
  return 0;
}
