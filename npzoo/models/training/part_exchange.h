#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/engine/module.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/engine/ranks/rank_share.h"
#include "npzoo/engine/tape.h"

namespace npzoo {

/// Brings losses and gradients of all parts of a batch to all ranks, as they are: every rank sums them in the order of
/// the parts, as one process does, so no bit depends on the number of ranks.
class PartExchange {
 public:
  /// One part, computed here or elsewhere.
  struct Part {
    Tape* tape = nullptr;          // receives gradients from elsewhere
    const Grads* grads = nullptr;  // set for all parts by the exchange
    double loss = 0;
  };

  /// All must outlive it.
  PartExchange(Job& job, const std::vector<NamedParameter>& parameters) : job_(job), parameters_(parameters) {}

  /// To be called after a meeting of the job. Parts of this rank's range are given, the others are filled.
  void operator()(std::span<Part> parts);

 private:
  std::size_t bytes_of_part() const;
  void write(const Part& part, std::byte* to) const;
  void read(Part& part, const std::byte* from) const;

  Job& job_;
  const std::vector<NamedParameter>& parameters_;
  std::vector<std::byte> own_, all_;
};

}  // namespace npzoo
