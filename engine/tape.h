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

#include "npzoo/engine/draws.h"
#include "npzoo/engine/profile.h"
#ifdef NPZOO_GUARD
#include "npzoo/engine/saved_memory.h"
#endif
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Which variables belong to a recording, by their Variable::tape. 0, of constants, is none.
struct RecordingId {
  std::uint64_t leaves = 0;  // watched before another tape followed: those of all tapes that follow each other
  std::uint64_t own = 0;     // recorded, or watched later

  /// Returns whether the variable belongs to it. Throws Error if a tape that follows this one, or is followed by it,
  /// recorded the variable.
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
  /// Returns whether `x` belongs to the recording, so that its gradient is needed.
  bool wants(const Tensor& x) const { return id_.has(x.variable()); }

  /// Adds a contribution to the gradient of `x`; does nothing for constants. The first one is moved in, later ones are
  /// summed. A contribution of the broadcast shape is summed to x's shape here.
  void add(const Tensor& x, Tensor d_x);

  /// A tensor of x's shape for a kernel to write to; with `accumulate` the kernel must add instead of overwrite. The
  /// gradient belongs to the kernel as long as the Target lives: other contributions to it are an Error meanwhile.
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
    // Made here, so that any other owner is a Target. A contribution that was moved in may have other owners.
    bool own = false;
  };

  /// Makes the slot's gradient one that may be added to.
  static void unshare(Slot& slot);

  std::vector<Slot> slots_;
  RecordingId id_;
};

/// Records operations in the order they run and plays them backwards once. The backward pass destroys a node when it
/// has passed it, so its memory serves the next gradients. A Tape can be used again: it keeps its memory.
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Makes `leaf` a variable. The backward pass returns its gradient.
  void watch(Tensor& leaf);

  /// Starts anew with the leaves of `first`, which has watched them and recorded nothing yet, and follows no other
  /// tape. Tapes that follow each other record one part of a computation each, on several threads at once, and return
  /// the gradients of the same leaves. This is the only way to put a leaf on two tapes. A tape must not use variables
  /// that another one recorded: that is an Error.
  void follow(Tape& first);

  /// Returns the gradients of the scalar `loss` with respect to every watched leaf. Consumes the recording.
  const Grads& backward(const Tensor& loss);
  /// Returns the gradients for an output of any shape and the cotangent `d_out` of that shape.
  const Grads& backward(const Tensor& out, Tensor d_out);

  /// Returns the gradients of the leaves, undefined so far, to be filled by Grads::add: where another process has
  /// played this part of the computation. Consumes the recording, which must be empty.
  Grads& receive();

  /// Forgets the recording and all gradients, keeps the memory.
  void clear();

  /// Measures operations as they are recorded and played; null: none. It must outlive the tape or the next call.
  void set_profile(Profile* profile) { profile_ = profile; }

  std::size_t size() const { return nodes_.size(); }
  /// Returns the name of the operation at `index`.
  std::string_view name(std::size_t index) const { return nodes_[index].name; }

 private:
  friend class Recording;
  friend struct Recorder;
  template <class F>
  friend Tensor checkpoint(Draws& draws, std::vector<Tensor> inputs, F f);

  struct Node {
    const char* name;
    void* closure;
    void (*play)(void* closure, std::span<const Tensor> d_outs, Grads& grads);
    void (*destroy)(void* closure);
    std::uint32_t first_output;
    std::uint32_t outputs;
  };

  Variable new_variable() { return {id_.own, variables_++}; }
  void begin();
  /// Makes room for one more node, so that pushing it cannot fail.
  void reserve_node();
  void* allocate(std::size_t bytes, std::size_t alignment);
  void play_until(std::size_t remaining);
  template <class F>
  void replay(const Tensor& d_out, F&& rerun);

  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes;
  };

  std::vector<Node> nodes_;
  std::vector<Chunk> chunks_;  // bump arena that the closures live in
  std::size_t chunk_ = 0, used_ = 0;
  RecordingId id_;
  std::uint64_t parts_ = 1;  // tapes that follow each other, as far as this one knows
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
  friend class Tape;
  struct Nested {};
  Recording(Tape& tape, Nested);

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

  /// The tape to record on, or null when no input is one of its variables.
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
    if (tape.profile_) tape.profile_->lap(name, &Profile::Passes::forward);
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

template <class F>
void Tape::replay(const Tensor& d_out, F&& rerun) {
  const std::size_t mark = nodes_.size();
  Tensor out;
  {
    Recording on(*this, Recording::Nested{});
    out = rerun();
  }
  grads_.slots_.resize(variables_);
  grads_.add(out, d_out);
  play_until(mark);
}

/// Runs `f(inputs, draws)` without saving anything but the inputs and where the random numbers stand; the backward pass
/// runs it again (Chen et al., "Training deep nets with sublinear memory cost", 2016). `f` must be copyable and depend
/// on nothing else that changes; parameters that it uses get their gradients as usual.
template <class F>
Tensor checkpoint(Draws& draws, std::vector<Tensor> inputs, F f) {
  const Draws before = draws;
  Tensor out;
  {
    NoGrad off;
    out = f(std::span<const Tensor>(inputs), draws);
  }
  if (Tape* tape = current_tape())
    Recorder::push(*tape, "checkpoint", {&out, 1},
                   [tape, before, inputs = std::move(inputs), f = std::move(f)](const Tensor& d_out, Grads&) {
                     tape->replay(d_out, [&] {
                       Draws same = before;
                       return f(std::span<const Tensor>(inputs), same);
                     });
                   });
  return out;
}

}  // namespace npzoo
