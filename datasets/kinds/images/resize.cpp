#include "npzoo/datasets/kinds/images/resize.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr int kWeightBits = 22;  // of weights as whole numbers, so that every machine rounds alike

/// Keys, "Cubic convolution interpolation for digital image processing", IEEE TASSP 1981, eq. 15.
double cubic(double x) {
  x = std::abs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return 0;
}

/// Pixels of a line, and the share of each, that make a pixel of a shorter or longer line.
struct Mix {
  std::int64_t first = 0;
  std::vector<std::int64_t> weights;
};

std::vector<Mix> mixes(std::int64_t from, double begin, double extent, std::int64_t to) {
  constexpr double kReach = 2;  // of the filter
  const double step = extent / static_cast<double>(to), wider = std::max(step, 1.0), reach = kReach * wider;
  std::vector<Mix> result(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const double middle = begin + (static_cast<double>(i) + 0.5) * step;
    const auto first = static_cast<std::int64_t>(std::max(middle - reach + 0.5, 0.0));
    const auto end = std::min(static_cast<std::int64_t>(middle + reach + 0.5), from);
    std::vector<double> shares;
    double sum = 0;
    for (std::int64_t j = first; j < end; ++j) {
      shares.push_back(cubic((static_cast<double>(j) - middle + 0.5) / wider));
      sum += shares.back();
    }
    Mix& mix = result[static_cast<std::size_t>(i)];
    mix.first = first;
    for (const double share : shares)
      mix.weights.push_back(std::llround(share / sum * static_cast<double>(1 << kWeightBits)));
  }
  return result;
}

/// One of the new pixels, where those of a line are `stride` bytes apart.
std::uint8_t mixed(const std::uint8_t* from, std::int64_t stride, const Mix& mix) {
  std::int64_t sum = std::int64_t{1} << (kWeightBits - 1);
  const std::uint8_t* at = from + mix.first * stride;
  for (const std::int64_t weight : mix.weights) {
    sum += weight * *at;
    at += stride;
  }
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kWeightBits, 0, 255));
}

Picture along_rows(const Picture& picture, const std::vector<Mix>& columns) {
  Picture result{picture.height, std::ssize(columns), picture.channels};
  result.bytes.reserve(static_cast<std::size_t>(result.height * result.width * result.channels));
  for (std::int64_t row = 0; row < picture.height; ++row)
    for (const Mix& mix : columns)
      for (std::int64_t c = 0; c < picture.channels; ++c)
        result.bytes.push_back(
            mixed(picture.bytes.data() + row * picture.width * picture.channels + c, picture.channels, mix));
  return result;
}

Picture along_columns(const Picture& picture, const std::vector<Mix>& rows) {
  Picture result{std::ssize(rows), picture.width, picture.channels};
  const std::int64_t row_bytes = picture.width * picture.channels;
  result.bytes.reserve(static_cast<std::size_t>(result.height * row_bytes));
  for (const Mix& mix : rows)
    for (std::int64_t i = 0; i < row_bytes; ++i)
      result.bytes.push_back(mixed(picture.bytes.data() + i, row_bytes, mix));
  return result;
}

}  // namespace

Box crop_box(const Picture& picture, Crop crop, std::int64_t height, std::int64_t width, const std::string& name) {
  const auto h = static_cast<double>(picture.height), w = static_cast<double>(picture.width);
  if (crop == Crop::none) return {0, 0, w, h};
  if (crop == Crop::centre) {
    const double scale = std::min(h / static_cast<double>(height), w / static_cast<double>(width));
    const double inner_height = scale * static_cast<double>(height), inner_width = scale * static_cast<double>(width);
    return {(w - inner_width) / 2, (h - inner_height) / 2, inner_width, inner_height};
  }
  constexpr double kHeight = 218, kWidth = 178, kTop = 40, kLeft = 15, kSide = 148;  // of the aligned pictures
  const double scale = h / kHeight;
  check(std::abs(w / kWidth - scale) < 0.01 * scale,
        "[images] {}: {} x {} pixels found, expected an aligned picture of 178 x 218", name, picture.width,
        picture.height);
  return {kLeft * scale, kTop * scale, kSide * scale, kSide * scale};
}

Picture resized(const Picture& picture, const Box& box, std::int64_t height, std::int64_t width) {
  const auto columns = mixes(picture.width, box.left, box.width, width);
  const auto rows = mixes(picture.height, box.top, box.height, height);
  return along_columns(along_rows(picture, columns), rows);
}

}  // namespace npzoo
