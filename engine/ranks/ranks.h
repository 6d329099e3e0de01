#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace npzoo {

/// The processes of one job, or this process alone. Each has a number, its rank. The calls below are collective: every
/// rank makes the same ones in the same order, from one thread at a time.
class Ranks {
 public:
  Ranks(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Called from time to time while a rank waits. All ranks give one to a call, or none does.
  using Meanwhile = std::function<void()>;
  /// Brings the bytes of every rank, equally many of each, to all ranks, in the order of the ranks. `all` has size()
  /// times as many bytes as `own`.
  virtual void gather(std::span<const std::byte> own, std::span<std::byte> all, const Meanwhile& meanwhile = {}) = 0;
  /// Brings block r of `own` to rank r, which finds that of rank s as block s of `blocks`. Both have size() blocks of
  /// equally many bytes, the same number on all ranks.
  virtual void exchange(std::span<const std::byte> own, std::span<std::byte> blocks,
                        const Meanwhile& meanwhile = {}) = 0;

  /// Sends a mark to another rank, without waiting for it. Not collective.
  virtual void send_mark(int to) = 0;
  /// Takes a mark of another rank; false if none has come that was not taken. Not collective.
  virtual bool take_mark(int from) = 0;

 private:
  int rank_, size_;
};

/// This process alone: a gather is a copy.
class OneRank final : public Ranks {
 public:
  OneRank() : Ranks(0, 1) {}
  void gather(std::span<const std::byte> own, std::span<std::byte> all, const Meanwhile& meanwhile = {}) override;
  void exchange(std::span<const std::byte> own, std::span<std::byte> blocks, const Meanwhile& meanwhile = {}) override;
  void send_mark(int to) override;
  bool take_mark(int from) override;
};

/// The ranks of this process: those of the MPI launcher that started it, or itself alone. MPI is opened by the first
/// call, and only where there is a launcher. It must be the main thread's, as all gathers. Throws Error where no
/// MPI library can be opened or the one that is does not belong to the launcher.
Ranks& ranks_of_process();

}  // namespace npzoo
