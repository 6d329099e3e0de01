#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "npzoo/engine/boundary.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/io/event_file.h"
#include "npzoo/engine/io/json_lines.h"
#include "npzoo/engine/ranks/program_facts.h"
#include "npzoo/models/numerical_events.h"
#include "npzoo/models/training/run_directory.h"
#include "npzoo/models/training/trainer.h"
#include "npzoo/models/trials/trial.h"

namespace npzoo {

namespace {

using nlohmann::json;

constexpr std::int64_t kStepsPerLine = 50;
constexpr double kSecondsPerCheckpoint = 30;

class Session {
 public:
  Session(const TrainingRun& run, const TrainOptions& options, TrainObserver& observer)
      : options_(options),
        observer_(observer),
        writes_(options.job == nullptr || options.job->leads()),
        path_(RunDirectory::checkpoint_in(options.out)),
        trainer_(open(run)),
        started_(Clock::now()),
        saved_(started_) {
    compare_ranks();
    if (!writes_) return;
    metrics_.emplace(open_metrics());
    events_ = open_events();
  }

  TrainResult run() {
    steps_written_ = trainer_.steps_done();
    seconds_written_ = seconds();
    if (writes_) observer_.on_begin(trainer_.steps_done());
    try {
      return train_and_score();
    } catch (const Interrupted&) {
      const IgnoreStop whole;
      if (before_validation_ && writes_)
        save_checkpoint(path_, *before_validation_);
      else
        save();
      throw;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  TrainResult train_and_score() {
    if (begins_with_candidates()) validate();
    while (!trainer_.finished() && !observer_.stop_requested()) {
      advance();
      if (checkpoint_due()) save();
    }
    save();
    if (!trainer_.finished() && options_.job != nullptr) options_.job->stop();
    return {.steps = trainer_.steps_done(),
            .loss = last_loss_,
            .log_likelihood = trainer_.finished() ? final_log_likelihood() : trainer_.best_log_likelihood(),
            .best_step = keeps_best() ? trainer_.best_step() : trainer_.steps_done(),
            .seconds = seconds(),
            .events = numerical_events_.count(),
            .checkpoint = path_,
            .finished = trainer_.finished()};
  }

  void compare_ranks() {
    if (options_.job == nullptr || options_.job->size() == 1) return;
    std::vector<Job::Fact> facts = program_facts();
    facts.push_back({"protocol, model or weights", state_checksum(trainer_.checkpoint())});
    options_.job->compare(facts);
  }

  Trainer open(const TrainingRun& run) {
    if (writes_) {
      directory_.emplace(options_.out);
      const AtomicFile can_be_written(path_);  // or else throws now, and not when the first steps are to be saved
    }
    const bool begun = path_exists(path_);
    if (!options_.resume) {
      if (!writes_) return Trainer(run, options_.job);
      check(!begun, "[train] {} exists; resume that run with --resume or choose another --out", path_.string());
      // Files of a run that was killed before its first checkpoint.
      for (const std::filesystem::path& path : {directory_->metrics(), directory_->events()}) {
        std::error_code error;
        std::filesystem::remove(path, error);
        check(!error, "[train] {} cannot be removed: {}", path.string(), error.message());
      }
      return Trainer(run, options_.job);
    }
    if (!begun) return Trainer(run, options_.job);
    const Checkpoint c = load_checkpoint(path_);
    check(!c.exported, "[train] {} holds weights alone, expected a checkpoint of a training", path_.string());
    check_same_run(run, c.run, path_.string());
    seconds_before_ = c.seconds;
    last_loss_ = c.loss;
    loss_sum_ = c.loss_sum;
    loss_count_ = c.loss_count;
    return Trainer(c, options_.job);
  }

  JsonLinesWriter open_metrics() {
    truncate_after(directory_->metrics(), "step", trainer_.steps_done());
    return JsonLinesWriter(directory_->metrics());
  }

  std::optional<EventFileWriter> open_events() {
    const std::filesystem::path path = directory_->events();
    if (!options_.tensorboard && !path_exists(path)) return {};
    truncate_events_after(path, trainer_.steps_done());
    return EventFileWriter(path);
  }

  void write_losses(std::int64_t step, double lr) {
    if (!writes_) return;
    const std::vector<LossTerm> terms = trainer_.loss_terms();
    json line{{"step", step}, {"loss", last_loss_}, {"lr", lr}};
    for (const LossTerm& term : terms) line[term.name] = term.value;
    line["seconds"] = seconds();
    metrics_->append(line);
    const double since = std::exchange(seconds_written_, seconds());
    const auto steps = static_cast<double>(step - std::exchange(steps_written_, step));
    if (!events_) return;
    events_->append(step, {{"train/loss", last_loss_},
                           {"train/learning_rate", lr},
                           {"train/steps_per_second", steps / (seconds_written_ - since)}});
    for (const auto& [name, value] : terms) {
      const std::string tag = "train/" + name;
      events_->append(step, {{tag, value}});
    }
  }

  bool validates_after(std::int64_t step) const {
    const std::int64_t every = trainer_.run().protocol.validation.every;
    return every > 0 && (step % every == 0 || step == trainer_.run().protocol.training.steps);
  }

  bool keeps_best() const { return trainer_.run().protocol.training.keep_best && trainer_.best_step() >= 0; }

  /// Whether the weights that a run begins with may be the best: then they are validated, too.
  bool begins_with_candidates() const {
    const TrainingRun& run = trainer_.run();
    return run.init && run.protocol.training.keep_best && run.protocol.validation.every > 0 &&
           trainer_.steps_done() == 0 && trainer_.best_step() < 0;
  }

  /// A step and the validation after it. If the validation is interrupted, a resumed run makes both again.
  void advance() {
    if (validates_after(trainer_.steps_done() + 1)) before_validation_ = state();
    const double lr = trainer_.learning_rate(), loss = trainer_.step();
    const std::int64_t step = trainer_.steps_done();
    loss_sum_ += loss;
    ++loss_count_;
    if (writes_) observer_.on_step(step, loss);
    if (step % kStepsPerLine == 0 || trainer_.finished()) {
      last_loss_ = loss_sum_ / static_cast<double>(loss_count_);
      write_losses(step, lr);
      loss_sum_ = 0;
      loss_count_ = 0;
    }
    if (!before_validation_) return;
    validate();
    before_validation_.reset();
  }

  double score() {
    const std::int64_t batches = trainer_.validation_batches();
    const auto tell = [&](std::int64_t done) {
      if (writes_) observer_.on_validation_progress(done, batches);
    };
    tell(0);
    return trainer_.validate(tell);
  }

  void validate() {
    last_validation_ = score();
    if (!writes_) return;
    std::vector<LossTerm> figures{{"log_likelihood", last_validation_}};
    std::ranges::copy(trainer_.further_validation(), std::back_inserter(figures));
    json line{{"step", trainer_.steps_done()}};
    for (const auto& [name, value] : figures) {
      line["validation_" + name] = value;
      const std::string tag = "validation/" + name;
      if (events_) events_->append(trainer_.steps_done(), {{tag, value}});
    }
    metrics_->append(line);
    observer_.on_validation(trainer_.steps_done(), last_validation_);
  }

  bool checkpoint_due() const {
    if (observer_.checkpoint_requested()) return true;
    if (options_.checkpoint_every > 0) return trainer_.steps_done() % options_.checkpoint_every == 0;
    return std::chrono::duration<double>(Clock::now() - saved_).count() >= kSecondsPerCheckpoint;
  }

  Checkpoint state() const {
    Checkpoint c = trainer_.checkpoint();
    c.loss = last_loss_;
    c.loss_sum = loss_sum_;
    c.loss_count = loss_count_;
    c.seconds = seconds();
    c.commit = options_.commit;
    return c;
  }

  void save() {
    if (!writes_) return;
    trainer_.check_usable();
    save_checkpoint(path_, state());
    saved_ = Clock::now();
  }

  double final_log_likelihood() {
    if (trainer_.run().protocol.training.keep_best) return trainer_.best_log_likelihood();
    return std::isnan(last_validation_) ? score() : last_validation_;
  }

  double seconds() const { return seconds_before_ + std::chrono::duration<double>(Clock::now() - started_).count(); }

  const TrainOptions& options_;
  TrainObserver& observer_;
  bool writes_;                            // the files of the run, and tells the observer
  std::optional<RunDirectory> directory_;  // where it writes
  std::filesystem::path path_;             // of the checkpoint
  double seconds_before_ = 0, loss_sum_ = 0, last_loss_ = std::numeric_limits<double>::quiet_NaN();
  double last_validation_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t loss_count_ = 0;
  const NumericalEventScope numerical_events_;
  Trainer trainer_;
  std::optional<Checkpoint> before_validation_;  // from before a step that a validation follows until that is done
  std::optional<JsonLinesWriter> metrics_;
  std::optional<EventFileWriter> events_;
  std::int64_t steps_written_ = 0;  // when the last line was, and
  double seconds_written_ = 0;      // how long the run had taken by then
  Clock::time_point started_, saved_;
};

}  // namespace

void check_same_run(const TrainingRun& asked, const TrainingRun& found, const std::string& path) {
  const auto check_equal = [&](const char* what, const auto& a, const auto& b) {
    check(a == b, "[train] {} began with {} {}, now it is {}; resume it unchanged or choose another --out", path, what,
          b, a);
  };
  const Protocol &a = asked.protocol, &b = found.protocol;
  check_equal("protocol", a.name, b.name);
  check_equal("model", asked.spec.name, found.spec.name);
  check_equal("seed", asked.seed, found.seed);
  check_equal("steps", a.training.steps, b.training.steps);
  check_equal("batch size", a.training.batch_size, b.training.batch_size);
  check_equal("learning rate", a.training.optimiser.lr, b.training.optimiser.lr);
  check_equal("validation batches", a.validation.batches, b.validation.batches);
  const auto checksum = [](const TrainingRun& run) { return run.init ? run.init->checksum : "random weights"; };
  check_equal("weights", checksum(asked), checksum(found));
  check(same_data(a, b) && a.training == b.training && a.validation == b.validation && asked.spec == found.spec,
        "[train] {} began under another version of protocol {}; choose another --out", path, a.name);
}

void set_steps(Protocol& protocol, std::int64_t steps) {
  ValidationConfig& validation = protocol.validation;
  TrainingConfig& training = protocol.training;
  if (steps < training.steps) {
    if (validation.every > 0) validation.batches = std::min({validation.batches, validation.every, steps});
    const double share = static_cast<double>(steps) / static_cast<double>(training.steps);
    std::int64_t& warmup = training.schedule.warmup_steps;
    warmup = std::llround(static_cast<double>(warmup) * share);
  }
  training.steps = steps;
}

TrainResult train(const TrainingRun& run, const TrainOptions& options, TrainObserver& observer) {
  const EvaluationConfig& evaluation = run.protocol.evaluation;
  find_trial(evaluation.trial).check_rules(evaluation.rules);  // before any work that an evaluation would refuse
  const StopScope stop(options.stop);
  return with_errors([&] {
    try {
      return Session(run, options, observer).run();
    } catch (...) {
      if (options.job != nullptr) options.job->leave(std::current_exception());
      throw;
    }
  });
}

}  // namespace npzoo
