#include "npzoo/models/applications/tables/point_predictor.h"

#include "npzoo/datasets/tables/points.h"
#include "npzoo/engine/cancellation.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using PointNumbers = std::vector<double>;

const TrainedModel& point_weights() {
  static const TrainedModel trained = as_trained(small_run(), make_model(small_run().spec, {.seed = 3}));
  return trained;
}

PointOptions point_options() { return {.x_names = {"x"}, .y_names = {"y"}}; }

const PointNumbers kPointX{0, 1, 3, 4}, kPointY{5, 6, 8, 7}, kPointTargets{0.5, 2, 9};

}  // namespace

TEST_CASE("points: predicts as the model does, in the units of the data") {
  const OnCpu cpu;
  PointPredictor predictor(point_weights(), kPointX, kPointY, point_options());
  predictor.observe(kPointX, kPointY);
  const PointFigures figures = predictor.predict(kPointTargets);
  const Standardisation& units = predictor.report().units;
  Draws draws(7, Purpose::prediction, 0);
  const Model& model = *point_weights().model;
  const auto state = model.condition(
      {to_points(units.map_inputs(kPointX), 1), to_points(units.map_values(kPointY), 1), {}}, draws, kSamples);
  const Moments expected = moments(*model.query(*state, to_points(units.map_inputs(kPointTargets), 1)));
  REQUIRE(figures.mean.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(figures.mean[i] == units.values[0].mean(expected.mean.values<double>()[i]));
    CHECK(figures.std[i] == units.values[0].std(expected.std.values<double>()[i]));
  }
  CHECK(predictor.context_rows() == 4);
  CHECK(predictor.report().targets.rows() == 3);
  CHECK(predictor.report().unit_rows == 4);
  CHECK(std::ranges::any_of(predictor.report().warnings(),
                            [](const Warning& w) { return w.about == "inputs of targets 0"; }));
}

TEST_CASE("points: a chunk at a time gives the same figures, and targets count once") {
  const OnCpu cpu;
  PointOptions small = point_options();
  small.chunk = 2;
  PointPredictor whole(point_weights(), kPointX, kPointY, point_options()),
      parts(point_weights(), kPointX, kPointY, small);
  CHECK(parts.targets_at_a_time() == 2);
  for (PointPredictor* predictor : {&whole, &parts}) predictor->observe(kPointX, kPointY);
  const PointNumbers expected = whole.predict(kPointTargets).mean;
  const PointFigures found = parts.predict(kPointTargets);
  for (std::size_t i = 0; i < 3; ++i) CHECK(found.mean[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  parts.predict(kPointTargets, true);
  CHECK(parts.report().targets.rows() == 3);
}

TEST_CASE("points: an empty context, and samples of a seed") {
  const OnCpu cpu;
  PointOptions options = point_options();
  options.samples = 2;
  options.seed = 5;
  const auto drawn = [&] { return PointPredictor(point_weights(), {}, {}, options).predict(kPointTargets); };
  const PointFigures figures = drawn();
  CHECK(figures.samples.size() == 6);
  CHECK(figures.samples == drawn().samples);
  options.seed = 6;
  CHECK(figures.samples != drawn().samples);
}

TEST_CASE("points: points that do not fit, and a request to stop") {
  const OnCpu cpu;
  const PointNumbers one{1};
  CHECK(error_of([&] { PointPredictor(point_weights(), kPointX, one, point_options()); }) ==
        "[predict] 4 numbers of x and 1 of y found, expected 1 and 1 for each point");
  CHECK(error_of([&] {
          PointPredictor(point_weights(), {}, {}, {.x_names = {"u", "v"}, .y_names = {"y"}});
        }) == "[predict] 2 names of inputs and 1 of values found, expected 1 and 1 for this model");
  std::stop_source source;
  PointOptions options = point_options();
  options.stop = source.get_token();
  PointPredictor predictor(point_weights(), kPointX, kPointY, options);
  predictor.observe(kPointX, kPointY);
  source.request_stop();
  CHECK_THROWS_AS(predictor.predict(kPointTargets), Interrupted);
  CHECK_THROWS_AS(predictor.observe(kPointX, kPointY), Interrupted);
  CHECK(predictor.context_rows() == 4);
}
