#include "npzoo/models/applications/images/picture_completion.h"

#include <doctest/doctest.h>

#include <fstream>
#include <numbers>
#include <stop_token>

#include "npzoo/datasets/pictures/encode_png.h"
#include "npzoo/engine/cancellation.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kSide = 5;

/// Returns a format of 5 × 5 pixels on [-1, 1], with values from -0.5 to 0.5.
ImageFormat format_of(std::int64_t channels) {
  const AffineMap place{2.0 / (kSide - 1), -1};
  return {kSide, kSide, channels, place, place, {1 / 255.0, -0.5}};
}

Picture drawn(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Picture picture{height, width, channels};
  for (std::int64_t i = 0; i < height * width * channels; ++i)
    picture.bytes.push_back(static_cast<std::uint8_t>(37 * i % 256));
  return picture;
}

std::shared_ptr<const Model> image_model(const ModelCase& c) { return varied_model(c.spec, DType::float32); }

/// A small model of grey images.
ImageModel grey_model() {
  ModelConfig config = small_model("tnp-d").config;
  config["dim_x"] = std::int64_t{2};
  return {varied_model({"tnp-d", config}, DType::float32), Density::marginal, format_of(1)};
}

/// Small models of images: two inputs, one value or three.
std::vector<ModelCase> image_models() {
  std::vector<ModelCase> cases = small_models();
  std::erase_if(
      cases, [](const ModelCase& c) { return c.spec.config.at("dim_x") != ModelConfig::mapped_type(std::int64_t{2}); });
  return cases;
}

}  // namespace

TEST_CASE("picture completion: inputs of pixels") {
  const ImageFormat format{3, 4, 1, {0.5, -1}, {0.25, 2}, {1, 0}};
  std::vector<double> own;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 4; ++c) own.insert(own.end(), {format.row(r), format.column(c)});
  CHECK(pixel_inputs(format, 3, 4) == own);

  const auto twice = pixel_inputs(format, 6, 8);  // four where one was, about its middle
  const auto place = [&](int r, int c, int axis) { return twice[static_cast<std::size_t>(2 * (r * 8 + c) + axis)]; };
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 4; ++c) {
      CHECK((place(2 * r, 2 * c, 0) + place(2 * r + 1, 2 * c, 0)) / 2 == format.row(r));
      CHECK((place(2 * r, 2 * c, 1) + place(2 * r, 2 * c + 1, 1)) / 2 == format.column(c));
    }
  CHECK(place(1, 0, 0) - place(0, 0, 0) == 0.25);

  const auto wide = pixel_inputs(format, 1, 8);  // half a pixel for each, in the middle row
  CHECK(wide[0] == format.row(1));
  CHECK(wide[1] == format.column(-0.25));
  CHECK(wide[15] == format.column(3.25));
}

TEST_CASE("picture completion: pixels are chosen by share and seed") {
  const auto count = [](const PixelMask& mask) { return std::ranges::count(mask, true); };
  CHECK(count(random_pixels(784, 0, 1)) == 0);
  CHECK(count(random_pixels(784, 1, 1)) == 784);
  const PixelMask few = random_pixels(784, 0.1, 1), more = random_pixels(784, 0.3, 1);
  CHECK(count(few) == 78);
  CHECK(count(more) == 235);
  for (std::size_t i = 0; i < few.size(); ++i) CHECK((!few[i] || more[i]));
  CHECK(random_pixels(784, 0.1, 1) == few);
  CHECK(random_pixels(784, 0.1, 2) != few);
  for (const double share : {-0.1, 1.1, kNaN})
    CHECK(error_of([&] { random_pixels(784, share, 1); }).starts_with("[complete] a share of "));
}

TEST_CASE("picture completion: images are pictures and back") {
  for (const std::int64_t channels : {1, 3}) {
    const ImageFormat format = format_of(channels);
    const Picture picture = drawn(kSide, kSide, channels);
    const auto x = pixel_inputs(format, kSide, kSide);
    std::vector<double> y;
    for (const std::uint8_t byte : picture.bytes) y.push_back(format.value(byte));
    CHECK(picture_of(format, x, y).bytes == picture.bytes);
    const auto pixels = pixels_at(format, x);
    for (std::size_t i = 0; i < pixels.size(); ++i) CHECK(pixels[i] == i);
  }
  CHECK(error_of([] {
          pixels_at(format_of(1), std::vector{0.0, 1.5});
        }) == "[complete] a point at (0, 1.5) is not a pixel of an image of 5 x 5");
}

