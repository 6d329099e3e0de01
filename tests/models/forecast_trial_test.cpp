#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/series/series_tasks.h"
#include "npzoo/models/trials/forecast_scores.h"
#include "npzoo/models/trials/trial.h"
#include "tests/forecast_series.h"
#include "tests/models/walk_model.h"
#include "tests/toy_tasks.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Squares, of which places 16 and 18 of 20 may be missing; the test's windows are 4.
Findings judged(const Walk& model, bool gaps = false, bool headline_only = false) {
  const SeriesFile file(hours(20, gaps ? std::initializer_list<int>{16, 18} : std::initializer_list<int>{}));
  return find_trial("forecast")
      .run(model, *file.config("context_before = true"),
           {.tasks = {.batch_size = 2, .seed = 3, .split = Split::evaluation, .dtype = DType::float64},
            .batches = 100,
            .density = model.autoregressive() ? Density::joint : Density::marginal,
            .headline_only = headline_only});
}

double value(const Findings& found, const std::string& name) {
  const auto at = std::ranges::find(found.figures, name, &Figure::name);
  CAPTURE(name);
  REQUIRE(at != found.figures.end());
  return at->value.value;
}

constexpr double kVariance = 721.05;  // of the squares that training sees

/// Returns the mean squared error of predicting each target by the value before it, for windows of squares whose
/// targets are `first` and the next.
double one_step_mse(std::initializer_list<int> firsts) {
  double sum = 0;
  for (const int i : firsts) sum += (std::pow(2 * i - 1, 2) + std::pow(2 * i + 1, 2)) / 2;
  return sum / static_cast<double>(firsts.size()) / kVariance;
}

/// The same of the last value of the context.
double flat_mse(std::initializer_list<int> firsts) {
  double sum = 0;
  for (const int i : firsts) sum += (std::pow(2 * i - 1, 2) + std::pow(4 * i, 2)) / 2;
  return sum / static_cast<double>(firsts.size()) / kVariance;
}

double gaussian(double mse, double std) { return -std::log(std) - 0.5 * std::log(2 * M_PI) - mse / (2 * std * std); }

}  // namespace

TEST_CASE(
    "forecast trial: teacher-forced errors of a walk are those of persistence by one step, free-running ones not") {
  const OnCpu cpu;
  const Findings found = judged(Walk(1e-6, true));
  CHECK(found.tasks == 4);
  const double one_step = one_step_mse({15, 16, 17, 18}), flat = flat_mse({15, 16, 17, 18});
  CHECK(value(found, "teacher_forced.mse") == doctest::Approx(one_step).epsilon(1e-12));
  CHECK(value(found, "persistence_one_step.mse") == doctest::Approx(one_step).epsilon(1e-12));
  CHECK(value(found, "persistence.mse") == doctest::Approx(flat).epsilon(1e-12));
  CHECK(value(found, "free_running.mse") == doctest::Approx(flat).epsilon(1e-5));
  CHECK(value(found, "free_running.mse_at_1") ==
        doctest::Approx(value(found, "teacher_forced.mse_at_1")).epsilon(1e-12));
  CHECK(value(found, "persistence.mae") == doctest::Approx((32 + 66) / 2.0 / std::sqrt(kVariance)).epsilon(1e-12));
  CHECK(value(found, "teacher_forced.mse_authors") ==
        doctest::Approx(one_step * 4 / 5).epsilon(1e-12));  // 4 windows, 5 points
  CHECK(value(found, "drift.mse") < value(found, "persistence.mse"));
}

