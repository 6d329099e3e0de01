#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>

#include "npzoo/datasets/kinds/images/folder.h"
#include "npzoo/datasets/kinds/images/known_sets.h"
#include "npzoo/datasets/kinds/images/source.h"
#include "npzoo/datasets/own_data.h"
#include "npzoo/datasets/permutation.h"
#include "npzoo/datasets/task_config.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

/// The images of a set. Each part is read once, for its first task, for all tests of a protocol.
class ImageShelf {
 public:
  using Read = std::function<std::shared_ptr<const ImageSet>(ImagePart part)>;

  /// Without a test part, what is kept back of the training part is tested on.
  ImageShelf(std::int64_t classes, bool has_validation, bool has_test, Read read)
      : classes(classes), has_validation(has_validation), has_test(has_test), read_(std::move(read)) {}

  std::shared_ptr<const ImageSet> part(ImagePart part) {
    const std::lock_guard lock(mutex_);
    auto& images = parts_[part];
    if (!images) images = read_(part);
    return images;
  }

  const std::int64_t classes;
  const bool has_validation, has_test;

 private:
  Read read_;
  std::mutex mutex_;
  std::map<ImagePart, std::shared_ptr<const ImageSet>> parts_;
};

struct Classes {
  std::int64_t first = 0, end = 0;
};

class ImagesConfig final : public TaskConfig {
 public:
  /// `test_apart`: a folder keeps back a tenth for validation and another one for tests, and not one for both.
  ImagesConfig(std::shared_ptr<ImageShelf> shelf, const ImageFormat& format, const PixelRules& rules, bool apart,
               bool test_apart)
      : shelf_(std::move(shelf)), format_(format), rules_(rules), apart_(apart), test_apart_(test_apart) {}

  std::int64_t dim_x() const override { return 2; }
  std::int64_t dim_y() const override { return format_.channels; }
  std::optional<ImageFormat> image_format() const override { return format_; }

  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    return std::make_unique<ImageSource>(images(options.split), format_, rules_, options);
  }
  /// A test may have other classes, and need not.
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const override {
    auto tested = std::make_shared<ImagesConfig>(*this);
    if (shelf_->classes > 0 && test.has("classes")) tested->read_classes(test);
    return tested;
  }
  bool tested_on_validation() const override {
    if (!apart_) return true;
    return !shelf_->has_test && (!test_apart_ || chosen(ImagePart::training).items.size() < 3);
  }
  OwnTasks on_own_data(const OwnData& own) const override {
    if (shelf_->has_test) return TaskConfig::on_own_data(own);
    return on_own_pictures(own_data_as<OwnPictures>(own, "pictures"));
  }
  TaskExtents typical_extents() const override {
    const std::int64_t context = (rules_.least_context + rules_.end_context - 1) / 2;
    const std::int64_t rest = std::min(rules_.points - context, rules_.most_training_targets) - 1;
    return {context, rules_.all ? rules_.points : (rules_.min_targets + rest) / 2};
  }
  /// Images of the test in an order of the seed's, and all of their pixels.
  Batch picture(std::int64_t tasks, std::uint64_t seed) const override {
    PixelRules seen = rules_;
    seen.all = true;
    seen.points = format_.height * format_.width;
    const SourceOptions options{.batch_size = tasks, .seed = seed, .split = Split::validation};
    return ImageSource(images(Split::evaluation), format_, seen, options).batch(0);
  }
  TrainingRange training_range() const override {
    const double low = format_.row(0), high = format_.row(static_cast<double>(format_.height - 1));
    constexpr double kUniformStd = 0.29;  // of what is uniform on an interval of length 1
    const double width = std::abs(format_.value(255) - format_.value(0)) * kUniformStd;
    return {.inputs = {std::min(low, high), std::max(low, high)},
            .min_context = rules_.least_context,
            .max_context = rules_.end_context - 1,
            .value_std = width,
            .widest_std = width,
            .narrowest_std = width};
  }
  void read_classes(TomlReader& table) {
    std::tie(classes_.first, classes_.end) =
        table.range("classes", "labels of the images that are used", 0, shelf_->classes);
  }

 private:
  ChosenImages images(Split split) const {
    const bool test = split == Split::evaluation || (split == Split::validation && !apart_);
    if (!shelf_->has_test) {
      if (tested_on_validation()) return tenth(chosen(ImagePart::training), split != Split::training);
      return tenths(chosen(ImagePart::training), split);
    }
    if (test) return chosen(ImagePart::test);
    if (shelf_->has_validation && apart_)
      return chosen(split == Split::training ? ImagePart::training : ImagePart::validation);
    if (!apart_) return chosen(ImagePart::all_but_test);
    return tenth(chosen(ImagePart::training), split == Split::validation);
  }

  /// Those of the classes, class by class as the TNP family's code has them.
  ChosenImages chosen(ImagePart part) const {
    ChosenImages result{shelf_->part(part), {}};
    if (classes_.end == 0) {
      result.items.resize(static_cast<std::size_t>(result.set->count()));
      std::iota(result.items.begin(), result.items.end(), 0);
    }
    for (std::int64_t label = classes_.first; label < classes_.end; ++label)
      for (std::int64_t i = 0; i < result.set->count(); ++i)
        if (result.set->labels[static_cast<std::size_t>(i)] == label) result.items.push_back(i);
    return result;
  }

  /// One image in ten is for validation, and the others are for training.
  static ChosenImages tenth(ChosenImages all, bool validation) {
    const std::int64_t count = std::ssize(all.items), kept_back = std::max<std::int64_t>(count / 10, 1);
    const Permutation order(count, 0, 0);
    ChosenImages result{all.set, {}};
    for (std::int64_t i = 0; i < count; ++i)
      if ((order(i) < kept_back) == validation) result.items.push_back(all.items[static_cast<std::size_t>(i)]);
    return result;
  }

  /// One image in ten is for validation, another one for tests, and the others are for training.
  static ChosenImages tenths(ChosenImages all, Split split) {
    const std::int64_t count = std::ssize(all.items), each = std::max<std::int64_t>(count / 10, 1);
    const Permutation order(count, 0, 0);
    ChosenImages result{all.set, {}};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t place = order(i);
      const Split part = place < each ? Split::evaluation : place < 2 * each ? Split::validation : Split::training;
      if (part == split) result.items.push_back(all.items[static_cast<std::size_t>(i)]);
    }
    return result;
  }

  std::shared_ptr<ImageShelf> shelf_;
  ImageFormat format_;
  PixelRules rules_;
  bool apart_, test_apart_;
  Classes classes_{};
};

