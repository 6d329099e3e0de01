#pragma once

#include <array>
#include <utility>

#include "npzoo/datasets/image_format.h"
#include "npzoo/datasets/kinds/images/image_set.h"
#include "npzoo/datasets/task_config.h"

namespace npzoo {

/// How pixels of an image become a task.
struct PixelRules {
  std::int64_t points = 0;                          // of a task, at most
  std::int64_t least_context = 0, end_context = 0;  // points: least <= context < end
  bool ragged = false;                     // each image has its own number of context points, or a batch has one
  bool shared = false;                     // all images of a batch show the same pixels
  bool all = false;                        // targets are all points of the task, or those beside the context:
  std::int64_t min_targets = 0;            // so many at least
  std::int64_t most_training_targets = 0;  // and fewer than so many in training,
  std::int64_t end_targets = 0;            // or fewer than so many everywhere, whatever the context is; 0: else
};

/// Tasks out of images: in training each image once an epoch, in an order of the seed's; in a test each once, as they
/// come; in a validation the first ones of an order of the seed's.
class ImageSource final : public TaskSource {
 public:
  ImageSource(ChosenImages images, const ImageFormat& format, const PixelRules& rules, const SourceOptions& options);

  Batch batch(std::uint64_t index) const override;
  std::optional<std::int64_t> size() const override;
  Device device() const override { return options_.device; }

 private:
  std::vector<std::int64_t> items_of(std::uint64_t index) const;

  ChosenImages images_;
  ImageFormat format_;
  PixelRules rules_;
  SourceOptions options_;
  std::array<double, 256> values_;  // of bytes
};

}  // namespace npzoo
