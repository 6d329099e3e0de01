#pragma once

#include "npzoo/models/blocks/linear.h"

namespace npzoo {

/// Hidden and cell state of each row, (B, 1, H).
struct LstmState {
  Tensor hidden, cell;
};

/// A layer of long short-term memory with a forget gate (Gers, Schmidhuber and Cummins, "Learning to forget", 2000),
/// its gates input, forget, cell and output in this order, as PyTorch has it, initialised so as well.
class Lstm {
 public:
  Lstm(std::int64_t in, std::int64_t hidden, Initializer& init);

  /// Zeros, for `batch` rows, in the dtype and on the device of the weights.
  LstmState begin(std::int64_t batch) const;
  /// States after each of x (B, N, in): (B, N, H) of both.
  LstmState operator()(const LstmState& before, const Tensor& x) const;
  void visit(ModuleVisitor& visitor);

  Linear input;      // (4 H, in)
  Linear recurrent;  // (4 H, H)
};

}  // namespace npzoo
