// libFuzzer entry: any text is a space and perhaps, after a line "== table", a table of evaluations of it, or an Error
// of one line. Values of a space lie within its bounds, and a value and its point of the unit cube stand for each
// other.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/models/applications/optimise/search_space.h"

namespace {

/// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    npzoo::write_all(file_, std::as_bytes(std::span(text)), "input");
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", file_.get()); }

 private:
  npzoo::Descriptor file_;
};

void demand(bool holds) {
  if (!holds) std::abort();
}

void check_space(const npzoo::SearchSpace& space) {
  demand(1 <= space.dims() && space.dims() <= static_cast<std::int64_t>(npzoo::SearchSpace::kMostAxes));
  for (const double place : {0.0, 0.3, 0.5, 1.0}) {
    const std::vector<double> cube(static_cast<std::size_t>(space.dims()), place);
    const std::vector<double> values = space.values(cube);
    demand(values.size() == space.axes().size());
    space.check_values(values, "fuzz");  // its Errors end the fuzzer
    for (const double unit : space.nearest(cube)) demand(0 <= unit && unit <= 1);
  }
}

void check_table(const npzoo::SearchSpace& space, std::string_view text) {
  const MemoryFile file(text);
  const npzoo::Evaluations read = npzoo::read_evaluations(file.path(), space);
  npzoo::Observations found{.dims = space.dims()};
  for (std::size_t i = 0, axes = space.axes().size(); i < read.values.size(); ++i)
    npzoo::add_evaluation(space, std::span(read.points).subspan(i * axes, axes), read.values[i], true, found);
  demand(std::ssize(found.x) == found.size() * found.dims && found.size() <= npzoo::kMostEvaluations);
  for (const double unit : found.x) demand(0 <= unit && unit <= 1);
  for (const double value : found.y) demand(std::isfinite(value));
}

void run(const auto& step) {
  try {
    step();
  } catch (const npzoo::Error& error) {
    const std::string_view message = error.what();
    demand(message.find('\n') == message.npos && !message.starts_with("[fuzz]"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kTable = "\n== table\n";
  const std::size_t cut = text.find(kTable);
  run([&] {
    const MemoryFile file(text.substr(0, cut));
    const npzoo::SearchSpace space = npzoo::SearchSpace::read(file.path());
    check_space(space);
    if (cut != text.npos) check_table(space, text.substr(cut + kTable.size()));
  });
  return 0;
}
