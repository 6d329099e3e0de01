#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "npzoo/engine/io/file.h"

namespace npzoo {

struct Decoder;

/// The bytes of a file, `-` is standard input, decompressed if their first bytes are those of gzip or xz, whatever the
/// name. Compressed files may have several members or streams. Memory is bounded for any content.
class ByteStream {
 public:
  explicit ByteStream(const std::filesystem::path& path);
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  ~ByteStream();

  const std::string& name() const { return file_.name(); }
  /// The next bytes, at most `out.size()`, as soon as there are any; returns how many, 0 at the end. Throws Error for
  /// compressed data that is damaged, cut off or followed by something else, and where this build cannot decompress.
  std::size_t read(std::span<std::byte> out);

 private:
  bool refill();
  void sniff();

  ReadOnlyFile file_;
  std::vector<std::byte> buffer_;
  std::span<const std::byte> pending_;  // the part of buffer_ that is read and not yet used
  bool at_end_ = false;
  bool sniffed_ = false;
  std::unique_ptr<Decoder> decoder_;  // none: the bytes are as they stand
};

}  // namespace npzoo
