#include "npzoo/models/applications/events/following_events.h"
#include "npzoo/models/applications/forecasts/forecast.h"
#include "npzoo/models/applications/gaussian_process/gaussian_process.h"
#include "npzoo/models/applications/images/picture_completion.h"
#include "npzoo/models/applications/optimise/bayesian_optimiser.h"
#include "npzoo/models/applications/tables/fill.h"
#include "tests/forecast_series.h"
#include "tests/models/renewal_model.h"
#include "tests/models/stops.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/training_fixtures.h"
#include "tests/models/walk_model.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using Figures = std::vector<double>;

void append(Figures& to, const Figures& more) { to.insert(to.end(), more.begin(), more.end()); }

struct Noise {
  explicit Noise(std::size_t rows, std::size_t dims = 1) {
    Random random(5);
    for (std::size_t i = 0; i < rows * dims; ++i) x.push_back(random.uniform(-2, 2));
    for (std::size_t i = 0; i < rows; ++i) y.push_back(i % 3 == 0 ? kNaN : random.uniform(1, 3));
  }
  Figures x, y;
};

Figures figures_of(const FillResult& found) {
  Figures all = found.columns[0].mean;
  append(all, found.columns[0].samples);
  return all;
}

Figures filled_by_weights() {
  static const TrainedModel trained = as_trained(small_run(), make_model(small_run().spec, {.seed = 3}));
  static const Noise noise(150);
  return figures_of(fill(trained, {.x = noise.x, .values = {noise.y}}, {.samples = 2, .chunk = 16}));
}

Figures filled_by_gp() {
  static const Noise noise(40, 2);
  return figures_of(fill_with_gp({.dim_x = 2, .x = noise.x, .values = {noise.y}}, {.samples = 2}));
}

const SeriesFile& series_file() {
  static const SeriesFile file(hours(20));
  return file;
}

Figures forecast_of(const TrainedModel& trained) {
  const ForecastColumns columns = forecast_columns(trained);
  const SeriesForecast found =
      forecast(trained, read_series(series_file().path, columns), columns, {.horizon = 6}).forecast;
  Figures all = found.mean;
  append(all, found.std);
  return all;
}

TrainingRun run_on_series() {
  return {parse_protocol(small_protocol("s", series_file().data()), "f.toml"), {"walk", {}}, 7};
}

Figures forecast_by_weights() {
  static const TrainedModel trained = as_trained(run_on_series(), make_model(small_model("tnp-d"), {.seed = 3}));
  return forecast_of(trained);
}

Figures forecast_of_a_walk() {
  static const TrainedModel trained = as_trained(run_on_series(), std::make_unique<Walk>(0.5, true));
  return forecast_of(trained);
}

Figures following_events() {
  static const std::string text = small_protocol(
      "events",
      "kind = \"events\"\ncontext = 1\nevents = 12\nprocess = { kind = \"renewal\", gaps = { kind = \"log-normal\", "
      "mean = -0.3, std = 0.8 } }\n");
  static const TrainedModel trained = as_trained({parse_protocol(text, "f.toml"), {"renewal", {}}, 7},
                                                 std::make_unique<RenewalModel>(std::vector{1.0}));
  const Figures times{0.5, 0.75, 1.25, 3.0, 3.5};
  const FollowingEvents found =
      predict_following_events(trained, make_events(trained, times), {.samples = 3, .horizon = 4})[0];
  Figures all = found.quantiles;
  for (const FollowingEvents::Path& path : found.paths) append(all, path.times);
  return all;
}

Figures next_event_by_weights() {
  static const auto model = make_model(small_model("thp"), {.seed = 3});
  const EventSequence past{{0.5, 0.75, 1.25, 3.0}, {0, 1, 0, 1}, 3.5};
  const Figures quantiles{0.1, 0.5};
  Figures all = forecast_next(*model, past, quantiles).gap_quantiles;
  for (const EventSequence& path : continue_events(*model, past, 0.1, 2, 7)) append(all, path.times);
  append(all, model_intensities(*model, past, std::vector{1.0, 2.0, 3.25}));
  return all;
}

