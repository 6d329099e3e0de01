#include "npzoo/engine/io/byte_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "npzoo/engine/error.h"

namespace npzoo {

ByteHash::ByteHash() : state_(XXH3_createState(), [](XXH3_state_s* state) { XXH3_freeState(state); }) {
  check(state_ != nullptr && XXH3_128bits_reset(state_.get()) == XXH_OK, "[checksum] the system is out of memory");
}

void ByteHash::add(const void* bytes, std::size_t count) { XXH3_128bits_update(state_.get(), bytes, count); }

void ByteHash::add(const std::string& text) {
  add(static_cast<std::int64_t>(text.size()));
  add(text.data(), text.size());
}

std::string ByteHash::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return fmt::format("xxh3-128:{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace npzoo
