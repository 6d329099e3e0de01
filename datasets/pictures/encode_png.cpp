#include "npzoo/datasets/pictures/encode_png.h"

#include <png.h>

#include "npzoo/engine/error.h"

namespace npzoo {

std::string encode_png(const Picture& picture, const std::string& name) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = file.size();
  const int written = png_image_write_to_memory(&image, file.data(), &size, 0, picture.bytes.data(), 0, nullptr);
  check(written != 0, "[{}] a PNG of {} x {} pixels cannot be made: {}", name, picture.width, picture.height,
        image.message);
  file.resize(size);
  return file;
}

}  // namespace npzoo
