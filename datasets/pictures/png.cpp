#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>

#include "npzoo/datasets/pictures/decoders.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

/// libpng at work on bytes in memory. It leaves its functions by longjmp, past nothing that has a destructor.
class PngReader {
 public:
  PngReader(std::span<const std::uint8_t> file, const std::string& name) : rest_(file), name_(name) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, stop, [](png_structp, png_const_charp) {});
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    check(info_ != nullptr, "[images] {}: libpng cannot start", name);
    png_set_read_fn(png_, this, read);
    png_set_user_limits(png_, kMostPixels, kMostPixels);
    constexpr png_alloc_size_t kMostChunkBytes = png_alloc_size_t{1} << 23;
    png_set_chunk_malloc_max(png_, kMostChunkBytes);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  template <class Step>
  void run(const Step& step) {
    if (setjmp(png_jmpbuf(png_)) != 0) fail("[images] {}: a damaged PNG: {}", name_, message_.data());
    step(png_, info_);
  }
  png_structp png() const { return png_; }
  png_infop info() const { return info_; }

 private:
  static void stop(png_structp png, png_const_charp message) {
    auto& self = *static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self.message_.data(), message, self.message_.size() - 1);
    png_longjmp(png, 1);
  }
  static void read(png_structp png, png_bytep to, png_size_t count) {
    auto& self = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self.rest_.size()) png_error(png, "it is cut off");
    std::memcpy(to, self.rest_.data(), count);
    self.rest_ = self.rest_.subspan(count);
  }

  std::span<const std::uint8_t> rest_;
  const std::string& name_;
  std::array<char, 128> message_{};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

/// Deflate makes no bytes 1033 times fewer: what says so is not true, and takes no memory.
void check_stored_bytes(const PngReader& reader, std::size_t file_bytes, const std::string& name) {
  constexpr std::int64_t kMostDeflated = 1032;
  const auto row = static_cast<std::int64_t>(png_get_rowbytes(reader.png(), reader.info())) + 1;
  const auto height = static_cast<std::int64_t>(png_get_image_height(reader.png(), reader.info()));
  check(row * height <= kMostDeflated * static_cast<std::int64_t>(file_bytes),
        "[images] {}: a damaged PNG: {} x {} pixels in {} bytes", name,
        png_get_image_width(reader.png(), reader.info()), height, file_bytes);
}

/// The last of two or four channels says how much of a white ground is seen.
Picture on_white(const Picture& picture) {
  const std::int64_t channels = picture.channels - 1, pixels = picture.height * picture.width;
  Picture result{picture.height, picture.width, channels};
  result.bytes.resize(static_cast<std::size_t>(pixels * channels));
  const std::uint8_t* from = picture.bytes.data();
  std::uint8_t* to = result.bytes.data();
  for (std::int64_t i = 0; i < pixels; ++i, from += picture.channels)
    for (std::int64_t c = 0; c < channels; ++c)
      *to++ = static_cast<std::uint8_t>((from[c] * from[channels] + 255 * (255 - from[channels]) + 127) / 255);
  return result;
}

}  // namespace

StoredPicture decode_png(std::span<const std::uint8_t> file, const std::string& name) {
  PngReader reader(file, name);
  reader.run([](png_structp png, png_infop info) { png_read_info(png, info); });
  check_picture_size(png_get_image_width(reader.png(), reader.info()),
                     png_get_image_height(reader.png(), reader.info()), name);
  check_stored_bytes(reader, file.size(), name);
  reader.run([](png_structp png, png_infop info) {
    png_set_scale_16(png);
    png_set_expand(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
  });
  Picture picture{png_get_image_height(reader.png(), reader.info()), png_get_image_width(reader.png(), reader.info()),
                  png_get_channels(reader.png(), reader.info())};
  const auto row_bytes = static_cast<std::size_t>(picture.width * picture.channels);
  check(png_get_rowbytes(reader.png(), reader.info()) == row_bytes,
        "[images] {}: a PNG of {} channels, expected 1 to 4", name, picture.channels);
  picture.bytes.resize(static_cast<std::size_t>(picture.height) * row_bytes);
  std::vector<png_bytep> rows(static_cast<std::size_t>(picture.height));
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = picture.bytes.data() + row * row_bytes;
  reader.run([&rows](png_structp png, png_infop info) {
    png_read_image(png, rows.data());
    png_read_end(png, info);
  });
  int orientation = 1;
  png_uint_32 exif_bytes = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(reader.png(), reader.info(), &exif_bytes, &exif) != 0)
    orientation = exif_orientation({exif, exif_bytes});
  if (picture.channels % 2 == 0) picture = on_white(picture);
  return {std::move(picture), orientation};
}

}  // namespace npzoo
