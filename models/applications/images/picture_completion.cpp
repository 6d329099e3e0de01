#include "npzoo/models/applications/images/picture_completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "npzoo/datasets/permutation.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/application_call.h"
#include "npzoo/models/share_work.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/training/named_weights.h"

namespace npzoo {

namespace {

constexpr std::int64_t kPixelsAtATime = 4096;

double share_of_white(const ImageFormat& format, double value) { return format.value.inverse(value) / 255; }

/// Some pixels of a picture: inputs (n, 2) and values (n, channels).
struct PixelPoints {
  std::vector<double> x{}, y{};
};

PixelPoints points_of(const ImageFormat& format, const Picture& picture, const PixelMask& wanted, bool value) {
  const std::vector<double> inputs = pixel_inputs(format, picture.height, picture.width);
  PixelPoints points;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != value) continue;
    points.x.insert(points.x.end(), {inputs[2 * i], inputs[2 * i + 1]});
    for (std::int64_t c = 0; c < picture.channels; ++c)
      points.y.push_back(format.value(picture.bytes[i * static_cast<std::size_t>(picture.channels) + c]));
  }
  return points;
}

/// Points of `width` numbers as the only task of a batch, in the model's dtype and on its device.
Tensor as_task(std::span<const double> values, std::int64_t width, DType dtype) {
  return Tensor::from<double>({1, std::ssize(values) / width, width}, values).to(dtype).to(default_device());
}

/// Predicts one set of pixels after the other from one context.
class PixelQuestions {
 public:
  PixelQuestions(const Model& model, Density density, const ContextState& state, const Draws& draws, Job* job,
                 std::function<void(std::int64_t)> asked)
      : model_(model), density_(density), state_(state), draws_(draws), job_(job), asked_(std::move(asked)) {}

  /// Computes answer(prediction, begin, end) of chunks of targets x (n, 2), each on one rank, and gives the answers to
  /// `take` in their order.
  template <class Answer, class Compute, class Take>
  void ask(std::span<const double> x, const Compute& answer, const Take& take) {
    const std::int64_t pixels = std::ssize(x) / 2,
                       chunk = std::min(targets_at_a_time(density_, kPixelsAtATime), pixels);
    const std::int64_t chunks = pixels > 0 ? (pixels + chunk - 1) / chunk : 0;
    const auto end_of = [&](std::int64_t i) { return std::min((i + 1) * chunk, pixels); };
    share_rounds<Answer>(
        job_, chunks, 1,
        [&](std::int64_t first, std::int64_t last) {
          std::vector<Answer> answers;
          for (std::int64_t i = first; i < last; ++i) {
            throw_if_stopped();
            const std::int64_t begin = i * chunk, end = end_of(i);
            const auto targets =
                x.subspan(static_cast<std::size_t>(2 * begin), static_cast<std::size_t>(2 * (end - begin)));
            answers.push_back(answer(*model_.query(state_, as_task(targets, 2, DType::float32)), begin, end));
          }
          return answers;
        },
        [&](std::int64_t i, const Answer& one) {
          take(one);
          asked_(end_of(i) - i * chunk);
        });
  }

  /// Samples the requested number of pictures from a prediction: (n, pixels · channels) each.
  std::vector<std::vector<double>> functions(const Prediction& prediction, std::int64_t count) {
    if (density_ == Density::marginal || count == 0) return {};
    const Tensor drawn = density_ == Density::joint ? prediction.sample(count, draws_) : prediction.marginals().mean;
    if (density_ == Density::mixture && drawn.dim(0) == 1) return {};  // only their mean is known
    const Tensor here = drawn.to(Device::cpu).to(DType::float64);
    const auto each = static_cast<std::size_t>(here.dim(2) * here.dim(3));
    std::vector<std::vector<double>> result;
    for (std::int64_t k = 0; k < std::min(count, here.dim(0)); ++k) {
      const auto values = here.values<double>().subspan(static_cast<std::size_t>(k) * each, each);
      result.emplace_back(values.begin(), values.end());
    }
    return result;
  }