TEST_CASE("picture completion: every model predicts pixels as it predicts points") {
  for (const ModelCase& c : image_models()) {
    CAPTURE(c.label);
    const auto model = image_model(c);
    const Density density = model_info(c.spec.name).drawing();
    const ImageFormat format = format_of(model->dim_y());
    const Picture picture = drawn(4, kSide, model->dim_y());
    const PixelMask shown = random_pixels(20, 0.4, 3);
    if (!model->likelihood().gaussian()) {
      const auto complete = [&] {
        complete_picture({.model = ImageModel{model, density, format}, .picture = picture, .shown = shown});
      };
      CHECK(error_of(complete).starts_with("[complete] the model predicts by the likelihood "));
      continue;
    }
    const CompletedPicture completed = complete_picture(
        {.model = ImageModel{model, density, format}, .picture = picture, .shown = shown, .samples = 2, .seed = 9});

    const auto inputs = pixel_inputs(format, 4, kSide);
    std::vector<double> xc, yc, xt, yt;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      (shown[i] ? xc : xt).insert((shown[i] ? xc : xt).end(), {inputs[2 * i], inputs[2 * i + 1]});
      for (std::int64_t k = 0; k < model->dim_y(); ++k)
        (shown[i] ? yc : yt).push_back(format.value(picture.bytes[i * std::size_t(model->dim_y()) + std::size_t(k)]));
    }
    const auto task = [](const std::vector<double>& values, std::int64_t width) {
      return Tensor::from<double>({1, std::ssize(values) / width, width}, std::span(values))
          .to(DType::float32)
          .to(default_device());
    };
    Draws draws(9, Purpose::prediction, 0);
    const auto state = model->condition({task(xc, 2), task(yc, model->dim_y())}, draws, kSamples);
    const auto prediction = model->query(*state, task(inputs, 2));
    const auto everywhere = moments(*prediction);
    const bool draws_functions = density == Density::mixture && prediction->marginals().mean.dim(0) > 1;
    REQUIRE(completed.samples.size() == (density == Density::joint || draws_functions ? 2 : 0));
    for (std::size_t k = 0; draws_functions && k < 2; ++k) {
      const auto functions = doubles(prediction->marginals().mean);
      for (std::size_t i = 0; i < completed.mean.size(); ++i)
        CHECK(completed.samples[k][i] == format.value.inverse(functions[k * completed.mean.size() + i]) / 255);
    }
    const auto mean = doubles(everywhere.mean), std = doubles(everywhere.std);
    REQUIRE(completed.mean.size() == mean.size());
    for (std::size_t i = 0; i < mean.size(); ++i) {
      CHECK(completed.mean[i] == format.value.inverse(mean[i]) / 255);
      CHECK(std::abs(completed.deviation[i] - std[i]) <= kTolerance<double> * std[i]);
    }
    const auto hidden = model->query(*state, task(xt, 2));
    const auto guessed = doubles(moments(*hidden).mean);
    double squares = 0, likelihood = 0;
    for (std::size_t i = 0; i < yt.size(); ++i) squares += (guessed[i] - yt[i]) * (guessed[i] - yt[i]);
    for (const double each : doubles(hidden->log_likelihood(task(yt, model->dim_y())))) likelihood += each;
    CHECK(std::abs(*completed.squared_error - squares / double(yt.size())) <= kRounding * squares);
    CHECK(*completed.log_likelihood == doctest::Approx(likelihood / 12).epsilon(kRounding));
  }
}

