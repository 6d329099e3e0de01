#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "npzoo/datasets/image_format.h"
#include "npzoo/datasets/pictures/picture.h"
#include "npzoo/models/model.h"
#include "npzoo/models/registry.h"

// A model of images says what the pixels are that a picture does not show.

namespace npzoo {

/// Inputs of the pixels of a picture of `height` × `width`, row by row: (height · width, 2). Its area covers as much as
/// can be of that of the format's images, about their middle, in the same scale along both axes. Those of a picture as
/// large as the format's are the format's own.
std::vector<double> pixel_inputs(const ImageFormat& format, std::int64_t height, std::int64_t width);

/// Which pixels, row by row, points x (n, 2) of an image are. Throws Error, opened by `[complete]`, for a point that is
/// none.
std::vector<std::size_t> pixels_at(const ImageFormat& format, std::span<const double> x);
/// The image whose pixels at x have these values, (n, channels); black elsewhere.
Picture picture_of(const ImageFormat& format, std::span<const double> x, std::span<const double> y);

/// Which of a picture's pixels are shown, row by row.
using PixelMask = std::vector<bool>;

/// round(share · pixels) of them, chosen by the seed; those of a smaller share are among those of a larger one. Throws
/// Error unless the share is in [0, 1].
PixelMask random_pixels(std::int64_t pixels, double share, std::uint64_t seed);

struct CompletionRequest {
  const Picture& picture;
  const PixelMask& shown;
  std::int64_t height = 0, width = 0;  // of what is predicted; 0: as the picture
  std::int64_t samples = 0;            // pictures that are drawn, by a model that draws functions or predicts jointly
  std::uint64_t seed = 0;              // of the model's random numbers
};

/// Values are shares of white, 0 to 1 and, where a model says so, beyond.
struct CompletedPicture {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<double> mean{}, deviation{};     // (height, width, channels)
  std::vector<std::vector<double>> samples{};  // as `mean`
  /// Of the pixels that are not shown, at the picture's own size; none where all are. The square of the mean's error in
  /// shares of white, in the mean over channels; log p(y) of each by itself in the format's values, channels together.
  std::optional<double> squared_error{}, log_likelihood{};
};

/// Predicts every pixel, also those that are shown. Targets are asked for in chunks, unless the model predicts them
/// jointly; `progress` is told how many of how many there are by now.
///
/// Throws Error, opened by `[complete]`, for a picture of other channels than the format's, a mask of another number of
/// pixels, and where no pixel is shown.
CompletedPicture complete_picture(const Model& model, Density density, const ImageFormat& format,
                                  const CompletionRequest& request,
                                  const std::function<void(std::int64_t, std::int64_t)>& progress = {});

/// The mean as a picture, with the pixels that were shown as they are where it has their picture's size.
Picture finished_picture(const CompletionRequest& request, const CompletedPicture& completed);
/// Shares of white as bytes: rounded, what is below 0 or above 1 limited.
Picture as_picture(const CompletedPicture& completed, const std::vector<double>& values);

}  // namespace npzoo
