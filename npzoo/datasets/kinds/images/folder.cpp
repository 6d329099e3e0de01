#include "npzoo/datasets/kinds/images/folder.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "npzoo/datasets/kinds/images/image_builder.h"
#include "npzoo/datasets/own_protocol.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/byte_hash.h"

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

/// What suits thousands of images.
constexpr OwnRecipe kImageRecipe{.description = "Completion of a user's own images",
                                 .source = "images of the user's own",
                                 .steps = 20'000,
                                 .warmup_steps = 200,
                                 .batch_size = 16,
                                 .validation_every = 1000,
                                 .validation_batches = 50,
                                 .evaluation_batches = 1000,
                                 .evaluation_batch_size = 16,
                                 .metric = "log-likelihood"};

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

std::string image_protocol(const ImageFolder& folder, std::string_view base, const std::string& name,
                           bool short_recipe) {
  const std::int64_t pixels = folder.choice.height * folder.choice.width;
  // As the TNP family has it: up to a fifth of the pixels, and not more than its largest images show.
  constexpr std::int64_t kMostPoints = 1600, kMostTargets = 400;
  const std::int64_t points = std::clamp<std::int64_t>(pixels / 5, std::min<std::int64_t>(pixels, 64), kMostPoints);
  toml::table data{{"kind", "images"},
                   {"set", "folder"},
                   {"path", folder.path},
                   {"checksum", read_image_folder(folder)->checksum},
                   {"channels", folder.channels},
                   {"skip_damaged", folder.skip_damaged},
                   {"size", toml::array{folder.choice.height, folder.choice.width}},
                   {"crop", name_of(folder.choice.crop)},
                   {"inputs", toml::array{-1.0, 1.0}},
                   {"values", toml::array{-0.5, 0.5}},
                   {"points", points},
                   {"targets", "disjoint"},
                   {"min_targets", 1},
                   {"training_targets", std::min(points, kMostTargets)},
                   {"context", toml::array{1, points - 1}},
                   {"context_per", "batch"},
                   {"pixels_per", "image"},
                   {"validation", "and test apart"}};
  return own_protocol(base, "[images]", kImageRecipe, short_recipe, name, std::move(data));
}

}  // namespace npzoo
