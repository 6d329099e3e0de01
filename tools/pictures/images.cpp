#include "tools/pictures/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "npzoo/engine/error.h"
#include "tools/plot/color_map.h"

namespace npzoo::tools {

namespace {

constexpr double kLongerSide = 110;  // of a panel, in canvas units
constexpr plot::Color kHidden{0.60, 0.70, 0.86};

plot::Color color_at(const Picture& picture, std::size_t pixel) {
  const auto share = [&](std::size_t channel) {
    return picture.bytes[pixel * static_cast<std::size_t>(picture.channels) + channel] / 255.0;
  };
  return picture.channels == 1 ? plot::Color{share(0), share(0), share(0)} : plot::Color{share(0), share(1), share(2)};
}

plot::Image empty_image(std::int64_t height, std::int64_t width) {
  return {static_cast<std::size_t>(width), static_cast<std::size_t>(height), {}};
}

plot::Panel deviation_panel(const CompletedPicture& completed) {
  const auto channels = static_cast<std::size_t>(completed.channels);
  std::vector<double> deviations;
  for (std::size_t i = 0; i < completed.deviation.size(); i += channels) {
    double squares = 0;
    for (std::size_t c = 0; c < channels; ++c) squares += completed.deviation[i + c] * completed.deviation[i + c];
    deviations.push_back(std::sqrt(squares / static_cast<double>(channels)));
  }
  const double largest = deviations.empty() ? 0 : std::ranges::max(deviations);
  const plot::ColorScale scale{{0, largest > 0 ? largest : 1}, plot::ColorMap::plasma};
  plot::Image image = empty_image(completed.height, completed.width);
  std::ranges::transform(deviations, std::back_inserter(image.pixels), scale);
  plot::Panel panel = image_panel(std::move(image), "standard deviation");
  panel.x_label = fmt::format("up to {:.2g} of white", largest);
  return panel;
}

plot::Panel context_panel(const Picture& truth, const PixelMask& shown) {
  plot::Panel panel = image_panel(image_of(truth, shown, kHidden), "context");
  panel.x_label = fmt::format("{} of {} pixels", std::ranges::count(shown, true), shown.size());
  return panel;
}

plot::Panel picture_panel(const CompletedPicture& completed, const std::vector<double>& values,
                          const std::string& title) {
  return image_panel(image_of(as_picture(completed, values)), title);
}

/// The first `count` of an image's pixels in the order in which its task has them.
PixelMask first_pixels(const ImageFormat& format, const TaskRow& row, std::int64_t count) {
  const std::vector<std::size_t> order = pixels_at(format, row.xt);
  check(count >= 1 && count <= std::ssize(order), "[plot] a context of {} pixels found, expected 1 to {}", count,
        order.size());
  PixelMask shown(order.size());
  for (std::int64_t i = 0; i < count; ++i) shown[order[static_cast<std::size_t>(i)]] = true;
  return shown;
}

}  // namespace

plot::Image image_of(const Picture& picture) {
  return image_of(picture, PixelMask(static_cast<std::size_t>(picture.height * picture.width), true), plot::kClear);
}

plot::Image image_of(const Picture& picture, const PixelMask& shown, plot::Color hidden) {
  plot::Image image = empty_image(picture.height, picture.width);
  for (std::size_t i = 0; i < shown.size(); ++i) image.pixels.push_back(shown[i] ? color_at(picture, i) : hidden);
  return image;
}

plot::Panel image_panel(plot::Image image, std::string title) {
  const plot::Range x{0, static_cast<double>(image.columns)}, y{0, static_cast<double>(image.rows)};
  plot::Panel panel{.title = std::move(title), .x_range = x, .y_range = y, .axes = false};
  panel.layers.emplace_back(plot::Picture{std::move(image), x, y});
  return panel;
}

std::vector<plot::Panel> completion_panels(const CompletedPicture& completed) {
  std::vector<plot::Panel> panels{context_panel(completed.given, completed.shown),
                                  picture_panel(completed, completed.mean, "mean"), deviation_panel(completed)};
  for (std::size_t k = 0; k < completed.samples.size(); ++k)
    panels.push_back(picture_panel(completed, completed.samples[k], fmt::format("sample {}", k + 1)));
  panels.push_back(image_panel(image_of(completed.given), "truth"));
  return panels;
}

plot::Figure image_figure(std::int64_t height, std::int64_t width) {
  const double longer = static_cast<double>(std::max(height, width));
  return {.panel_width = kLongerSide * static_cast<double>(width) / longer,
          .panel_height = kLongerSide * static_cast<double>(height) / longer,
          .legend = plot::LegendPlace::kNone};
}

plot::Figure draw_images(const ImageRows& drawn, const std::vector<Shown>& models, const ImageFormat& format,
                         const Batch& batch) {
  plot::Figure figure = image_figure(format.height, format.width);
  for (int i = 0; i < drawn.tasks; ++i) {
    const TaskRow row = row_of(batch.task, i);
    const Picture truth = picture_of(format, row.xt, row.yt);
    const auto own = static_cast<std::int64_t>(row.xc.size() / 2);
    for (const std::int64_t count : drawn.contexts.empty() ? std::vector{own} : drawn.contexts) {
      const PixelMask shown = first_pixels(format, row, count);
      const auto completed = [&](const Shown& model, std::int64_t samples) {
        // The request does not outlive the model.
        const std::shared_ptr<const Model> not_owned(std::shared_ptr<const Model>(), model.model.get());
        return complete_picture({.model = ImageModel{not_owned, model.density, format, model.name},
                                 .picture = truth,
                                 .shown = shown,
                                 .samples = samples,
                                 .seed = drawn.seed});
      };
      std::vector<plot::Panel> panels;
      if (models.size() == 1) {
        panels = completion_panels(completed(models.front(), drawn.samples));
      } else {
        panels.push_back(context_panel(truth, shown));
        for (const Shown& model : models) {
          const CompletedPicture said = completed(model, 0);
          panels.push_back(picture_panel(said, said.mean, model.name));
        }
        panels.push_back(image_panel(image_of(truth), "truth"));
      }
      for (plot::Panel& panel : panels)
        if (!figure.panels.empty() && figure.panels.size() >= panels.size()) panel.title.clear();
      figure.columns = static_cast<int>(panels.size());
      std::ranges::move(panels, std::back_inserter(figure.panels));
    }
  }
  return figure;
}

}  // namespace npzoo::tools
