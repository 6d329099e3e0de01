#include "npzoo/datasets/kinds/images/source.h"

#include <algorithm>
#include <numeric>

#include "npzoo/datasets/permutation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

namespace npzoo {

namespace {

/// Points of the images of a batch.
struct PixelCounts {
  std::vector<std::int64_t> context;  // (B)
  std::int64_t most_context = 0, targets = 0;
};

PixelCounts draw_counts(const PixelRules& rules, std::int64_t rows, bool training, Random& random) {
  PixelCounts counts;
  const auto draw = [&] { return random.integer(rules.least_context, rules.end_context); };
  counts.context.resize(static_cast<std::size_t>(rows));
  if (rules.ragged)
    std::ranges::generate(counts.context, draw);
  else
    std::ranges::fill(counts.context, draw());
  counts.most_context = std::ranges::max(counts.context);
  std::int64_t end = rules.points - counts.most_context;
  if (rules.end_targets > 0)
    end = rules.end_targets;
  else if (training)
    end = std::min(end, rules.most_training_targets);
  counts.targets = rules.all ? rules.points : random.integer(rules.min_targets, end);
  return counts;
}

/// The first `count` of a row are chosen anew, from all of them (Fisher and Yates): what order they had does not
/// matter.
void choose(std::vector<std::int64_t>& pixels, std::int64_t count, Random& random) {
  const auto all = std::ssize(pixels);
  for (std::int64_t i = 0; i < count; ++i)
    std::swap(pixels[static_cast<std::size_t>(i)], pixels[static_cast<std::size_t>(random.integer(i, all))]);
}

/// Inputs and values of some points of each image, in double.
class PointsOfImages {
 public:
  PointsOfImages(std::int64_t rows, std::int64_t points, std::int64_t channels)
      : x_(Tensor::empty({rows, points, 2}, DType::float64, Device::cpu)),
        y_(Tensor::empty({rows, points, channels}, DType::float64, Device::cpu)),
        next_x_(x_.data<double>()),
        next_y_(y_.data<double>()) {}

  void add(std::span<const std::uint8_t> image, std::span<const std::int64_t> pixels, const ImageFormat& format,
           const std::array<double, 256>& values) {
    for (const std::int64_t pixel : pixels) {
      *next_x_++ = format.row(static_cast<double>(pixel / format.width));
      *next_x_++ = format.column(static_cast<double>(pixel % format.width));
      for (std::int64_t c = 0; c < format.channels; ++c)
        *next_y_++ = values[image[static_cast<std::size_t>(pixel * format.channels + c)]];
    }
  }
  Tensor x(DType dtype) const { return x_.to(dtype); }
  Tensor y(DType dtype) const { return y_.to(dtype); }

 private:
  Tensor x_, y_;
  double *next_x_, *next_y_;
};

}  // namespace

ImageSource::ImageSource(ChosenImages images, const ImageFormat& format, const PixelRules& rules,
                         const SourceOptions& options)
    : images_(std::move(images)), format_(format), rules_(rules), options_(options) {
  check(options.batch_size > 0, "[images] batch size {}, expected at least 1", options.batch_size);
  check(!images_.items.empty(), "[images] no image found, expected at least one");
  for (std::size_t byte = 0; byte < values_.size(); ++byte) values_[byte] = format.value(static_cast<double>(byte));
}

std::optional<std::int64_t> ImageSource::size() const {
  if (options_.split == Split::training) return {};
  return (std::ssize(images_.items) + options_.batch_size - 1) / options_.batch_size;
}

std::vector<std::int64_t> ImageSource::items_of(std::uint64_t index) const {
  const auto count = std::ssize(images_.items);
  std::vector<std::int64_t> positions;
  if (options_.split == Split::evaluation) {
    const std::int64_t first = static_cast<std::int64_t>(index) * options_.batch_size;
    check(first < count, "[images] batch {} found, expected one of the {} batches", index, *size());
    positions.resize(static_cast<std::size_t>(std::min(options_.batch_size, count - first)));
    std::iota(positions.begin(), positions.end(), first);
  } else {
    positions = items_of_batch(count, options_.batch_size, options_.seed, index);
  }
  for (std::int64_t& position : positions) position = images_.items[static_cast<std::size_t>(position)];
  return positions;
}

Batch ImageSource::batch(std::uint64_t index) const {
  const std::vector<std::int64_t> items = items_of(index);
  const std::int64_t rows = std::ssize(items), pixels = format_.height * format_.width;
  Random random(options_.seed, static_cast<std::uint64_t>(options_.split) << 56 | index);
  const PixelCounts counts = draw_counts(rules_, rows, options_.split == Split::training, random);
  const std::int64_t first_target = rules_.all ? 0 : counts.most_context, points = first_target + counts.targets;
  PointsOfImages context(rows, counts.most_context, format_.channels), targets(rows, counts.targets, format_.channels);
  std::vector<std::int64_t> order(static_cast<std::size_t>(pixels));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    if (row == 0 || !rules_.shared) choose(order, points, random);
    const auto image = images_.set->image(items[static_cast<std::size_t>(row)]);
    const std::span<const std::int64_t> chosen = std::span(order).first(static_cast<std::size_t>(points));
    context.add(image, chosen.first(static_cast<std::size_t>(counts.most_context)), format_, values_);
    targets.add(image, chosen.subspan(static_cast<std::size_t>(first_target)), format_, values_);
  }
  const DType dtype = options_.dtype;
  Task task{context.x(dtype), context.y(dtype), targets.x(dtype), targets.y(dtype)};
  if (rules_.ragged) {
    task.lengths = Tensor::empty({rows}, DType::int64, Device::cpu);
    std::ranges::copy(counts.context, task.lengths.data<std::int64_t>());
  }
  return {task.to(options_.device)};
}

}  // namespace npzoo
