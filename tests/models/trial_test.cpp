#include "npzoo/models/trials/trial.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "npzoo/models/trials/likelihood.h"
#include "tests/models/training_fixtures.h"
#include "tests/toy_tasks.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

TrialOptions options(bool headline_only = false) {
  return {.tasks = {.batch_size = 4, .seed = 3, .split = Split::evaluation, .device = default_device()},
          .batches = 3,
          .headline_only = headline_only};
}

const Figure& figure(const Findings& found, const std::string& name) {
  const auto at = std::ranges::find(found.figures, name, &Figure::name);
  REQUIRE(at != found.figures.end());
  return *at;
}

}  // namespace

TEST_CASE("trial: likelihood returns the figures of an evaluation by name, the headline first") {
  const TrainingRun run = small_run();
  const auto model = make_model(run.spec, {.seed = 1});
  const Findings found = find_trial("likelihood").run(*model, *run.protocol.data, options());
  const Evaluation e = evaluate(*model, *run.protocol.data->source(options().tasks),
                                {.batches = 3, .exact_batches = 3, .context = true});
  CHECK(found.headline().name == "log_likelihood");
  CHECK(found.headline().words() == "log-likelihood");
  CHECK(found.headline().more_is_better);
  CHECK(found.headline().density == Density::marginal);
  CHECK(found.headline().value.value == e.log_likelihood);
  CHECK(found.headline().value.standard_error == e.standard_error);
  CHECK(figure(found, "exact_gp").value.value == e.exact_gp);
  CHECK(figure(found, "exact_gp").batches == 3);
  CHECK(figure(found, "coverage.90").value.value == e.coverage.at(90));
  CHECK(figure(found, "crps").value.value == e.crps);
  CHECK(figure(found, "crps").gain() == -e.crps);
  CHECK_FALSE(figure(found, "crps").density);
  CHECK(figure(found, "context_rmse").value.value == e.context_rmse);
  CHECK(figure(found, "context_log_likelihood").value.value == e.context_log_likelihood);
  CHECK(figure(found, "context_log_likelihood").more_is_better);
  REQUIRE(found.lacking);
  CHECK(found.lacking->value == e.exact_gap);
  CHECK(found.lacking->standard_error == e.exact_gap_error);
  CHECK(found.tasks == e.tasks);
  CHECK(figure(found, "joint_log_likelihood").value.value == e.joint_log_likelihood);
  CHECK(figure(found, "joint_log_likelihood").density == Density::joint);
  CHECK(found.headline_lines[0].ends_with("(nats per target point, each by itself: exact)"));
  CHECK(found.headline_lines[1].ends_with("(nats per target point, all of a task together: exact)"));
  CHECK(found.headline_lines[2].starts_with("exact GP posterior   "));

  std::vector<std::string> names;
  for (const Figure& f : found.figures) names.push_back(f.name);
  std::ranges::sort(names);
  CHECK(std::ranges::adjacent_find(names) == names.end());
}

TEST_CASE("trial: a headline alone is the same one") {
  const TrainingRun run = small_run();
  const auto model = make_model(run.spec, {.seed = 1});
  const Findings all = find_trial("likelihood").run(*model, *run.protocol.data, options());
  const Findings one = find_trial("likelihood").run(*model, *run.protocol.data, options(/*headline_only=*/true));
  CHECK(one.figures.size() == 1);
  CHECK(one.headline().value.value == all.headline().value.value);
  CHECK_FALSE(one.lacking);
  CHECK(one.further_lines.empty());
}

TEST_CASE("trial: models that predict jointly are scored jointly, and for each target as well") {
  const TrainingRun run = small_run();
  const auto model = make_model(run.spec, {.seed = 1});
  TrialOptions joint = options();
  joint.density = Density::joint;
  const Findings found = find_trial("likelihood").run(*model, *run.protocol.data, joint);
  CHECK(found.headline().name == "joint_log_likelihood");
  CHECK(found.headline().words() == "joint-log-likelihood");
  CHECK(figure(found, "log_likelihood").density == Density::mixture);
  CHECK(found.headline_lines[0].starts_with("joint   "));
  joint.headline_only = true;
  CHECK(find_trial("likelihood").run(*model, *run.protocol.data, joint).headline().value.value ==
        found.headline().value.value);
}

TEST_CASE("trial: without a truth there is nothing that a model lacks") {
  const AddedTaskFamily added(kLines);
  const Protocol protocol = parse_protocol(lines_protocol(), "f.toml");
  const auto model = make_model(model_spec(protocol, "cnp"), {.seed = 1});
  const Findings found = find_trial("likelihood").run(*model, *protocol.data, options());
  CHECK_FALSE(found.lacking);
  CHECK(found.headline_lines.size() == 2);
  CHECK(std::isnan(figure(found, "exact_gp").value.value));
  CHECK(figure(found, "exact_gp").batches == 0);
}

TEST_CASE("trial: a protocol says which one it means, and one that there is not is refused before training") {
  TrainingRun run = small_run();
  CHECK(run.protocol.evaluation.trial == "likelihood");
  std::string text = run.protocol.text;
  text.replace(text.find("[evaluation]\n"), 13, "[evaluation]\ntrial = \"ordeal\"\n");
  run.protocol = parse_protocol(text, "small");
  std::vector<std::string> names;
  for (const TrialInfo& info : built_in_trials()) names.emplace_back(info.name);
  CHECK(std::ranges::count(names, "likelihood") == 1);
  CHECK(error_of([&] { Trainer trainer(run); }) ==
        fmt::format("[trials] there is no trial 'ordeal'; expected one of {}", fmt::join(names, ", ")));
  CHECK(protocol_version(run.protocol, "rbf", "tnp-d") != protocol_version(small_run().protocol, "rbf", "tnp-d"));
}

TEST_CASE("trial: of coverage neither more nor less is better, but nearer to its interval") {
  const TrainingRun run = small_run();
  const auto model = make_model(run.spec, {.seed = 1});
  const Findings found = find_trial("likelihood").run(*model, *run.protocol.data, options());
  for (const int percent : {50, 80, 90, 95}) {
    Figure coverage = figure(found, fmt::format("coverage.{}", percent));
    CHECK(coverage.ideal == percent / 100.0);
    const auto gain_at = [&coverage](double share) {
      coverage.value.value = share;
      return coverage.gain();
    };
    const double right = percent / 100.0;
    CHECK(gain_at(right) > gain_at(right + 0.04));
    CHECK(gain_at(right) > gain_at(right - 0.04));
    CHECK(gain_at(right + 0.02) > gain_at(right - 0.03));
  }
}
