#include "datasets/images/folder.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <sstream>
#include <tuple>

#include "datasets/images/image_builder.h"
#include "engine/error.h"
#include "engine/io/byte_hash.h"
#include "engine/io/toml.h"

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
    hash.add(static_cast<std::int64_t>(file.bytes.size()));
    hash.add(file.bytes.data(), file.bytes.size());
    builder.add(std::move(file));
  });
  FolderImages images{builder.finish(), hash.digest(), builder.skipped()};
  check(images.set.count() >= 2, "[images] {}: {} PNG or JPEG files that can be read, expected at least two",
        folder.path, images.set.count());
  return images;
}

/// --steps, --lr and --set change it.
constexpr const char* kImageRecipe = R"(
[training]
steps = 20_000
batch_size = 16
clip_norm = 1.0
keep = "best"
optimiser = { name = "adam", lr = 5e-4, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0 }
schedule = { name = "cosine", warmup_steps = 200 }

[validation]
every = 1000
batches = 50
seed = 0

[evaluation]
batches = 1000
batch_size = 16
seed = 0
metric = "log-likelihood"
)";

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
  toml::table root = parse_toml(base, "[images]");
  const toml::table recipe = parse_toml(kImageRecipe, "[images]");
  if (short_recipe)
    for (const auto& [key, value] : recipe) root.insert_or_assign(key, value);
  const std::int64_t pixels = folder.choice.height * folder.choice.width;
  // As the TNP family has it: up to a fifth of the pixels, and not more than its largest images show.
  constexpr std::int64_t kMostPoints = 1600, kMostTargets = 400;
  const std::int64_t points = std::clamp<std::int64_t>(pixels / 5, std::min<std::int64_t>(pixels, 64), kMostPoints);
  root.insert_or_assign("name", name);
  root.insert_or_assign("description", "Completion of a user's own images");
  root.insert_or_assign("source", "images of the user's own");
  root.insert_or_assign("data", toml::table{{"kind", "images"},
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
                                            {"validation", "apart"}});
  toml::table& evaluation = *root["evaluation"].as_table();
  evaluation.erase("densities");
  evaluation.insert_or_assign("metric", "log-likelihood");
  evaluation.insert_or_assign("tests", toml::array{toml::table{{"name", "held out"}}});
  std::ostringstream text;
  text << toml::toml_formatter{root, toml::format_flags::none} << '\n';
  return text.str();
}

}  // namespace npzoo
