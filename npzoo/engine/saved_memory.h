#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "npzoo/engine/tensor.h"

// Finds writes to tensors that a recording has saved for its backward pass. Only in guard builds.

namespace npzoo {

class Grads;

/// The blocks of memory that a closure saved, and a checksum of each.
class SavedMemory {
 public:
  /// Calls `copy`, which must copy the closure: what it saved are the blocks that get another owner meanwhile. Memory
  /// that the host cannot read is left out.
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

/// A closure that verifies what it saved before it is played.
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
