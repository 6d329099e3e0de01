#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "npzoo/engine/profile.h"
#ifdef NPZOO_GUARD
#include "npzoo/engine/saved_memory.h"
#endif
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Tells whether a variable belongs to a recording. `Variable::tape` holds the id; constants have id 0.
struct RecordingId {
  std::uint64_t leaves = 0;  // of leaves that all tapes that follow each other share (see Tape::follow)
  std::uint64_t own = 0;     // of variables that this tape recorded, and of leaves that it watched after following

  /// Returns whether the variable belongs to the recording. Throws Error if a tape that follows this one, or is
  /// followed by it, recorded the variable.
  bool has(const Variable& variable) const {
    if (variable.tape == 0) return false;
    if (variable.tape == own || variable.tape == leaves) return true;
    if (leaves != 0 && variable.tape >> Variable::kPartBits == leaves >> Variable::kPartBits) [[unlikely]]
      refuse_other_part();
    return false;
  }

 private:
  [[noreturn]] static void refuse_other_part();
};

/// Gradients under construction, one slot per recorded variable.
class Grads {
 public:
  /// Returns whether `x` belongs to the recording or to the one outside it, and so needs a gradient.
  bool wants(const Tensor& x) const { return id_.has(x.variable()) || (outer_ && outer_->wants(x)); }

  /// Adds a contribution to the gradient of `x`; does nothing for constants. The first one is moved in, later ones are
  /// summed. A contribution of the broadcast shape is summed to x's shape here.
  void add(const Tensor& x, Tensor d_x);

  /// A tensor of x's shape for a kernel to write to. If `accumulate`, the kernel must add instead of overwrite. While
  /// the Target lives, other contributions to the gradient throw Error.
  struct Target {
    Tensor grad;
    bool accumulate;
  };
  Target into(const Tensor& x);

  /// Returns the gradient of a watched leaf after the backward pass; undefined if nothing depended on it. (Other
  /// variables have passed their gradient on.)
  const Tensor& find(const Tensor& x) const;
  /// Returns the gradient of a watched leaf, with zeros if nothing depended on it.
  Tensor of(const Tensor& x) const;

 private:
  friend class Tape;

  struct Slot {
    Tensor grad;
    // True if this slot allocated the gradient. Then nobody but a live Target shares its memory.
    bool own = false;
  };

  /// Copies the slot's gradient if other tensors share its memory, so that it can be added to.
  static void unshare(Slot& slot);

  std::vector<Slot> slots_;
  RecordingId id_;
  Grads* outer_ = nullptr;  // gets the contributions to variables of its recording
};

/// Records operations in the order they run and plays them backwards once. The backward pass destroys each node after
/// playing it, so its memory serves the next gradients. A Tape can be used again: it keeps its memory.
class Tape {
 public:
  Tape();
  /// A tape for a part of a computation that runs again within the backward pass of `outer`'s recording. Operations may
  /// use variables of that recording; the backward pass of this tape adds to their gradients in `outer`, which must
  /// live as long.
  explicit Tape(Grads& outer);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Makes `leaf` a variable. The backward pass returns its gradient.
  void watch(Tensor& leaf);

  /// Starts anew with the leaves of `first`. Tapes that follow each other record one part of a computation each, on
  /// several threads at once, and return the gradients of the same leaves. This is the only way to put a leaf on two
  /// tapes. Throws Error if `first` has recorded something or follows another tape. Using a variable that another one
  /// of these tapes recorded throws Error.
  void follow(Tape& first);

  /// Returns the gradients of the scalar `loss` with respect to every watched leaf. Consumes the recording.
  const Grads& backward(const Tensor& loss);
  /// Returns the gradients for an output of any shape and the cotangent `d_out` of that shape.
  const Grads& backward(const Tensor& out, Tensor d_out);

  /// Returns undefined gradients of the leaves, for Grads::add to fill if another process has played this part of the
  /// computation. Consumes the recording, which must be empty.
  Grads& receive();

  /// Forgets the recording and all gradients, keeps the memory.
  void clear();

  /// Measures operations as they are recorded and played; null: none. It must outlive the tape or the next call.
  void set_profile(Profile* profile) { profile_ = profile; }

  /// True if the tape is of a part of a computation that runs again.
  bool nested() const { return grads_.outer_ != nullptr; }
  std::size_t size() const { return nodes_.size(); }
  /// Returns the name of the operation at `index`.
  std::string_view name(std::size_t index) const { return nodes_[index].name; }

 private:
  friend class Recording;
  friend struct Recorder;

