#include "npzoo/models/applications/tables/series_predictor.h"

#include <random>
#include "npzoo/engine/cancellation.h"

#include "npzoo/datasets/tables/points.h"
#include "tests/models/model_fixtures.h"
#include "tests/models/series_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::unique_ptr<Model> make_small(const std::string& name, std::int64_t dim_x = 1, std::int64_t dim_y = 1) {
  ModelConfig config = model_config_from_json(model_info(name).small_forms[0], name);
  config.merge(ModelConfig{{"dim_x", dim_x}, {"dim_y", dim_y}});
  return make_model({name, config}, {.seed = 3});
}

SeriesOptions options_for(const std::string& name, std::int64_t dim_x = 1) {
  SeriesOptions options{.density = model_info(name).drawing()};
  if (dim_x == 2) options.x_names = {"a", "b"};
  return options;
}

/// Sizes from none to some dozen, units from millionths to millions.
std::vector<Series> random_series(std::int64_t count, std::int64_t dim_x) {
  std::mt19937 generator(5);
  const auto below = [&](int end) { return std::uniform_int_distribution<int>(0, end - 1)(generator); };
  std::normal_distribution<double> normal;
  std::vector<Series> all;
  for (std::int64_t i = 0; i < count; ++i) {
    Series s;
    const double unit = std::pow(10.0, below(13) - 6), offset = 100 * unit * normal(generator);
    const int points = below(40), targets = below(30);
    for (int k = 0; k < points * dim_x; ++k) s.x.push_back(offset + unit * normal(generator));
    for (int k = 0; k < points; ++k) s.y.push_back(-offset + unit * normal(generator));
    for (int k = 0; k < targets * dim_x; ++k) s.targets.push_back(offset + unit * normal(generator));
    for (int k = 0; k < targets; ++k) s.truth.push_back(k % 3 == 0 ? kNaN : -offset + unit * normal(generator));
    all.push_back(std::move(s));
  }
  return all;
}

/// In units of the model, so that one tolerance serves all.
void check_alike(const SeriesPrediction& a, const SeriesPrediction& b) {
  REQUIRE(a.mean.size() == b.mean.size());
  const ValueMap& map = a.units.values[0];
  for (std::size_t i = 0; i < a.mean.size(); ++i) {
    CHECK(std::abs(map(a.mean[i]) - map(b.mean[i])) < kSeriesTolerance);
    CHECK(std::abs(a.std[i] - b.std[i]) / map.scale < kSeriesTolerance);
  }
}

}  // namespace

TEST_CASE("series: several at once equal each alone, with padding and in any order") {
  const OnCpu cpu;
  for (const char* name : {"cnp", "canp", "tnp-d", "tnp-nd", "tnp-kr-full", "eqtnp", "lbanp", "cmanp"})
    for (const std::int64_t dim_x : {1, 2}) {
      CAPTURE(name);
      const auto model = make_small(name, dim_x);
      const SeriesPredictor predictor(*model, kSeriesRange, options_for(name, dim_x));
      const std::vector<Series> all = random_series(40, dim_x);
      const std::vector<SeriesPrediction> together = predictor.predict(all);
      REQUIRE(together.size() == all.size());
      for (std::size_t i = 0; i < all.size(); ++i)
        check_alike(predictor.predict(std::span(all).subspan(i, 1))[0], together[i]);
    }
}

TEST_CASE("series: a prediction equals the model's for the standardised points") {
  const OnCpu cpu;
  const auto model = make_small("tnp-d");
  const Series s = random_series(9, 1).back();
  const SeriesPrediction found =
      SeriesPredictor(*model, kSeriesRange, options_for("tnp-d")).predict(std::span(&s, 1))[0];
  const std::string name = "x";
  const Standardisation units = standardise(s.x, s.y, std::span(&name, 1), std::span(&name, 1), kSeriesRange);
  Draws draws(0, Purpose::prediction, 0);
  const auto state =
      model->condition({to_points(units.map_inputs(s.x), 1), to_points(units.map_values(s.y), 1)}, draws, 1);
  const Moments said = moments(*model->query(*state, to_points(units.map_inputs(s.targets), 1)));
  REQUIRE(said.mean.numel() == std::ssize(found.mean));
  for (std::size_t i = 0; i < found.mean.size(); ++i) {
    CHECK(found.mean[i] == units.values[0].mean(said.mean.values<double>()[i]));
    CHECK(found.std[i] == units.values[0].std(said.std.values<double>()[i]));
  }
}

