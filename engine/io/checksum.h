#pragma once

#include <string>

#include "npzoo/engine/io/safetensors.h"

namespace npzoo {

/// Returns XXH3 with 128 bits (Collet, xxhash.com) of the contents of a file: metadata, and names, dtypes, shapes and
/// bytes of the tensors, which must be on the CPU. "xxh3-128:" and 32 hexadecimal digits. It detects damage, not
/// malice.
std::string checksum(const TensorFile& content);

}  // namespace npzoo
