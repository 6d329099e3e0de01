#pragma once

#include <functional>
#include <string>
#include <vector>

#include "npzoo/datasets/task_config.h"
#include "npzoo/models/applications/images/picture_completion.h"
#include "tools/pictures/shown.h"
#include "tools/plot/chart.h"

namespace npzoo::tools {

/// The colours of a picture; of the pixels that are shown, where a mask says which, and `hidden` elsewhere.
plot::Image image_of(const Picture& picture);
plot::Image image_of(const Picture& picture, const PixelMask& shown, plot::Color hidden);

/// Without axes, in units of pixels, from the lower left corner.
plot::Panel image_panel(plot::Image image, std::string title);

/// A row of a figure: what a model was shown, its mean, its standard deviation, its samples and the given picture.
std::vector<plot::Panel> completion_panels(const CompletedPicture& completed);

/// For panels of height × width pixels.
plot::Figure image_figure(std::int64_t height, std::int64_t width);

/// Rows of a picture of images.
struct ImageRows {
  int tasks = 2;
  int samples = 5;
  std::vector<std::int64_t> contexts{};  // numbers of pixels that models are shown; none: as the tasks have it
  std::uint64_t seed = 0;
};

/// Rows of images, one for each image and number of pixels: what is shown, mean, standard deviation, samples and truth,
/// or of several models what is shown, their means and the truth. The batch's targets are all pixels of its images.
/// Throws Error, opened by `[plot]`, for a number of pixels that an image does not have.
plot::Figure draw_images(const ImageRows& drawn, const std::vector<Shown>& models, const ImageFormat& format,
                         const Batch& batch);

}  // namespace npzoo::tools
