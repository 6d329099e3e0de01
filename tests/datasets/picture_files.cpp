#include "tests/datasets/picture_files.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <png.h>

#include <cstdio>
#include <cstdlib>
// After <cstdio>, which it needs.
#include <jpeglib.h>

namespace npzoo::testing {

namespace {

/// With one entry, the orientation.
Bytes exif_of(int orientation, bool big_endian) {
  const auto number = [big_endian](Bytes& to, std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      to.push_back(static_cast<std::uint8_t>(value >> 8 * (big_endian ? bytes - 1 - i : i)));
  };
  Bytes exif(2, big_endian ? 'M' : 'I');
  number(exif, 42, 2);
  number(exif, 8, 4);
  number(exif, 1, 2);
  number(exif, 0x0112, 2);
  number(exif, 3, 2);
  number(exif, 1, 4);
  number(exif, static_cast<std::uint32_t>(orientation), 2);
  number(exif, 0, 2);
  number(exif, 0, 4);
  return exif;
}

Bytes png_row(const PngForm& form, const Pattern& pattern, int row) {
  const int channels = form.palette ? 1 : form.channels;
  Bytes bytes(static_cast<std::size_t>((form.width * channels * form.depth + 7) / 8));
  for (int i = 0; i < form.width * channels; ++i) {
    const int value = pattern(row, i / channels, i % channels);
    const auto at = static_cast<std::size_t>(i);
    if (form.depth == 16)
      bytes[2 * at] = bytes[2 * at + 1] = static_cast<std::uint8_t>(value);
    else if (form.depth == 8)
      bytes[at] = static_cast<std::uint8_t>(value);
    else
      bytes[at * static_cast<std::size_t>(form.depth) / 8] |=
          static_cast<std::uint8_t>(value << (8 - form.depth - i * form.depth % 8));
  }
  return bytes;
}

}  // namespace

Bytes png_file(const PngForm& form, const Pattern& pattern) {
  Bytes file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp to, png_bytep bytes, png_size_t count) {
        auto& all = *static_cast<Bytes*>(png_get_io_ptr(to));
        all.insert(all.end(), bytes, bytes + count);
      },
      [](png_structp) {});
  constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                            PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_IHDR(png, info, static_cast<png_uint_32>(form.width), static_cast<png_uint_32>(form.height), form.depth,
               form.palette ? PNG_COLOR_TYPE_PALETTE : kTypes[form.channels - 1],
               form.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (form.palette) {
    std::vector<png_color> palette;
    for (int i = 0; i < 1 << form.depth; ++i)
      palette.push_back({static_cast<png_byte>(i), static_cast<png_byte>(255 - i), static_cast<png_byte>(i / 2)});
    png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  }
  if (form.transparent_grey >= 0) {
    png_color_16 grey{};
    grey.gray = static_cast<png_uint_16>(form.transparent_grey);
    png_set_tRNS(png, info, nullptr, 0, &grey);
  }
  Bytes exif = exif_of(form.orientation, /*big_endian=*/true);
  if (form.orientation > 0) png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()), exif.data());
  std::vector<Bytes> rows;
  for (int row = 0; row < form.height; ++row) rows.push_back(png_row(form, pattern, row));
  std::vector<png_bytep> pointers;
  for (Bytes& row : rows) pointers.push_back(row.data());
  png_set_rows(png, info, pointers.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

Bytes jpeg_file(const JpegForm& form, const Pattern& pattern) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = ::jpeg_std_error(&errors);
  ::jpeg_create_compress(&jpeg);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  ::jpeg_mem_dest(&jpeg, &out, &size);
  jpeg.image_width = static_cast<JDIMENSION>(form.width);
  jpeg.image_height = static_cast<JDIMENSION>(form.height);
  jpeg.input_components = form.channels;
  jpeg.in_color_space = form.channels == 1 ? JCS_GRAYSCALE : form.channels == 3 ? JCS_RGB : JCS_CMYK;
  ::jpeg_set_defaults(&jpeg);
  ::jpeg_set_quality(&jpeg, form.quality, TRUE);
  for (int c = 0; c < form.channels; ++c) jpeg.comp_info[c].h_samp_factor = jpeg.comp_info[c].v_samp_factor = 1;
  if (form.progressive) ::jpeg_simple_progression(&jpeg);
  ::jpeg_start_compress(&jpeg, TRUE);
  if (form.orientation > 0) {
    Bytes marker{'E', 'x', 'i', 'f', 0, 0};
    const Bytes exif = exif_of(form.orientation, form.big_endian);
    marker.insert(marker.end(), exif.begin(), exif.end());
    ::jpeg_write_marker(&jpeg, JPEG_APP0 + 1, marker.data(), static_cast<unsigned int>(marker.size()));
  }
  Bytes row(static_cast<std::size_t>(form.width * form.channels));
  for (int r = 0; r < form.height; ++r) {
    for (int i = 0; i < form.width * form.channels; ++i)
      row[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(pattern(r, i / form.channels, i % form.channels));
    JSAMPROW rows = row.data();
    ::jpeg_write_scanlines(&jpeg, &rows, 1);
  }
  ::jpeg_finish_compress(&jpeg);
  Bytes file(out, out + size);
  ::jpeg_destroy_compress(&jpeg);
  std::free(out);
  return file;
}

std::string tar_of(const std::vector<std::pair<std::string, Bytes>>& files) {
  std::string archive;
  for (const auto& [name, bytes] : files) {
    std::string header = name;
    header.resize(512);
    header.replace(100, 7, "0000644");
    header.replace(124, 11, fmt::format("{:011o}", bytes.size()));
    header[156] = '0';
    header.replace(257, 5, "ustar");
    header.replace(148, 8, 8, ' ');
    int sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    header.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
    archive += header;
    archive.append(bytes.begin(), bytes.end());
    archive.resize((archive.size() + 511) / 512 * 512);
  }
  return archive + std::string(1024, '\0');
}

std::string zip_of(const std::vector<std::pair<std::string, Bytes>>& files) {
  std::size_t room = 1000;
  for (const auto& [name, bytes] : files) room += bytes.size() + 1000;
  std::string zip(room, '\0');
  std::size_t used = 0;
  ::archive* writer = ::archive_write_new();
  ::archive_write_set_format_zip(writer);
  ::archive_write_set_bytes_in_last_block(writer, 1);
  ::archive_write_open_memory(writer, zip.data(), zip.size(), &used);
  for (const auto& [name, bytes] : files) {
    ::archive_entry* entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, name.c_str());
    ::archive_entry_set_filetype(entry, AE_IFREG);
    ::archive_entry_set_perm(entry, 0644);
    ::archive_entry_set_size(entry, std::ssize(bytes));
    ::archive_write_header(writer, entry);
    ::archive_write_data(writer, bytes.data(), bytes.size());
    ::archive_entry_free(entry);
  }
  ::archive_write_free(writer);
  zip.resize(used);
  return zip;
}

}  // namespace npzoo::testing
