#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/engine/exception.h"
#include "npzoo/engine/ranks/ranks.h"

namespace npzoo {

/// Thrown where another rank of the job has failed: that rank's message, behind its number and host.
class OtherRankError : public Error {
 public:
  using Error::Error;
};

/// Work that the ranks of a job do together. Each tells the others how it stands, in meetings that all take part in, so
/// that an error or a stop of one ends all of them at the same place. A job of one rank meets nobody.
class Job {
 public:
  /// With a `stall_timeout` above zero, a rank that waits for the others longer than that ends the process with
  /// kStallExit and a line that says so: a stopped or lost rank keeps MPI waiting for ever. `host` is for messages.
  explicit Job(Ranks& ranks, std::chrono::seconds stall_timeout = {});
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  static constexpr int kStallExit = 70;  // EX_SOFTWARE

  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }
  /// The one rank that writes files and talks.
  bool leads() const { return rank() == 0; }

  /// What must be the same on all ranks, by what it is called in a message.
  struct Fact {
    std::string_view name;
    std::string value;  // at most 64 bytes
  };
  /// Throws OtherRankError on all ranks unless every rank has the same facts.
  void compare(const std::vector<Fact>& facts);

  /// Waits until all ranks are here. Throws OtherRankError where one has failed or left, Interrupted where one was
  /// asked to stop: on all ranks but that one.
  void meet();
  /// The same from a rank that has thrown `failure`, which it throws again; null: meet().
  void meet(const std::exception_ptr& failure);
  /// Takes part in the last meeting, of a rank that has done its part or was stopped. Throws as meet().
  void finish();
  /// The same from a rank that ends with `failure`. Throws nothing. Does nothing after a meeting that ended the job.
  void leave(const std::exception_ptr& failure) noexcept;
  /// Tells the others that this rank was asked to stop, and has saved what is to be saved.
  void stop() noexcept;

  /// Ranks::gather, within the time limit. After a meeting alone, so that all ranks are there.
  void gather(std::span<const std::byte> own, std::span<std::byte> all);

 private:
  struct Notice;
  class Watchdog;

  std::vector<Notice> exchange(const Notice& own);
  void meet_with(const Notice& own);

  Ranks& ranks_;
  std::unique_ptr<Watchdog> watchdog_;
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
