#include "npzoo/engine/tape.h"

#ifdef NPZOO_GUARD
#include <xxhash.h>
#endif

#include <algorithm>
#include <atomic>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/fill.h"

namespace npzoo {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 16;

thread_local Tape* current = nullptr;

/// Returns a number of its own for each recording, with the low bits free for the number of a part.
std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> serial{0};
  return ++serial << Variable::kPartBits;
}

}  // namespace

void RecordingId::refuse_other_part() {
  fail("[tape] found a tensor from another part of this recording, expected a leaf or a constant");
}

void Grads::add(const Tensor& x, Tensor d_x) {
  if (!wants(x) || !d_x.defined()) return;
  if (!id_.has(x.variable())) return outer_->add(x, std::move(d_x));
  if (d_x.shape() != x.shape()) d_x = sum_to(d_x, x.shape());
  Slot& slot = slots_[x.variable().index];
  if (!slot.grad.defined()) {
    slot = {std::move(d_x)};
    return;
  }
  unshare(slot);
  add_into(slot.grad, d_x);
}

Grads::Target Grads::into(const Tensor& x) {
  check(wants(x), "[grads] found a tensor that is not a variable of this recording, expected a watched one");
  if (!id_.has(x.variable())) return outer_->into(x);
  Slot& slot = slots_[x.variable().index];
  if (!slot.grad.defined()) {
    slot = {Tensor::empty_like(x), true};
    return {slot.grad, false};
  }
  unshare(slot);
  return {slot.grad, true};
}

void Grads::unshare(Slot& slot) {
  if (!slot.grad.unique()) {
    // A gradient that a kernel has not written yet can be neither copied nor added to.
    check(!slot.own, "[grads] found a second contribution to a gradient of shape {} while the first is being written",
          slot.grad.shape());
    slot.grad = slot.grad.clone();
  }
  slot.own = true;
}

const Tensor& Grads::find(const Tensor& x) const {
  check(id_.has(x.variable()), "[grads] found a tensor that this recording did not watch, expected a watched one");
  return slots_[x.variable().index].grad;
}

Tensor Grads::of(const Tensor& x) const {
  const Tensor& found = find(x);
  return found.defined() ? found : Tensor::zeros_like(x);
}

Tape::Tape() { begin(); }

Tape::Tape(Grads& outer) : Tape() { grads_.outer_ = &outer; }

Tape::~Tape() { clear(); }

void Tape::clear() {
  while (!nodes_.empty()) {
    nodes_.back().destroy(nodes_.back().closure);
    nodes_.pop_back();
  }
  chunk_ = used_ = 0;
  begin();
  playing_ = consumed_ = false;
  grads_.slots_.clear();
  grads_.id_ = {};
}

/// Takes a new id, so that variables of the old recording become constants.
void Tape::begin() {
  const std::uint64_t serial = next_serial();
  id_.leaves = serial;
  id_.own = serial | 1;
  parts_ = 1;
  variables_ = 0;
}

void Tape::reserve_node() {
  constexpr std::size_t kFirst = 64;
  if (nodes_.size() == nodes_.capacity()) nodes_.reserve(std::max(kFirst, 2 * nodes_.capacity()));
}

void* Tape::allocate(std::size_t bytes, std::size_t alignment) {
  check(alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
        "[tape] found a closure with an alignment of {} bytes, expected the default or less", alignment);
  used_ = (used_ + alignment - 1) / alignment * alignment;
  while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].bytes) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const std::size_t size = std::max(kChunkBytes, bytes);
    chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
  }
  void* memory = chunks_[chunk_].memory.get() + used_;
  used_ += bytes;
  return memory;
}

void Tape::watch(Tensor& leaf) {
  check(!playing_ && !consumed_, "[tape] a leaf must be watched before the backward pass");
  Variable variable = new_variable();
  if (parts_ == 1) variable.tape = id_.leaves;
  leaf.set_variable(variable);
}

