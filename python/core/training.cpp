#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>

#include "npzoo/models/registry.h"
#include "npzoo/models/training/pretrained.h"
#include "npzoo/models/training/trainer.h"
#include "npzoo/models/trials/trial.h"
#include "npzoo/models/trials/verdict.h"
#include "python/core/calls.h"
#include "python/core/model.h"
#include "tools/cli/commit.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

struct TrainSettings {
  std::string protocol;
  std::vector<std::string> changes;
  std::string model, init;
  std::optional<std::int64_t> steps, batch_size;
  std::optional<double> learning_rate;
  std::optional<std::uint64_t> seed;
};

TrainingRun describe(const TrainSettings& s) {
  check(!s.model.empty() || !s.init.empty(), "[train] neither a model nor init found, expected one of them");
  TrainingRun run;
  run.protocol = with_changes(load_protocol(s.protocol), s.changes);
  if (!s.model.empty()) run.spec = model_spec(run.protocol, s.model);
  if (!s.init.empty()) begin_with(run, s.init);
  check(s.steps.value_or(1) >= 1 && s.batch_size.value_or(1) >= 1 && s.learning_rate.value_or(1) > 0,
        "[train] steps, batch_size or learning_rate is not positive, expected positive numbers");
  if (s.steps) set_steps(run.protocol, *s.steps);
  TrainingConfig& training = run.protocol.training;
  training.batch_size = s.batch_size.value_or(training.batch_size);
  training.optimiser.lr = s.learning_rate.value_or(training.optimiser.lr);
  run.seed = s.seed.value_or(run.seed);
  return run;
}

/// Hands what happens in a training to a Python function `report(event, step, value)`: "begin" with the number of all
/// steps, "step" with the loss, "validation" with the log-likelihood. The training ends early when it returns True.
class Reporter final : public TrainObserver {
 public:
  Reporter(CallWatch& watch, nb::handle function, std::int64_t steps)
      : watch_(watch), function_(function), steps_(steps) {}

  void on_begin(std::int64_t done) override { report("begin", done, static_cast<double>(steps_)); }
  void on_step(std::int64_t step, double loss) override { report("step", step, loss); }
  void on_validation(std::int64_t step, double value) override { report("validation", step, value); }
  bool stop_requested() override { return stop_; }

 private:
  void report(const char* event, std::int64_t step, double value) {
    if (function_.is_none()) return;
    watch_.run_locked([&] {
      const nb::object answer = function_(event, step, value);
      stop_ = stop_ || answer.ptr() == Py_True;
    });
  }

  CallWatch& watch_;
  const nb::handle function_;
  const std::int64_t steps_;
  bool stop_ = false;
};

nb::dict train_model(const TrainSettings& settings, const std::filesystem::path& out, bool resume, bool tensorboard,
                     nb::object report) {
  CallWatch watch;
  const TrainResult result = unlocked(watch, [&] {
    const TrainingRun run = describe(settings);
    Reporter reporter(watch, report, run.protocol.training.steps);
    return train(run, {.out = out, .resume = resume, .commit = kCommit, .tensorboard = tensorboard}, reporter);
  });
  nb::dict facts;
  facts["steps"] = result.steps;
  facts["loss"] = result.loss;
  facts["log_likelihood"] = result.log_likelihood;
  facts["seconds"] = result.seconds;
  facts["checkpoint"] = result.checkpoint.string();
  facts["finished"] = result.finished;
  return facts;
}

nb::object number_or_none(const std::optional<double>& value) { return value ? nb::cast(*value) : nb::none(); }

struct Scored {
  std::string test;
  std::int64_t batches = 0;
  Findings found;
  Reference against;
};

nb::dict as_row(const Scored& scored) {
  nb::dict row, figures, errors;
  for (const Figure& figure : scored.found.figures) {
    figures[figure.name.c_str()] = figure.value.value;
    if (figure.has_error) errors[figure.name.c_str()] = figure.value.standard_error;
  }
  row["test"] = scored.test;
  row["headline"] = scored.found.headline().name;
  row["figures"] = figures;
  row["standard_errors"] = errors;
  row["tasks"] = scored.found.tasks;
  row["batches"] = scored.batches;
  row["published"] =
      number_or_none(scored.against.published ? std::optional(scored.against.published->value) : std::nullopt);
  row["oracle"] = number_or_none(scored.against.best ? std::optional(scored.against.best->best.value) : std::nullopt);
  return row;
}

nb::list evaluate(const LoadedModel& self, const std::string& protocol_name, const std::vector<std::string>& changes,
                  std::optional<std::int64_t> batches, std::optional<std::uint64_t> seed, nb::object progress) {
  const TrainedModel& trained = in_float32(self, "evaluate");
  const TrainingRun& run = trained.checkpoint.run;
  check(batches.value_or(1) >= 1, "[evaluate] {} batches found, expected 1 or more", batches.value_or(1));
  CallWatch watch;
  const std::vector<Scored> all = unlocked(watch, [&] {
    const Protocol protocol =
        with_changes(protocol_name.empty() ? run.protocol : load_protocol(protocol_name), changes);
    const EvaluationConfig& rules = protocol.evaluation;
    std::vector<Scored> scored;
    for (const TestConfig& test : rules.tests) {
      check(test.data->dim_x() == trained.model->dim_x() && test.data->dim_y() == trained.model->dim_y(),
            "[evaluate] {} has {} inputs and {} values, expected {} and {} as the model", protocol.name,
            test.data->dim_x(), test.data->dim_y(), trained.model->dim_x(), trained.model->dim_y());
      const SourceOptions tasks{.batch_size = rules.batch_size,
                                .seed = seed.value_or(rules.seed),
                                .split = Split::evaluation,
                                .device = default_device()};
      const std::int64_t count = batches_of(*test.data->source(tasks), batches.value_or(rules.batches));
      const auto show = watch.progress(progress);
      Findings found = find_trial(rules.trial)
                           .run(*trained.model, *test.data,
                                {.tasks = tasks,
                                 .batches = count,
                                 .density = density_of(rules, run.spec.name),
                                 .rules = rules.rules,
                                 .untrained = [&] { return make_model(run.spec, {.seed = run.seed}); },
                                 .progress =
                                     [&](double done) {
                                       if (show) show(static_cast<std::int64_t>(std::floor(done)), count);
                                     }});
      Reference against = reference_for(rules, test, run.spec.name, found.headline().density);
      scored.push_back({test.name, count, std::move(found), std::move(against)});
    }
    return scored;
  });
  nb::list rows;
  for (const Scored& scored : all) rows.append(as_row(scored));
  return rows;
}

}  // namespace

void add_training(nb::module_& module) {
  module.def(
      "train",
      [](const std::string& protocol, const std::vector<std::string>& changes, const std::string& model,
         const std::string& init, std::optional<std::int64_t> steps, std::optional<std::int64_t> batch_size,
         std::optional<double> learning_rate, std::optional<std::uint64_t> seed, const std::filesystem::path& out,
         bool resume, bool tensorboard, nb::object report) {
        return train_model({protocol, changes, model, init, steps, batch_size, learning_rate, seed}, out, resume,
                           tensorboard, report);
      },
      "protocol"_a, "changes"_a, "model"_a, "init"_a, "steps"_a, "batch_size"_a, "learning_rate"_a, "seed"_a, "out"_a,
      "resume"_a, "tensorboard"_a, "report"_a.none());
  module.def("evaluate", &evaluate, "model"_a, "protocol"_a, "changes"_a, "batches"_a, "seed"_a, "progress"_a.none());
}

}  // namespace npzoo::python