/// From places 0 … steps to the interval.
AffineMap onto(std::pair<double, double> interval, std::int64_t steps) {
  return {(interval.second - interval.first) / static_cast<double>(steps), interval.first};
}

/// Reads size and crop for images of any size, or of the given one.
ImageChoice read_choice(TomlReader& data, std::int64_t height, std::int64_t width, bool has_faces) {
  constexpr NumberRule kSide{[](double x) { return x >= 2 && x <= 4096 && x == std::floor(x); },
                             "an integer from 2 to 4096"};
  const auto size = data.two_numbers("size", "height and width in pixels", kSide);
  ImageChoice choice{static_cast<std::int64_t>(size.first), static_cast<std::int64_t>(size.second)};
  data.expect(height == 0 || (choice.height == height && choice.width == width), "size",
              fmt::format("[{}, {}]", choice.height, choice.width),
              fmt::format("[{}, {}], which all images of the set have", height, width));
  std::vector<std::string_view> crops{"none"};
  if (height == 0) crops.push_back("centre");
  if (has_faces) crops.push_back("face");
  const std::string crop = data.choice("crop", "part of a picture that is used", crops);
  choice.crop = crop == "face" ? Crop::face : crop == "centre" ? Crop::centre : Crop::none;
  return choice;
}

std::pair<double, double> read_ends(TomlReader& data, std::string_view key, KeyLine line) {
  const auto ends = data.two_numbers(key, line, kFinite);
  if (ends.first == ends.second)
    data.reject(key, fmt::format("[{}, {}]", ends.first, ends.second), "two numbers that differ");
  return ends;
}

