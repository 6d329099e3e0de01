#include "npzoo/models/applications/optimise/bayesian_optimiser.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stop_token>
#include <string>

#include "npzoo/engine/cancellation.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

const double kNoValue = std::nan("");

SearchSpace one_axis() { return SearchSpace({{.name = "x", .low = -2, .high = 4}}); }

SearchSpace three_axes() {
  return SearchSpace({{.name = "x", .low = -2, .high = 4},
                      {.name = "k", .low = 1, .high = 1000, .logarithmic = true, .integer = true},
                      {.name = "held", .low = 0, .high = 1, .fixed = 0.25}});
}

/// Five values and a failure.
Evaluations along_one_axis() {
  Evaluations told{{-1.75, -0.5, 0.25, 1.5, 3.25, 3.9}, {}};
  for (const double x : told.points) told.values.push_back((x - 1) * (x - 1) + std::sin(4 * x));
  told.values.back() = kNoValue;
  return told;
}

Evaluations over_two_axes() {
  Evaluations told;
  for (const auto& [x, k] : {std::pair{-1.5, 3.0},
                             {0.0, 20.0},
                             {1.0, 500.0},
                             {2.0, 7.0},
                             {3.5, 90.0},
                             {-0.5, 150.0},
                             {2.5, 40.0},
                             {0.5, 5.0}}) {
    told.points.insert(told.points.end(), {x, k, 0.25});
    told.values.push_back(x * x - std::log(k));
  }
  return told;
}

BayesianOptimiser told(SearchSpace space, const Evaluations& evaluations, BayesianOptions options = {}) {
  BayesianOptimiser optimiser(std::move(space), std::move(options));
  optimiser.tell(evaluations.points, evaluations.values);
  return optimiser;
}

void check_point(const ProposedPoint& found, const std::vector<double>& values, double mean, double std,
                 double acquisition) {
  CHECK(found.values == values);
  CHECK(*found.mean == doctest::Approx(mean).epsilon(1e-6));
  CHECK(*found.std == doctest::Approx(std).epsilon(1e-6));
  CHECK(*found.acquisition == doctest::Approx(acquisition).epsilon(1e-6));
}

}  // namespace

TEST_CASE("optimiser: proposals are those that `npzoo optimise` printed in version 0.1") {
  const Proposals by_gp = told(one_axis(), along_one_axis(), {.surrogate = FittedGp()}).ask(2);
  CHECK(by_gp.by == "gp");
  REQUIRE(by_gp.points.size() == 2);
  check_point(by_gp.points[0], {1.15943}, 0.2340091729686038, 0.760260545428975, -1.6627626374452826);
  check_point(by_gp.points[1], {1.92451}, 0.6049018445426144, 0.8030440699466846, -2.320103155925719);

  const Proposals by_weights = told(one_axis(), along_one_axis(), {.seed = 3}).ask(1);
  CHECK((by_weights.by == "kriging-tnp" && by_weights.note.empty()));
  CHECK(by_weights.points.front().values.front() == doctest::Approx(1.02817).epsilon(1e-4));

  const Proposals largest = told(three_axes(), over_two_axes(), {.maximise = true}).ask(3);
  CHECK(largest.note.empty());
  REQUIRE(largest.points.size() == 3);
  check_point(largest.points[0], {4, 1, 0.25}, 10.949353126557936, 2.722526792609621, 1.2119049137788904);
  check_point(largest.points[1], {4, 6, 0.25}, 10.928967942741608, 0.5733651052328028, -1.5200930104183985);
  check_point(largest.points[2], {4, 2, 0.25}, 10.986147403003587, 0.07031520291684856, -2.9916588674360582);

  BayesianOptions thompson{.batch = BatchRule::thompson};
  thompson.acquisition.kind = AcquisitionKind::expected_improvement;
  const Proposals drawn = told(three_axes(), over_two_axes(), thompson).ask(2);
  CHECK(drawn.note == "a Gaussian process makes the predictions: the weights for tables do not sample functions");
  CHECK(drawn.points[0].values == std::vector<double>{0.1616, 968, 0.25});
  CHECK(drawn.points[1].values == std::vector<double>{0.34324, 988, 0.25});
  CHECK((drawn.points[0].mean && !drawn.points[0].acquisition));
}

