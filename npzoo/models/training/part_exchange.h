#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/engine/module.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/engine/ranks/rank_share.h"
#include "npzoo/engine/tape.h"

namespace npzoo {

/// Brings losses and gradients of all parts of a batch to all ranks. Gradients are summed in the order of the parts, as
/// one process does, so no bit depends on the number of ranks. Where little would be sent, every rank gets the
/// gradients of all parts. Else each rank gets a slice of those of all parts, and the ranks exchange their sums.
class PartExchange {
 public:
  /// One part, computed here or elsewhere.
  struct Part {
    Tape* tape = nullptr;  // receives gradients from elsewhere
    const Grads* grads = nullptr;
    double loss = 0;
  };

  /// Fewest bytes that slices must save a rank.
  static constexpr std::size_t kWorthSlices = 256 << 10;

  /// All must outlive it.
  PartExchange(Job& job, const std::vector<NamedParameter>& parameters, std::size_t worth_slices = kWorthSlices);

  /// To be called after a meeting of the job. Parts of this rank's range are given. Sets the losses of the others, and
  /// returns gradients whose sum is that of all: those of all parts, or one that `sum` has received.
  std::vector<const Grads*> operator()(std::span<Part> parts, Tape& sum);

 private:
  void gather_heads(std::span<Part> parts);
  void write(const Part& part, std::byte* to) const;
  /// Fills `grads` with the elements of all parameters, except those of which `present` says there are none.
  void read(Grads& grads, const std::byte* present, const std::byte* elements) const;
  void gather_parts(std::span<Part> parts);
  void sum_slices(std::span<const Part> parts);
  /// Sums the elements that a rank has received, of slice [first, last), into `to`.
  void sum_slice(std::int64_t first, std::int64_t last, std::int64_t parts, std::byte* to) const;
  const std::byte* head(std::int64_t part) const { return heads_.data() + part * head_bytes_; }

  Job& job_;
  const std::vector<NamedParameter>& parameters_;
  std::size_t worth_slices_;
  std::int64_t head_bytes_, element_bytes_, elements_ = 0;  // of a part; its elements are those of all parameters
  std::vector<std::byte> heads_;                            // of all parts: the loss, and which gradients there are
  std::vector<std::byte> own_, all_, sums_;                 // kept for their memory
};

}  // namespace npzoo