Figures completed_picture() {
  static const ImageModel model = [] {
    ModelConfig config = small_model("tnp-d").config;
    config["dim_x"] = std::int64_t{2};
    const AffineMap place{0.5, -1};
    return ImageModel{
        varied_model({"tnp-d", config}, DType::float32), Density::marginal, {5, 5, 1, place, place, {1 / 255.0, -0.5}}};
  }();
  static const Picture picture{5, 5, 1, std::vector<std::uint8_t>(25, 70)};
  return complete_picture({.model = model, .picture = picture, .shown = 0.4, .height = 90, .width = 90}).mean;
}

Figures proposed_points(const SurrogateChoice& surrogate) {
  BayesianOptimiser optimiser(SearchSpace({{.name = "x", .low = -2, .high = 4}}), {.surrogate = surrogate});
  const Figures x{-1.75, -0.5, 0.25, 1.5, 3.25};
  Figures y;
  for (const double at : x) y.push_back((at - 1) * (at - 1) + std::sin(4 * at));
  optimiser.tell(x, y);
  Figures all;
  for (const ProposedPoint& point : optimiser.ask(2).points) append(all, {point.unit[0], *point.mean, *point.std});
  append(all, optimiser.beliefs().values);
  return all;
}

Figures proposed_by_gp() { return proposed_points(FittedGp()); }

Figures proposed_by_weights() {
  static const std::shared_ptr<const Model> model = make_model(small_model("tnp-d"), {.seed = 3});
  return proposed_points(OwnModelSurrogate{model, model_info("tnp-d"), {.inputs = {-2, 2}}});
}

struct ApplicationCase {
  const char* name;
  Figures (*call)();
  int instants = 0;  // fewer where a call takes long
};

constexpr ApplicationCase kApplications[] = {
    {"tables", filled_by_weights, 20},
    {"a Gaussian process", filled_by_gp, 20},
    {"forecasts", forecast_of_a_walk, 20},
    {"events", following_events, 20},
    {"images", completed_picture, 20},
    {"optimise", proposed_by_gp, 20},
    {"optimise by weights", proposed_by_weights, 5},
};

}  // namespace

TEST_CASE("applications: a call that is stopped at any look throws, and the next call has the right bits") {
  const OnCpu cpu;
  for (const int threads : {1, 3}) {
    const ThreadCount count(threads);
    for (const ApplicationCase& application : kApplications) {
      CAPTURE(application.name);
      CAPTURE(threads);
      const Figures expected = application.call();
      const int looks = looks_of([&] { application.call(); });
      CHECK(looks >= 5);
      for (const int n : instants(looks, application.instants)) {
        CAPTURE(n);
        CHECK((interrupted(n, application.call) || threads > 1));  // threads that share a loop may look less often
        CHECK(application.call() == expected);
      }
    }
  }
}

TEST_CASE("applications: a model predicts on its own device, whatever the default device is") {
  constexpr ApplicationCase kOfWeights[] = {{"tables", filled_by_weights},
                                            {"forecasts", forecast_by_weights},
                                            {"events", next_event_by_weights},
                                            {"images", completed_picture},
                                            {"optimise", proposed_by_weights}};
  for (const ApplicationCase& application : kOfWeights) {
    CAPTURE(application.name);
    const Figures expected = [&] {
      const OnCpu cpu;  // the model is made here
      return application.call();
    }();
    CHECK(expected.size() > 3);
    const DeviceScope elsewhere(Device::cuda);  // there need not be one
    CHECK(application.call() == expected);
  }
}

TEST_CASE("applications: numerical events are those of the call") {
  const OnCpu cpu;
  TrainingRun run = small_run();
  run.spec = small_model("tnp-kr-fast");
  const Noise noise(20);
  const auto events_of = [&](double bias) {
    auto model = make_model(run.spec, {.seed = 3});
    // Long keys and queries: the features of all of them vanish.
    for (const auto& [name, parameter] : named_parameters(*model))
      if (name.ends_with("attention.query.bias") || name.ends_with("attention.key.bias"))
        parameter->value = Tensor::full(parameter->value.shape(), bias);
    return fill(as_trained(run, std::move(model)), {.x = noise.x, .values = {noise.y}}).events;
  };
  const NumericalEventScope outer;
  const NumericalEvents many = events_of(30);
  CHECK(many.clamped_denominators > 0);
  CHECK(many.failed_factorisations == 0);
  CHECK(events_of(0).clamped_denominators == 0);
  CHECK(outer.count().clamped_denominators == many.clamped_denominators);
}