TEST_CASE("series: the same bits for any number of threads") {
  const OnCpu cpu;
  for (const char* name : {"tnp-d", "np", "tnp-a"}) {
    CAPTURE(name);
    const auto model = make_small(name);
    SeriesOptions options = options_for(name);
    options.quantiles = {0.1, 0.9};
    options.samples = 3;
    options.batch_points = 200;
    options.held_points = 900;
    const SeriesPredictor predictor(*model, kSeriesRange, options);
    const std::vector<Series> all = random_series(30, 1);
    std::vector<std::vector<SeriesPrediction>> found;
    for (const int threads : {1, 3}) {
      const ThreadCount few(threads);
      found.push_back(predictor.predict(all));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const SeriesPrediction &a = found[0][i], &b = found[1][i];
      CHECK(a.mean == b.mean);
      CHECK(a.std == b.std);
      CHECK(a.quantiles == b.quantiles);
      CHECK(a.samples == b.samples);
      CHECK(a.samples.size() == 3 * a.mean.size());
    }
  }
}

TEST_CASE("series: a Gaussian's quantiles, density and scores are in the table's units") {
  const OnCpu cpu;
  const auto model = make_small("tnp-d");
  SeriesOptions options = options_for("tnp-d");
  options.quantiles = {0.5, 0.975};
  const std::vector<Series> all = random_series(12, 1);
  const std::vector<SeriesPrediction> found = SeriesPredictor(*model, kSeriesRange, options).predict(all);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = 0; k < found[i].mean.size(); ++k) {
      const double mean = found[i].mean[k], std = found[i].std[k], y = all[i].truth[k], z = (y - mean) / std;
      CHECK(found[i].quantiles[2 * k] == doctest::Approx(mean).epsilon(1e-9));
      CHECK((found[i].quantiles[2 * k + 1] - mean) / std == doctest::Approx(1.959963984540054).epsilon(1e-6));
      CHECK(std::isnan(found[i].crps[k]) == std::isnan(y));
      CHECK(std::isnan(found[i].log_density[k]) == std::isnan(y));
      CHECK(std::isnan(found[i].central_mass[k]) == std::isnan(y));
      if (std::isnan(y)) continue;
      const double density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI), below = std::erfc(-z / std::sqrt(2)) / 2;
      CHECK(found[i].crps[k] / std ==
            doctest::Approx(z * (2 * below - 1) + 2 * density - 1 / std::sqrt(M_PI)).epsilon(1e-5));
      CHECK(found[i].log_density[k] == doctest::Approx(-z * z / 2 - std::log(std * std::sqrt(2 * M_PI))).epsilon(1e-5));
      CHECK(found[i].central_mass[k] == doctest::Approx(std::abs(2 * below - 1)).epsilon(1e-5));
    }
}

