#include <cstdio>
// After <cstdio>, which it needs.
#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <csetjmp>

#include "npzoo/datasets/pictures/decoders.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr int kMostScans = 100;  // a progressive picture has about ten; each goes through all of its coefficients

/// libjpeg at work on bytes in memory. It leaves its functions by longjmp, past nothing that has a destructor.
class JpegReader {
 public:
  JpegReader(std::span<const std::uint8_t> file, const std::string& name) : name_(name) {
    jpeg_.err = ::jpeg_std_error(&errors_);
    errors_.error_exit = stop;
    errors_.emit_message = [](j_common_ptr jpeg, int level) {
      if (level < 0) stop(jpeg);  // libjpeg calls damage a warning, and makes up what is missing
    };
    jpeg_.client_data = this;
    run([file](jpeg_decompress_struct& jpeg) {
      ::jpeg_create_decompress(&jpeg);
      ::jpeg_mem_src(&jpeg, file.data(), file.size());
      constexpr unsigned int kMostMarkerBytes = 0xffff;
      ::jpeg_save_markers(&jpeg, JPEG_APP0 + 1, kMostMarkerBytes);
    });
    progress_.progress_monitor = [](j_common_ptr jpeg) {
      if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMostScans) {
        of(jpeg).too_many_scans_ = true;
        std::longjmp(of(jpeg).back_, 1);
      }
    };
    jpeg_.progress = &progress_;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { ::jpeg_destroy_decompress(&jpeg_); }

  template <class Step>
  void run(const Step& step) {
    if (setjmp(back_) != 0) fail("[images] {}: a damaged JPEG: {}", name_, message());
    step(jpeg_);
  }
  const jpeg_decompress_struct& jpeg() const { return jpeg_; }

 private:
  static JpegReader& of(j_common_ptr jpeg) { return *static_cast<JpegReader*>(jpeg->client_data); }
  static void stop(j_common_ptr jpeg) { std::longjmp(of(jpeg).back_, 1); }

  std::string message() {
    if (too_many_scans_) return fmt::format("more than {} scans", kMostScans);
    std::array<char, JMSG_LENGTH_MAX> text{};
    errors_.format_message(reinterpret_cast<j_common_ptr>(&jpeg_), text.data());
    return text.data();
  }

  const std::string& name_;
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf back_{};
  bool too_many_scans_ = false;
};

/// A block of 64 pixels takes one bit at least, unless it is coded arithmetically: what says less is not true, and
/// takes no memory.
void check_coded_bytes(const jpeg_decompress_struct& jpeg, std::size_t file_bytes, const std::string& name) {
  constexpr std::int64_t kMostPixelsOfAByte = 64 * 8;
  const std::int64_t pixels = static_cast<std::int64_t>(jpeg.image_width) * jpeg.image_height;
  check(jpeg.arith_code == TRUE || pixels <= kMostPixelsOfAByte * static_cast<std::int64_t>(file_bytes),
        "[images] {}: a damaged JPEG: {} x {} pixels in {} bytes", name, jpeg.image_width, jpeg.image_height,
        file_bytes);
}

int orientation_of(const jpeg_decompress_struct& jpeg) {
  constexpr std::array<std::uint8_t, 6> kExif{'E', 'x', 'i', 'f', 0, 0};
  for (const auto* marker = jpeg.marker_list; marker != nullptr; marker = marker->next) {
    const std::span<const std::uint8_t> data(marker->data, marker->data_length);
    if (data.size() > kExif.size() && std::ranges::equal(data.first(kExif.size()), kExif))
      return exif_orientation(data.subspan(kExif.size()));
  }
  return 1;
}

/// Adobe's programs store inks the other way round, and say that the file is theirs.
Picture rgb_of_cmyk(const Picture& inks, bool inverted) {
  const std::int64_t pixels = inks.height * inks.width;
  Picture rgb{inks.height, inks.width, 3};
  rgb.bytes.resize(static_cast<std::size_t>(3 * pixels));
  for (std::int64_t i = 0; i < pixels; ++i) {
    const std::uint8_t* from = inks.bytes.data() + 4 * i;
    const auto paper = [&](int ink) { return inverted ? from[ink] : 255 - from[ink]; };
    for (int c = 0; c < 3; ++c)
      rgb.bytes[static_cast<std::size_t>(3 * i + c)] = static_cast<std::uint8_t>((paper(c) * paper(3) + 127) / 255);
  }
  return rgb;
}

}  // namespace

StoredPicture decode_jpeg(std::span<const std::uint8_t> file, const std::string& name) {
  JpegReader reader(file, name);
  reader.run([](jpeg_decompress_struct& jpeg) { ::jpeg_read_header(&jpeg, TRUE); });
  const jpeg_decompress_struct& jpeg = reader.jpeg();
  check_picture_size(jpeg.image_width, jpeg.image_height, name);
  check_coded_bytes(jpeg, file.size(), name);
  const int orientation = orientation_of(jpeg);  // what was read goes with the end
  reader.run([](jpeg_decompress_struct& decoder) {
    const bool inks = decoder.jpeg_color_space == JCS_CMYK || decoder.jpeg_color_space == JCS_YCCK;
    const bool grey = decoder.jpeg_color_space == JCS_GRAYSCALE;
    decoder.out_color_space = inks ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
    decoder.dct_method = JDCT_ISLOW;
    ::jpeg_start_decompress(&decoder);
  });
  Picture picture{jpeg.output_height, jpeg.output_width, jpeg.output_components};
  const auto row_bytes = static_cast<std::size_t>(picture.width * picture.channels);
  picture.bytes.resize(static_cast<std::size_t>(picture.height) * row_bytes);
  reader.run([&picture, row_bytes](jpeg_decompress_struct& decoder) {
    while (decoder.output_scanline < decoder.output_height) {
      JSAMPROW row = picture.bytes.data() + decoder.output_scanline * row_bytes;
      ::jpeg_read_scanlines(&decoder, &row, 1);
    }
    ::jpeg_finish_decompress(&decoder);
  });
  if (picture.channels == 4) picture = rgb_of_cmyk(picture, jpeg.saw_Adobe_marker == TRUE);
  return {std::move(picture), orientation};
}

}  // namespace npzoo
