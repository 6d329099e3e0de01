#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "npzoo/engine/tensor.h"

// Only in guard builds: finds writes to tensors that a recording has saved for its backward pass.
//
// It compares contents. A version counter in each buffer would cost less, but it can only count the pointers that
// Tensor::data hands out: it would report reads through a handle that is not const, and miss writes through a pointer
// that was taken before, or from outside (Buffer::adopt, DLPack). Each saved block is read twice instead. Memory that
// only a CUDA device can read is not checked; the emulated GPU's is.

namespace npzoo {

class Grads;

/// Keeps a checksum of each block of memory that a closure saved.
class SavedMemory {
 public:
  /// Calls `copy`, which must copy the closure: the saved blocks are those that get another owner meanwhile. Leaves out
  /// memory that the host cannot read.
  template <class F>
  explicit SavedMemory(const F& copy) {
    const BlockCopies copied(blocks_);
    copy();
    note();
  }

  /// Throws Error if a block has changed.
  void verify(const char* operation) const;

 private:
  void note();

  std::vector<std::span<const std::byte>> blocks_;
  std::vector<std::uint64_t> checksums_;
};

/// A closure that verifies its saved blocks before it is played.
template <class F>
class CheckedClosure {
 public:
  template <class G>
  CheckedClosure(const char* operation, G&& closure)
      : operation_(operation), closure_(std::forward<G>(closure)), saved_([this] {
          if constexpr (std::copy_constructible<F>) static_cast<void>(F(std::as_const(closure_)));
        }) {}

  template <class D>
  requires std::invocable<F&, const D&, Grads&>
  void operator()(const D& d_out, Grads& grads) {
    saved_.verify(operation_);
    closure_(d_out, grads);
  }

 private:
  const char* operation_;
  F closure_;
  SavedMemory saved_;
};

}  // namespace npzoo
