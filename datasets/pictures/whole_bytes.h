#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "npzoo/engine/io/byte_stream.h"

namespace npzoo {

/// The next `count` bytes. Memory is taken as they come, so that a size that is not true takes none. Throws Error if
/// the file ends before; `what` says of what.
std::vector<std::uint8_t> read_bytes(ByteStream& file, std::int64_t count, std::string_view what);
/// As many of them as there are.
std::vector<std::uint8_t> next_bytes(ByteStream& file, std::int64_t count);
/// All that is left, and Error for more than `most` bytes.
std::vector<std::uint8_t> read_rest(ByteStream& file, std::int64_t most);
/// Throws Error if the file continues after the expected end.
void check_end(ByteStream& file, std::string_view what);

}  // namespace npzoo
