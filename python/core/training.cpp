#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/engine/ranks/program_facts.h"
#include "npzoo/engine/ranks/result_bytes.h"
#include "npzoo/models/predictions/autoregressive_model.h"
#include "npzoo/models/training/run_request.h"
#include "npzoo/models/training/trainer.h"
#include "npzoo/models/trials/score_test.h"
#include "python/core/calls.h"
#include "python/core/communicator.h"
#include "python/core/model.h"
#include "tools/cli/commit.h"

namespace npzoo::python {

using namespace nb::literals;
using namespace tools;

namespace {

/// Reports the events of a training to a Python function `report(event, step, value)`: "begin" with the number of all
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

/// A table of the user's own: its path, inputs or the column of time, values, group, and the steps of a forecast, 0:
/// none.
using OwnColumns = std::tuple<std::filesystem::path, std::vector<std::string>, std::vector<std::string>, std::string,
                              std::int64_t, std::int64_t>;

/// A table of events: its path, and the columns of the sequence, the time and the mark.
using OwnEventColumns = std::tuple<std::filesystem::path, std::string, std::string, std::string>;

OwnData own_data(const OwnColumns& columns) {
  const auto& [path, inputs, values, group, context, horizon] = columns;
  if (horizon == 0) return {OwnTable{path, group, inputs, values}};
  return {OwnSeries{path, inputs.empty() ? std::string() : inputs.front(), values, context, horizon}};
}

OwnData own_events(const OwnEventColumns& columns) {
  const auto& [path, sequence, time, mark] = columns;
  return {OwnEvents{path, sequence, time, mark}};
}

/// A training by several ranks.
struct SharedTraining {
  Ranks& ranks;
  CallWatch& watch;
  const std::filesystem::path& copy;  // where ranks that wrote no checkpoint put one

  /// Runs `train(job)` on all ranks. All return what the first one found, which alone has heard its callback.
  template <class F>
  TrainResult run(const F& train) const {
    TrainResult result;
    std::exception_ptr failure;
    ResultWriter writer;
    try {
      Job job(ranks);
      result = run_in(job, [&] { return train(job); });
      if (ranks.size() == 1) return result;
      if (job.leads()) write(writer, result);
    } catch (const Interrupted&) {
      // If nothing stopped this rank, then perhaps the callback of the first one did: it returns its result.
      if (ranks.rank() == 0 || watch.stop()) failure = std::current_exception();
    } catch (...) {
      failure = std::current_exception();
    }
    return share(writer, failure);
  }