  struct Node {
    const char* name;
    void* closure;
    void (*play)(void* closure, std::span<const Tensor> d_outs, Grads& grads);
    void (*destroy)(void* closure);
    std::uint32_t first_output;
    std::uint32_t outputs;
  };

  Variable new_variable() { return {id_.own, variables_++}; }
  /// Returns whether an operation on `x` is to be recorded.
  bool records(const Tensor& x) const { return id_.has(x.variable()) || (grads_.outer_ && grads_.outer_->wants(x)); }
  void begin();
  /// Makes room for one more node, so that pushing it cannot fail.
  void reserve_node();
  void* allocate(std::size_t bytes, std::size_t alignment);
  void play();

  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes;
  };

  std::vector<Node> nodes_;
  std::vector<Chunk> chunks_;  // bump arena that the closures live in
  std::size_t chunk_ = 0, used_ = 0;
  RecordingId id_;
  std::uint64_t parts_ = 1;  // number of tapes that follow this one, plus 1; of a follower, its own number
  std::uint32_t variables_ = 0;
  bool playing_ = false, consumed_ = false;
  Grads grads_;
  Profile* profile_ = nullptr;
};

/// Records the operations on this thread on the tape, as long as it lives. A tape that has been played starts anew.
class Recording {
 public:
  explicit Recording(Tape& tape);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  Tape* previous_;
};

/// Turns recording off on this thread, as long as it lives.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  Tape* previous_;
};

/// True if an operation on `x` would be recorded.
bool needs_grad(const Tensor& x);

/// Implementation of `record`; not for direct use.
struct Recorder {
  using Inputs = std::initializer_list<std::reference_wrapper<const Tensor>>;

  /// Returns the tape to record on, or null if no input is one of its variables.
  static Tape* tape_for(Inputs inputs);

  template <class F>
  static void push(Tape& tape, const char* name, std::span<Tensor> outs, F&& backward) {
#ifdef NPZOO_GUARD
    using Closure = CheckedClosure<std::decay_t<F>>;
    const auto make = [&](void* memory) { return new (memory) Closure(name, std::forward<F>(backward)); };
#else
    using Closure = std::decay_t<F>;
    const auto make = [&](void* memory) { return new (memory) Closure(std::forward<F>(backward)); };
#endif
    void* memory = tape.allocate(sizeof(Closure), alignof(Closure));
    tape.reserve_node();
    Closure* const made = make(memory);  // from here on nothing throws: a node owns the closure
    const std::uint32_t first = tape.variables_;
    for (Tensor& out : outs) out.set_variable(tape.new_variable());
    tape.nodes_.push_back({name, made,
                           [](void* closure, std::span<const Tensor> d_outs, Grads& grads) {
                             auto& play = *static_cast<Closure*>(closure);
                             if constexpr (std::invocable<Closure&, const Tensor&, Grads&>)
                               play(d_outs[0], grads);
                             else
                               play(d_outs, grads);
                           },
                           [](void* closure) { static_cast<Closure*>(closure)->~Closure(); }, first,
                           static_cast<std::uint32_t>(outs.size())});
    if (tape.profile_) tape.profile_->lap(name, &Profile::Passes::forward, outs[0].device());
  }
};

/// Returns the tape of this thread, or null.
Tape* current_tape();

/// Records how the gradient of `out` reaches the inputs, if one of them needs it. `backward(d_out, grads)` adds its
/// contributions to `grads`; its captures are what the operation saves, so list them. `name` must outlive the tape.
template <class F>
void record(const char* name, Tensor& out, Recorder::Inputs inputs, F&& backward) {
  if (Tape* tape = Recorder::tape_for(inputs)) Recorder::push(*tape, name, {&out, 1}, std::forward<F>(backward));
}

/// Records an operation of any number of inputs.
template <class F>
void record(const char* name, Tensor& out, std::span<const Tensor> inputs, F&& backward) {
  if (std::ranges::count_if(inputs, needs_grad) > 0)  // looks at all: some are refused
    Recorder::push(*current_tape(), name, {&out, 1}, std::forward<F>(backward));
}

/// Records an operation with several outputs: `backward(std::span<const Tensor> d_outs, grads)`. The cotangent of an
/// output that nothing depended on is undefined.
template <class F>
void record(const char* name, std::span<Tensor> outs, Recorder::Inputs inputs, F&& backward) {
  if (Tape* tape = Recorder::tape_for(inputs)) Recorder::push(*tape, name, outs, std::forward<F>(backward));
}

}  // namespace npzoo
