#include "npzoo/engine/ranks/job.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr std::size_t kHostBytes = 64, kTextBytes = 440;
constexpr std::size_t kPieceBytes = 16 << 20;  // of each rank at a time: bounds the memory that a collection needs

std::string host_name() {
  std::array<char, kHostBytes> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

template <std::size_t bytes>
void write(std::array<char, bytes>& to, std::string_view text) {
  text.substr(0, bytes - 1).copy(to.data(), bytes - 1);
}

/// Ends the process at once: MPI would wait for the rank that is lost.
[[noreturn]] void end_stalled(int errors, const std::string& what) {
  const std::string line = "npzoo: error: [ranks] " + what + "\n";
  static_cast<void>(!::write(errors, line.data(), line.size()));
  ::_exit(Job::kStallExit);
}

}  // namespace

/// The message of a rank to a meeting. All have one size.
struct Job::Notice {
  enum class State : std::int32_t { goes_on, finished, stopped, failed };
  using enum State;

  State state = goes_on;
  std::array<char, kHostBytes> host{};
  std::array<char, kTextBytes> text{};

  static Notice of(State state, std::string_view text = {}) {
    Notice notice{.state = state};
    write(notice.host, host_name());
    write(notice.text, text);
    return notice;
  }
  static Notice of(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const Interrupted&) {
      return of(stopped);
    } catch (const std::exception& error) {
      return of(failed, error.what());
    } catch (...) {
      return of(failed, "an exception of an unknown type");
    }
  }
};

Job::Job(Ranks& ranks, std::chrono::seconds stall_timeout)
    : ranks_(ranks), stall_timeout_(stall_timeout), hosts_(static_cast<std::size_t>(ranks.size())) {
  if (size() > 1 && stall_timeout_.count() > 0) errors_ = ::dup(STDERR_FILENO);
}

Job::~Job() {
  if (errors_ >= 0) ::close(errors_);
}

/// A rank that waits sends marks to the next one. So a rank that gets none for a long time knows that the one before
/// does not wait, as it does: it computes for too long, was stopped, or is gone.
template <class F>
void Job::with_limit(const F& call) {
  using Clock = std::chrono::steady_clock;
  const int before = (rank() + size() - 1) % size(), after = (rank() + 1) % size();
  const Clock::duration pause = std::chrono::duration_cast<Clock::duration>(stall_timeout_) / 8;
  Clock::time_point heard = Clock::now(), looked = heard, told = heard - pause;
  call([&] {
    const Clock::time_point now = Clock::now();
    // A rank that stood still itself has heard nothing meanwhile, and must not blame another one.
    if (ranks_.take_mark(before) || now - looked >= pause) heard = now;
    looked = now;
    if (now - told >= pause) {
      ranks_.send_mark(after);
      told = now;
    }
    if (now - heard < stall_timeout_) return;
    const std::string& host = hosts_[static_cast<std::size_t>(before)];
    end_stalled(errors_, fmt::format("rank {}{} has stood still for {} s: the job ends", before,
                                     host.empty() ? "" : " on " + host, stall_timeout_.count()));
  });
}

template <class F>
void Job::timed(const F& call) {
  const auto began = std::chrono::steady_clock::now();
  if (errors_ >= 0)
    with_limit(call);
  else
    call({});
  seconds_in_gathers_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void Job::gather(std::span<const std::byte> own, std::span<std::byte> all) {
  timed([&](const Ranks::Meanwhile& meanwhile) { ranks_.gather(own, all, meanwhile); });
}

void Job::exchange(std::span<const std::byte> own, std::span<std::byte> blocks) {
  timed([&](const Ranks::Meanwhile& meanwhile) { ranks_.exchange(own, blocks, meanwhile); });
}

std::vector<std::vector<std::byte>> Job::collect(std::span<const std::byte> own, const std::exception_ptr& failure) {
  meet(failure);
  const auto ranks = static_cast<std::size_t>(size());
  const std::size_t length = own.size();
  std::vector<std::size_t> lengths(ranks);
  gather(std::as_bytes(std::span(&length, 1)), std::as_writable_bytes(std::span(lengths)));
  std::vector<std::vector<std::byte>> all(ranks);
  for (std::size_t r = 0; r < ranks; ++r) all[r].reserve(lengths[r]);
  const std::size_t longest = std::ranges::max(lengths);
  std::vector<std::byte> piece(std::min(kPieceBytes, longest)), pieces(piece.size() * ranks);
  for (std::size_t begin = 0; begin < longest; begin += piece.size()) {
    const auto left = [&](std::size_t bytes) { return std::min(bytes - std::min(begin, bytes), piece.size()); };
    std::ranges::copy(own.subspan(std::min(begin, length), left(length)), piece.begin());
    gather(piece, pieces);
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto theirs = std::span(pieces).subspan(r * piece.size(), left(lengths[r]));
      all[r].insert(all[r].end(), theirs.begin(), theirs.end());
    }
  }
  return all;
}

