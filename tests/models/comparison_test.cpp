#include "npzoo/models/trials/verdict.h"

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

/// A single run.
SeedMean reached(double value, double error) {
  return {.value = value, .standard_error = error, .task_error = error, .fresh_error = error, .runs = {value}};
}

Verdict verdict_of(const SeedMean& ours, const Reference& against) { return judge(ours, against).verdict; }

/// Five runs around `value` whose mean has that error.
SeedMean five(double value, double seed_error, double task_error) {
  SeedMean mean{.value = value, .standard_error = seed_error, .task_error = task_error, .fresh_error = task_error};
  const double step = seed_error * std::sqrt(2.0);  // deviation of -2 … 2 is √2.5
  for (int i = -2; i <= 2; ++i) mean.runs.push_back(value + i * step);
  return mean;
}

Ceiling oracle(double value, double error) { return {{value, error}, "bayes_diagonal", false}; }

}  // namespace

TEST_CASE("comparison: mean over seeds") {
  const Estimate one[] = {{1.5, 0.25}};
  const SeedMean alone = mean_over_seeds(one);
  CHECK(alone.value == 1.5);
  CHECK(alone.standard_error == 0.25);
  CHECK(alone.task_error == 0.25);
  CHECK(alone.fresh_error == 0.25);
  CHECK(alone.runs == std::vector{1.5});

  const Estimate three[] = {{1, 0.1}, {2, 0.2}, {6, 0.3}};
  const SeedMean mean = mean_over_seeds(three);
  CHECK(mean.value == doctest::Approx(3));
  CHECK(mean.standard_error == doctest::Approx(std::sqrt((4 + 1 + 9) / 2.0 / 3)));
  CHECK(mean.fresh_error == mean.task_error);
  CHECK(mean.task_error == doctest::Approx(0.2));  // the tasks are the same: more seeds do not lower it

  const Estimate same[] = {{1, 0.1}, {1, 0.1}};
  CHECK(mean_over_seeds(same).standard_error == 0);
  const Estimate broken[] = {{1, 0.1}, {kNaN, kNaN}};
  CHECK(std::isnan(mean_over_seeds(broken).value));
  CHECK(error_of([] { mean_over_seeds({}); }) == "[comparison] no run given, expected 1 or more");
}

TEST_CASE("comparison: how a table was printed") {
  CHECK(printed_decimals({}) == 0);
  CHECK(printed_decimals({{"a", {2, {}}}}) == 0);
  CHECK(printed_decimals({{"a", {0.8, {}}}}) == 1);
  CHECK(printed_decimals({{"a", {0.8, 0.0}}, {"b", {-1.39, 0.0}}}) == 2);
  CHECK(printed_decimals({{"a", {0.8, 0.01}}}) == 2);
  CHECK(printed_decimals({{"a", {-0.453, 0.004}}}) == 3);
  CHECK(printed_decimals({{"a", {1.0 / 3, {}}}}) == 6);
}

TEST_CASE("comparison: a published deviation is no error of a mean") {
  const TestConfig test = test_with({{"a", {1.39, 0.0}}, {"b", {0.26, 0.02}}, {"c", {0.8, {}}}});
  const auto figure = [&](SpreadKind kind, const char* model, Metric metric = Metric::log_likelihood) {
    EvaluationConfig rules;
    rules.metric = metric;
    rules.spread = {kind, kind == SpreadKind::unknown ? 0 : 5};
    return published_figure(rules, test, test.published.at(model));
  };
  CHECK(figure(SpreadKind::deviation, "a").value == 1.39);
  CHECK(figure(SpreadKind::deviation, "a", Metric::nll).value == -1.39);
  CHECK(*figure(SpreadKind::deviation, "b").seed_error == doctest::Approx(0.02 / std::sqrt(5.0)));
  CHECK(*figure(SpreadKind::error, "b").seed_error == doctest::Approx(0.02));
  CHECK(figure(SpreadKind::error, "b").seeds == 5);
  CHECK_FALSE(figure(SpreadKind::unknown, "b").seed_error);
  CHECK_FALSE(figure(SpreadKind::deviation, "c").seed_error);
  // Rounding is uniform over a unit of the last place: 0.29 units.
  CHECK(figure(SpreadKind::deviation, "a").rounding == doctest::Approx(0.01 / std::sqrt(12.0)));
  CHECK(figure(SpreadKind::deviation, "a").table_width == doctest::Approx(1.13));
  CHECK(figure(SpreadKind::deviation, "a", {.negative = true, .channels = 3}).table_width == doctest::Approx(3.39));
  const TestConfig alone = test_with({{"a", {1.39, 0.0}}});
  CHECK(published_figure({}, alone, alone.published.at("a")).table_width == 1);
}

