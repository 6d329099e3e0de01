#include <doctest/doctest.h>

#include "npzoo/models/convcnp/convcnp.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// 24 pixels along each input, of which the middle ones see no border: convolutions reach 2 + 2 · 1 pixels.
constexpr std::int64_t kPixels = 24;

ModelSpec pixel_model(std::int64_t dim_x, std::int64_t dim_y) {
  ModelConfig config = model_config_from_json(
      R"({"architecture": "on-grid", "width": 5, "kernel": 3, "density_kernel": 5, "blocks": 1, "head_hidden": 6,
          "min_std": 0.01, "grid_low": -1.0, "grid_high": 1.0, "grid_size": 24})",
      "test");
  config["dim_x"] = dim_x;
  config["dim_y"] = dim_y;
  return {"convcnp", config};
}

double input_of(std::int64_t pixel) { return -1 + 2 * static_cast<double>(pixel) / (kPixels - 1); }

/// `count` different pixels from 9 to 15 of each input, `shift` farther.
Tensor pixels(std::int64_t dim_x, std::int64_t count, std::uint64_t seed, std::int64_t shift) {
  Random random(seed);
  Tensor x = Tensor::empty({1, count, dim_x}, DType::float64, Device::cpu);
  for (double& place : x.values<double>()) place = input_of(random.integer(9, 16) + shift);
  return x.to(default_device());
}

struct Seen {
  std::int64_t row, column;
  double value;
};

Context context_of(const std::vector<Seen>& seen) {
  std::vector<double> x, y;
  for (const Seen& pixel : seen) {
    x.insert(x.end(), {input_of(pixel.row), input_of(pixel.column)});
    y.push_back(pixel.value);
  }
  const auto count = std::ssize(seen);
  return {Tensor::from<double>({1, count, 2}, x).to(default_device()),
          Tensor::from<double>({1, count, 1}, y).to(default_device())};
}

Tensor parameter(Model& model, const std::string& name) {
  for (const auto& [known, found] : named_parameters(model))
    if (known == name) return found->value;
  fail("[testing] no parameter {}", name);
}

}  // namespace

TEST_CASE("convcnp on the grid: predictions move with an image by whole pixels") {
  for (const std::int64_t dim_x : {1, 2})
    for (const std::int64_t dim_y : {1, 3})
      for (const std::int64_t shift : {1, 3, -4}) {
        CAPTURE(dim_x);
        CAPTURE(dim_y);
        CAPTURE(shift);
        const auto model = varied_model(pixel_model(dim_x, dim_y));
        const Tensor y = normal<double>({1, 11, dim_y}, 3);
        const auto moments = [&](std::int64_t by, std::uint64_t targets) {
          return query(*model, *condition(*model, {pixels(dim_x, 11, 1, by), y}), pixels(dim_x, 8, targets, by));
        };
        CHECK(difference(moments(shift, 2), moments(0, 2)) <= 1e-12);
        const auto fixed_targets =
            query(*model, *condition(*model, {pixels(dim_x, 11, 1, shift), y}), pixels(dim_x, 8, 2, 0));
        CHECK(difference(fixed_targets, moments(0, 2)) > 1e-6);
      }
}

TEST_CASE(
    "convcnp on the grid: the first layer is a weighted mean of the pixels that are seen, and how many there are") {
  const auto model = varied_model(pixel_model(2, 1));
  const std::vector<Seen> seen{{0, 0, 0.3}, {3, 7, -1.5}, {4, 7, 2.0}, {4, 9, 0.25}, {23, 22, -0.75}, {4, 9, 0.75}};
  const auto state = condition(*model, context_of(seen));
  const Tensor encoding = dynamic_cast<const GriddedContext&>(*state).encoding;
  const auto kernel = doubles(parameter(*model, "encoder.kernel")),
             weight = doubles(parameter(*model, "encoder.linear.weight")),
             bias = doubles(parameter(*model, "encoder.linear.bias")), found = doubles(encoding);
  REQUIRE(encoding.shape() == Shape{1, kPixels, kPixels, 5});
  REQUIRE(std::ranges::any_of(kernel, [](double w) { return w < 0; }));
  double worst = 0;
  for (std::int64_t r = 0; r < kPixels; ++r)
    for (std::int64_t c = 0; c < kPixels; ++c) {
      double density = 0, image = 0;
      for (const Seen& pixel : seen) {
        const std::int64_t k = pixel.row - r + 2, l = pixel.column - c + 2;
        if (k < 0 || k > 4 || l < 0 || l > 4) continue;
        const double w = std::abs(kernel[static_cast<std::size_t>(5 * k + l)]);
        density += w;
        image += w * pixel.value;
      }
      const double mean = image / std::max(density, 1e-5);
      for (std::int64_t f = 0; f < 5; ++f) {
        const auto at = static_cast<std::size_t>((r * kPixels + c) * 5 + f), row = static_cast<std::size_t>(2 * f);
        worst = std::max(worst, std::abs(found[at] - (weight[row] * mean + weight[row + 1] * density +
                                                      bias[static_cast<std::size_t>(f)])));
      }
    }
  CHECK(worst <= 1e-12);
}