 private:
  const Model& model_;
  Density density_;
  const ContextState& state_;
  Draws draws_;
  Job* job_;
  std::function<void(std::int64_t)> asked_;
};

/// The prediction of some pixels, in shares of white.
struct PredictedPixels {
  std::vector<double> mean, deviation;
  std::vector<std::vector<double>> samples;

  static void fields(auto& bytes, auto& self) { bytes(self.mean, self.deviation, self.samples); }
};

/// Scores of pixels of known values.
struct ScoredPixels {
  std::vector<double> squares, log_likelihood;

  static void fields(auto& bytes, auto& self) { bytes(self.squares, self.log_likelihood); }
};

ScoredPixels score_pixels(const ImageFormat& format, const Prediction& prediction, std::span<const double> y) {
  const Tensor truth = as_task(y, format.channels, DType::float32), mean = moments(prediction).mean;
  const auto means = mean.values<double>();
  ScoredPixels scored;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double error = share_of_white(format, means[i]) - share_of_white(format, y[i]);
    scored.squares.push_back(error * error);
  }
  const Tensor each = prediction.log_likelihood(truth).to(Device::cpu).to(DType::float64);
  scored.log_likelihood.assign(each.values<double>().begin(), each.values<double>().end());
  return scored;
}

void append(const std::vector<double>& from, std::vector<double>& to) { to.insert(to.end(), from.begin(), from.end()); }

ImageModel model_of(const CompletionRequest& request) {
  const auto* weights = std::get_if<std::string>(&request.model);
  ImageModel model = weights ? load_image_model(*weights) : std::get<ImageModel>(request.model);
  const Likelihood likelihood = model.model->likelihood();
  check(likelihood.gaussian(), "[complete] the model predicts by the likelihood {}, expected gaussian",
        likelihood.gaussian() ? "" : likelihood.distribution->name());
  return model;
}

std::string name_of_picture(const CompletionRequest& request) {
  const auto* path = std::get_if<std::filesystem::path>(&request.picture);
  return path ? path->string() : "the picture";
}

/// Whether red, green and blue differ anywhere.
bool has_colours(const Picture& picture) {
  for (std::size_t i = 0; picture.channels == 3 && i + 2 < picture.bytes.size(); i += 3)
    if (picture.bytes[i] != picture.bytes[i + 1] || picture.bytes[i] != picture.bytes[i + 2]) return true;
  return false;
}

/// A file with the channels of the model's images: those of training were converted in the same way.
Picture picture_of_request(const CompletionRequest& request, const ImageModel& model, bool& lost_colours) {
  const auto* path = std::get_if<std::filesystem::path>(&request.picture);
  Picture picture = path ? read_picture(*path, 0) : std::get<Picture>(request.picture);
  if (path && picture.channels != model.format.channels) {
    lost_colours = has_colours(picture);
    picture = read_picture(*path, model.format.channels);
  }
  check(picture.channels == model.format.channels, "[complete] {} has {} channels, expected {}, like the images of {}",
        name_of_picture(request), picture.channels, model.format.channels, model.name);
  check(std::ssize(picture.bytes) == picture.height * picture.width * picture.channels,
        "[complete] {} of {} x {} pixels has {} bytes, expected {}", name_of_picture(request), picture.width,
        picture.height, picture.bytes.size(), picture.height * picture.width * picture.channels);
  return picture;
}