TEST_CASE("picture completion: any size, in chunks, and seen pixels stay") {
  const ImageModel model = grey_model();
  const Picture picture = drawn(kSide, kSide, 1);
  const PixelMask shown = random_pixels(25, 0.2, 1);
  const auto at_size = [&](std::int64_t height, std::int64_t width) {
    return complete_picture({.model = model, .picture = picture, .shown = shown, .height = height, .width = width});
  };
  const CompletedPicture own = at_size(0, 0), twice = at_size(10, 10);
  CHECK(twice.mean.size() == 100);
  CHECK(*own.squared_error == *twice.squared_error);
  CHECK(*own.log_likelihood == *twice.log_likelihood);
  // A grid of three times as many has the picture's pixels in the middles of its cells.
  const CompletedPicture thrice = at_size(15, 15);
  for (std::size_t r = 0; r < 5; ++r)
    for (std::size_t c = 0; c < 5; ++c)
      CHECK(std::abs(thrice.mean[(3 * r + 1) * 15 + 3 * c + 1] - own.mean[r * 5 + c]) <= 100 * kTolerance<float>);

  std::int64_t last = 0, all = 0, calls = 0;
  const auto count = [&](std::int64_t done, std::int64_t total) {
    CHECK(done >= last);
    last = done;
    all = total;
    ++calls;
  };
  const CompletedPicture large = complete_picture(
      {.model = model, .picture = picture, .shown = shown, .height = 100, .width = 100, .progress = count});
  CHECK(large.mean.size() == 10'000);
  CHECK((last == 10'020 && all == 10'020 && calls == 5));

  const Picture finished = finished_picture(own);
  for (std::size_t i = 0; i < 25; ++i) {
    const double mean = std::clamp(own.mean[i], 0.0, 1.0);
    CHECK(finished.bytes[i] == (shown[i] ? picture.bytes[i] : static_cast<std::uint8_t>(std::lround(255 * mean))));
  }
  CHECK(finished_picture(twice).bytes == as_picture(twice, twice.mean).bytes);
  CHECK(as_picture({1, 4, 1}, {-2, 0.5, 1, 7}).bytes == std::vector<std::uint8_t>{0, 128, 255, 255});

  const PixelMask everything(25, true);
  const CompletedPicture known = complete_picture({.model = model, .picture = picture, .shown = everything});
  CHECK((!known.squared_error && !known.log_likelihood));
}

TEST_CASE("picture completion: a share, a mask and files of both are the same pixels") {
  const ImageModel model = grey_model();
  const Picture picture = drawn(kSide, kSide, 1);
  const TemporaryDirectory folder;
  const auto written = [&](const std::string& name, const Picture& image) {
    std::ofstream(folder / name, std::ios::binary) << encode_png(image, name);
    return folder / name;
  };
  Picture light{kSide, kSide, 1};
  const PixelMask shown = random_pixels(25, 0.4, 6);
  for (const bool is_shown : shown) light.bytes.push_back(is_shown ? 128 : 127);
  const CompletedPicture by_mask = complete_picture({.model = model, .picture = picture, .shown = shown, .seed = 6});
  const CompletedPicture by_share = complete_picture({.model = model, .picture = picture, .shown = 0.4, .seed = 6});
  const CompletedPicture by_files = complete_picture(
      {.model = model, .picture = written("given.png", picture), .shown = written("mask.png", light), .seed = 6});
  for (const CompletedPicture* other : {&by_share, &by_files}) {
    CHECK((other->mean == by_mask.mean && other->deviation == by_mask.deviation));
    CHECK((other->shown == shown && other->given.bytes == picture.bytes));
    CHECK((other->squared_error == by_mask.squared_error && other->log_likelihood == by_mask.log_likelihood));
  }
}

TEST_CASE("picture completion: a stop request interrupts between chunks") {
  std::stop_source source;
  const CompletionRequest request{.model = grey_model(),
                                  .picture = drawn(kSide, kSide, 1),
                                  .shown = 0.4,
                                  .height = 100,
                                  .width = 100,
                                  .progress =
                                      [&](std::int64_t done, std::int64_t) {
                                        CHECK(done <= 4096);
                                        if (done > 0) source.request_stop();
                                      },
                                  .stop = source.get_token()};
  CHECK_THROWS_AS(complete_picture(request), Interrupted);
}

TEST_CASE("picture completion: errors") {
  const ImageModel model = grey_model();
  const Picture picture = drawn(2, 2, 1), colours = drawn(2, 2, 3);
  const PixelMask none(4, false), some(4, true), other(5, true);
  const auto error = [&](const Picture& given, const PixelMask& shown) {
    return error_of([&] { complete_picture({.model = model, .picture = given, .shown = shown}); });
  };
  CHECK(error(colours, some) == "[complete] the picture has 3 channels, expected 1, like the images of the model");
  CHECK(error({2, 2, 1, {1, 2, 3}}, some) == "[complete] the picture of 2 x 2 pixels has 3 bytes, expected 4");
  CHECK(error(picture, other) == "[complete] a mask of 5 pixels found, expected 4");
  CHECK(error(picture, none) == "[complete] no pixel is shown, expected at least one");
  CHECK(error_of([&] { complete_picture({.model = "npzoo/any-1d", .picture = picture, .shown = some}); }) ==
        "[complete] kriging-tnp trained under npzoo/any-1d found, expected a model of images");
}
