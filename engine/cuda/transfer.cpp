#include "engine/cuda/transfer.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "engine/cuda/gpu.h"
#include "engine/error.h"

namespace npzoo {

namespace {

constexpr std::size_t kChunk = std::size_t{4} << 20;

struct Staged {
  Buffer memory;
  std::uint64_t mark;
};

std::deque<Staged>& in_flight() {
  static auto* staged = new std::deque<Staged>;  // outlives static tensors
  return *staged;
}

std::vector<Buffer>& captured() {
  static auto* buffers = new std::vector<Buffer>;
  return *buffers;
}

void reclaim(GpuRuntime& gpu) {
  auto& staged = in_flight();
  while (!staged.empty() && gpu.passed(staged.front().mark)) staged.pop_front();
}

}  // namespace

void upload(std::byte* to, const std::byte* from, std::size_t bytes) {
  check(!gpu_runtime().capturing(),
        "[gpu] a captured step brings {} bytes of the host to the device, expected page-locked memory that its later "
        "launches can read",
        bytes);
  upload_constant(to, from, bytes);
}

void upload_constant(std::byte* to, const std::byte* from, std::size_t bytes) {
  GpuRuntime& gpu = gpu_runtime();
  if (!gpu.capturing()) reclaim(gpu);
  for (std::size_t begin = 0; begin < bytes; begin += kChunk) {
    const std::size_t size = std::min(kChunk, bytes - begin);
    Buffer memory = Buffer::pinned(size);
    std::memcpy(memory.data(), from + begin, size);
    gpu.copy(to + begin, memory.data(), size);
    if (gpu.capturing())
      captured().push_back(std::move(memory));
    else
      in_flight().push_back({std::move(memory), gpu.mark()});
  }
}

void upload_pinned(std::byte* to, const Buffer& from, std::size_t bytes) {
  GpuRuntime& gpu = gpu_runtime();
  gpu.copy(to, from.data(), bytes);
  if (gpu.capturing())
    captured().push_back(from);
  else
    in_flight().push_back({from, gpu.mark()});
}

void download(std::byte* to, const std::byte* from, std::size_t bytes) {
  GpuRuntime& gpu = gpu_runtime();
  const Buffer memory = Buffer::pinned(std::min(kChunk, bytes));
  for (std::size_t begin = 0; begin < bytes; begin += kChunk) {
    const std::size_t size = std::min(kChunk, bytes - begin);
    gpu.copy(memory.data(), from + begin, size);
    gpu.synchronise();
    std::memcpy(to + begin, memory.data(), size);
  }
}

std::vector<Buffer> take_captured_uploads() { return std::exchange(captured(), {}); }

}  // namespace npzoo