PixelMask mask_of_request(const CompletionRequest& request, const Picture& picture) {
  const std::int64_t pixels = picture.height * picture.width;
  PixelMask shown;
  if (const auto* share = std::get_if<double>(&request.shown)) {
    shown = random_pixels(pixels, *share, request.seed);
  } else if (const auto* path = std::get_if<std::filesystem::path>(&request.shown)) {
    const Picture mask = read_picture(*path, 1);
    check(mask.height == picture.height && mask.width == picture.width,
          "[complete] {} is {} x {} pixels, expected {} x {} like {}", path->string(), mask.width, mask.height,
          picture.width, picture.height, name_of_picture(request));
    for (const std::uint8_t light : mask.bytes) shown.push_back(light >= 128);
  } else {
    shown = std::get<PixelMask>(request.shown);
  }
  check(std::ssize(shown) == pixels, "[complete] a mask of {} pixels found, expected {}", shown.size(), pixels);
  check(std::ranges::count(shown, true) > 0, "[complete] no pixel is shown, expected at least one");
  return shown;
}

}  // namespace

std::vector<double> pixel_inputs(const ImageFormat& format, std::int64_t height, std::int64_t width) {
  const auto rows = static_cast<double>(height), columns = static_cast<double>(width);
  const auto all_rows = static_cast<double>(format.height), all_columns = static_cast<double>(format.width);
  const double step = std::min(all_rows / rows, all_columns / columns);  // pixels of the format to one of the picture
  std::vector<double> inputs;
  inputs.reserve(static_cast<std::size_t>(2 * height * width));
  for (std::int64_t r = 0; r < height; ++r)
    for (std::int64_t c = 0; c < width; ++c) {
      inputs.push_back(format.row((static_cast<double>(r) - (rows - 1) / 2) * step + (all_rows - 1) / 2));
      inputs.push_back(format.column((static_cast<double>(c) - (columns - 1) / 2) * step + (all_columns - 1) / 2));
    }
  return inputs;
}

std::vector<std::size_t> pixels_at(const ImageFormat& format, std::span<const double> x) {
  std::vector<std::size_t> pixels;
  for (std::size_t i = 0; i + 1 < x.size(); i += 2) {
    const double row = std::round(format.row.inverse(x[i])), column = std::round(format.column.inverse(x[i + 1]));
    const bool inside = row >= 0 && row < static_cast<double>(format.height) && column >= 0 &&
                        column < static_cast<double>(format.width);
    check(inside, "[complete] a point at ({}, {}) is not a pixel of an image of {} x {}", x[i], x[i + 1], format.height,
          format.width);
    pixels.push_back(static_cast<std::size_t>(row * static_cast<double>(format.width) + column));
  }
  return pixels;
}

Picture picture_of(const ImageFormat& format, std::span<const double> x, std::span<const double> y) {
  CompletedPicture image{format.height, format.width, format.channels};
  const auto channels = static_cast<std::size_t>(format.channels);
  std::vector<double> shares(static_cast<std::size_t>(format.height * format.width) * channels, 0);
  const std::vector<std::size_t> pixels = pixels_at(format, x);
  for (std::size_t i = 0; i < y.size(); ++i)
    shares[pixels[i / channels] * channels + i % channels] = share_of_white(format, y[i]);
  return as_picture(image, shares);
}

PixelMask random_pixels(std::int64_t pixels, double share, std::uint64_t seed) {
  check(share >= 0 && share <= 1, "[complete] a share of {} found, expected a number from 0 to 1", share);
  const auto count = static_cast<std::int64_t>(std::lround(share * static_cast<double>(pixels)));
  const Permutation order(pixels, seed, 0);
  PixelMask shown(static_cast<std::size_t>(pixels));
  for (std::int64_t i = 0; i < count; ++i) shown[static_cast<std::size_t>(order(i))] = true;
  return shown;
}

ImageModel load_image_model(const std::string& weights) {
  return with_errors([&]() -> ImageModel {
    const Checkpoint checkpoint = load_checkpoint(find_weights(weights));
    const TrainingRun& run = checkpoint.run;
    const auto format = run.protocol.data->image_format();
    check(format.has_value(), "[complete] {} trained under {} found, expected a model of images", run.spec.name,
          run.protocol.name);
    return {restore_model(checkpoint), model_info(run.spec.name).drawing(), *format,
            fmt::format("{} under {}", run.spec.name, run.protocol.name)};
  });
}

