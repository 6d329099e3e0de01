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
/// gradients of all parts. Else each rank sums one slice of the gradients of all parts, and sends the sum to the
/// others.
class PartExchange {
 public:
  /// One part, computed here or elsewhere.
  struct Part {
    Tape* tape = nullptr;  // receives gradients from elsewhere
    const Grads* grads = nullptr;
    double loss = 0;
  };

  /// Slices are exchanged if they save each rank at least so many bytes.
  static constexpr std::size_t kWorthSlices = 256 << 10;

  /// All must outlive it.
  PartExchange(Job& job, const std::vector<NamedParameter>& parameters, std::size_t worth_slices = kWorthSlices);

  /// Takes the parts of this rank's range and sets the losses of the others. Returns the gradients of all parts, or
  /// their sum alone, which `sum` has received. All ranks call it, after a meeting of the job.
  std::vector<const Grads*> operator()(std::span<Part> parts, Tape& sum);

 private:
  void gather_heads(std::span<Part> parts);
  void write(const Part& part, std::byte* to) const;
  /// Adds the elements of each parameter to `grads`, unless `present` is 0 for it.
  void read(Grads& grads, const std::byte* present, const std::byte* elements) const;
  void gather_parts(std::span<Part> parts);
  void sum_slices(std::span<const Part> parts);
  /// Writes the sum over all parts of the elements [first, last), which this rank has received, to `to`.
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
