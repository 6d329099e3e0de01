#include <doctest/doctest.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

#include "npzoo/models/applications/events/following_events.h"
#include "npzoo/models/applications/forecasts/forecast.h"
#include "npzoo/models/applications/images/picture_completion.h"
#include "npzoo/models/applications/optimise/bayesian_optimiser.h"
#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/applications/tables/point_predictor.h"
#include "tests/forecast_series.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct Throws {
  const char* name;
  void (*throws)();
  const char* message;
};

constexpr Throws kForeign[] = {
    {"bad_alloc", [] { throw std::bad_alloc(); }, "[memory] the system is out of memory"},
    {"length_error", [] { throw std::length_error("vector"); },
     "[memory] an array has more bytes than memory can hold"},
    {"out_of_range", [] { throw std::out_of_range("at"); }, "[internal] at"},
    {"bad_function_call", [] { throw std::bad_function_call(); }, "[internal] bad_function_call"},
    {"filesystem_error",
     [] { throw std::filesystem::filesystem_error("open", "f.csv", std::make_error_code(std::errc::io_error)); },
     "[f.csv] Input/output error"},
    {"Error", [] { fail("[own] found 1, expected 2"); }, "[own] found 1, expected 2"},
};

/// Throws in the given phase.
class ThrowingModel final : public Model {
 public:
  enum class Phase { condition, query, update };
  ThrowingModel(Phase phase, void (*throws)(), std::int64_t dim_x = 1)
      : phase_(phase), throws_(throws), dim_x_(dim_x) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    if (phase_ == Phase::condition) throws_();
    return std::make_unique<HeldContext>(context, draws, samples);
  }
  std::unique_ptr<Prediction> do_query(const ContextState&, const Tensor&) const override {
    throws_();
    return {};
  }
  std::unique_ptr<ContextState> do_update(const ContextState&, const Context&) const override {
    throws_();
    return {};
  }
  void visit(ModuleVisitor&) override {}
  std::int64_t dim_x() const override { return dim_x_; }
  std::int64_t dim_y() const override { return 1; }

 private:
  Phase phase_;
  void (*throws_)();
  std::int64_t dim_x_;
};

TrainedModel trained_throwing(void (*throws)(), ThrowingModel::Phase phase = ThrowingModel::Phase::query) {
  return as_trained(small_run(), std::make_unique<ThrowingModel>(phase, throws));
}

const std::vector<double> kX{0, 1, 2, 3}, kY{1, 2, 3, kNaN};

}  // namespace

TEST_CASE("errors: exceptions of a model leave condition, query and update as Error") {
  using Phase = ThrowingModel::Phase;
  const OnCpu cpu;
  const Tensor x = Tensor::zeros({1, 2, 1});
  for (const Throws& foreign : kForeign) {
    CAPTURE(foreign.name);
    for (const Phase phase : {Phase::condition, Phase::query, Phase::update}) {
      const ThrowingModel model(phase, foreign.throws);
      Draws draws = some_draws();
      CHECK(error_of([&] {
              const auto state = model.condition({x, x, {}}, draws, 1);
              if (phase == Phase::update)
                model.update(*state, {x, x, {}});
              else
                model.query(*state, x);
            }) == foreign.message);
    }
  }
  Draws draws = some_draws();
  CHECK_THROWS_AS(ThrowingModel(Phase::condition, [] { throw std::bad_alloc(); }).condition({x, x, {}}, draws, 1),
                  OutOfMemory);
}

TEST_CASE("errors: exceptions within an application leave it as Error, also from its callbacks") {
  const OnCpu cpu;
  for (const Throws& foreign : kForeign) {
    CAPTURE(foreign.name);
    const TrainedModel trained = trained_throwing(foreign.throws);
    const auto report = [&](std::int64_t, std::int64_t) { foreign.throws(); };
    CHECK(error_of([&] { fill(trained, {.x = kX, .values = {kY}}); }) == foreign.message);
    CHECK(error_of([&] { fill_with_gp({.x = kX, .values = {kY}}, {.progress = report}); }) == foreign.message);
    PointPredictor predictor(trained, kX, kX, {.x_names = {"x"}, .y_names = {"y"}});
    CHECK(error_of([&] { predictor.predict(kX); }) == foreign.message);
    CHECK(error_of([&] {
            const auto model = std::make_shared<ThrowingModel>(ThrowingModel::Phase::query, foreign.throws, 2);
            const AffineMap place{0.5, -1};
            complete_picture({.model = ImageModel{model, Density::marginal, {2, 2, 1, place, place, {1 / 255.0, 0}}},
                              .picture = Picture{2, 2, 1, std::vector<std::uint8_t>(4)},
                              .shown = 0.5});
          }) == foreign.message);
    const EventSequence past{{1, 2}, {0, 0}, 2};
    CHECK(error_of([&] { forecast_next(*trained.model, past, {}); }) == foreign.message);
    CHECK(error_of([&] { continue_events(*trained.model, past, 3, 2, 7); }) == foreign.message);
    BayesianOptimiser optimiser(SearchSpace({{.name = "x", .low = 0, .high = 4}}), {.progress = report});
    CHECK(error_of([&] { optimiser.ask(); }) == foreign.message);
    const SeriesFile file(hours(20));
    TrainedModel of_series = trained_throwing(foreign.throws);
    of_series.checkpoint.run = {parse_protocol(small_protocol("s", file.data()), "f.toml"), {"walk", {}}, 7};
    const ForecastColumns columns{"date", {"v"}};
    CHECK(error_of([&] { forecast(of_series, read_series(file.path, columns), columns); }) == foreign.message);
    Trainer trainer(small_run());
    CHECK(error_of([&] { trainer.validate([&](std::int64_t) { foreign.throws(); }); }) == foreign.message);
  }
}

TEST_CASE("errors: arrays that no memory holds are OutOfMemory") {
  const OnCpu cpu;
  const auto gp = GaussianProcess::fit({.x = kX, .y = kX});
  Random random(1);
  CHECK_THROWS_AS(gp.sample(kX, std::int64_t{1} << 60, random), OutOfMemory);
}
