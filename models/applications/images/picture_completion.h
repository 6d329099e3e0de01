#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "npzoo/datasets/image_format.h"
#include "npzoo/datasets/pictures/picture.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/models/model.h"
#include "npzoo/models/registry.h"

// Completes a picture from some of its pixels, at any size.

namespace npzoo {

/// Inputs of the pixels of a picture of `height` × `width`, row by row: (height · width, 2). The picture covers as much
/// of the area of the format's images as possible, about their middle, in the same scale along both axes. A picture of
/// the format's size has the format's own inputs.
std::vector<double> pixel_inputs(const ImageFormat& format, std::int64_t height, std::int64_t width);

/// The numbers, row by row, of the pixels at points x (n, 2) of an image. Throws Error, which begins with `[complete]`,
/// for a point that is not a pixel.
std::vector<std::size_t> pixels_at(const ImageFormat& format, std::span<const double> x);
/// The image whose pixels at x have these values, (n, channels); black elsewhere.
Picture picture_of(const ImageFormat& format, std::span<const double> x, std::span<const double> y);

/// True for each pixel that the model sees, row by row.
using PixelMask = std::vector<bool>;

/// Chooses round(share · pixels) pixels by the seed. The pixels of a smaller share are among those of a larger one.
/// Throws Error unless the share is in [0, 1].
PixelMask random_pixels(std::int64_t pixels, double share, std::uint64_t seed);

/// A trained model of images.
struct ImageModel {
  std::shared_ptr<const Model> model;
  Density density = Density::marginal;  // how the model samples targets: ModelInfo::drawing
  ImageFormat format{};
  std::string name = "the model";  // for messages
};
/// Loads weights by path or name. Throws Error if their protocol is not of images.
ImageModel load_image_model(const std::string& weights);

struct CompletionRequest {
  std::variant<std::string, ImageModel> model;           // weights by path or name, or a model in memory
  std::variant<std::filesystem::path, Picture> picture;  // PNG or JPEG, or an array with the model's channels
  /// The pixels that the model sees: a share of all, chosen by the seed; the light pixels of a PNG or JPEG of the same
  /// size; or a mask.
  std::variant<double, std::filesystem::path, PixelMask> shown;
  std::int64_t height = 0, width = 0;  // of the prediction; 0: as the picture
  std::int64_t samples = 0;            // pictures to draw; models that predict each pixel by itself draw none
  std::uint64_t seed = 0;              // of the pixels that are shown, and of the model's random numbers
  std::function<void(std::int64_t done, std::int64_t all)> progress{};  // in pixels
  std::stop_token stop{};
  Job* job = nullptr;  // ranks that share the pixels: all get the result of one process, to the bit
};

/// Values are shares of white, usually from 0 to 1; a model may predict values outside.
struct CompletedPicture {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<double> mean{}, deviation{};     // (height, width, channels)
  std::vector<std::vector<double>> samples{};  // as `mean`
  /// Scores of the pixels that are not shown, at the picture's own size; none if all are shown. The squared error of
  /// the mean in shares of white, averaged over channels; log p(y) of each pixel by itself in the format's values,
  /// channels together.
  std::optional<double> squared_error{}, log_likelihood{};
  Picture given{};
  PixelMask shown{};
  bool lost_colours = false;  // a file in colour was read as grey, like the images of the model
};

/// Predicts every pixel, also those that are shown, in chunks unless the model predicts them jointly.
///
/// Throws Error, which begins with `[complete]`, for an array with other channels than the model's images, a mask of
/// another size, and a mask that shows no pixel; Interrupted after a stop request.
CompletedPicture complete_picture(const CompletionRequest& request);

/// The mean as a picture. If it has the given picture's size, the pixels that were shown are as they were.
Picture finished_picture(const CompletedPicture& completed);
/// Shares of white as bytes, rounded and limited to 0 and 1.
Picture as_picture(const CompletedPicture& completed, const std::vector<double>& values);

}  // namespace npzoo