TEST_CASE("comparison: a deviation over tasks of one training says nothing of seeds") {
  const TestConfig test = test_with({{"a", {1.39, 0.01}}});
  EvaluationConfig rules;
  rules.spread = {.kind = SpreadKind::deviation, .tasks = 50};
  const PublishedFigure figure = published_figure(rules, test, test.published.at("a"));
  CHECK_FALSE(figure.seed_error);
  CHECK(figure.seeds == 0);
  CHECK(*figure.task_error == doctest::Approx(0.01 / std::sqrt(50.0)));
  rules.spread.kind = SpreadKind::error;
  CHECK(*published_figure(rules, test, test.published.at("a")).task_error == doctest::Approx(0.01));
  // Then the noise of its tasks is known, and ours need not stand for it.
  const SeedMean ours = reached(1.38, 0.02);
  CHECK(judge(ours, {PublishedFigure{.value = 1.39, .task_error = 0.01}, {}}).half_width ==
        doctest::Approx(1.959964 * std::hypot(0.02, 0.01)));
  CHECK(judge(ours, {PublishedFigure{.value = 1.39}, {}}).half_width ==
        doctest::Approx(1.959964 * std::hypot(0.02, 0.02)));
}

TEST_CASE("comparison: a control variate removes the noise of our test tasks and not of theirs") {
  const PublishedFigure published{.value = 1.39, .table_width = 1.2};
  SeedMean ours = reached(1.38, 0.013);
  CHECK(judge(ours, {published, {}}).half_width == doctest::Approx(1.959964 * std::sqrt(2.0) * 0.013));
  ours.task_error = ours.standard_error = 0.002;
  CHECK(judge(ours, {published, {}}).half_width == doctest::Approx(1.959964 * std::hypot(0.002, 0.013)));
  // Nor does it make a noisy run a collapsed one: the limit is of the plain error.
  SeedMean far = ours;
  far.runs = {1.0, 0.6};
  const PublishedFigure narrow{.value = 1.39, .table_width = 0.1};
  far.fresh_error = 0.05;
  CHECK(judge(far, {narrow, {}}).collapsed.empty());
  far.fresh_error = 0.03;
  CHECK(judge(far, {narrow, {}}).collapsed == std::vector<std::size_t>{1});
}

TEST_CASE("comparison: figures per channel are brought to target points, and back") {
  const Protocol p = load_protocol("tnp-kr/cifar10");
  const Metric& metric = p.evaluation.metric;
  CHECK(std::string(to_string(metric)) == "nll per channel");
  const TestConfig& test = p.evaluation.tests[0];
  const PublishedFigure tnp_d = *reference_for(p.evaluation, test, "tnp-d").published;
  CHECK(tnp_d.value == doctest::Approx(3 * 1.416));
  CHECK(*tnp_d.seed_error == doctest::Approx(3 * 0.004));
  CHECK(in_metric(metric, tnp_d.value) == doctest::Approx(-1.416));
  CHECK(error_in_metric(metric, *tnp_d.seed_error) == doctest::Approx(0.004));
  CHECK(std::string(to_string(Metric::nll)) == "nll");
  CHECK(in_metric(Metric::log_likelihood, 1.25) == 1.25);
  CHECK(load_protocol("tnp/celeba32").evaluation.metric == Metric::log_likelihood);
}

TEST_CASE("comparison: figures on a part of a set are compared with nothing") {
  for (const std::string& name : protocol_names()) {
    if (!name.ends_with("-part")) continue;
    CAPTURE(name);
    const EvaluationConfig rules = load_protocol(name).evaluation;
    for (const TestConfig& test : rules.tests) {
      CHECK(test.published.empty());
      CHECK(verdict_of(reached(1, 0.01), reference_for(rules, test, "tnp-d")) == Verdict::none);
    }
  }
}

