#include "npzoo/datasets/kinds/images/folder.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "npzoo/datasets/kinds/images/image_builder.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/toml.h"

namespace npzoo {

namespace {

auto key_of(const ImageFolder& f) {
  return std::tuple(f.path, f.choice.height, f.choice.width, f.choice.crop, f.channels, f.skip_damaged);
}

FolderImages read_now(const ImageFolder& folder) {
  ImageBuilder builder(folder.choice, folder.channels, folder.skip_damaged);
  ByteHash hash;
  const auto all = [&hash](const std::string& name) {
    hash.add(name);
    return true;
  };
  for_each_picture_file(folder.path, all, [&](PictureFile file) {
    hash.add(file.fault.empty() ? std::ssize(file.bytes) : std::int64_t{-1});
    hash.add(file.bytes.data(), file.bytes.size());
    builder.add(std::move(file));
  });
  FolderImages images{builder.finish(), hash.digest(), builder.skipped()};
  check(images.set.count() >= 2, "[images] {}: {} PNG or JPEG files that can be read, expected at least two",
        folder.path, images.set.count());
  return images;
}

const char* name_of(Crop crop) { return crop == Crop::centre ? "centre" : "none"; }

}  // namespace

std::shared_ptr<const FolderImages> read_image_folder(const ImageFolder& folder) {
  static std::mutex mutex;
  static std::optional<ImageFolder> last;
  static std::shared_ptr<const FolderImages> images;
  const std::lock_guard lock(mutex);
  if (!last || key_of(*last) != key_of(folder)) {
    images.reset();
    images = std::make_shared<const FolderImages>(read_now(folder));
    last = folder;
  }
  return images;
}

OwnTasks on_own_pictures(const OwnPictures& own) {
  const ImageFolder folder{
      .path = absolute_path(own.path).lexically_normal().string(),
      .choice = {.height = own.height, .width = own.width, .crop = own.stretched ? Crop::none : Crop::centre},
      .channels = own.grey ? 1 : 3,
      .skip_damaged = own.skip_damaged};
  const auto images = read_image_folder(folder);
  const std::int64_t pixels = own.height * own.width;
  // As the TNP family has it: up to a fifth of the pixels, and not more than its largest images show.
  constexpr std::int64_t kMostPoints = 1600, kMostTargets = 400;
  const std::int64_t points = std::clamp<std::int64_t>(pixels / 5, std::min<std::int64_t>(pixels, 64), kMostPoints);
  return {.data = toml_text(toml::table{{"path", folder.path},
                                        {"checksum", images->checksum},
                                        {"channels", folder.channels},
                                        {"skip_damaged", folder.skip_damaged},
                                        {"size", toml::array{own.height, own.width}},
                                        {"crop", name_of(folder.choice.crop)},
                                        {"points", points},
                                        {"training_targets", std::min(points, kMostTargets)},
                                        {"context", toml::array{1, points - 1}}}),
          .skipped = images->skipped};
}

}  // namespace npzoo
