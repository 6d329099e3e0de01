#include <zlib.h>

#include <algorithm>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/decoder.h"

namespace npzoo {

namespace {

constexpr std::byte kGzipStart{0x1f};

struct Gzip final : Decoder {
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
      check(in.front() == kGzipStart, "[{}] has more bytes after its gzip data, expected the end of the file", name);
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

}  // namespace

std::unique_ptr<Decoder> gzip_decoder(const std::string& name) { return std::make_unique<Gzip>(name); }

}  // namespace npzoo