PixelRules read_rules(TomlReader& data, std::int64_t pixels) {
  PixelRules r;
  r.points = data.integer("points", "pixels of a task", 2, pixels);
  r.all = data.choice("targets", "pixels to predict: others than the context, or all", {"disjoint", "all"}) == "all";
  if (!r.all && data.has("target_count")) {
    std::tie(r.min_targets, r.end_targets) = data.range("target_count", "number of targets", 1, r.points);
    r.most_training_targets = r.end_targets;
  } else if (!r.all) {
    r.min_targets = data.integer("min_targets", "least number of targets", 1, r.points - 1);
    r.most_training_targets = data.integer("training_targets", "most targets in training", r.min_targets + 1, r.points);
  }
  const std::int64_t end = r.all               ? r.points + 1
                           : r.end_targets > 0 ? r.points - r.end_targets + 2
                                               : r.points - r.min_targets;
  std::tie(r.least_context, r.end_context) = data.range("context", "number of context pixels", 0, end);
  r.ragged =
      data.choice("context_per", "whether the images of a batch have one number of context pixels, or each its own",
                  {"batch", "image"}) == "image";
  r.shared = data.choice("pixels_per", "whether the images of a batch share the places of pixels",
                         {"batch", "image"}) == "batch";
  return r;
}

/// A set, and what its images are like.
struct OpenedSet {
  std::shared_ptr<ImageShelf> shelf;
  ImageChoice choice;
  std::int64_t channels = 1;
};

OpenedSet open_folder(TomlReader& data) {
  ImageFolder folder{.path = data.text("path", "folder of pictures"), .choice = read_choice(data, 0, 0, false)};
  folder.channels = data.integer("channels", "1: grey, 3: colours", 1, 3);
  if (folder.channels == 2) data.reject("channels", "2", "1, grey, or 3, colours");
  folder.skip_damaged = data.boolean("skip_damaged", "whether damaged files are left out instead of an error");
  const auto read =
      [folder,
       checksum = data.text("checksum", "checksum of the pictures: changed pictures are an error")](ImagePart /*all*/) {
        check(!folder.path.empty(), "[images] no pictures found, expected npzoo train --images FOLDER --size SIZE");
        const auto images = read_image_folder(folder);
        check(images->checksum == checksum, "[images] {} has changed: checksum {} found, expected {}", folder.path,
              images->checksum, checksum);
        return std::shared_ptr<const ImageSet>(images, &images->set);
      };
  return {std::make_shared<ImageShelf>(0, false, false, read), folder.choice, folder.channels};
}

OpenedSet open_set(TomlReader& data) {
  std::vector<std::string_view> names;
  for (const KnownImageSet& set : known_image_sets()) names.push_back(set.name);
  names.push_back("folder");
  const std::string name = data.choice("set", "published set, or a folder", names);
  if (name == "folder") return open_folder(data);
  const KnownImageSet& set = *std::ranges::find(known_image_sets(), name, &KnownImageSet::name);
  const ImageChoice choice = read_choice(data, set.height, set.width, set.has_faces);
  const auto read = [&set, choice](ImagePart part) {
    return std::make_shared<const ImageSet>(set.read(set, choice, part));
  };
  return {std::make_shared<ImageShelf>(set.classes, set.has_validation, true, read), choice, set.channels};
}

}  // namespace

std::shared_ptr<const TaskConfig> read_images_config(TomlReader& data) {
  const auto [shelf, choice, channels] = open_set(data);
  const auto inputs = read_ends(data, "inputs", "coordinates of the first and the last row or column"),
             values = read_ends(data, "values", "values of the darkest and the lightest pixel");
  const ImageFormat format{
      choice.height,    choice.width, channels, onto(inputs, choice.height - 1), onto(inputs, choice.width - 1),
      onto(values, 255)};
  const PixelRules rules = read_rules(data, choice.height * choice.width);
  // Folders of older protocols say "apart": a tenth is for validation and for tests.
  std::vector<std::string_view> validations{"apart"};
  validations.push_back(shelf->has_test ? "test" : "and test apart");
  const std::string validation = data.choice(
      "validation", "images for validation: a part of their own, the test's, or a tenth of the folder", validations);
  auto config =
      std::make_shared<ImagesConfig>(shelf, format, rules, validation != "test", validation == "and test apart");
  if (shelf->classes > 0) config->read_classes(data);
  return config;
}

}  // namespace npzoo
