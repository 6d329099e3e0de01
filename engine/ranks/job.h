#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/engine/exception.h"
#include "npzoo/engine/ranks/ranks.h"

namespace npzoo {

/// Thrown if another rank of the job has failed. The message is that rank's, with its number and host in front.
class OtherRankError : public Error {
 public:
  using Error::Error;
};

/// Work that several ranks share. They meet from time to time, and each tells the others whether it goes on. So an
/// error or a stop of one rank ends all of them at the same place. A job of one rank has no meetings.
class Job {
 public:
  /// MPI waits for a stopped or lost rank for ever. With a `stall_timeout` above zero, the next rank after one that has
  /// not come for that long prints its rank and host and ends its own process with kStallExit, which ends the job.
  /// `ranks` must outlive the job.
  explicit Job(Ranks& ranks, std::chrono::seconds stall_timeout = {});
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  static constexpr int kStallExit = 70;  // EX_SOFTWARE

  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }
  /// True for the one rank that writes files and prints.
  bool leads() const { return rank() == 0; }

  /// A value that must be the same on all ranks, and its name in messages.
  struct Fact {
    std::string_view name;
    std::string value;  // at most 63 bytes
  };
  /// Throws OtherRankError on all ranks unless every rank has the same facts.
  void compare(const std::vector<Fact>& facts);

  /// Waits for all ranks. Throws OtherRankError if another rank has failed or ended, Interrupted if another one was
  /// asked to stop.
  void meet();
  /// Tells the others of `failure` and throws it; without one, the same as meet().
  void meet(const std::exception_ptr& failure);
  /// The last meeting, of a rank that has done its part. Throws as meet() does, but lets the others go on.
  void finish();
  /// The last meeting, of a rank that ends with `failure`. Does nothing if a meeting has ended the job already.
  void leave(const std::exception_ptr& failure) noexcept;
  /// The last meeting, of a rank that was asked to stop and has saved its work.
  void stop() noexcept;

  /// Ranks::gather and Ranks::exchange within the time limit. All ranks call them, after the same meeting.
  void gather(std::span<const std::byte> own, std::span<std::byte> all);
  void exchange(std::span<const std::byte> own, std::span<std::byte> blocks);
  /// Meets as `meet(failure)` does. Then brings the bytes of every rank, of any number, to all ranks.
  std::vector<std::vector<std::byte>> collect(std::span<const std::byte> own, const std::exception_ptr& failure = {});
  /// Meets, and returns the largest of the numbers that the ranks give.
  std::int64_t largest(std::int64_t own);
  /// Returns the seconds that this rank has spent in gathers and exchanges: for other ranks, and for the transport of
  /// bytes.
  double seconds_in_gathers() const { return seconds_in_gathers_; }

 private:
  struct Notice;

  std::vector<Notice> notices(const Notice& own);
  void meet_with(const Notice& own);
  void end_with(const Notice& own) noexcept;
  template <class F>
  void timed(const F& call);
  template <class F>
  void with_limit(const F& call);

  Ranks& ranks_;
  std::chrono::seconds stall_timeout_;
  int errors_ = -1;                 // descriptor of standard error as it was when the job began; -1: no time limit
  std::vector<std::string> hosts_;  // of the ranks, since the first meeting
  double seconds_in_gathers_ = 0;
  bool over_ = false;
};

/// Runs `f` as the work of one rank: the others learn how it ends.
template <class F>
auto run_in(Job& job, F&& f) {
  try {
    auto result = f();
    job.finish();
    return result;
  } catch (...) {
    job.leave(std::current_exception());
    throw;
  }
}

}  // namespace npzoo
