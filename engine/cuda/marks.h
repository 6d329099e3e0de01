#pragma once

#include <cstdint>

namespace npzoo {

inline constexpr std::uint64_t kMarkEvents = 64;

/// Numbers the marks of a stream, the last kMarkEvents of which have an event each. `Events` does the work by the index
/// of an event: record(i) puts it at the end of the stream, wait(i) waits for it, done(i) asks whether it has been
/// reached.
template <class Events>
class Marks {
 public:
  explicit Marks(Events& events) : events_(events) {}

  std::uint64_t next() {
    const std::uint64_t mark = last_ + 1;
    if (mark > kMarkEvents) events_.wait(mark % kMarkEvents);
    events_.record(mark % kMarkEvents);
    return last_ = mark;
  }
  bool passed(std::uint64_t mark) { return is_old(mark) || events_.done(mark % kMarkEvents); }
  void wait(std::uint64_t mark) {
    if (!is_old(mark)) events_.wait(mark % kMarkEvents);
  }

 private:
  /// True if the mark's event has been waited for, since a later mark uses it now.
  bool is_old(std::uint64_t mark) const { return mark + kMarkEvents <= last_; }

  Events& events_;
  std::uint64_t last_ = 0;
};

}  // namespace npzoo