std::int64_t Job::largest(std::int64_t own) {
  meet();
  std::vector<std::int64_t> all(static_cast<std::size_t>(size()));
  gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return std::ranges::max(all);
}

std::vector<Job::Notice> Job::notices(const Notice& own) {
  std::vector<Notice> all(static_cast<std::size_t>(size()));
  gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

void Job::meet_with(const Notice& own) {
  check(!over_, "[ranks] a rank waits for the others after the end of the job");
  const std::vector<Notice> all = notices(own);
  for (std::size_t r = 0; r < all.size(); ++r) hosts_[r] = all[r].host.data();
  over_ = std::ranges::any_of(all, [](const Notice& n) { return n.state != Notice::goes_on; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (static_cast<int>(i) == rank()) continue;
    if (all[i].state == Notice::failed)
      throw OtherRankError(fmt::format("rank {} on {}: {}", i, all[i].host.data(), all[i].text.data()));
    if (all[i].state == Notice::stopped) throw Interrupted(fmt::format("[ranks] rank {} was asked to stop", i));
    if (all[i].state == Notice::finished && own.state == Notice::goes_on)
      throw OtherRankError(
          fmt::format("rank {} on {}: [ranks] it ended while rank {} continues", i, all[i].host.data(), rank()));
  }
}

void Job::meet() {
  if (size() > 1) meet_with(Notice::of(Notice::goes_on));
}

void Job::meet(const std::exception_ptr& failure) {
  if (!failure) return meet();
  leave(failure);
  std::rethrow_exception(failure);
}

void Job::finish() {
  if (size() > 1 && !over_) meet_with(Notice::of(Notice::finished));
}

void Job::end_with(const Notice& own) noexcept {
  if (size() == 1 || over_) return;
  over_ = true;
  try {
    notices(own);
  } catch (...) {  // the launcher ends the others
  }
}

void Job::leave(const std::exception_ptr& failure) noexcept { end_with(Notice::of(failure)); }

void Job::stop() noexcept { end_with(Notice::of(Notice::stopped)); }

void Job::compare(const std::vector<Fact>& facts) {
  if (size() == 1) return;
  using Value = std::array<char, 64>;
  std::vector<Value> own(facts.size() + 1), all;
  write(own[0], host_name());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    check(facts[i].value.size() < sizeof(Value), "[ranks] {} of {} bytes found, expected fewer than {}", facts[i].name,
          facts[i].value.size(), sizeof(Value));
    write(own[i + 1], facts[i].value);
  }
  all.resize(own.size() * static_cast<std::size_t>(size()));
  meet();
  gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  for (std::size_t r = 1; r < static_cast<std::size_t>(size()); ++r)
    for (std::size_t i = 0; i < facts.size(); ++i) {
      const Value* const theirs = &all[r * own.size()];
      if (theirs[i + 1] == all[i + 1]) continue;
      over_ = true;
      throw OtherRankError(fmt::format("[ranks] rank {} on {} has the {} {}, expected {}, as on rank 0 ({})", r,
                                       theirs[0].data(), facts[i].name, theirs[i + 1].data(), all[i + 1].data(),
                                       all[0].data()));
    }
}

}  // namespace npzoo
