#include "npzoo/engine/io/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>
#include <random>
#include <thread>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::string gzip(const std::string& text) {
  z_stream stream{};
  REQUIRE(::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(::deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

/// With the delta filter where `distance` is not 0.
std::string xz(const std::string& text, std::uint32_t distance = 0) {
  lzma_options_lzma lzma{};
  ::lzma_lzma_preset(&lzma, 1);
  lzma_options_delta delta{};
  delta.type = LZMA_DELTA_TYPE_BYTE;
  delta.dist = distance;
  lzma_filter filters[3] = {{LZMA_FILTER_DELTA, &delta}, {LZMA_FILTER_LZMA2, &lzma}, {LZMA_VLI_UNKNOWN, nullptr}};
  std::string out(::lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  REQUIRE(::lzma_stream_buffer_encode(filters + (distance == 0 ? 1 : 0), LZMA_CHECK_CRC64, nullptr,
                                      reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                      reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) == LZMA_OK);
  out.resize(size);
  return out;
}

std::string read_all(const std::filesystem::path& path, std::size_t at_once = 1000) {
  ByteStream stream(path);
  std::string text, part(at_once, '\0');
  while (const std::size_t count = stream.read(std::as_writable_bytes(std::span(part)))) text += part.substr(0, count);
  return text;
}

std::string decoded(const std::string& bytes, std::size_t at_once = 1000) {
  TemporaryDirectory directory;
  std::ofstream(directory / "f", std::ios::binary) << bytes;
  return read_all(directory / "f", at_once);
}

std::string refused(const std::string& bytes) {
  std::string message = error_of([&] { static_cast<void>(decoded(bytes)); });
  const std::size_t slash = message.rfind('/', message.find(']'));
  if (slash != std::string::npos) message.erase(1, slash);
  return message;
}

std::string random_text(std::size_t size, int letters) {
  std::mt19937 generator(7);
  std::string text;
  for (std::size_t i = 0; i < size; ++i)
    text += static_cast<char>(std::uniform_int_distribution<int>(0, letters - 1)(generator));
  return text;
}

}  // namespace

TEST_CASE("byte stream: reads plain, gzip and xz files, whatever their name") {
  for (const std::size_t size : {0, 1, 2, 5, 6, 7, 1000, 70'000, 400'000})
    for (const int letters : {3, 256}) {
      const std::string text = random_text(size, letters);
      for (const std::size_t at_once : {std::size_t{7}, std::size_t{65'536}}) {
        if (size > 1000 && at_once < 10) continue;
        CHECK((decoded(text, at_once) == text));
        CHECK((decoded(gzip(text), at_once) == text));
        CHECK((decoded(xz(text), at_once) == text));
        CHECK((decoded(xz(text, 4), at_once) == text));
      }
    }
}

TEST_CASE("byte stream: members and streams one after the other") {
  const std::string a = random_text(100'000, 10), b = "x,y\n", c;
  CHECK((decoded(gzip(a) + gzip(b) + gzip(c) + gzip(a)) == a + b + a));
  CHECK((decoded(xz(a) + xz(b) + std::string(8, '\0') + xz(c) + xz(a, 1)) == a + b + a));
}

TEST_CASE("byte stream: cut off at any place") {
  const std::string text = random_text(300, 20), small = gzip(text), other = xz(text);
  for (std::size_t size = 2; size < small.size(); ++size)
    REQUIRE(refused(small.substr(0, size)) == "[f] ends within its gzip data: the file is cut off");
  for (std::size_t size = 6; size < other.size(); ++size)
    REQUIRE(refused(other.substr(0, size)) == "[f] ends within its xz data: the file is cut off");
  CHECK(refused(small + small.substr(0, 9)) == "[f] ends within its gzip data: the file is cut off");
}

TEST_CASE("byte stream: something else behind, and damage") {
  const std::string text = random_text(5000, 200), small = gzip(text), other = xz(text);
  CHECK(refused(small + "x") == "[f] has more bytes after its gzip data, expected the end of the file");
  CHECK(refused(small + std::string(10, '\0')) ==
        "[f] has more bytes after its gzip data, expected the end of the file");
  CHECK(refused(other + "xxxxxxxxxxxxxxxx") == "[f] has damaged xz data, or more bytes after its end");
  std::mt19937 generator(5);
  int refusals = 0;
  for (int i = 0; i < 300; ++i)
    for (std::string bytes : {small, other}) {
      const std::size_t at = std::uniform_int_distribution<std::size_t>(6, bytes.size() - 1)(generator);
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (i % 8)));
      const std::string message = refused(bytes);
      // Bits of a gzip header that nobody reads may change.
      REQUIRE((message.starts_with("[f] ") || (at < 10 && message == "no error")));
      refusals += message != "no error";
    }
  CHECK(refusals > 550);
}

TEST_CASE("byte stream: a pipe gives what it has, byte by byte") {
  TemporaryDirectory directory;
  const std::filesystem::path path = directory / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  for (const std::string& bytes : {std::string("x,y\n1,2\n"), gzip("x,y\n1,2\n"), xz("x,y\n1,2\n"), std::string("\x1f"),
                                   std::string("\xFD"
                                               "7zX")}) {
    std::thread writer([&] {
      const Descriptor pipe(::open(path.c_str(), O_WRONLY));
      for (const char c : bytes) write_all(pipe, std::as_bytes(std::span(&c, 1)), "pipe");
    });
    const std::string found = read_all(path);
    writer.join();
    CHECK(found == (bytes.size() > 4 ? "x,y\n1,2\n" : bytes));
  }
}

TEST_CASE("byte stream: a table's first line is passed on before there is a second one") {
  TemporaryDirectory directory;
  const std::filesystem::path path = directory / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const Descriptor both(::open(path.c_str(), O_RDWR));  // so that neither end waits
  ByteStream stream(path);
  write_all(both, std::as_bytes(std::span("x\n", 2)), "pipe");
  std::string part(100, '\0');
  CHECK(stream.read(std::as_writable_bytes(std::span(part))) == 2);
}