TEST_CASE("convcnp on the grid: a pixel far from another one does not feel it, exactly") {
  const auto model = varied_model(pixel_model(2, 1));
  const Tensor target = context_of({{12, 12, 0}}).xc;
  const auto with = [&](std::vector<Seen> seen) { return query(*model, *condition(*model, context_of(seen)), target); };
  const Moments alone = with({{12, 13, 1}});
  CHECK(difference(with({{12, 13, 1}, {12, 17, 5}}), alone) == 0);  // 5 pixels on
  CHECK(difference(with({{12, 13, 1}, {12, 15, 5}}), alone) > 1e-9);
}

TEST_CASE("convcnp on the grid: inputs of float32 are pixels as well as those of float64") {
  const auto exact = varied_model(pixel_model(2, 3)), single = varied_model(pixel_model(2, 3), DType::float32);
  const Task task = random_task(*exact, {}), rounded = random_task(*single, {}, DType::float32);
  CHECK(difference(predict(*single, rounded).mean.to(DType::float64), predict(*exact, task).mean) <= 1e-5);
}

TEST_CASE("convcnp on the grid: points off the grid are refused") {
  const auto model = varied_model(pixel_model(2, 1));
  const std::string pixels_known = "expected one of 24 x 24 pixels from -1 to 1 and from -1 to 1";
  Context context = context_of({{3, 4, 1.0}, {5, 6, 2.0}});
  const auto state = condition(*model, context);
  const auto moved = [](const Tensor& x, std::size_t at, double to) {
    Tensor changed = x.to(Device::cpu).clone();
    changed.values<double>()[at] = to;
    return changed.to(default_device());
  };
  for (const double place : {0.01, 1.1, 1e300}) {
    CHECK(error_of([&] {
            condition(*model, {moved(context.xc, 2, place), context.yc});
          }) == fmt::format("[convcnp] input 1 of point 2 is {}, {}", place, pixels_known));
    CHECK(error_of([&] { model->query(*state, moved(context.xc, 1, place)); }) ==
          fmt::format("[convcnp] input 2 of point 1 is {}, {}", place, pixels_known));
    CHECK(error_of([&] {
            model->update(*state, {moved(context.xc, 0, place), context.yc});
          }) == fmt::format("[convcnp] input 1 of point 1 is {}, {}", place, pixels_known));
  }
  CHECK(error_of([&] {
          model->query(*state, moved(context.xc, 0, std::nan("")));
        }).starts_with("[convcnp] input 1 of point 1 is nan"));
  // Padding may be anything.
  const Moments before =
      query(*model, *condition(*model, {slice(context.xc, 1, 0, 1), slice(context.yc, 1, 0, 1)}), context.xc);
  const Context padded{moved(context.xc, 2, 0.01), context.yc, Tensor::from<std::int64_t>({1}, {1})};
  CHECK(difference(query(*model, *condition(*model, padded), context.xc), before) == 0);
  Task task{context.xc, context.yc, moved(context.xc, 2, 0.01), context.yc};
  CHECK(error_of([&] { loss(*model, task); }) == fmt::format("[convcnp] input 1 of point 2 is 0.01, {}", pixels_known));
  task.target_lengths = Tensor::from<std::int64_t>({1}, {1});
  task.target_weights = Tensor::from<double>({1, 2}, {1, 0}).to(default_device());
  const Task first{context.xc, context.yc, slice(context.xc, 1, 0, 1), slice(context.yc, 1, 0, 1)};
  CHECK(std::abs(loss(*model, task).item() - loss(*model, first).item()) <= 1e-12);
}
