#include "npzoo/engine/cuda/transfer.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr std::size_t kChunk = std::size_t{4} << 20;
/// Bytes of copies in flight: four pieces keep the device busy while the host fills the next one.
constexpr std::size_t kMostStaged = 4 * kChunk;

/// Page-locked memory that the stream reads until it has passed the mark.
struct Staged {
  Buffer memory;
  std::size_t bytes;  // that were copied for this; 0 if the memory is the caller's
  std::uint64_t mark;
};

// All of this is used within a GpuTurn.

struct InFlight {
  std::deque<Staged> staged;  // in the order of the stream
  std::size_t bytes = 0;
};

InFlight& in_flight() {
  static auto* copies = new InFlight;  // outlives static tensors
  return *copies;
}

std::vector<Buffer>& captured() {
  static auto* buffers = new std::vector<Buffer>;
  return *buffers;
}

/// Returns to the pool what the stream has passed, and waits until there is room for another `bytes`.
void reclaim(GpuRuntime& gpu, std::size_t bytes) {
  InFlight& copies = in_flight();
  while (!copies.staged.empty()) {
    const Staged& oldest = copies.staged.front();
    if (!gpu.passed(oldest.mark)) {
      if (copies.bytes + bytes <= kMostStaged) return;
      gpu.wait(oldest.mark);
    }
    copies.bytes -= oldest.bytes;
    copies.staged.pop_front();
  }
}

void stage(GpuRuntime& gpu, Buffer memory, std::size_t bytes) {
  if (gpu.capturing()) return captured().push_back(std::move(memory));
  in_flight().staged.push_back({std::move(memory), bytes, gpu.mark()});
  in_flight().bytes += bytes;
}

}  // namespace

void upload(std::byte* to, const std::byte* from, std::size_t bytes) {
  const GpuTurn turn;
  check(!gpu_runtime().capturing(),
        "[gpu] a captured step copies {} bytes of pageable host memory, expected page-locked memory, which later "
        "launches can read",
        bytes);
  upload_constant(to, from, bytes);
}

void upload_constant(std::byte* to, const std::byte* from, std::size_t bytes) {
  const GpuTurn turn;
  GpuRuntime& gpu = gpu_runtime();
  for (std::size_t begin = 0; begin < bytes; begin += kChunk) {
    const std::size_t size = std::min(kChunk, bytes - begin);
    if (!gpu.capturing()) reclaim(gpu, size);
    Buffer memory = Buffer::pinned(size);
    std::memcpy(memory.data(), from + begin, size);
    gpu.copy(to + begin, memory.data(), size);
    stage(gpu, std::move(memory), size);
  }
}

void upload_pinned(std::byte* to, const Buffer& from, std::size_t bytes) {
  const GpuTurn turn;
  GpuRuntime& gpu = gpu_runtime();
  if (!gpu.capturing()) reclaim(gpu, 0);
  gpu.copy(to, from.data(), bytes);
  stage(gpu, from, 0);
}

namespace {

/// A part of a download on its way.
struct Piece {
  Buffer memory;
  std::byte* to = nullptr;
  std::size_t size = 0;
  std::uint64_t mark = 0;
};

void empty(GpuRuntime& gpu, const Piece& piece) {
  gpu.wait(piece.mark);
  std::memcpy(piece.to, piece.memory.data(), piece.size);
}

}  // namespace

void download(std::byte* to, const std::byte* from, std::size_t bytes) {
  const GpuTurn turn;
  GpuRuntime& gpu = gpu_runtime();
  check(!gpu.capturing(), "[gpu] a captured step cannot wait for the device");
  Piece pieces[2];
  for (std::size_t begin = 0, i = 0; begin < bytes; begin += kChunk, ++i) {
    Piece& next = pieces[i % 2];  // while it fills, the host empties the other one
    if (!next.memory) next.memory = Buffer::pinned(std::min(kChunk, bytes));
    next.size = std::min(kChunk, bytes - begin);
    next.to = to + begin;
    gpu.copy(next.memory.data(), from + begin, next.size);
    next.mark = gpu.mark();
    if (i > 0) empty(gpu, pieces[(i - 1) % 2]);
    if (begin + kChunk >= bytes) empty(gpu, next);
  }
}

std::vector<Buffer> take_captured_uploads() {
  const GpuTurn turn;
  return std::exchange(captured(), {});
}

}  // namespace npzoo