TEST_CASE("optimiser: an offset of the values moves expected values and no proposal") {
  // Multiples of 2^-10, which are exact beside each of the offsets.
  const std::vector<double> points{-1.75, -0.5, 0.25, 1.5, 3.25, 3.9};
  std::vector<double> values;
  for (const double x : points) values.push_back(std::round(1024 * ((x - 1) * (x - 1) + std::sin(4 * x))) / 1024);
  const auto asked = [&](const BayesianOptions& options, double offset) {
    Evaluations moved{points, values};
    for (double& value : moved.values) value += offset;
    return told(one_axis(), moved, options);
  };
  for (const AcquisitionKind kind : {AcquisitionKind::log_expected_improvement, AcquisitionKind::confidence_bound})
    for (const bool weights : {false, true}) {
      BayesianOptions options{.acquisition = {.kind = kind}};
      if (!weights) options.surrogate = FittedGp();
      const Proposals plain = asked(options, 0).ask(3);
      const Beliefs beliefs = asked(options, 0).beliefs();
      for (const double offset : {1e6, 1e9, 1e12}) {
        CAPTURE(offset);
        const Proposals found = asked(options, offset).ask(3);
        const double of_bound = kind == AcquisitionKind::confidence_bound ? -offset : 0;
        REQUIRE(found.points.size() == 3);
        for (std::size_t i = 0; i < 3; ++i) {
          CHECK(found.points[i].values == plain.points[i].values);
          CHECK(std::abs(*found.points[i].mean - offset - *plain.points[i].mean) < 2e-16 * offset);
          CHECK(*found.points[i].std == *plain.points[i].std);
          CHECK(std::abs(*found.points[i].acquisition - of_bound - *plain.points[i].acquisition) <= 2e-16 * offset);
        }
        CHECK(found.recommended->values == plain.recommended->values);
        CHECK(std::abs(found.recommended->mean - offset - plain.recommended->mean) < 2e-16 * offset);
        const BeliefLine line = asked(options, offset).beliefs().lines.front();
        CHECK(std::abs(line.values.mean[70] - offset - beliefs.lines.front().values.mean[70]) < 2e-16 * offset);
        CHECK(line.values.std == beliefs.lines.front().values.std);
      }
    }
}

TEST_CASE("optimiser: of noisy values the point of the lowest expected value is recommended, and not the luckiest") {
  Evaluations bowl;
  Random random(4);
  for (int i = 0; i < 40; ++i) {
    const double x = -2 + 6.0 * i / 39;
    bowl.points.push_back(x);
    bowl.values.push_back((x - 1) * (x - 1) + random.normal());
  }
  bowl.values[2] = -3;  // at −1.7, where the truth is 7
  for (const bool maximise : {false, true}) {
    Evaluations turned = bowl;
    for (double& value : turned.values) value *= maximise ? -1 : 1;
    for (const bool weights : {false, true}) {
      BayesianOptions options{.maximise = maximise};
      if (!weights) options.surrogate = FittedGp();
      const Proposals found = told(one_axis(), turned, options).ask();
      REQUIRE(found.recommended);
      CHECK(std::abs(found.recommended->values.front() - 1) < 0.8);
      CHECK(std::abs(found.recommended->mean) < 1);
      CHECK(found.recommended->std > 0);
    }
  }
  CHECK_FALSE(told(one_axis(), {{1, 2}, {0, 1}}).ask().recommended);
}

