#pragma once

#include <cstddef>
#include <vector>

#include "npzoo/engine/memory.h"

namespace npzoo {

/// Copies to the device in the order of its stream; `from` may change as soon as this returns. Holds at most 16 MiB of
/// page-locked memory at a time. Throws Error while a graph is captured: launched again, it would bring the bytes of
/// now and not those of then.
void upload(std::byte* to, const std::byte* from, std::size_t bytes);
/// The same for what every launch of a graph shall find.
void upload_constant(std::byte* to, const std::byte* from, std::size_t bytes);
/// The same from page-locked memory, which must stay as it is until the stream has passed: a captured graph copies what
/// stands there when it is launched.
void upload_pinned(std::byte* to, const Buffer& from, std::size_t bytes);
/// Waits for the stream and copies to the host. Throws Error while a graph is captured.
void download(std::byte* to, const std::byte* from, std::size_t bytes);

/// The page-locked memory that uploads in a capture left behind; the graph must keep it.
std::vector<Buffer> take_captured_uploads();

}  // namespace npzoo