 private:
  static void write(ResultWriter& writer, const TrainResult& r) {
    writer(r.steps, r.loss, r.log_likelihood, r.seconds, r.finished, r.checkpoint.string(), read_text(r.checkpoint));
  }
  TrainResult share(const ResultWriter& writer, const std::exception_ptr& failure) const {
    Job job(ranks);
    const std::vector<std::vector<std::byte>> all = job.collect(writer.bytes(), failure);
    TrainResult r;
    std::string path, checkpoint;
    ResultReader reader(all.front());
    reader(r.steps, r.loss, r.log_likelihood, r.seconds, r.finished, path, checkpoint);
    r.checkpoint = path;
    if (job.leads()) return r;
    AtomicFile file(copy);
    file.write(checkpoint);
    file.commit();
    return r;
  }
};

nb::dict train_model(const RunRequest& request, const std::filesystem::path& out, bool resume, bool tensorboard,
                     nb::object report, const Communicator& communicator, const std::filesystem::path& copy) {
  check(request.steps.value_or(1) >= 1 && request.batch_size.value_or(1) >= 1 && request.lr.value_or(1) > 0,
        "[train] steps, batch_size or learning_rate is not positive, expected positive numbers");
  check(request.own || !request.model.empty() || !request.init.empty(),
        "[train] neither a model nor init found, expected one of them");
  CallWatch watch;
  bool leads = true;
  const TrainResult result = unlocked(watch, [&] {
    const std::unique_ptr<Ranks> ranks = ranks_of(communicator);
    leads = ranks->rank() == 0;
    return SharedTraining{*ranks, watch, copy}.run([&](Job& job) {
      const TrainingRun run = describe_run(request).run;
      Reporter reporter(watch, report, run.protocol.training.steps);
      return train(run, {.out = out, .resume = resume, .commit = kCommit, .tensorboard = tensorboard, .job = &job},
                   reporter);
    });
  });
  nb::dict facts;
  facts["steps"] = result.steps;
  facts["loss"] = result.loss;
  facts["log_likelihood"] = result.log_likelihood;
  facts["seconds"] = result.seconds;
  facts["checkpoint"] = result.checkpoint.string();
  facts["weights"] = leads ? result.checkpoint.string() : copy.string();
  facts["finished"] = result.finished;
  return facts;
}

nb::object number_or_none(const std::optional<double>& value) { return value ? nb::cast(*value) : nb::none(); }

nb::dict as_row(const std::string& test, const TestScores& scores) {
  nb::dict row, figures, errors;
  for (const Figure& figure : scores.found.figures) {
    figures[figure.name.c_str()] = figure.value.value;
    if (figure.has_error) errors[figure.name.c_str()] = figure.value.standard_error;
  }
  row["test"] = test;
  row["headline"] = scores.found.headline().name;
  row["figures"] = figures;
  row["standard_errors"] = errors;
  row["tasks"] = scores.found.tasks;
  row["batches"] = scores.batches;
  row["published"] =
      number_or_none(scores.against.published ? std::optional(scores.against.published->value) : std::nullopt);
  row["oracle"] = number_or_none(scores.against.best ? std::optional(scores.against.best->best.value) : std::nullopt);
  return row;
}

/// Throws OtherRankError unless all ranks score the same weights on the same batches.
void compare_ranks(Job& job, const Checkpoint& weights, const Protocol& protocol, std::int64_t batches,
                   std::uint64_t seed) {
  if (job.size() == 1) return;
  ByteHash tests;
  tests.add(protocol.text);
  tests.add(batches);
  tests.add(static_cast<std::int64_t>(seed));
  std::vector<Job::Fact> facts = program_facts();
  facts.push_back({"weights", weights_checksum(weights)});
  facts.push_back({"protocol, batches or seed", tests.digest()});
  job.compare(facts);
}

nb::list evaluate(const LoadedModel& self, const std::string& protocol_name, const std::vector<std::string>& changes,
                  std::optional<std::int64_t> batches, std::optional<std::uint64_t> seed, bool autoregressive,
                  nb::object progress, const Communicator& communicator) {
  const TrainedModel& trained = in_float32(self, "evaluate");
  const TrainingRun& run = trained.checkpoint.run;
  if (autoregressive) check_predicts_each_alone(model_info(run.spec.name), "eval");
  const AutoregressiveModel chain(*trained.model);
  check(batches.value_or(1) >= 1, "[evaluate] {} batches found, expected 1 or more", batches.value_or(1));
  CallWatch watch;
  const auto score_all = [&](Job& job) {
    const Protocol protocol =
        with_changes(protocol_name.empty() ? run.protocol : load_protocol(protocol_name), changes);
    const std::int64_t count = batches.value_or(protocol.evaluation.batches);
    const std::uint64_t first = seed.value_or(protocol.evaluation.seed);
    compare_ranks(job, trained.checkpoint, protocol, count, first);
    const ScoredModel scored{autoregressive ? static_cast<const Model&>(chain) : *trained.model, run, protocol,
                             run.spec.name};
    std::vector<std::pair<std::string, TestScores>> found;
    for (const TestConfig& test : protocol.evaluation.tests) {
      const auto show = watch.progress(progress);
      found.emplace_back(test.name, score_test(scored, test,
                                               {.batches = count,
                                                .seed = first,
                                                .progress =
                                                    [&](double done, std::int64_t of) {
                                                      if (show) show(static_cast<std::int64_t>(std::floor(done)), of);
                                                    },
                                                .job = &job}));
    }
    return found;
  };
  const std::vector<std::pair<std::string, TestScores>> all = unlocked(watch, [&] {
    const std::unique_ptr<Ranks> ranks = ranks_of(communicator);
    Job job(*ranks);
    return run_in(job, [&] { return score_all(job); });
  });
  nb::list rows;
  for (const auto& [test, scores] : all) rows.append(as_row(test, scores));
  return rows;
}

}  // namespace

void add_training(nb::module_& module) {
  module.def(
      "train",
      [](const std::optional<OwnColumns>& table, const std::optional<OwnEventColumns>& events,
         const std::string& protocol, const std::vector<std::string>& changes, const std::string& model,
         const std::string& init, std::optional<std::int64_t> steps, std::optional<std::int64_t> batch_size,
         std::optional<double> learning_rate, std::optional<std::uint64_t> seed, const std::filesystem::path& out,
         bool resume, bool tensorboard, nb::object report, const Communicator& communicator,
         const std::filesystem::path& copy) {
        RunRequest request{.protocol = protocol,
                           .changes = changes,
                           .model = model,
                           .init = init,
                           .steps = steps,
                           .batch_size = batch_size,
                           .lr = learning_rate,
                           .seed = seed};
        if (table) request.own = own_data(*table);
        if (events) request.own = own_events(*events);
        return train_model(request, out, resume, tensorboard, report, communicator, copy);
      },
      "table"_a, "events"_a, "protocol"_a, "changes"_a, "model"_a, "init"_a, "steps"_a, "batch_size"_a,
      "learning_rate"_a, "seed"_a, "out"_a, "resume"_a, "tensorboard"_a, "report"_a.none(), "communicator"_a.none(),
      "copy"_a);
  module.def("evaluate", &evaluate, "model"_a, "protocol"_a, "changes"_a, "batches"_a, "seed"_a, "autoregressive"_a,
             "progress"_a.none(), "communicator"_a.none());
}

}  // namespace npzoo::python