TEST_CASE("optimiser: an evaluated point is proposed again if values are noisy, and only then") {
  const SearchSpace few({{.name = "n", .low = 0, .high = 4, .integer = true}});
  Evaluations exact, noisy;
  Random random(5);
  for (int i = 0; i < 15; ++i) {
    exact.points.push_back(i % 5);
    noisy.points.push_back(i % 5);
    exact.values.push_back((i % 5 - 3) * (i % 5 - 3));
    noisy.values.push_back(exact.values.back() + 3 * random.normal());
  }
  const BayesianOptions by_gp{.surrogate = FittedGp()};
  CHECK(error_of([&] { told(few, exact, by_gp).ask(); }) == "[optimise] all 5 points are known");
  CHECK(error_of([&] { told(few, exact).ask(); }) == "[optimise] all 5 points are known");
  BayesianOptimiser again = told(few, noisy, by_gp);
  const Proposals found = again.ask(3);
  REQUIRE(found.points.size() == 3);
  std::set<double> chosen;
  for (const ProposedPoint& p : found.points) chosen.insert(p.values.front());
  CHECK(chosen.size() == 3);  // a pending point is not proposed twice
  CHECK(again.pending().size() == 3);
  const double value = 1;
  again.tell(found.points.front().values, std::span(&value, 1));
  CHECK(again.pending().size() == 2);
}

TEST_CASE("optimiser: a design comes first, and answers depend only on options and evaluations") {
  BayesianOptimiser optimiser(one_axis());
  const Proposals design = optimiser.ask(4);
  CHECK(design.by == "sobol");
  REQUIRE(design.points.size() == 4);
  for (const ProposedPoint& point : design.points) {
    CHECK((!point.mean && !point.acquisition));
    CHECK(one_axis().values(point.unit) == point.values);
    CHECK((point.values.front() >= -2 && point.values.front() <= 4));
  }
  CHECK(optimiser.pending().size() == 4);
  optimiser.forget_pending();
  CHECK(optimiser.ask(4).points[3].values == design.points[3].values);
  optimiser.forget_pending();
  for (std::size_t i = 0; i < 2; ++i)
    optimiser.tell(design.points[i].values, std::span<const double>(i == 0 ? &kNoValue : &design.points[i].unit[0], 1));
  CHECK(optimiser.evaluations() == 2);
  CHECK(optimiser.ask(1).points.front().values == design.points[2].values);

  BayesianOptimiser asked = told(three_axes(), over_two_axes());
  const Proposals first = asked.ask(2);
  asked.forget_pending();
  const Proposals again = asked.ask(2);
  const Beliefs beliefs = asked.beliefs();
  CHECK(beliefs.surrogate == "gp");
  asked.forget_pending();
  const Proposals last = asked.ask(2);
  for (const Proposals* other : {&again, &last})
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(other->points[i].unit == first.points[i].unit);
      CHECK(*other->points[i].acquisition == *first.points[i].acquisition);
    }
}

TEST_CASE("optimiser: a model in memory is the surrogate") {
  ModelSpec spec = small_model("tnp-d");
  OwnModelSurrogate own{varied_model(spec), model_info("tnp-d"), {.inputs = {-2, 2}}, DType::float64};
  const Proposals found = told(one_axis(), along_one_axis(), {.surrogate = own}).ask();
  CHECK(found.by == "tnp-d");
  CHECK((found.points.size() == 1 && *found.points.front().std > 0));
  CHECK(error_of([&] { BayesianOptimiser(three_axes(), {.surrogate = own}); }) ==
        "[optimise] 3 axes that vary found, tnp-d takes 1 inputs");
}

TEST_CASE("optimiser: beliefs are maps of two free axes and lines otherwise, in the units of axes and values") {
  const Beliefs maps = told(three_axes(), over_two_axes(), {.maximise = true}).beliefs();
  REQUIRE(maps.map.has_value());
  CHECK((maps.lines.empty() && maps.map->across == 0 && maps.map->up == 1));
  CHECK((maps.map->columns.size() == 64 && maps.map->values.mean.size() == 64 * 64));
  CHECK(maps.map->columns.front() == doctest::Approx(-2 + 6 / 128.0));
  CHECK(maps.map->rows.back() == doctest::Approx(std::pow(1000, 127 / 128.0)));
  for (const double std : maps.map->values.std) CHECK(std > 0);
  for (std::size_t i = 0; i < maps.points.size(); ++i)
    CHECK(maps.points[i] == doctest::Approx(over_two_axes().points[i]).epsilon(1e-12));
  CHECK(maps.values == over_two_axes().values);

  const Beliefs lines = told(one_axis(), along_one_axis(), {.surrogate = FittedGp()}).beliefs();
  REQUIRE((!lines.map && lines.lines.size() == 1));
  CHECK((lines.lines[0].at.front() == -2 && lines.lines[0].at.back() == 4 && lines.lines[0].at.size() == 201));
  CHECK(lines.values.back() == lines.values.front());  // the failure has the worst value
  const std::size_t at_observed = 75;                  // x = 0.25
  CHECK(lines.lines[0].values.mean[at_observed] == doctest::Approx(along_one_axis().values[2]).epsilon(1e-2));
}

