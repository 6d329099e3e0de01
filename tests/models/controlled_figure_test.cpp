#include <doctest/doctest.h>

#include <cmath>

#include "npzoo/models/registry.h"
#include "npzoo/models/trials/score_test.h"
#include "tests/models/training_fixtures.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// An untrained model and its figures.
struct Scored {
  TrainingRun run = small_run();
  const Protocol& protocol = run.protocol;
  std::unique_ptr<Model> model = make_model(run.spec, {.seed = 0});

  TestScores scores(std::int64_t batches, std::uint64_t seed,
                    std::span<const StoredExpectation> expectations = {}) const {
    return score_test({*model, run, protocol, "small"}, protocol.evaluation.tests[0],
                      {.batches = batches, .seed = seed, .expectations = expectations});
  }
  StoredExpectation stored(const Estimate& marginal) const {
    return {"small", "rbf", task_version(protocol, "rbf"), {.marginal = marginal, .joint = {}, .tasks = 1000}};
  }
};

double named_figure(const TestScores& scores, const std::string& name) {
  return std::ranges::find(scores.found.figures, name, &Figure::name)->value.value;
}

}  // namespace

TEST_CASE("controlled figure: with the posterior's mean on the very same tasks it is the plain one") {
  const Scored scored;
  const TestScores plain = scored.scores(6, 0);
  CHECK_FALSE(plain.controlled);
  const StoredExpectation same[] = {scored.stored({named_figure(plain, "exact_gp"), 0.03})};
  const TestScores both = scored.scores(6, 0, same);
  REQUIRE(both.controlled);
  CHECK(both.controlled->value.value == doctest::Approx(plain.found.headline().value.value).epsilon(1e-12));
  CHECK(both.controlled->value.standard_error ==
        doctest::Approx(std::hypot(0.03, plain.found.lacking->standard_error)));
  CHECK(both.controlled->expectation.value == named_figure(plain, "exact_gp"));
  CHECK(both.controlled->tasks == 1000);
  CHECK(both.unused_expectation.empty());
}

TEST_CASE("controlled figure: it agrees with the plain one on other tasks") {
  const Scored scored;
  const TestConfig& test = scored.protocol.evaluation.tests[0];
  const StoredExpectation stored[] = {scored.stored(*expected_truth(*test.data, {.tasks = 4000}).marginal)};
  for (const std::uint64_t seed : {1, 2, 3}) {
    const TestScores scores = scored.scores(60, seed, stored);
    const Estimate plain = scores.found.headline().value, controlled = scores.controlled->value;
    CHECK(std::abs(plain.value - controlled.value) < 4 * std::hypot(plain.standard_error, controlled.standard_error));
  }
}

TEST_CASE("controlled figure: an expectation of other tasks is not used, and the scores say so") {
  const Scored scored;
  StoredExpectation other[] = {scored.stored({1, 0.1})};
  other[0].version = "another";
  const TestScores scores = scored.scores(3, 0, other);
  CHECK_FALSE(scores.controlled);
  CHECK(scores.unused_expectation.starts_with(
      "small, test rbf: the stored expectation of the posterior is for other tasks"));
  CHECK_FALSE(controlled_figure(nullptr, Density::marginal, {1, 0.1}));
  const StoredExpectation marginal = scored.stored({1, 0.1});
  CHECK_FALSE(controlled_figure(&marginal, Density::joint, {1, 0.1}));      // no joint one is stored
  CHECK_FALSE(controlled_figure(&marginal, Density::marginal, {1, kNaN}));  // of one batch there is no error
  CHECK(controlled_figure(&marginal, Density::mixture, {0.25, 0.1})->value.value == 0.75);
}
