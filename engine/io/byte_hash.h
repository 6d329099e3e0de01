#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct XXH3_state_s;

namespace npzoo {

/// XXH3 with 128 bits (Collet, xxhash.com) of bytes in their order. It detects damage, not malice.
class ByteHash {
 public:
  ByteHash();

  void add(const void* bytes, std::size_t count);
  void add(std::int64_t number) { add(&number, sizeof number); }
  /// With its length, so that the end of one text is not the beginning of the next.
  void add(const std::string& text);

  /// "xxh3-128:" and 32 hexadecimal digits.
  std::string digest() const;

 private:
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> state_;
};

}  // namespace npzoo
