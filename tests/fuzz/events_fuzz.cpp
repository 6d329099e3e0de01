// libFuzzer entry: any bytes are a table of events, in either of two forms, or an Error of one line. Times of a
// sequence ascend to its end, and marks are those that there are.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "npzoo/datasets/events/table.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

void check_sequence(const npzoo::EventSequence& events, const npzoo::EventTableForm& form) {
  demand(events.events() >= 1 && events.marks.size() == events.times.size());
  double before = -1;
  for (const double time : events.times) {
    demand(std::isfinite(time) && time >= 0 && time > before);
    before = time;
  }
  for (const std::int64_t mark : events.marks) demand(0 <= mark && mark < form.marks);
  demand(std::isfinite(events.end) && events.end >= events.times.back());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const npzoo::Descriptor file(::memfd_create("fuzz", MFD_CLOEXEC));
  npzoo::write_all(file, std::as_bytes(std::span(data, size)), "input");
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  const npzoo::EventTableForm forms[] = {{},
                                         {.mark = ""},
                                         {.marks = 3, .unit = 7},
                                         {.marks = 3, .least_gap = 0.25},
                                         {.marks = 3, .end = 100, .least_gap = 0.25}};
  for (const npzoo::EventTableForm& form : forms)
    for (const auto read : {npzoo::read_event_table, npzoo::read_jodie_table}) try {
        for (const npzoo::NamedSequence& sequence : read(path, form).sequences) check_sequence(sequence.events, form);
      } catch (const npzoo::Error& error) {
        demand(std::string_view(error.what()).find('\n') == std::string_view::npos);
      }
  return 0;
}
