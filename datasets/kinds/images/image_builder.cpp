#include "npzoo/datasets/kinds/images/image_builder.h"

#include "npzoo/datasets/kinds/images/resize.h"
#include "npzoo/datasets/pictures/picture.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"

namespace npzoo {

namespace {

constexpr std::size_t kFilesAtOnce = 256;

}  // namespace

ImageBuilder::ImageBuilder(const ImageChoice& choice, std::int64_t channels, bool skip_damaged)
    : choice_(choice), skip_damaged_(skip_damaged), set_{choice.height, choice.width, channels, {}, {}} {}

void ImageBuilder::add(PictureFile file) {
  waiting_.push_back(std::move(file));
  if (waiting_.size() == kFilesAtOnce) decode_waiting();
}

ImageSet ImageBuilder::finish() {
  decode_waiting();
  return std::move(set_);
}

void ImageBuilder::decode_waiting() {
  const std::int64_t count = std::ssize(waiting_);
  std::vector<std::string> errors(waiting_.size());
  std::vector<Picture> images(waiting_.size());
  thread_pool().for_range(count, 1, [&](std::int64_t i, std::int64_t) {
    const auto at = static_cast<std::size_t>(i);
    const auto& [name, bytes, fault] = waiting_[at];
    errors[at] = fault;
    if (!fault.empty()) return;
    try {
      const Picture picture = decode_picture(bytes, name, set_.channels);
      images[at] = resized(picture, crop_box(picture, choice_.crop, choice_.height, choice_.width, name),
                           choice_.height, choice_.width);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      errors[at] = error.what();
    }
  });
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    check(errors[i].empty() || skip_damaged_, "{}", errors[i]);
    if (errors[i].empty())
      set_.bytes.insert(set_.bytes.end(), images[i].bytes.begin(), images[i].bytes.end());
    else
      skipped_.push_back(errors[i]);
  }
  waiting_.clear();
}

}  // namespace npzoo