void Tape::follow(Tape& first) {
  constexpr std::uint64_t kMostParts = (std::uint64_t{1} << Variable::kPartBits) - 1;
  check(!playing_ && !first.playing_ && !first.consumed_ && first.nodes_.empty(),
        "[tape] a recording can only be followed before anything has been recorded");
  check(first.id_.own == (first.id_.leaves | 1), "[tape] a recording that follows another cannot be followed");
  check(first.parts_ < kMostParts, "[tape] {} recordings follow each other, expected {} at most", first.parts_ + 1,
        kMostParts);
  clear();
  parts_ = ++first.parts_;
  id_.leaves = first.id_.leaves;
  id_.own = id_.leaves | parts_;
  variables_ = first.variables_;
}

namespace {

// Both do their part also when playing a closure throws.

/// Sets a flag for the length of its scope.
struct Playing {
  explicit Playing(bool& flag) : flag(flag) { flag = true; }
  ~Playing() { flag = false; }
  bool& flag;
};

/// Destroys a closure at the end of its scope.
struct ClosureOwner {
  void* closure;
  void (*destroy)(void*);
  ~ClosureOwner() { destroy(closure); }
};

}  // namespace

const Grads& Tape::backward(const Tensor& loss) {
  check(loss.numel() == 1, "[backward] the loss has shape {}, expected one element", loss.shape());
  return backward(loss, Tensor::full(loss.shape(), 1, loss.dtype(), loss.device()));
}

const Grads& Tape::backward(const Tensor& out, Tensor d_out) {
  check(!playing_, "[backward] double backward is not supported");
  check(!consumed_, "[backward] this recording was already played; record again");
  check(id_.has(out.variable()), "[backward] the output does not depend on any watched tensor");
  check(d_out.shape() == out.shape(), "[backward] the cotangent has shape {}, expected {}", d_out.shape(), out.shape());
  grads_.id_ = id_;
  grads_.slots_.resize(variables_);
  grads_.add(out, std::move(d_out));
  const NoGrad off;
  consumed_ = true;
  const Playing now(playing_);
  if (profile_) profile_->start();
  play();
  return grads_;
}

Grads& Tape::receive() {
  check(!playing_ && !consumed_ && nodes_.empty(),
        "[tape] gradients can only be received before anything has been recorded");
  grads_.id_ = id_;
  grads_.slots_.resize(variables_);
  consumed_ = true;
  return grads_;
}

void Tape::play() {
  while (!nodes_.empty()) {
    throw_if_stopped();
    const Node node = nodes_.back();
    nodes_.pop_back();
    const ClosureOwner owner{node.closure, node.destroy};
    const auto first = grads_.slots_.begin() + node.first_output, last = first + node.outputs;
    const auto known = std::find_if(first, last, [](const Grads::Slot& slot) { return slot.grad.defined(); });
    if (known != last) {
      const Device device = known->grad.device();
      if (node.outputs == 1) {
        const Tensor d_out = std::move(first->grad);
        node.play(node.closure, {&d_out, 1}, grads_);
      } else {
        std::vector<Tensor> d_outs;
        for (auto slot = first; slot != last; ++slot) d_outs.push_back(std::move(slot->grad));
        node.play(node.closure, d_outs, grads_);
      }
      if (profile_) profile_->lap(node.name, &Profile::Passes::backward, device);
    }
  }
}

Recording::Recording(Tape& tape) : previous_(current) {
  check(!tape.playing_, "[tape] double backward is not supported");
  if (tape.consumed_) tape.clear();
  current = &tape;
}

Recording::~Recording() { current = previous_; }

NoGrad::NoGrad() : previous_(current) { current = nullptr; }

NoGrad::~NoGrad() { current = previous_; }

#ifdef NPZOO_GUARD
namespace {

std::uint64_t checksum(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace

void SavedMemory::note() {
  for (const auto& block : blocks_) checksums_.push_back(checksum(block));
}

void SavedMemory::verify(const char* operation) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    check(checksum(blocks_[i]) == checksums_[i],
          "[tape] {}: a saved tensor has changed, expected the values that the operation recorded", operation);
}
#endif

Tape* current_tape() { return current; }

bool needs_grad(const Tensor& x) { return Recorder::tape_for({x}) != nullptr; }

Tape* Recorder::tape_for(Inputs inputs) {
  if (!current) return nullptr;
  bool any = false;
  for (const Tensor& input : inputs) any |= current->records(input);  // looks at all: some are refused
  return any ? current : nullptr;
}

}  // namespace npzoo
