#include "models/trials/verdict.h"

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

Ceiling oracle(double value, double error) { return {{value, error}, "bayes_diagonal", false}; }

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

TEST_CASE("comparison: figures per channel are brought to target points, and back") {
  const Protocol p = load_protocol("tnp-kr/cifar10");
  const Metric& metric = p.evaluation.metric;
  CHECK(std::string(to_string(metric)) == "nll per channel");
  const TestConfig& test = p.evaluation.tests[0];
  const Estimate tnp_d = *reference_for(p.evaluation, test, "tnp-d").published;
  CHECK(tnp_d.value == doctest::Approx(3 * 1.416));
  CHECK(tnp_d.standard_error == doctest::Approx(3 * 0.004));
  CHECK(in_metric(metric, tnp_d.value) == doctest::Approx(-1.416));
  CHECK(error_in_metric(metric, tnp_d.standard_error) == doctest::Approx(0.004));
  CHECK(std::string(to_string(Metric::nll)) == "nll");
  CHECK(in_metric(Metric::log_likelihood, 1.25) == 1.25);
  CHECK(load_protocol("tnp/celeba32").evaluation.metric == Metric::log_likelihood);
}

TEST_CASE("comparison: what is measured on a part of a set is held against nothing") {
  for (const std::string& name : protocol_names()) {
    if (!name.ends_with("-part")) continue;
    CAPTURE(name);
    const EvaluationConfig rules = load_protocol(name).evaluation;
    for (const TestConfig& test : rules.tests) {
      CHECK(test.published.empty());
      CHECK(judge(reached(1, 0.01), reference_for(rules, test, "tnp-d")) == Verdict::none);
    }
  }
}

TEST_CASE("comparison: what is possible depends on what a figure is the density of") {
  OracleValues values;
  for (const Density density : {Density::marginal, Density::mixture, Density::joint})
    CHECK_FALSE(ceiling(Metric::nll, values, density));
  values.known_marginal = -0.561;
  values.known_joint = -0.3;
  CHECK(ceiling(Metric::log_likelihood, values, Density::marginal)->best.standard_error == 0.004);
  values.standard_error = 0.01;
  const auto check_is = [&](Density density, double value, const std::string& name, bool known) {
    CAPTURE(name);
    for (const auto& [metric, sign] : {std::pair{Metric::log_likelihood, 1}, {Metric::nll, -1}}) {
      const auto best = ceiling(metric, values, density);
      REQUIRE(best);
      CHECK(best->best.value == sign * value);
      CHECK(best->best.standard_error == 0.01);
      CHECK(best->oracle == name);
      CHECK(best->hyperparameters_known == known);
    }
  };
  check_is(Density::marginal, -0.561, "known_marginal", true);
  check_is(Density::mixture, -0.561, "known_marginal", true);
  check_is(Density::joint, -0.3, "known_joint", true);
  values.bayes_diagonal = -0.7;
  values.bayes_mixture = -0.6;
  values.bayes_joint = -0.4;
  check_is(Density::marginal, -0.7, "bayes_diagonal", false);
  check_is(Density::mixture, -0.6, "bayes_mixture", false);
  check_is(Density::joint, -0.4, "bayes_joint", false);
  values.known_joint = {};
  check_is(Density::joint, -0.4, "bayes_joint", false);
  values.bayes_joint = {};
  CHECK_FALSE(ceiling(Metric::nll, values, Density::joint));  // other figures say nothing of a joint one
}

TEST_CASE("comparison: a joint or a mixture model that is right is no leak") {
  const Protocol p = load_protocol("tnp/gp-rbf");
  const TestConfig& rbf = p.evaluation.tests[0];
  const auto verdict = [&](const char* model, double value) {
    CAPTURE(std::string(model));
    return judge(reached(value, 0.012), reference_for(p.evaluation, rbf, model));
  };
  CHECK(verdict("tnp-d", 1.39) == Verdict::within_error);
  CHECK(verdict("tnp-d", 1.63) == Verdict::above_oracle);
  CHECK(verdict("tnp-a", 1.63) == Verdict::within_error);
  CHECK(verdict("tnp-a", 1.781) == Verdict::better);
  CHECK(verdict("tnp-a", 1.83) == Verdict::above_oracle);
  CHECK(verdict("tnp-nd", 1.46) == Verdict::within_error);
  CHECK(verdict("cmanp-and", 1.48) == Verdict::within_error);

  // Between the best Gaussians, 1.459, and the best of any densities, 1.474; errors small enough to tell them apart.
  EvaluationConfig rules = p.evaluation;
  TestConfig sure = rbf;
  sure.oracle.standard_error = 0.001;
  const auto sure_verdict = [&](const char* model, double value) {
    return judge(reached(value, 0.001), reference_for(rules, sure, model));
  };
  CHECK(sure_verdict("anp", 1.47) == Verdict::better);
  CHECK(sure_verdict("canp", 1.47) == Verdict::above_oracle);
  CHECK(sure_verdict("anp", 1.48) == Verdict::above_oracle);

  // A model of this build is what the registry says; a figure of another kind is no match for it.
  rules.densities["tnp-d"] = Density::joint;
  CHECK(density_of(rules, "tnp-d") == Density::marginal);
  CHECK_FALSE(reference_for(rules, rbf, "tnp-d").published);
  CHECK(judge(reached(1.39, 0.012), reference_for(rules, rbf, "tnp-d")) == Verdict::none);
  CHECK(density_of(rules, "gpt") == Density::marginal);
  CHECK(density_of(load_protocol("tnp/gp-rbf").evaluation, "anp") == Density::mixture);
  CHECK(density_of(load_protocol("npzoo/gp-rbf").evaluation, "anp") == Density::mixture);
  CHECK(density_of(load_protocol("tnp-kr/gp1d-rbf").evaluation, "anp") == Density::marginal);
}