TEST_CASE("comparison: the best possible value depends on the density of a figure") {
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
    return verdict_of(five(value, 0.001, 0.012), reference_for(p.evaluation, rbf, model));
  };
  CHECK(verdict("tnp-d", 1.39) == Verdict::within);
  CHECK(verdict("tnp-d", 1.63) == Verdict::above_oracle);
  CHECK(verdict("tnp-d", 1.45) == Verdict::better);
  CHECK(verdict("tnp-a", 1.63) == Verdict::no_spread);
  CHECK(verdict("tnp-a", 1.781) == Verdict::no_spread);
  CHECK(verdict("tnp-a", 1.83) == Verdict::above_oracle);
  CHECK(verdict("tnp-nd", 1.46) == Verdict::within);
  CHECK(verdict("cmanp-and", 1.48) == Verdict::within);

  // Between the best Gaussians, 1.459, and the best of any densities, 1.474; errors small enough to tell them apart.
  EvaluationConfig rules = p.evaluation;
  TestConfig sure = rbf;
  sure.oracle.standard_error = 0.001;
  const auto sure_verdict = [&](const char* model, double value) {
    return verdict_of(five(value, 0.001, 0.001), reference_for(rules, sure, model));
  };
  CHECK(sure_verdict("anp", 1.47) == Verdict::better);
  CHECK(sure_verdict("canp", 1.47) == Verdict::above_oracle);
  CHECK(sure_verdict("anp", 1.48) == Verdict::above_oracle);

  // A model of this build is what the registry says; a figure of another kind is no match for it.
  rules.densities["tnp-d"] = Density::joint;
  CHECK(density_of(rules, "tnp-d") == Density::marginal);
  CHECK_FALSE(reference_for(rules, rbf, "tnp-d").published);
  CHECK(verdict_of(reached(1.39, 0.012), reference_for(rules, rbf, "tnp-d")) == Verdict::none);
  CHECK(density_of(rules, "gpt") == Density::marginal);
  CHECK(density_of(load_protocol("tnp/gp-rbf").evaluation, "anp") == Density::mixture);
  CHECK(density_of(load_protocol("npzoo/gp-rbf").evaluation, "anp") == Density::mixture);
  CHECK(density_of(load_protocol("tnp-kr/gp1d-rbf").evaluation, "anp") == Density::marginal);
}

TEST_CASE("comparison: figures that are no log-likelihoods have no oracle") {
  const Protocol p = load_protocol("tnp-kr/gp1d-rbf");
  const TestConfig& test = p.evaluation.tests[0];
  const Reference against = reference_for(p.evaluation, test, "tnp-kr-full", std::nullopt);
  CHECK_FALSE((against.published || against.best));
  CHECK(verdict_of(reached(0.7, 0.001), against) == Verdict::none);  // an error may well be larger than a ceiling
  CHECK(verdict_of(reached(0.7, 0.001), reference_for(p.evaluation, test, "tnp-kr-full")) == Verdict::above_oracle);
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
        const PublishedFigure& figure = *against.published;
        const bool known = figure.seed_error.has_value();
        const Judgement found = judge(five(figure.value, figure.rounding, figure.rounding), against);
        const bool wide = found.half_width > figure.table_width / 10;  // three of tnp-kr/cifar10
        CHECK(found.verdict == (!known ? Verdict::no_spread : wide ? Verdict::uncertain : Verdict::within));
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
        }) == "[comparison] rbf: the distance from the exact posterior is nan, expected a number");
}

TEST_CASE("comparison: verdicts") {
  // The half interval of five seeds beside five is √((2.776 · 0.05)² + (1.96 · 0.1)²) = 0.2402.
  const PublishedFigure published{.value = 1, .seed_error = 0.03, .seeds = 5, .rounding = 0.06, .table_width = 3};
  const double tasks = std::sqrt(0.01 - 0.06 * 0.06) / std::sqrt(2.0);
  const auto against = [&](const SeedMean& ours) { return verdict_of(ours, {published, {}}); };
  CHECK(judge(five(1.1, 0.04, tasks), {published, {}}).half_width == doctest::Approx(0.2402).epsilon(1e-3));
  CHECK(judge(five(1.1, 0.04, tasks), {published, {}}).difference == doctest::Approx(0.1));
  CHECK(against(five(1, 0.04, tasks)) == Verdict::within);
  CHECK(against(five(1.239, 0.04, tasks)) == Verdict::within);
  CHECK(against(five(0.761, 0.04, tasks)) == Verdict::within);
  CHECK(against(five(1.242, 0.04, tasks)) == Verdict::better);
  CHECK(against(five(0.758, 0.04, tasks)) == Verdict::worse);
  CHECK(against(five(1.3, 0.04, kNaN)) == Verdict::better);  // of one batch no error of tasks is known
  CHECK(against(reached(kNaN, kNaN)) == Verdict::none);
  CHECK(verdict_of(reached(1, 0.1), {}) == Verdict::none);

  CHECK(against(reached(1, 0.01)) == Verdict::one_seed);
  CHECK(against(reached(-kInfinity, kNaN)) == Verdict::one_seed);
  PublishedFigure bare = published;
  bare.seed_error = {};
  CHECK(verdict_of(five(1, 0.04, tasks), {bare, {}}) == Verdict::no_spread);
}

