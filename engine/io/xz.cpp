#include <lzma.h>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/decoder.h"

namespace npzoo {

namespace {

struct Xz final : Decoder {
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

}  // namespace

std::unique_ptr<Decoder> xz_decoder(const std::string& name) { return std::make_unique<Xz>(name); }

}  // namespace npzoo
