#include "npzoo/models/convcnp/convcnp.h"

#include <doctest/doctest.h>

#include "npzoo/models/blocks/linear.h"
#include "npzoo/models/convcnp/grids.h"
#include "npzoo/models/parity/parity.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::vector<ModelSpec> small_convcnps() {
  std::vector<ModelSpec> specs;
  for (const ModelCase& c : small_models())
    if (c.spec.name == "convcnp") specs.push_back(c.spec);
  return specs;
}

/// The same model with its grid elsewhere.
ModelSpec moved(ModelSpec spec, double shift) {
  for (const char* key : {"grid_low", "grid_high"}) std::get<double>(spec.config.at(key)) += shift;
  return spec;
}

/// Multiples of 2^-20 around the middle, which a shift by a short binary fraction leaves exact.
Tensor binary_places(const Shape& shape, std::uint64_t seed, double shift) {
  Tensor x = Tensor::empty(shape, DType::float64, Device::cpu);
  Random random(seed);
  for (double& value : x.values<double>())
    value = static_cast<double>(random.integer(-2'000'000, 2'000'000)) / (1 << 20) + shift;
  return x.to(default_device());
}

GriddedContext gridded(const Model& model, const Tensor& x, const Tensor& y) {
  return dynamic_cast<const GriddedContext&>(*condition(model, {x, y}));
}

std::string config_error(const char* changes, std::int64_t dim_x = 1) {
  ModelConfig config = small_convcnps().front().config;
  for (const auto& [key, value] : model_config_from_json(changes, "changes")) config[key] = value;
  config["dim_x"] = dim_x;
  return error_of([&] { make_model({"convcnp", config}); });
}

}  // namespace

TEST_CASE("identity 17: predictions of a ConvCNP move with its points by whole steps of its grid") {
  for (const ModelSpec& spec : small_convcnps())
    for (const int steps : {1, 7, -12}) {
      CAPTURE(std::get<std::string>(spec.config.at("architecture")));
      const auto here = varied_model(spec);
      const std::int64_t dx = here->dim_x(), dy = here->dim_y();
      const Tensor yc = normal<double>({2, 9, dy}, 3);
      const Tensor xc = nearest_places(*here, binary_places({2, 9, dx}, 1, 0)),
                   xt = nearest_places(*here, binary_places({2, 6, dx}, 2, 0));
      const double step = gridded(*here, xc, yc).grid.columns().step, shift = steps * step;
      const auto there = varied_model(moved(spec, shift));
      const auto shifted = [&](const Tensor& x) { return affine(x, 1, shift); };
      const auto moments = [&](const Model& model, const Tensor& c, const Tensor& t) {
        return query(model, *condition(model, {c, yc}), t);
      };
      CHECK(difference(moments(*there, shifted(xc), shifted(xt)), moments(*here, xc, xt)) <= 1e-12);
      if (here->places()) continue;
      CHECK(difference(moments(*here, shifted(xc), shifted(xt)), moments(*here, xc, xt)) > 1e-6);  // padding is seen
    }
}

TEST_CASE("identity 17: points that are given twice double the density, and leave the values over it") {
  for (const ModelSpec& spec : small_convcnps()) {
    CAPTURE(std::get<std::string>(spec.config.at("architecture")));
    const auto model = varied_model(spec);
    const Tensor x = nearest_places(*model, binary_places({2, 9, model->dim_x()}, 1, 0)),
                 y = normal<double>({2, 9, model->dim_y()}, 3);
    const Tensor once = gridded(*model, x, y).sums;
    const Tensor twice = gridded(*model, concat({x, x}, 1), concat({y, y}, 1)).sums;
    CHECK(difference(twice, affine(once, 2, 0)) <= 1e-14);
    CHECK(difference(over_density(twice, 0),
                     concat({affine(slice(once, -1, 0, 1), 2, 0), slice(over_density(once, 0), -1, 1, once.dim(-1))},
                            -1)) <= 1e-12);
  }
}

TEST_CASE("convcnp: grids as the three codes make them") {
  const GridAxis simple = convcnp_axis({-2, 2}, 64, 1), unet = convcnp_axis({-2, 2}, 64, 64);
  CHECK(simple.count == 269);
  CHECK(unet.count == 320);
  for (const GridAxis& axis : {simple, unet}) {
    CHECK(axis.origin == -2.1);
    CHECK(std::abs(axis.node(axis.count - 1) - 2.1) <= 1e-14);
  }
  // Their code loses a point of every multiple that rounding leaves below itself.
  for (double high = 2; high < 4; high += 0.01) CHECK(convcnp_axis({-2, high}, 16, 64).count % 64 == 0);

  const GridAxis dl4bi = dl4bi_axis({-2.5, 2.5}, 64);
  CHECK(dl4bi.count == 320);
  CHECK(std::abs(dl4bi.node(319) - 2.5) <= 1e-14);

  for (const std::int64_t multiple : {1, 4, 64}) {
    const GridAxis axis = convgnp_axis({-1, 1.3}, 20, multiple, 0.1);
    CHECK(axis.count % multiple == 0);
    CHECK(axis.step == 0.05);
    CHECK(axis.node(0) <= -1.1 + 1e-12);
    CHECK(axis.node(axis.count - 1) >= 1.4 - 1e-12);
    CHECK(std::abs(axis.origin / axis.step - std::round(axis.origin / axis.step)) <= 1e-9);
  }
}