TEST_CASE("forecast trial: densities, and how they are computed") {
  const OnCpu cpu;
  const Findings walk = judged(Walk(2, true)), steady = judged(Walk(2, false));
  const double known = gaussian(one_step_mse({15, 16, 17, 18}), 2), at_once = gaussian(flat_mse({15, 16, 17, 18}), 2);
  CHECK(walk.headline().name == "joint_log_likelihood");
  CHECK(walk.headline().value.value == doctest::Approx(known).epsilon(1e-12));
  CHECK(walk.headline().how == "teacher-forced");
  CHECK(value(walk, "teacher_forced.nll") == doctest::Approx(-known).epsilon(1e-12));
  CHECK(value(walk, "teacher_forced.nll_authors") == doctest::Approx(-known * 4 / 5).epsilon(1e-12));
  CHECK(std::ranges::find(walk.figures, "free_running.log_likelihood", &Figure::name)->how ==
        "free-running, 20 samples");
  CHECK(value(walk, "free_running.coverage.95") > value(walk, "free_running.coverage.50"));
  for (const Figure& figure : walk.figures)
    if (figure.name.ends_with(".coverage.95")) CHECK(figure.ideal == 0.95);

  CHECK(steady.headline().how == "one-shot, exact");
  CHECK(steady.headline().value.value == doctest::Approx(at_once).epsilon(1e-12));
  CHECK(value(steady, "one_shot.log_likelihood") == doctest::Approx(at_once).epsilon(1e-12));
  CHECK(std::ranges::none_of(steady.figures, [](const Figure& f) { return f.name.starts_with("free_running"); }));
  CHECK(std::ranges::any_of(steady.further_lines,
                            [](const std::string& line) { return line.starts_with("free-running is one-shot: "); }));
  const Findings alone = judged(Walk(2, true), false, /*headline_only=*/true);
  CHECK(alone.figures.size() == 1);
  CHECK(alone.headline().value.value == walk.headline().value.value);

  std::vector<std::string> names;
  for (const Figure& f : walk.figures) names.push_back(f.name);
  std::ranges::sort(names);
  CHECK(std::ranges::adjacent_find(names) == names.end());
}

TEST_CASE("forecast trial: unmeasured points are neither predicted nor scored") {
  const OnCpu cpu;
  const Findings found = judged(Walk(2, true), /*gaps=*/true);
  // Windows of contexts 12 13 14, 13 14 15, 14 15, 15 17 and targets 15, 17, 17, 19.
  const auto square = [](int a, int b) { return std::pow(a * a - b * b, 2) / kVariance; };
  const double mse = (square(15, 14) + square(17, 15) + square(17, 15) + square(19, 17)) / 4;
  CHECK(value(found, "teacher_forced.mse") == doctest::Approx(mse).epsilon(1e-12));
  CHECK(value(found, "persistence_one_step.mse") == doctest::Approx(mse).epsilon(1e-12));
  CHECK(value(found, "persistence.mse") == doctest::Approx(mse).epsilon(1e-12));
  CHECK(value(found, "persistence.mse_at_1") == doctest::Approx((square(15, 14) + square(17, 15)) / 2).epsilon(1e-12));
  CHECK(found.headline().value.value == doctest::Approx(gaussian(mse, 2)).epsilon(1e-12));
}

TEST_CASE("forecast trial: figures do not depend on the number of threads") {
  const OnCpu cpu;
  const Walk model(2, true);
  const auto values = [&](int threads) {
    const ThreadCount count(threads);
    std::vector<double> all;
    for (const Figure& figure : judged(model).figures) all.push_back(figure.value.value);
    return all;
  };
  const std::vector<double> one = values(1);
  CHECK(one.size() > 40);
  CHECK(std::ranges::equal(one, values(3)));
  CHECK(std::ranges::equal(one, values(9)));
}

TEST_CASE("forecast trial: standard errors are of blocks of windows that share few points") {
  WindowMean mean(2);
  for (const double v : {1.0, 3.0, 5.0, 7.0, 100.0}) mean.add(v);
  CHECK(mean.estimate().value == doctest::Approx(23.2));
  CHECK(mean.estimate().standard_error == doctest::Approx(2.0));  // of blocks of mean 2 and 6
  WindowMean few(3);
  few.add(1);
  CHECK(std::isnan(few.estimate().standard_error));
}

TEST_CASE("forecast trial: errors at the first step, the quarters and the last") {
  CHECK(ForecastScores::steps(96) == std::vector<std::int64_t>{1, 24, 48, 72, 96});
  CHECK(ForecastScores::steps(3) == std::vector<std::int64_t>{1, 2, 3});
  CHECK(ForecastScores::steps(1) == std::vector<std::int64_t>{1});
}

TEST_CASE("forecast trial: tasks of another kind are refused") {
  const AddedTaskFamily added(kLines);
  const Protocol protocol = parse_protocol(lines_protocol(), "f.toml");
  CHECK(error_of([&] { find_trial("forecast").run(Walk(1, false), *protocol.data, {}); }) ==
        "[forecast] the tasks are not windows of a series, expected tasks such as those of taylorformer/exchange");
}
