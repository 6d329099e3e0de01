#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/kinds/gp/config.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/error.h"
#include "tests/datasets/task_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::vector<std::string> names_in_folder() {
  const char* source = std::getenv("NPZOO_SOURCE_ROOT");
  REQUIRE(source != nullptr);
  const std::filesystem::path folder = std::filesystem::path(source) / "datasets/protocols";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().parent_path().filename() != "presets")
      names.push_back(entry.path().lexically_relative(folder).replace_extension().string());
  std::ranges::sort(names);
  REQUIRE(names.size() >= 7);
  return names;
}

}  // namespace

TEST_CASE("[protocol] every file of the folder is in the program, loads under its own name and can be drawn from") {
  CHECK(protocol_names() == names_in_folder());
  for (const std::string& name : protocol_names()) {
    CAPTURE(name);
    const Protocol p = load_protocol(name);
    CHECK(p.name == name);
    CHECK_FALSE(p.description.empty());
    CHECK(parse_protocol(p.text, name).text == p.text);
    if (!is_at_hand(p)) continue;
    constexpr std::int64_t kBatch = 2;  // a larger one is more of the same
    CHECK_NOTHROW(p.data->source({.batch_size = kBatch})->task(0));
    for (const TestConfig& test : p.evaluation.tests)
      CHECK_NOTHROW(test.data->source({kBatch, p.evaluation.seed, Split::evaluation})->task(0));
  }
}

TEST_CASE("[protocol] no score beats known hyper-parameters") {
  for (const std::string& name : protocol_names()) {
    const EvaluationConfig e = load_protocol(name).evaluation;
    const auto score = [&e](double value) { return to_log_likelihood(e.metric, value); };
    for (const TestConfig& test : e.tests) {
      CAPTURE(name);
      CAPTURE(test.name);
      const OracleValues& o = test.oracle;
      if (e.trial != "likelihood" || !gp_distribution(*test.data)) continue;  // where there may be no truth
      REQUIRE(o.known_marginal);
      for (const auto& bayes : {o.bayes_diagonal, o.bayes_mixture})
        if (bayes) CHECK(score(*bayes) < score(*o.known_marginal));
      CHECK(o.bayes_diagonal.has_value() == o.bayes_mixture.has_value());
      if (!o.bayes_joint) continue;
      REQUIRE(o.known_joint);
      CHECK(score(*o.bayes_joint) < score(*o.known_joint));
    }
  }
}

