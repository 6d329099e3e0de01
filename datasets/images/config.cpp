#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>

#include "datasets/images/known_sets.h"
#include "datasets/images/source.h"
#include "datasets/permutation.h"
#include "datasets/task_config.h"
#include "engine/error.h"

namespace npzoo {

namespace {

/// Images are read when a task of their part is asked for, and once: by all tests of a protocol together.
class ImageShelf {
 public:
  ImageShelf(const KnownImageSet& set, const ImageChoice& choice) : set_(set), choice_(choice) {}

  std::shared_ptr<const ImageSet> part(ImagePart part) {
    const std::lock_guard lock(mutex_);
    auto& images = parts_[part];
    if (!images) images = std::make_shared<const ImageSet>(set_.read(set_, choice_, part));
    return images;
  }
  const KnownImageSet& set() const { return set_; }

 private:
  const KnownImageSet& set_;
  ImageChoice choice_;
  std::mutex mutex_;
  std::map<ImagePart, std::shared_ptr<const ImageSet>> parts_;
};

struct Classes {
  std::int64_t first = 0, end = 0;
};

class ImagesConfig final : public TaskConfig {
 public:
  ImagesConfig(std::shared_ptr<ImageShelf> shelf, const ImageFormat& format, const PixelRules& rules, bool apart)
      : shelf_(std::move(shelf)), format_(format), rules_(rules), apart_(apart) {}

  std::int64_t dim_x() const override { return 2; }
  std::int64_t dim_y() const override { return format_.channels; }
  std::optional<ImageFormat> image_format() const override { return format_; }

  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    return std::make_unique<ImageSource>(images(options.split), format_, rules_, options);
  }
  /// A test may have other classes, and need not.
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const override {
    auto tested = std::make_shared<ImagesConfig>(*this);
    if (shelf_->set().classes > 0 && test.has("classes")) tested->read_classes(test);
    return tested;
  }
  TaskExtents typical_extents() const override {
    const std::int64_t context = (rules_.least_context + rules_.end_context - 1) / 2;
    const std::int64_t rest = std::min(rules_.points - context, rules_.most_training_targets) - 1;
    return {context, rules_.all ? rules_.points : (rules_.min_targets + rest) / 2};
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
    std::tie(classes_.first, classes_.end) = table.range("classes", 0, shelf_->set().classes);
  }

 private:
  ChosenImages images(Split split) const {
    const bool test = split == Split::evaluation || (split == Split::validation && !apart_);
    if (test) return chosen(ImagePart::test);
    if (shelf_->set().has_validation && apart_)
      return chosen(split == Split::training ? ImagePart::training : ImagePart::validation);
    ChosenImages all = chosen(ImagePart::training);
    return apart_ ? tenth(std::move(all), split == Split::validation) : all;
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
    const auto count = std::ssize(all.items), kept_back = std::max<std::int64_t>(count / 10, 1);
    const Permutation order(count, 0, 0);
    ChosenImages result{all.set, {}};
    for (std::int64_t i = 0; i < count; ++i)
      if ((order(i) < kept_back) == validation) result.items.push_back(all.items[static_cast<std::size_t>(i)]);
    return result;
  }

  std::shared_ptr<ImageShelf> shelf_;
  ImageFormat format_;
  PixelRules rules_;
  bool apart_;
  Classes classes_{};
};

/// From places 0 … steps to the interval.
Affine onto(std::pair<double, double> interval, std::int64_t steps) {
  return {(interval.second - interval.first) / static_cast<double>(steps), interval.first};
}

std::pair<double, double> read_ends(TomlReader& data, std::string_view key) {
  const auto ends = data.two_numbers(key, kFinite);
  if (ends.first == ends.second)
    data.reject(key, fmt::format("[{}, {}]", ends.first, ends.second), "two numbers that differ");
  return ends;
}

PixelRules read_rules(TomlReader& data, std::int64_t pixels) {
  PixelRules r;
  r.points = data.integer("points", 2, pixels);
  r.all = data.choice("targets", {"disjoint", "all"}) == "all";
  if (!r.all) {
    r.min_targets = data.integer("min_targets", 1, r.points - 1);
    r.most_training_targets = data.integer("training_targets", r.min_targets + 1, r.points);
  }
  std::tie(r.least_context, r.end_context) = data.range("context", 0, r.all ? r.points + 1 : r.points - r.min_targets);
  r.ragged = data.choice("context_per", {"batch", "image"}) == "image";
  r.shared = data.choice("pixels_per", {"batch", "image"}) == "batch";
  return r;
}

}  // namespace

std::shared_ptr<const TaskConfig> read_images_config(TomlReader& data) {
  std::vector<std::string_view> names;
  for (const KnownImageSet& set : known_image_sets()) names.push_back(set.name);
  const std::string name = data.choice("set", names);
  const KnownImageSet& set = *std::ranges::find(known_image_sets(), name, &KnownImageSet::name);
  ImageChoice choice{set.height, set.width, set.channels};
  const auto inputs = read_ends(data, "inputs"), values = read_ends(data, "values");
  const ImageFormat format{
      choice.height,    choice.width, choice.channels, onto(inputs, choice.height - 1), onto(inputs, choice.width - 1),
      onto(values, 255)};
  const PixelRules rules = read_rules(data, choice.height * choice.width);
  const bool apart = data.choice("validation", {"test", "apart"}) == "apart";
  auto config = std::make_shared<ImagesConfig>(std::make_shared<ImageShelf>(set, choice), format, rules, apart);
  if (set.classes > 0) config->read_classes(data);
  return config;
}

}  // namespace npzoo
