#include "npzoo/engine/io/byte_stream.h"

#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "npzoo/engine/error.h"

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

/// Makes bytes out of compressed ones.
struct ByteStream::Decoder {
  virtual ~Decoder() = default;
  /// Takes bytes from the front of `in` and writes to `out`; returns how many were written. 0 without an end means that
  /// more input is wanted.
  virtual std::size_t decode(std::span<const std::byte>& in, bool last, std::span<std::byte> out) = 0;
  bool ended = false;
};

struct ByteStream::Gzip final : Decoder {
  explicit Gzip(const std::string& file) : name(file) {
    constexpr int kWindow = 15, kGzipWrapper = 16;
    check(::inflateInit2(&stream, kWindow + kGzipWrapper) == Z_OK, "[{}] zlib cannot start", name);
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override { ::inflateEnd(&stream); }

  std::size_t decode(std::span<const std::byte>& in, bool last, std::span<std::byte> out) override {
    if (between) {
      if (in.empty()) return ended = last, 0;
      check(as_text(in).front() == kGzipMagic.front(),
            "[{}] has more bytes after its gzip data, expected the end of the file", name);
      ::inflateReset(&stream);
      between = false;
    }
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), 1u << 30));
    const uInt room = stream.avail_out;
    const int code = ::inflate(&stream, Z_NO_FLUSH);
    in = in.last(stream.avail_in);
    const std::size_t written = room - stream.avail_out;
    if (code == Z_STREAM_END) between = true;
    if (code == Z_OK || code == Z_STREAM_END) return written;
    check(code == Z_BUF_ERROR, "[{}] has damaged gzip data: {}", name,
          stream.msg            ? stream.msg
          : code == Z_MEM_ERROR ? "out of memory"
                                : "wrong order");
    check(!last, "[{}] ends within its gzip data: the file is cut off", name);
    return written;
  }

  const std::string& name;
  z_stream stream{};
  bool between = false;  // of two members
};

struct ByteStream::Xz final : Decoder {
  explicit Xz(const std::string& file) : name(file) {
    constexpr std::uint64_t kMostMemory = std::uint64_t{256} << 20;  // the largest preset needs 65 MiB
    check(::lzma_stream_decoder(&stream, kMostMemory, LZMA_CONCATENATED) == LZMA_OK, "[{}] liblzma cannot start", name);
  }
  Xz(const Xz&) = delete;
  Xz& operator=(const Xz&) = delete;
  ~Xz() override { ::lzma_end(&stream); }

  std::size_t decode(std::span<const std::byte>& in, bool last, std::span<std::byte> out) override {
    stream.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream.avail_in = in.size();
    stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream.avail_out = out.size();
    const lzma_ret code = ::lzma_code(&stream, last ? LZMA_FINISH : LZMA_RUN);
    in = in.last(stream.avail_in);
    ended = code == LZMA_STREAM_END;
    if (code == LZMA_OK || ended) return out.size() - stream.avail_out;
    check(code != LZMA_MEMLIMIT_ERROR, "[{}] needs {} bytes of memory to read as xz, expected at most {}", name,
          ::lzma_memusage(&stream), ::lzma_memlimit_get(&stream));
    check(code == LZMA_BUF_ERROR, "[{}] has damaged xz data, or more bytes after its end", name);
    check(!last, "[{}] ends within its xz data: the file is cut off", name);
    return out.size() - stream.avail_out;
  }

  const std::string& name;
  lzma_stream stream = LZMA_STREAM_INIT;
};

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
    decoder_ = std::make_unique<Gzip>(file_.name());
  else if (as_text(pending_).starts_with(kXzMagic))
    decoder_ = std::make_unique<Xz>(file_.name());
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