TEST_CASE("series: added variances widen figures and scores, and not samples") {
  const OnCpu cpu;
  const auto model = make_small("tnp-d");
  SeriesOptions options = options_for("tnp-d");
  options.quantiles = {0.975};
  options.samples = 3;
  std::vector<Series> all = random_series(12, 1);
  const SeriesPredictor predictor(*model, kSeriesRange, options);
  const std::vector<SeriesPrediction> plain = predictor.predict(all);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = 0; k < all[i].targets.size(); ++k)
      all[i].added_variance.push_back(i % 2 == 0 ? 0 : std::pow(2.4 * plain[i].std[k], 2));
  const std::vector<SeriesPrediction> wide = predictor.predict(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(wide[i].mean == plain[i].mean);
    CHECK(wide[i].samples == plain[i].samples);
    const double factor = i % 2 == 0 ? 1 : 2.6;
    for (std::size_t k = 0; k < wide[i].std.size(); ++k) {
      const double std = factor * plain[i].std[k], y = all[i].truth[k], z = (y - wide[i].mean[k]) / std;
      CHECK(wide[i].std[k] == doctest::Approx(std).epsilon(1e-6));
      CHECK((wide[i].quantiles[k] - wide[i].mean[k]) / std == doctest::Approx(1.959963984540054).epsilon(1e-6));
      if (std::isnan(y)) continue;
      CHECK(wide[i].central_mass[k] == doctest::Approx(std::erf(std::abs(z) / std::sqrt(2))).epsilon(1e-5));
      CHECK(wide[i].log_density[k] == doctest::Approx(-z * z / 2 - std::log(std * std::sqrt(2 * M_PI))).epsilon(1e-5));
    }
  }
  all[3].added_variance.push_back(1);
  CHECK(error_of([&] { predictor.predict(all); }) == fmt::format("[series] {} added variances found, expected {}",
                                                                 all[3].added_variance.size(), all[3].targets.size()));
}

TEST_CASE("series: the values of a model are predicted together, each in its own units") {
  const OnCpu cpu;
  const auto model = make_small("tnp-d", 1, 3);
  SeriesOptions options = options_for("tnp-d");
  options.quantiles = {0.5, 0.9};
  options.samples = 2;
  options.chunk = 3;
  Series s = random_series(9, 1).back();
  const std::vector<std::string> x_names{"x"};
  s.value_names = {"u", "v", "w"};
  const std::vector<double> y = s.y, truth = s.truth;
  s.y.clear();
  s.truth.clear();
  for (const double v : y)
    for (const double unit : {1.0, -1e6, 1e-6}) s.y.push_back(unit * v * (unit == 1 ? v : 1));
  for (std::size_t k = 0; k < truth.size(); ++k)
    for (std::size_t c = 0; c < 3; ++c) s.truth.push_back((k + c) % 3 == 0 ? kNaN : s.y[c]);
  const SeriesPrediction found = SeriesPredictor(*model, kSeriesRange, options).predict(std::span(&s, 1))[0];
  const std::size_t targets = s.targets.size();
  REQUIRE(targets > 6);

  const Standardisation units = standardise(s.x, s.y, x_names, s.value_names, kSeriesRange);
  Draws draws(0, Purpose::prediction, 0);
  const auto state =
      model->condition({to_points(units.map_inputs(s.x), 1), to_points(units.map_values(s.y), 3)}, draws, 1);
  const auto said = model->query(*state, to_points(units.map_inputs(s.targets), 1));
  const Moments expected = moments(*said);
  REQUIRE(found.mean.size() == 3 * targets);
  REQUIRE(found.quantiles.size() == 3 * 2 * targets);
  CHECK(found.samples.size() == 3 * 2 * targets);
  REQUIRE(found.log_density.size() == targets);
  constexpr double kTolerance = 2e-4;  // float32 through a few layers, in other chunks
  double log_density = 0;
  for (std::size_t i = 0; i < found.mean.size(); ++i) {
    const ValueMap& map = units.values[i % 3];
    CHECK(std::abs(map(found.mean[i]) - expected.mean.values<double>()[i]) < kTolerance);
    CHECK(std::abs(found.std[i] / map.scale - expected.std.values<double>()[i]) < kTolerance);
    CHECK(map(found.quantiles[2 * i]) == doctest::Approx(map(found.mean[i])).epsilon(1e-6));
    CHECK((found.quantiles[2 * i + 1] - found.mean[i]) / found.std[i] ==
          doctest::Approx(1.2815515655446).epsilon(1e-5));
    CHECK(std::isnan(found.crps[i]) == std::isnan(s.truth[i]));
    CHECK(std::isnan(found.central_mass[i]) == std::isnan(s.truth[i]));
    const double z = (s.truth[i] - found.mean[i]) / found.std[i];
    log_density = (i % 3 == 0 ? 0 : log_density) - z * z / 2 - std::log(found.std[i] * std::sqrt(2 * M_PI));
    if (i % 3 != 2) continue;
    CHECK(std::isnan(found.log_density[i / 3]) == std::isnan(log_density));
    if (!std::isnan(log_density)) CHECK(found.log_density[i / 3] == doctest::Approx(log_density).epsilon(1e-5));
  }
}

