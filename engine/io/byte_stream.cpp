#include "npzoo/engine/io/byte_stream.h"

#include <algorithm>
#include <string_view>

#include "npzoo/engine/io/decoder.h"

namespace npzoo {

namespace {

constexpr std::size_t kReadAhead = std::size_t{1} << 16;
constexpr std::string_view kGzipMagic = "\x1f\x8b", kXzMagic{
                                                        "\xFD"
                                                        "7zXZ\0",
                                                        6};

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

ByteStream::ByteStream(const std::filesystem::path& path) : file_(path), buffer_(kReadAhead) {}

ByteStream::~ByteStream() = default;

/// Reads behind what is pending; false at the end.
bool ByteStream::refill() {
  if (at_end_) return false;
  std::ranges::copy(pending_, buffer_.begin());
  const std::size_t kept = pending_.size(), count = file_.read(std::span(buffer_).subspan(kept));
  pending_ = std::span(buffer_).first(kept + count);
  at_end_ = count == 0;
  return !at_end_;
}

/// A pipe may deliver a few bytes at a time. Bytes of a table are passed on at once: a magic number is read only as far
/// as it matches.
void ByteStream::sniff() {
  const auto begins = [this](std::string_view magic) {
    return as_text(pending_).substr(0, magic.size()) == magic.substr(0, pending_.size());
  };
  while (refill() && pending_.size() < kXzMagic.size() && (begins(kGzipMagic) || begins(kXzMagic)))
    if (as_text(pending_).starts_with(kGzipMagic)) break;
  if (as_text(pending_).starts_with(kGzipMagic))
    decoder_ = gzip_decoder(file_.name());
  else if (as_text(pending_).starts_with(kXzMagic))
    decoder_ = xz_decoder(file_.name());
  sniffed_ = true;
}

std::size_t ByteStream::read(std::span<std::byte> out) {
  if (!sniffed_) sniff();
  if (out.empty()) return 0;
  if (!decoder_) {
    if (pending_.empty()) return at_end_ ? 0 : file_.read(out);
    const std::size_t count = std::min(out.size(), pending_.size());
    std::ranges::copy(pending_.first(count), out.begin());
    pending_ = pending_.subspan(count);
    return count;
  }
  while (!decoder_->ended) {
    if (pending_.empty()) refill();
    if (const std::size_t count = decoder_->decode(pending_, at_end_, out)) return count;
  }
  return 0;
}

}  // namespace npzoo
