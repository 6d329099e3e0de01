// libFuzzer entry: any bytes are a picture, a set of images or an archive of pictures, or an Error of one line.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "npzoo/datasets/kinds/images/cifar.h"
#include "npzoo/datasets/kinds/images/idx.h"
#include "npzoo/datasets/kinds/images/picture_files.h"
#include "npzoo/datasets/pictures/picture.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"

namespace {

template <class Read>
void read(const Read& step) {
  try {
    step();
  } catch (const npzoo::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
}

void decode(std::span<const std::uint8_t> file, std::int64_t channels) {
  const npzoo::Picture picture = npzoo::decode_picture(file, "input", channels);
  const std::int64_t pixels = picture.height * picture.width;
  if (pixels < 1 || std::ssize(picture.bytes) != pixels * picture.channels) std::abort();
  if (channels != 0 && picture.channels != channels) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  for (const std::int64_t channels : {0, 1, 3}) read([&] { decode(bytes, channels); });
  const npzoo::Descriptor file(::memfd_create("fuzz", MFD_CLOEXEC));
  npzoo::write_all(file, std::as_bytes(bytes), "input");
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  for (const std::int64_t dimensions : {1, 3, 4}) read([&] { npzoo::read_idx(path, dimensions); });
  read([&] {
    const npzoo::ImageSet set = npzoo::read_cifar(path);
    if (set.count() != std::ssize(set.labels)) std::abort();
  });
  read([&] {
    npzoo::for_each_picture_file(
        path, [](const std::string&) { return true; }, [](const npzoo::PictureFile&) {});
  });
  return 0;
}