TEST_CASE("series: a feed is held in parts, answered in order, and reports progress") {
  const OnCpu cpu;
  const auto model = make_small("cnp");
  const std::vector<Series> all = random_series(50, 1);
  std::int64_t told = 0, asked = 0;
  SeriesOptions options = options_for("cnp");
  options.held_points = 100;
  options.progress = [&](std::int64_t targets) { told += targets; };
  const SeriesPredictor predictor(*model, kSeriesRange, options);
  std::size_t given = 0, taken = 0, furthest = 0;
  predictor.predict([&] { return given < all.size() ? std::optional(all[given++]) : std::nullopt; },
                    [&](const SeriesPrediction& answer) {
                      furthest = std::max(furthest, given - taken);
                      CHECK(answer.mean.size() == all[taken++].targets.size());
                      asked += std::ssize(answer.mean);
                    });
  CHECK(taken == all.size());
  CHECK(told == asked);
  CHECK(furthest < 20);
  CHECK(predictor.predict(std::span<const Series>()).empty());
}

TEST_CASE("series: targets in chunks equal all targets at once") {
  const OnCpu cpu;
  const auto model = make_small("tnp-d");
  SeriesOptions options = options_for("tnp-d");
  const std::vector<Series> all = random_series(10, 1);
  const std::vector<SeriesPrediction> whole = SeriesPredictor(*model, kSeriesRange, options).predict(all);
  options.chunk = 4;
  const std::vector<SeriesPrediction> parts = SeriesPredictor(*model, kSeriesRange, options).predict(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    check_alike(whole[i], parts[i]);
    CHECK(parts[i].crps.size() == whole[i].crps.size());
  }
}

TEST_CASE("series: errors") {
  const OnCpu cpu;
  const auto model = make_small("cnp");
  const auto message = [&](const Series& s) {
    return error_of([&] { SeriesPredictor(*model, kSeriesRange, options_for("cnp")).predict(std::span(&s, 1)); });
  };
  CHECK(message({.x = {1, 2}, .y = {1}, .targets = {1}}) ==
        "[series] 2 numbers of x and 1 of y found, expected 1 and 1 for each point");
  CHECK(message({.x = {1}, .y = {1}, .targets = {1}, .truth = {1, 2}}) ==
        "[series] 2 numbers of truth found, expected 1");
  CHECK(message({.x = {}, .y = {}, .targets = {}, .value_names = {"u", "v"}}) ==
        "[series] 2 values found, u and v, expected 1 for this model");
  CHECK(message({.x = {1, 2}, .y = {0, 1e-320}, .targets = {1}, .value_names = {"temp"}}) ==
        "[standardise] column temp goes from 0 to 1e-320, expected an extent that a double can hold");
  CHECK(error_of([&] { SeriesPredictor(*make_small("cnp", 2), kSeriesRange, {}); }) ==
        "[series] 1 inputs found, expected 2 for this model");
  SeriesOptions options = options_for("cnp");
  std::stop_source stopped;
  stopped.request_stop();
  options.stop = stopped.get_token();
  const Series s{.x = {1}, .y = {1}, .targets = {1}};
  CHECK_THROWS_AS(SeriesPredictor(*model, kSeriesRange, options).predict(std::span(&s, 1)), Interrupted);
}