TEST_CASE("optimiser: progress counts points, and a stop request interrupts and leaves the optimiser as it was") {
  std::vector<std::int64_t> done;
  BayesianOptimiser optimiser =
      told(three_axes(), over_two_axes(), {.progress = [&](std::int64_t now, std::int64_t all) {
             done.push_back(now);
             CHECK(all == 2);
           }});
  const Proposals expected = optimiser.ask(2);
  CHECK(done == std::vector<std::int64_t>{0, 1, 2});

  std::stop_source source;
  BayesianOptimiser stopped =
      told(three_axes(), over_two_axes(),
           {.progress = [&](std::int64_t, std::int64_t) { source.request_stop(); }, .stop = source.get_token()});
  CHECK_THROWS_AS(stopped.ask(2), Interrupted);
  CHECK_THROWS_AS(stopped.beliefs(), Interrupted);
  CHECK(stopped.evaluations() == 8);
  optimiser.forget_pending();
  CHECK(optimiser.ask(2).points[1].unit == expected.points[1].unit);
  CHECK(stopped.pending().empty());
}

TEST_CASE("optimiser: pending points are not proposed again, and are known when their values are told") {
  for (const BatchRule batch : {BatchRule::fantasies, BatchRule::thompson}) {
    BayesianOptimiser optimiser = told(three_axes(), over_two_axes(), {.batch = batch, .surrogate = FittedGp()});
    BayesianOptimiser at_once = told(three_axes(), over_two_axes(), {.batch = batch, .surrogate = FittedGp()});
    std::set<std::vector<double>> seen;
    for (int turn = 0; turn < 3; ++turn)
      for (const ProposedPoint& p : optimiser.ask(2).points) CHECK(seen.insert(p.values).second);
    CHECK(optimiser.pending().size() == 18);
    if (batch == BatchRule::fantasies) {
      // The expected values at the first points change nothing but deviations: both ways give the same points.
      for (const ProposedPoint& p : at_once.ask(6).points) CHECK(seen.contains(p.values));
    }
    const std::vector<double> pending = optimiser.pending();
    const std::vector<double> values{1, kNoValue, 2, 3, 4, 5};
    optimiser.tell(pending, values);
    CHECK(optimiser.pending().empty());
    CHECK(optimiser.evaluations() == 14);
  }

  BayesianOptimiser design(one_axis());
  const double other = 1.5;
  design.wait_for(std::span(&other, 1));
  const double first = design.ask().points.front().values.front(), second = design.ask().points.front().values.front();
  CHECK(first != second);
  CHECK(design.pending() == std::vector<double>{1.5, first, second});
  CHECK(error_of([&] { design.wait_for(std::vector<double>{7}); }) ==
        "[optimise: pending point 1] x is 7, expected a number from -2 to 4");
  BayesianOptimiser few(SearchSpace({{.name = "n", .low = 0, .high = 2, .integer = true}}));
  few.tell(std::vector<double>{0, 1}, std::vector<double>{3, 4});
  CHECK(few.ask().points.front().values == std::vector<double>{2});
  CHECK(error_of([&] { few.ask(); }) == "[optimise] all 3 points are known or pending");
}