CompletedPicture complete_picture(const CompletionRequest& request) {
  return call_application(request.stop, nullptr, [&] {
    const ImageModel image_model = model_of(request);
    const Model& model = *image_model.model;
    const DeviceScope on(device_of(model));
    const ImageFormat& format = image_model.format;
    bool lost_colours = false;
    Picture picture = picture_of_request(request, image_model, lost_colours);
    PixelMask shown = mask_of_request(request, picture);
    CompletedPicture result{.height = request.height > 0 ? request.height : picture.height,
                            .width = request.width > 0 ? request.width : picture.width,
                            .channels = picture.channels};
    const PixelPoints context = points_of(format, picture, shown, true),
                      hidden = points_of(format, picture, shown, false);
    const std::vector<double> grid = pixel_inputs(format, result.height, result.width);
    const std::int64_t unknown = std::ssize(hidden.x) / 2, all = result.height * result.width + unknown;
    std::int64_t done = 0;
    if (request.progress) request.progress(0, all);
    Draws draws(request.seed, Purpose::prediction, 0);
    const auto state = model.condition(
        {as_task(context.x, 2, DType::float32), as_task(context.y, picture.channels, DType::float32)}, draws, kSamples);
    PixelQuestions questions(model, image_model.density, *state, draws, request.job, [&](std::int64_t count) {
      done += count;
      if (request.progress) request.progress(done, all);
    });
    questions.ask<PredictedPixels>(
        grid,
        [&](const Prediction& prediction, std::int64_t, std::int64_t) {
          const Moments said = moments(prediction);
          PredictedPixels pixels;
          for (const double mean : said.mean.values<double>()) pixels.mean.push_back(share_of_white(format, mean));
          for (const double std : said.std.values<double>())
            pixels.deviation.push_back(std / std::abs(255 * format.value.scale));
          pixels.samples = questions.functions(prediction, request.samples);
          for (std::vector<double>& sample : pixels.samples)
            for (double& value : sample) value = share_of_white(format, value);
          return pixels;
        },
        [&](const PredictedPixels& pixels) {
          append(pixels.mean, result.mean);
          append(pixels.deviation, result.deviation);
          result.samples.resize(pixels.samples.size());
          for (std::size_t k = 0; k < pixels.samples.size(); ++k) append(pixels.samples[k], result.samples[k]);
        });
    double squares = 0, log_likelihood = 0;
    const auto channels = static_cast<std::size_t>(picture.channels);
    questions.ask<ScoredPixels>(
        hidden.x,
        [&](const Prediction& prediction, std::int64_t begin, std::int64_t end) {
          return score_pixels(format, prediction,
                              std::span(hidden.y).subspan(static_cast<std::size_t>(begin) * channels,
                                                          static_cast<std::size_t>(end - begin) * channels));
        },
        [&](const ScoredPixels& scored) {
          for (const double square : scored.squares) squares += square;
          for (const double value : scored.log_likelihood) log_likelihood += value;
        });
    if (unknown > 0) {
      result.squared_error = squares / static_cast<double>(hidden.y.size());
      result.log_likelihood = log_likelihood / static_cast<double>(unknown);
    }
    result.given = std::move(picture);
    result.lost_colours = lost_colours;
    result.shown = std::move(shown);
    return result;
  });
}

Picture finished_picture(const CompletedPicture& completed) {
  const Picture& given = completed.given;
  Picture picture = as_picture(completed, completed.mean);
  if (picture.height != given.height || picture.width != given.width) return picture;
  const auto channels = static_cast<std::size_t>(given.channels);
  for (std::size_t i = 0; i < given.bytes.size(); ++i)
    if (completed.shown[i / channels]) picture.bytes[i] = given.bytes[i];
  return picture;
}

Picture as_picture(const CompletedPicture& completed, const std::vector<double>& values) {
  Picture picture{completed.height, completed.width, completed.channels};
  picture.bytes.reserve(values.size());
  for (const double value : values)
    picture.bytes.push_back(static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0))));
  return picture;
}

}  // namespace npzoo