TEST_CASE("[protocol] tnp/gp-rbf in full") {
  const Protocol p = load_protocol("tnp/gp-rbf");
  const GpDistribution& data = *gp_distribution(*p.data);
  CHECK(data.kernels.size() == 1);
  CHECK(data.kernels[0].lengthscale.kind == Prior::Kind::uniform);
  CHECK(data.kernels[0].lengthscale.b == 0.6);
  CHECK(data.context.high == 47);
  CHECK(data.targets == GpDistribution::Targets::disjoint);
  CHECK(data.context_noise == 0.02);
  CHECK(p.training.steps == 100'000);
  CHECK(p.training.optimiser.kind == OptimiserKind::adam);
  CHECK(p.training.optimiser.lr == 5e-4);
  CHECK(p.training.schedule.kind == ScheduleKind::cosine);
  CHECK_FALSE(p.training.keep_best);
  CHECK(p.validation.every == 5000);
  CHECK(p.evaluation.batches == 3000);
  CHECK(p.evaluation.metric == Metric::log_likelihood);
  REQUIRE(p.evaluation.tests.size() == 3);
  const TestConfig& matern = p.evaluation.tests[1];
  CHECK(gp_distribution(*matern.data)->kernels[0].kind == KernelKind::matern52);
  CHECK(gp_distribution(*matern.data)->context_noise == 0.02);
  CHECK(matern.oracle.bayes_diagonal == 1.064);
  CHECK(matern.published.at("tnp-d").value == 0.95);
  CHECK(matern.published.at("tnp-d").error == 0.01);
  CHECK_FALSE(matern.published.at("tnp-a").error);
  CHECK_FALSE(matern.published.contains("tnp-kr-full"));
  CHECK_FALSE(p.evaluation.tests[2].oracle.bayes_diagonal);
  CHECK(p.evaluation.densities.size() == 8);
  CHECK(p.evaluation.densities.at("banp") == Density::mixture);
  CHECK(p.evaluation.densities.at("cmanp-and") == Density::joint);
  CHECK(std::get<std::int64_t>(model_config(p, "tnp-d").at("d_model")) == 64);
  CHECK(std::get<bool>(model_config(p, "tnp-d").at("bound_std")) == false);
}

TEST_CASE("[protocol] npzoo/gp-rbf is scored as tnp/gp-rbf is, after a training of its own") {
  const Protocol ours = load_protocol("npzoo/gp-rbf"), theirs = load_protocol("tnp/gp-rbf");
  CHECK(same_data(ours, theirs));
  CHECK(ours.evaluation.batches == theirs.evaluation.batches);
  CHECK(ours.evaluation.batch_size == theirs.evaluation.batch_size);
  CHECK(ours.evaluation.seed == theirs.evaluation.seed);
  CHECK(ours.evaluation.metric == theirs.evaluation.metric);
  REQUIRE(ours.evaluation.tests.size() == theirs.evaluation.tests.size());
  for (std::size_t i = 0; i < ours.evaluation.tests.size(); ++i) {
    const TestConfig &test = ours.evaluation.tests[i], &same = theirs.evaluation.tests[i];
    CAPTURE(test.name);
    CHECK(test.name == same.name);
    CHECK(*gp_distribution(*test.data) == *gp_distribution(*same.data));
    CHECK(test.oracle == same.oracle);
    for (const auto& [model, row] : test.published) CHECK(row == same.published.at(model));
  }
  CHECK(ours.models.at("tnp-d") == theirs.models.at("tnp-d"));
}

TEST_CASE("[protocol] convcnp/eq: targets are as many whatever the context is") {
  const auto source = load_protocol("convcnp/eq").data->source({.batch_size = 2});
  std::int64_t most = 0, fewest = 100, most_of_both = 0;
  for (std::int64_t i = 0; i < 400; ++i) {
    const Task task = source->task(i);
    const std::int64_t context = task.xc.dim(1), targets = task.xt.dim(1);
    CHECK((3 <= context && context <= 50));
    most = std::max(most, targets);
    fewest = std::min(fewest, targets);
    most_of_both = std::max(most_of_both, context + targets);
  }
  CHECK(fewest == 3);
  CHECK(most == 50);
  CHECK(most_of_both > 90);
}

TEST_CASE("[protocol] convcnp/noisy-mixture is a sum of two kernels of variance 1, and noise of variance 1e-3") {
  const Protocol p = load_protocol("convcnp/noisy-mixture");
  const GpDistribution& data = *gp_distribution(*p.data);
  REQUIRE(data.kernels.size() == 1);
  Random random(0);
  Kernel kernel = data.kernels[0].draw(random);
  kernel.nugget = data.jitter;
  const auto at = [&](double d) { return covariance(kernel, {std::vector<double>{0}}, {std::vector<double>{d}})[0]; };
  CHECK(at(0) == doctest::Approx(2 + 1e-3 + 1e-6).epsilon(1e-14));
  for (const double d : {0.1, 0.4, 2.0})
    CHECK(at(d) == doctest::Approx(std::exp(-d * d / 2) + std::exp(-8 * d * d)).epsilon(1e-14));
}

TEST_CASE("[protocol] convcnp/weakly-periodic is a product of two kernels, as theirs is") {
  const Protocol p = load_protocol("convcnp/weakly-periodic");
  const GpDistribution& data = *gp_distribution(*p.data);
  REQUIRE(data.kernels.size() == 1);
  Random random(0);
  const Kernel kernel = data.kernels[0].draw(random);
  for (const double d : {0.1, 0.25, 0.6}) {
    // Theirs is exp(-r^2 / 2), r being the distance of places on a circle of radius 1.
    const double angle = 2 * std::numbers::pi * d / 0.25,
                 r2 = std::pow(std::cos(angle) - 1, 2) + std::pow(std::sin(angle), 2);
    CHECK(covariance(kernel, {std::vector<double>{0}}, {std::vector<double>{d}})[0] ==
          doctest::Approx(std::exp(-2 * d * d) * std::exp(-r2 / 2)).epsilon(1e-13));
  }
}

TEST_CASE("[protocol] tnp-kr/gp1d-periodic: its differences") {
  const Protocol p = load_protocol("tnp-kr/gp1d-periodic");
  const GpDistribution& data = *gp_distribution(*p.data);
  const KernelPrior& kernel = data.kernels[0];
  CHECK(kernel.kind == KernelKind::periodic);
  CHECK(kernel.lengthscale.kind == Prior::Kind::beta);
  CHECK(kernel.scale.kind == Prior::Kind::constant);
  CHECK(kernel.scale.a == 1);
  CHECK(kernel.period.b == 2);
  CHECK((data.shared && data.ragged && data.grid == 100));
  CHECK(p.training.optimiser.kind == OptimiserKind::yogi);
  CHECK(p.training.schedule.kind == ScheduleKind::one_cycle);
  CHECK(p.training.schedule.final_divisor == 10);
  CHECK(p.training.keep_best);
  CHECK(to_log_likelihood(p.evaluation.metric, p.evaluation.tests[0].published.at("tnp-kr-full").value) == -0.516);
}

TEST_CASE("[protocol] taylorformer/gp-matern: validations have tasks of their own, by the same kernel") {
  const Protocol p = load_protocol("taylorformer/gp-matern"), plain = load_protocol("tnp/gp-rbf");
  CHECK_FALSE(plain.validation_data);
  REQUIRE(p.validation_data);
  const GpDistribution &training = *gp_distribution(*p.data), &validation = *gp_distribution(*p.validation_data);
  CHECK(validation.kernels == training.kernels);
  CHECK(validation.kernels[0].kind == KernelKind::matern52);
  CHECK((training.context == IntegerRange{3, 98} && validation.context == IntegerRange{20, 21}));
  const Task task = p.validation_data->source({.batch_size = 2, .split = Split::validation})->task(0);
  CHECK((task.xc.dim(1) == 20 && task.xt.dim(1) == 80));
  const std::string text = load_protocol("taylorformer/gp-rbf").text;
  const Protocol rbf = parse_protocol(text, "f.toml"),
                 other = parse_protocol(replaced(text, "[20, 21]", "[21, 22]"), "f.toml");
  CHECK_FALSE(same_data(rbf, other));
  CHECK(protocol_version(rbf, "rbf", "np") != protocol_version(other, "rbf", "np"));
  CHECK(error_of_protocol(replaced(text, "[20, 21]", "[20, 101]")) ==
        "[protocol] f.toml: validation.tasks.context is 101, expected integers 0 <= low < high <= 100");
  CHECK(error_of_protocol(replaced(text, "[20, 21]", "[20, 21]\nmin_targets = 3"))
            .starts_with("[protocol] f.toml: validation.tasks.min_targets is an unknown key"));
}

TEST_CASE("[protocol] a user's own file") {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("npzoo-protocol-{}.toml", ::getpid());
  std::ofstream(path) << load_protocol("quick/gp1d").text;
  CHECK(load_protocol(path.string()).training.steps == load_protocol("quick/gp1d").training.steps);
  std::filesystem::remove(path);
  CHECK_THROWS_AS(load_protocol(path.string()), Error);
}

TEST_CASE("[protocol] unknown names: the nearest ones and the command that lists all") {
  CHECK_THROWS_WITH_AS(load_protocol("gp-rbf"),
                       "[protocol] gp-rbf is unknown, neither a protocol nor a path that ends in .toml, did you mean "
                       "'tnp/gp-rbf', 'npzoo/gp-rbf' or 'taylorformer/gp-rbf'? (npzoo list protocols shows all)",
                       Error);
  CHECK_THROWS_WITH_AS(
      load_protocol("zebra"),
      "[protocol] zebra is unknown, neither a protocol nor a path that ends in .toml, expected one that "
      "npzoo list protocols lists",
      Error);
  CHECK_THROWS_WITH_AS(
      model_config(load_protocol("quick/gp1d"), "gpt"),
      "[protocol] quick/gp1d has no preset for the model gpt, expected one of: cnp, tnp-d, tnp-kr-fast, tnp-kr-full",
      Error);
}

TEST_CASE("[protocol] malformed files: file, key, found and expected are named") {
  struct Case {
    const char *before, *after, *message;
  };
  for (const Case& c : {
           Case{"dims = 1", "dims = ", "[protocol] f.toml: line 12, column 8: "},
           Case{"[data]", "[[[data]]]", "[protocol] f.toml: line 9, column 3: "},
           Case{"dims = 1", "dims = 1\ndims = 2", "[protocol] f.toml: line 13, column "},
           Case{"dims = 1", "dims = 1  # \xC3\xA9",
                "line 12 holds a character outside ASCII, expected an escape like \\u00e9"},
           Case{"steps = 100_000", "", "training.steps is missing, expected an integer from 1 to 1000000000"},
           Case{"steps = 100_000", "steps = 1.5", "training.steps is 1.5, expected an integer from 1 to 1000000000"},
           Case{"steps = 100_000", "steps = 0", "training.steps is 0, expected an integer from 1 to 1000000000"},
           Case{"steps = 100_000", "steps = \"many\"", "training.steps is 'many', expected an integer from 1 to"},
           Case{"steps = 100_000", "steps = 100_000\nstep = 3", "training.step is an unknown key, expected one of: "},
           Case{"lr = 5e-4", "lr = 0", "training.optimiser.lr is 0, expected a number > 0"},
           Case{"lr = 5e-4", "lr = nan", "training.optimiser.lr is nan, expected a number > 0"},
           Case{"lr = 5e-4", "lr = inf", "training.optimiser.lr is inf, expected a number > 0"},
           Case{"lr = 5e-4", "lr = true", "training.optimiser.lr is true, expected a number > 0"},
           Case{"beta2 = 0.999", "beta2 = 1.0", "training.optimiser.beta2 is 1.0, expected a number >= 0 and < 1"},
           Case{"name = \"adam\"", "name = \"sgd\"",
                "training.optimiser.name is 'sgd', expected one of \"adam\", \"keras-adam\", \"adamw\", \"yogi\""},
           Case{"name = \"adam\"", "name = 3", "training.optimiser.name is 3, expected one of"},
           Case{"clip_norm = 0.0", "clip_norm = -1.0", "training.clip_norm is -1.0, expected a number >= 0"},
           Case{"warmup_steps = 0", "warmup_steps = 200_000", "warmup_steps is 200000, expected an integer from 0 to"},
           Case{"warmup_steps = 0", "divisor = 2", "training.schedule.warmup_steps is missing"},
           Case{"name = \"cosine\"", "name = \"constant\"", "training.schedule.warmup_steps is an unknown key"},
           Case{"shared = false", "shared = 0", "data.shared is 0, expected true or false"},
           Case{"name = \"tnp/gp-rbf\"", "name = 1", "[protocol] f.toml: name is 1, expected a string"},
           Case{"name = \"tnp/gp-rbf\"", "", "[protocol] f.toml: name is missing, expected a string"},
           Case{"domain = [-2.0, 2.0]", "domain = [2.0]", "data.domain is a TOML array, expected an array of two"},
           Case{"domain = [-2.0, 2.0]", "domain = [2.0, 2.0]", "data.domain is [2, 2], expected low < high"},
           Case{"context = [3, 47]", "context = [3, 48]",
                "data.context is 48, expected integers 0 <= low < high <= 47"},
           Case{"context = [3, 47]", "context = [9, 9]", "data.context is [9, 9], expected integers 0 <= low < high"},
           Case{"min_targets = 3", "", "data.min_targets is missing"},
           Case{"min_targets = 3", "target_count = [3, 60]",
                "data.target_count is 60, expected integers 1 <= low < high <= 50"},
           Case{"min_targets = 3", "target_count = [3, 11]",
                "data.context is 47, expected integers 0 <= low < high <= 41"},
           Case{"min_targets = 3", "min_targets = 3\ngrid = 4", "data.grid is an unknown key"},
           Case{"targets = \"disjoint\"\nmin_targets = 3", "targets = \"all\"\ngrid = 4047",
                "data.grid is 4047 per axis, expected at most 4096 points"},
           Case{"kernels = [", "kernels = [3, ", "data.kernels[0] is 3, expected a table"},
           Case{"kernels = [", "kernels = []\nkernel = [", "data.kernels is a TOML array, expected an array of tables"},
           Case{"uniform = [0.1, 0.6]", "uniform = [0.6, 0.1]", "data.kernels[0].lengthscale.uniform is [0.6, 0.1]"},
           Case{"uniform = [0.1, 0.6]", "beta = [0.5, 2]", "lengthscale.beta is 0.5, expected a number >= 1"},
           Case{"uniform = [0.1, 0.6]", "normal = [0.1, 0.6]", "data.kernels[0].lengthscale.beta is missing"},
           Case{"uniform = [0.1, 0.6]", "uniform = [0.1, 0.6], beta = [1, 2]", "lengthscale.beta is an unknown key"},
           Case{"kind = \"rbf\"", "kind = \"periodic\"", "data.kernels[0].period is missing, expected a number > 0, {"},
           Case{"seed = 0", "seed = -1", "validation.seed is -1, expected an integer from 0"},
           Case{"name = \"rbf\"", "title = \"rbf\"", "evaluation.tests[0].name is missing"},
           Case{"known_joint = 1.810", "known_mode = 1", "evaluation.tests[0].oracle.known_mode is an unknown key"},
           Case{"standard_error = 0.005", "standard_error = -0.5",
                "evaluation.tests[0].oracle.standard_error is -0.5, expected a number >= 0"},
           Case{"tnp-a = \"joint\"", "tnp-a = \"all\"",
                "evaluation.densities.tnp-a is 'all', expected one of \"marginal\", \"mixture\", \"joint\""},
           Case{"tnp-a = \"joint\"", "tnpa = \"joint\"",
                "evaluation.densities.tnpa is that of a model without a published figure, expected one that has a"},
           Case{"seeds = 5, assumed = true", "seeds = 1",
                "evaluation.spread.seeds is 1, expected an integer from 2 to"},
           Case{"seeds = 5, assumed = true", "tasks = 50, assumed = true",
                "evaluation.spread.assumed is an unknown key"},
           Case{"kind = \"deviation\"", "kind = \"range\"",
                "evaluation.spread.kind is 'range', expected one of \"deviation\", \"error\""},
           Case{"name = \"matern52\"", "name = \"rbf\"",
                "evaluation.tests[1].name is 'rbf' again, expected another name than the other tests"},
           Case{"cnp = [0.26, 0.02]", "cnp = [0.26, -1]", "published.cnp is [0.26, -1], expected an error >= 0"},
           Case{"cnp = [0.26, 0.02]", "cnp = \"good\"", "published.cnp is 'good', expected a finite number"},
           Case{"dim_hid = 128", "dim_hid = [128]",
                "models.cnp.dim_hid is a TOML array, expected true, false, a number"},
           Case{"dim_hid = 128", "dim_hid = inf", "models.cnp.dim_hid is inf, expected a finite number"},
           Case{"[models.cnp]", "[models]\ncnp = 3\n[models.x]", "models.cnp is 3, expected a table"},
       }) {
    CAPTURE(c.after);
    const std::string error = error_of_protocol(replaced(load_protocol("tnp/gp-rbf").text, c.before, c.after));
    CAPTURE(error);
    CHECK(error.starts_with("[protocol] f.toml: "));
    CHECK(error.find(c.message) != std::string::npos);
  }
}

TEST_CASE("[protocol] keys nested without end are refused before they overflow the stack") {
  std::string key = "a";
  for (int i = 0; i < 500'000; ++i) key += ".a";
  CHECK(error_of_protocol(key + " = 1") == "[protocol] f.toml: line 1: a key of more than 16 parts");
  CHECK(error_of_protocol(load_protocol("quick/gp1d").text + "\n[models." + key + "]")
            .ends_with("a key of more than 16 parts"));
  CHECK(error_of_protocol(std::string((1 << 20) + 1, '\n')) ==
        "[protocol] f.toml: 1048577 bytes of TOML found, expected at most 1048576");
}

TEST_CASE("[protocol] the best weights cannot be kept without validation") {
  const std::string never = replaced(load_protocol("tnp/gp-rbf").text, "every = 5000", "every = 0");
  CHECK(parse_protocol(never, "f.toml").validation.every == 0);
  CHECK(error_of_protocol(replaced(never, "\"last\"", "\"best\"")) ==
        "[protocol] f.toml: validation.every is 0, expected an integer from 1 to 1000000000");
}

TEST_CASE("[protocol] a file cut anywhere is an error, or a protocol that lacks tests or models alone") {
  const Protocol whole = load_protocol("tnp/gp-rbf");
  const std::size_t tests = whole.text.find("[[evaluation.tests]]");
  REQUIRE(tests < whole.text.find("[models."));
  for (std::size_t length = 0; length <= whole.text.size(); ++length) {
    CAPTURE(length);
    try {
      const Protocol cut = parse_protocol(std::string_view(whole.text).substr(0, length), "cut");
      CHECK(length > tests);
      CHECK(*gp_distribution(*cut.data) == *gp_distribution(*whole.data));
      CHECK(cut.training.optimiser == whole.training.optimiser);
      CHECK(cut.training.steps == whole.training.steps);
      CHECK(cut.evaluation.tests.size() <= whole.evaluation.tests.size());
      for (const auto& [model, config] : cut.models) CHECK(whole.models.contains(model));
    } catch (const Error& error) {
      CHECK(length < whole.text.size());
      CHECK(std::string_view(error.what()).starts_with("[protocol] cut: "));
      CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos);
    }
  }
}