TEST_CASE("optimiser: a choice and an integer are found among twenty axes") {
  std::vector<Axis> axes{{.name = "kind", .choices = {"a", "b", "c", "d"}},
                         {.name = "n", .low = 1, .high = 9, .integer = true}};
  for (int i = 0; i < 18; ++i) axes.push_back({.name = "x" + std::to_string(i), .low = -1, .high = 1});
  const SearchSpace space(axes);
  BayesianOptimiser optimiser(space, {.seed = 4});
  const auto f = [](const std::vector<double>& at) {
    return (at[0] == 2 ? 0 : 3) + 0.2 * std::pow(at[1] - 6, 2) + 2 * std::pow(at[2] - 0.3, 2);
  };
  double best = kInfinity;
  for (int i = 0; i < 60; ++i) {
    const Proposals asked = optimiser.ask();
    const double value = f(asked.points.front().values);
    best = std::min(best, value);
    optimiser.tell(asked.points.front().values, std::span(&value, 1));
    if (i >= 42) CHECK(asked.by == "gp");  // behind the design
  }
  CHECK(best < 0.3);

  BayesianOptimiser one(SearchSpace({{.name = "kind", .choices = {"a", "b", "c", "d", "e", "f", "g", "h"}}}));
  std::vector<double> found;
  for (int i = 0; i < 8; ++i) {
    const double kind = one.ask().points.front().values.front(), value = kind;
    found.push_back(kind);
    one.tell(std::span(&kind, 1), std::span(&value, 1));
  }
  std::ranges::sort(found);
  CHECK(found == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(one.beliefs().lines[0].at == found);
  CHECK(error_of([&] {
          BayesianOptimiser weights(SearchSpace({{.name = "k", .choices = {"a", "b"}}, {.name = "x"}}),
                                    {.surrogate = WeightsSurrogate{"npzoo/any-2d"}});
          for (const double k : {0, 1}) weights.tell(std::vector<double>{k, 0.5}, std::span(&k, 1));
          weights.beliefs();
        }) == "[optimise] axis k has choices, which weights do not know, expected a Gaussian process");
}

TEST_CASE("optimiser: errors have one line, and a refused call adds nothing") {
  BayesianOptimiser optimiser(three_axes());
  const auto error = [&](const std::vector<double>& points, const std::vector<double>& values) {
    return error_of([&] { optimiser.tell(points, values); });
  };
  CHECK(error({1, 2}, {1}) == "[optimise] 2 coordinates and 1 values found, expected 3 coordinates for each value");
  CHECK(error({1, 2, 0, 5, 2, 0}, {1, 2}) == "[optimise: evaluation 2] x is 5, expected a number from -2 to 4");
  CHECK(error({1, 2.5, 0}, {1}) == "[optimise: evaluation 1] k is 2.5, expected a whole number");
  CHECK(error({kNoValue, 2, 0}, {1}) == "[optimise: evaluation 1] x is nan, expected a number from -2 to 4");
  CHECK(error({1, 2, 0}, {kInfinity}) == "[optimise: evaluation 1] value is inf, expected a number of at most 1e150");
  CHECK(error(std::vector<double>(3 * 2001, 1.0), std::vector<double>(2001)) ==
        "[optimise] 2001 evaluations found, expected at most 2000");
  CHECK(optimiser.evaluations() == 0);
  CHECK(error_of([&] { optimiser.ask(0); }) == "[optimise] 0 points to propose found, expected 1 or more");
  CHECK(error_of([&] { optimiser.beliefs(); }) == "[optimise] nothing was observed so far, expected one value or more");
  CHECK(error_of([] { BayesianOptimiser(one_axis(), {.surrogate = FittedGp{KernelKind::periodic}}); }) ==
        "[optimise] a kernel periodic found, expected rbf, matern32 or matern52");
  BayesianOptimiser few(SearchSpace({{.name = "n", .low = 0, .high = 1, .integer = true}}));
  few.tell(std::vector<double>{0, 1}, std::vector<double>{3, 4});
  CHECK(error_of([&] { few.ask(); }) == "[optimise] all 2 points are known");
  const Evaluations evaluations = along_one_axis();
  BayesianOptimiser weights =
      told(one_axis(), evaluations, {.batch = BatchRule::thompson, .surrogate = WeightsSurrogate{"npzoo/any-1d"}});
  CHECK(error_of([&] { weights.ask(2); }) ==
        "[optimise] thompson found, but kriging-tnp predicts each point by itself, expected fantasies");
}
