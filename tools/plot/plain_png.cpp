#include "tools/plot/plain_png.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace npzoo::tools::plot {

namespace {

void put_big(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

std::uint32_t adler32_of(std::string_view bytes) {
  constexpr std::uint32_t kPrime = 65521;
  std::uint32_t a = 1, b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<std::uint8_t>(c)) % kPrime;
    b = (b + a) % kPrime;
  }
  return b << 16 | a;
}

void put_chunk(std::string& out, std::string_view type, std::string_view data) {
  put_big(out, static_cast<std::uint32_t>(data.size()));
  const std::string checked = std::string(type) + std::string(data);
  out += checked;
  put_big(out, crc32_of(checked));
}

/// The format of zlib with blocks that are stored as they are.
std::string stored(std::string_view bytes) {
  constexpr std::size_t kMostBytes = 0xffff;
  std::string out = "\x78\x01";
  for (std::size_t at = 0; at == 0 || at < bytes.size(); at += kMostBytes) {
    const std::string_view block = bytes.substr(at, kMostBytes);
    const auto length = static_cast<std::uint16_t>(block.size());
    out += at + kMostBytes >= bytes.size() ? '\1' : '\0';  // the last block
    for (const std::uint16_t number : {length, static_cast<std::uint16_t>(~length)}) {
      out += static_cast<char>(number & 0xff);
      out += static_cast<char>(number >> 8);
    }
    out += block;
  }
  put_big(out, adler32_of(bytes));
  return out;
}

}  // namespace

std::string plain_png(const Image& image) {
  std::string header;
  put_big(header, static_cast<std::uint32_t>(image.columns));
  put_big(header, static_cast<std::uint32_t>(image.rows));
  header += std::string("\x08\x06\0\0\0", 5);  // 8 bits of red, green, blue and opacity
  std::string rows;
  const auto byte = [](double share) { return static_cast<char>(std::lround(255 * std::clamp(share, 0.0, 1.0))); };
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    if (i % image.columns == 0) rows += '\0';  // no filter
    const Color& color = image.pixels[i];
    for (const double share : {color.red, color.green, color.blue, color.alpha}) rows += byte(share);
  }
  std::string file = "\x89PNG\r\n\x1a\n";
  put_chunk(file, "IHDR", header);
  put_chunk(file, "IDAT", stored(rows));
  put_chunk(file, "IEND", "");
  return file;
}

std::string base64(const std::string& bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<std::uint8_t>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace npzoo::tools::plot
