#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace npzoo {

/// Turns compressed bytes into the bytes that were compressed.
struct Decoder {
  virtual ~Decoder() = default;
  /// Takes bytes from the front of `in` and writes to `out`; returns how many it wrote. 0 without an end means that it
  /// needs more input; `last`: there is none. Throws Error for damaged data.
  virtual std::size_t decode(std::span<const std::byte>& in, bool last, std::span<std::byte> out) = 0;
  bool ended = false;
};

/// Decoders of the data of a file, whose `name` begins messages and outlives them. A build without the feature `gzip`
/// or `xz` throws Error instead.
std::unique_ptr<Decoder> gzip_decoder(const std::string& name);
std::unique_ptr<Decoder> xz_decoder(const std::string& name);

}  // namespace npzoo