TEST_CASE("comparison: two seeds that differ agree with nothing") {
  const PublishedFigure published{
      .value = 1.46, .seed_error = 0.002, .seeds = 5, .rounding = 0.003, .table_width = 1.37};
  const auto judged = [&](double a, double b, double table_width = 1.37) {
    const Estimate runs[] = {{a, 0.01}, {b, 0.01}};
    PublishedFigure row = published;
    row.table_width = table_width;
    return judge(mean_over_seeds(runs), {row, {}});
  };
  // One degree of freedom: 12.7 standard errors of the mean, and 1.96 of the test tasks.
  CHECK(judged(1.45, 1.46).half_width ==
        doctest::Approx(std::hypot(12.706 * std::hypot(0.005, 0.002), 1.96 * std::hypot(0.01, 0.01, 0.003)))
            .epsilon(1e-3));
  CHECK(judged(1.45, 1.46).verdict == Verdict::within);
  CHECK(judged(1.40, 1.46).verdict == Verdict::uncertain);  // 0.38 is more than a tenth of 1.37
  CHECK(judged(1.40, 1.46, 4).verdict == Verdict::within);
  CHECK(judged(1.466, -0.114).verdict == Verdict::collapsed);
  CHECK(judged(1.466, -0.114).collapsed == std::vector<std::size_t>{1});
  CHECK(judged(-kInfinity, 1.466).collapsed == std::vector<std::size_t>{0});
  CHECK(judged(1.12, 1.46).verdict == Verdict::uncertain);  // 0.34 is less than a quarter
  CHECK(judged(1.11, 1.46).verdict == Verdict::collapsed);
  CHECK(judged(1.11, 1.46, 0.1).verdict == Verdict::collapsed);
  CHECK(judged(1.37, 1.46, 0.1).verdict == Verdict::uncertain);  // 0.09 is less than ten errors of the test tasks
}

TEST_CASE("comparison: more than is possible is a leak") {
  const PublishedFigure published{.value = 1, .seed_error = 0.03, .seeds = 5, .table_width = 3};
  const auto under = [&](const SeedMean& ours) { return verdict_of(ours, {published, oracle(1.2, 0.03)}); };
  CHECK(under(five(1.349, 0.01, 0.04)) == Verdict::better);  // 3 √(0.03² + 0.04²) = 0.15
  CHECK(under(reached(1.351, 0.04)) == Verdict::above_oracle);
  CHECK(under(reached(kNaN, 0.04)) == Verdict::none);
  CHECK(under(reached(kInfinity, kNaN)) == Verdict::above_oracle);
  // Seeds that agree were still tested on the same tasks, which may have been easy ones.
  CHECK(under(five(1.349, 0.0001, 0.04)) == Verdict::better);
  CHECK(under(five(1.349, 0.02, 0.0001)) == Verdict::above_oracle);
  CHECK_FALSE(above({.value = 1.349, .standard_error = 0.04, .task_error = 0.0001}, oracle(1.2, 0.03)));
  CHECK(above({.value = 1.351, .standard_error = 0.04, .task_error = 0.0001}, oracle(1.2, 0.03)));
  CHECK(verdict_of(reached(2, 0.04), {{}, oracle(1.2, 0.03)}) == Verdict::above_oracle);
  CHECK(verdict_of(reached(1.1, 0.04), {{}, oracle(1.2, 0.03)}) == Verdict::none);
}

TEST_CASE("comparison: verdicts in words") {
  CHECK(std::string(to_string(Verdict::none)).empty());
  CHECK(std::string(to_string(Verdict::one_seed)) == "one seed: not judged for seeds");
  CHECK(std::string(to_string(Verdict::collapsed)) == "collapsed");
  CHECK(std::string(to_string(Verdict::no_spread)) == "published without spread: not judged for seeds");
  CHECK(std::string(to_string(Verdict::uncertain)) == "too uncertain to tell");
  CHECK(std::string(to_string(Verdict::within)) == "within");
  CHECK(std::string(to_string(Verdict::better)) == "better");
  CHECK(std::string(to_string(Verdict::worse)) == "worse");
  CHECK(std::string(to_string(Verdict::above_oracle)) == "above the oracle: leak");
}
