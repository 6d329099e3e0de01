#include "engine/io/checksum.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <memory>

#include "engine/error.h"

namespace npzoo {

namespace {

class Hash {
 public:
  Hash() : state_(XXH3_createState(), XXH3_freeState) {
    check(state_ != nullptr && XXH3_128bits_reset(state_.get()) == XXH_OK, "[checksum] there is no memory for it");
  }

  void add(const void* bytes, std::size_t count) { XXH3_128bits_update(state_.get(), bytes, count); }
  void add(std::int64_t number) { add(&number, sizeof number); }
  /// With its length, so that the end of one text is not the beginning of the next.
  void add(const std::string& text) {
    add(static_cast<std::int64_t>(text.size()));
    add(text.data(), text.size());
  }

  std::string digest() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("xxh3-128:{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

std::string checksum(const TensorFile& content) {
  Hash hash;
  hash.add(std::ssize(content.metadata));
  for (const auto& [key, text] : content.metadata) {
    hash.add(key);
    hash.add(text);
  }
  for (const auto& [name, tensor] : content.tensors) {
    hash.add(name);
    hash.add(static_cast<std::int64_t>(tensor.dtype()));
    hash.add(tensor.rank());
    for (const std::int64_t extent : tensor.shape()) hash.add(extent);
    hash.add(tensor.raw().data(), tensor.bytes());
  }
  return hash.digest();
}

}  // namespace npzoo