TEST_CASE("convcnp: points outside the grid interact with the part of it within their reach") {
  const auto model = varied_model(small_convcnps().front());
  const Task task = random_task(*model, {1, 5, 3});
  const Tensor far = Tensor::full({1, 2, model->dim_x()}, 1e6, DType::float64);
  const Tensor y = normal<double>({1, 2, model->dim_y()}, 1);
  const Moments before = predict(*model, task);
  const Context more{concat({task.xc, far}, 1), concat({task.yc, y}, 1), {}};
  const auto state = condition(*model, more);
  CHECK(difference(query(*model, *state, task.xt), before) == 0);
  const Moments there = query(*model, *state, far);
  CHECK(all_finite(there.mean));
  CHECK(difference(slice(there.mean, 1, 0, 1), slice(there.mean, 1, 1, 2)) == 0);
}

TEST_CASE(
    "convcnp: its loss is a sum over targets in its own code, and a mean over targets and channels in the others") {
  for (const ModelSpec& spec : small_convcnps()) {
    const auto architecture = std::get<std::string>(spec.config.at("architecture"));
    CAPTURE(architecture);
    const auto model = varied_model(spec);
    Task task = random_task(*model, {});
    const double mean = target_nll(*model, task).item(), targets = static_cast<double>(task.xt.dim(1));
    const bool own = architecture == "simple" || architecture == "unet";
    const double expected = own ? mean * targets : mean / static_cast<double>(model->dim_y());
    CHECK(std::abs(loss(*model, task).item() - expected) <= 1e-12 * std::abs(expected));
    task.target_weights = Tensor::full({task.xt.dim(0), task.xt.dim(1)}, 1, DType::float64);
    CHECK(std::abs(loss(*model, task).item() - expected) <= 1e-12 * std::abs(expected));
  }
}

TEST_CASE("convcnp: errors") {
  CHECK(config_error("{}", 3) == "[convcnp] dim_x is 3, expected 1 or 2: convolutions are over one input or two");
  CHECK(config_error(R"({"architecture": "conv"})") ==
        "[convcnp] architecture 'conv' found, expected simple, unet, dl4bi, convgnp-conv, convgnp-unet or on-grid");
  CHECK(config_error(R"({"grid_low": 3.0})") == "[convcnp] grid_low is 3 and grid_high 3, expected a range");
  CHECK(config_error(R"({"points_per_unit": 0.0})") ==
        "[convcnp] points_per_unit is 0, expected a number from 1e-6 to 1e15");
  CHECK(config_error(R"({"points_per_unit": 1e12})") ==
        "[convcnp] the grid has 16777217 nodes, expected 1 to 16777216");
  CHECK(config_error(R"({"architecture": "unet", "halvings": 7})")
            .starts_with("[convcnp] halvings is 7, expected an integer from 1 to 6"));
  const auto of_form = [](std::size_t form, const char* changes) {
    ModelConfig config = small_convcnps().at(form).config;
    for (const auto& [key, value] : model_config_from_json(changes, "changes")) config[key] = value;
    return error_of([&] { make_model({"convcnp", config}); });
  };
  CHECK(of_form(2, R"({"kernel": 4})") == "[convcnp] kernel is 4, expected an odd number");
  CHECK(of_form(3, R"({"conv_receptive_field": 1e9})") ==
        "[convcnp] conv_receptive_field is 1000000000, expected layers of 1 to 4096 nodes");
  CHECK(of_form(3, R"({"margin": -1.0})") == "[convcnp] margin is -1, expected a number >= 0");
  for (const char* widths : {"", "6 x", "0 4", "70000"})
    CHECK(of_form(4, fmt::format(R"({{"unet_channels": "{}"}})", widths).c_str()) ==
          fmt::format("[convcnp] unet_channels is '{}', expected 1 to 16 numbers from 1 to 65536", widths));
  CHECK(of_form(5, R"({"grid_size": 1})") == "[convcnp] grid_size is 1, expected 2 or more");
  CHECK(of_form(5, R"({"density_kernel": 4})") == "[convcnp] density_kernel is 4, expected an odd number");
  CHECK(of_form(5, R"({"points_per_unit": 2.0})").starts_with("[convcnp] "));
  const auto model = varied_model(small_convcnps().front());
  const Task one = random_task(*model, {1, 3, 1}), three = random_task(*model, {3, 3, 1});
  const auto state = condition(*model, context_of(one));
  CHECK(error_of([&] { model->update(*state, context_of(three)); }) ==
        "[convcnp] 3 batch elements found, expected 1 as in the state");
}