TEST_CASE("comparison: nothing that a protocol tells is held against a figure that is no log-likelihood") {
  const Protocol p = load_protocol("tnp-kr/gp1d-rbf");
  const TestConfig& test = p.evaluation.tests[0];
  const Reference against = reference_for(p.evaluation, test, "tnp-kr-full", std::nullopt);
  CHECK_FALSE((against.published || against.best));
  CHECK(judge(reached(0.7, 0.001), against) == Verdict::none);  // an error may well be larger than a ceiling
  CHECK(judge(reached(0.7, 0.001), reference_for(p.evaluation, test, "tnp-kr-full")) == Verdict::above_oracle);
}

TEST_CASE("comparison: no published figure is a leak, and models of this build are scored as theirs were") {
  for (const std::string& name : protocol_names()) {
    CAPTURE(name);
    const EvaluationConfig rules = load_protocol(name).evaluation;
    for (const TestConfig& test : rules.tests)
      for (const auto& row : test.published) {
        CAPTURE(row.first);
        const Reference against = reference_for(rules, test, row.first);
        REQUIRE(against.published);
        const auto& [value, error] = *against.published;
        CHECK(judge({value, error, error}, against) == Verdict::within_error);
      }
  }
}

TEST_CASE("comparison: beside the exact posterior of the same tasks") {
  CHECK_FALSE(beats_exact_posterior("rbf", {0.1, 0.01}));
  CHECK_FALSE(beats_exact_posterior("rbf", {-0.029, 0.01}));
  CHECK(beats_exact_posterior("rbf", {-0.031, 0.01}));
  CHECK(beats_exact_posterior("rbf", {-kInfinity, 0.01}));
  CHECK_FALSE(beats_exact_posterior("rbf", {-1, kNaN}));  // of one batch no error is known
  CHECK(error_of([] {
          beats_exact_posterior("rbf", {kNaN, kNaN});
        }) == "[comparison] rbf: what the model lacks of the exact posterior is nan, expected a number");
}

TEST_CASE("comparison: verdicts") {
  const Estimate published{1, 0.03};
  const auto against = [&](double value, double error) { return judge(reached(value, error), {published, {}}); };
  CHECK(against(1, 0.04) == Verdict::within_error);
  CHECK(against(1.099, 0.04) == Verdict::within_error);  // 2 √(0.03² + 0.04²) = 0.1
  CHECK(against(0.901, 0.04) == Verdict::within_error);
  CHECK(against(1.101, 0.04) == Verdict::better);
  CHECK(against(0.899, 0.04) == Verdict::worse);
  CHECK(against(1.061, kNaN) == Verdict::better);  // of one batch no error is known
  CHECK(against(-kInfinity, kNaN) == Verdict::worse);
  CHECK(against(kNaN, kNaN) == Verdict::none);
  CHECK(judge(reached(1, 0.1), {}) == Verdict::none);
}

TEST_CASE("comparison: more than is possible is a leak") {
  const Estimate published{1, 0.03};
  const auto under = [&](const SeedMean& ours) { return judge(ours, {published, oracle(1.2, 0.03)}); };
  CHECK(under(reached(1.349, 0.04)) == Verdict::better);  // 3 √(0.03² + 0.04²) = 0.15
  CHECK(under(reached(1.351, 0.04)) == Verdict::above_oracle);
  CHECK(under(reached(kNaN, 0.04)) == Verdict::none);
  CHECK(under(reached(kInfinity, kNaN)) == Verdict::above_oracle);
  // Seeds that agree were still tested on the same tasks, which may have been easy ones.
  CHECK(under({1.349, 0.0001, 0.04}) == Verdict::better);
  CHECK(under({1.349, 0.04, 0.0001}) == Verdict::better);
  CHECK(judge(reached(2, 0.04), {{}, oracle(1.2, 0.03)}) == Verdict::above_oracle);
  CHECK(judge(reached(1.1, 0.04), {{}, oracle(1.2, 0.03)}) == Verdict::none);
}

TEST_CASE("comparison: verdicts in words") {
  CHECK(std::string(to_string(Verdict::none)).empty());
  CHECK(std::string(to_string(Verdict::within_error)) == "within 2 s.e.");
  CHECK(std::string(to_string(Verdict::better)) == "better");
  CHECK(std::string(to_string(Verdict::worse)) == "worse");
  CHECK(std::string(to_string(Verdict::above_oracle)) == "above the oracle: leak");
}
