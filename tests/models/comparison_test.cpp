#include "models/training/comparison.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

TestConfig test_with(std::map<std::string, Published> published) {
  TestConfig test;
  test.published = std::move(published);
  return test;
}

/// One that both errors of are the same, as of a single run.
SeedMean reached(double value, double error) { return {value, error, error}; }

Ceiling oracle(double value, double error) { return {{value, error}, false}; }

}  // namespace

TEST_CASE("comparison: mean over seeds") {
  const Estimate one[] = {{1.5, 0.25}};
  const SeedMean alone = mean_over_seeds(one);
  CHECK(alone.value == 1.5);
  CHECK(alone.standard_error == 0.25);
  CHECK(alone.task_error == 0.25);

  const Estimate three[] = {{1, 0.1}, {2, 0.2}, {6, 0.3}};
  const SeedMean mean = mean_over_seeds(three);
  CHECK(mean.value == doctest::Approx(3));
  CHECK(mean.standard_error == doctest::Approx(std::sqrt((4 + 1 + 9) / 2.0 / 3)));
  CHECK(mean.task_error == doctest::Approx(0.2));  // the tasks are the same: more seeds do not lower it

  const Estimate same[] = {{1, 0.1}, {1, 0.1}};
  CHECK(mean_over_seeds(same).standard_error == 0);
  const Estimate broken[] = {{1, 0.1}, {kNaN, kNaN}};
  CHECK(std::isnan(mean_over_seeds(broken).value));
  CHECK(error_of([] { mean_over_seeds({}); }) == "[comparison] no run given, expected 1 or more");
}

TEST_CASE("comparison: how a table was printed") {
  CHECK(printed_decimals(test_with({})) == 0);
  CHECK(printed_decimals(test_with({{"a", {2, {}}}})) == 0);
  CHECK(printed_decimals(test_with({{"a", {0.8, {}}}})) == 1);
  CHECK(printed_decimals(test_with({{"a", {0.8, 0.0}}, {"b", {-1.39, 0.0}}})) == 2);
  CHECK(printed_decimals(test_with({{"a", {0.8, 0.01}}})) == 2);
  CHECK(printed_decimals(test_with({{"a", {-0.453, 0.004}}})) == 3);
  CHECK(printed_decimals(test_with({{"a", {1.0 / 3, {}}}})) == 6);

  const TestConfig test = test_with({{"a", {1.39, 0.0}}, {"b", {0.26, 0.02}}, {"c", {0.8, {}}}});
  const auto estimate = [&](Metric metric, const char* model) {
    return published_estimate(metric, test, test.published.at(model));
  };
  CHECK(estimate(Metric::log_likelihood, "a").value == 1.39);
  CHECK(estimate(Metric::log_likelihood, "a").standard_error == doctest::Approx(0.005));
  CHECK(estimate(Metric::log_likelihood, "b").standard_error == 0.02);
  CHECK(estimate(Metric::log_likelihood, "c").standard_error == doctest::Approx(0.005));
  CHECK(estimate(Metric::nll, "a").value == -1.39);
}

TEST_CASE("comparison: what is possible") {
  OracleValues values;
  values.known_joint = 3;
  values.bayes_joint = 2;
  CHECK_FALSE(ceiling(Metric::nll, values));
  values.known_marginal = -0.561;
  const auto known = ceiling(Metric::log_likelihood, values);
  REQUIRE(known);
  CHECK(known->best.value == -0.561);
  CHECK(known->best.standard_error == 0.004);
  CHECK(known->hyperparameters_known);
  values.bayes_diagonal = -0.504;
  const auto bayes = ceiling(Metric::nll, values);
  REQUIRE(bayes);
  CHECK(bayes->best.value == 0.504);
  CHECK_FALSE(bayes->hyperparameters_known);
}

TEST_CASE("comparison: verdicts") {
  const Estimate published{1, 0.03};
  const auto against = [&](double value, double error) { return judge(reached(value, error), published, {}); };
  CHECK(against(1, 0.04) == Verdict::within_error);
  CHECK(against(1.099, 0.04) == Verdict::within_error);  // 2 √(0.03² + 0.04²) = 0.1
  CHECK(against(0.901, 0.04) == Verdict::within_error);
  CHECK(against(1.101, 0.04) == Verdict::better);
  CHECK(against(0.899, 0.04) == Verdict::worse);
  CHECK(against(1.061, kNaN) == Verdict::better);  // of one batch no error is known
  CHECK(against(-kInfinity, kNaN) == Verdict::worse);
  CHECK(against(kNaN, kNaN) == Verdict::none);
  CHECK(judge(reached(1, 0.1), {}, {}) == Verdict::none);
}

TEST_CASE("comparison: more than is possible is a leak") {
  const Estimate published{1, 0.03};
  const auto under = [&](const SeedMean& ours) { return judge(ours, published, oracle(1.2, 0.03)); };
  CHECK(under(reached(1.349, 0.04)) == Verdict::better);  // 3 √(0.03² + 0.04²) = 0.15
  CHECK(under(reached(1.351, 0.04)) == Verdict::above_oracle);
  CHECK(under(reached(kNaN, 0.04)) == Verdict::none);
  CHECK(under(reached(kInfinity, kNaN)) == Verdict::above_oracle);
  // Seeds that agree were still tested on the same tasks, which may have been easy ones.
  CHECK(under({1.349, 0.0001, 0.04}) == Verdict::better);
  CHECK(under({1.349, 0.04, 0.0001}) == Verdict::better);
  CHECK(judge(reached(2, 0.04), {}, oracle(1.2, 0.03)) == Verdict::above_oracle);
  CHECK(judge(reached(1.1, 0.04), {}, oracle(1.2, 0.03)) == Verdict::none);
}

TEST_CASE("comparison: verdicts in words") {
  CHECK(std::string(to_string(Verdict::none)).empty());
  CHECK(std::string(to_string(Verdict::within_error)) == "within 2 s.e.");
  CHECK(std::string(to_string(Verdict::better)) == "better");
  CHECK(std::string(to_string(Verdict::worse)) == "worse");
  CHECK(std::string(to_string(Verdict::above_oracle)) == "above the oracle: leak");
}
