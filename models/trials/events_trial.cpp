#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/datasets/events/event_tasks.h"
#include "npzoo/datasets/events/fit.h"
#include "npzoo/datasets/events/scores.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/predictions/event_prediction.h"
#include "npzoo/models/share_work.h"
#include "npzoo/models/trials/trial.h"

namespace npzoo {

namespace {

constexpr const char* kTeacherForced = "teacher-forced";

/// Sums over the targets of one sequence.
struct SequenceSums {
  double events = 0;
  double time = 0, mark = 0;      // log-likelihoods
  double correct = 0;             // marks that were the likeliest
  double error = 0, squares = 0;  // of expected gaps
  std::vector<double> fitted{};   // of each fitted process
  std::optional<double> truth{};

  static void fields(auto& bytes, auto& self) {
    bytes(self.events, self.time, self.mark, self.correct, self.error, self.squares, self.fitted, self.truth);
  }
};

/// The sequences of a batch.
struct ScoredSequences {
  std::vector<SequenceSums> sums;
  std::string truth{};  // what their distribution is called, if it is known

  static void fields(auto& bytes, auto& self) { bytes(self.sums, self.truth); }
};

/// A process that was fitted to the sequences of training, which a model should beat.
struct FittedBaseline {
  std::string figure;
  std::shared_ptr<const PointProcess> process;
  std::string how;
};

/// A homogeneous Poisson process and, of few marks, a Hawkes process.
std::vector<FittedBaseline> fitted_baselines(const EventTasks& tasks) {
  constexpr std::int64_t kMostHawkesMarks = 4, kMostHawkesEvents = 10'000;  // together a few seconds
  std::vector<EventSequence> sequences = tasks.training_sequences();
  std::vector<FittedBaseline> all{{"poisson_log_likelihood", Poisson::fitted(sequences, tasks.marks()),
                                   "homogeneous, its rates fitted to the training sequences"}};
  if (tasks.marks() > kMostHawkesMarks) return all;
  std::int64_t events = 0;
  std::size_t used = 0;
  while (used < sequences.size() && (used == 0 || events + sequences[used].events() <= kMostHawkesEvents))
    events += sequences[used++].events();
  sequences.resize(used);
  all.push_back({"hawkes_log_likelihood", fit_hawkes(sequences, tasks.marks()).process,
                 fmt::format("exponential kernels, fitted to {} events of training", events)});
  return all;
}

/// Returns the sums of each task of a batch.
std::vector<SequenceSums> sums_of(const EventScores& scores, const Tensor& y) {
  const auto targets = static_cast<std::size_t>(y.dim(1)),
             marks = static_cast<std::size_t>(scores.mark_probability.dim(2));
  const Tensor events = y.to(Device::cpu).to(DType::float64);
  std::vector<SequenceSums> all(static_cast<std::size_t>(y.dim(0)));
  for (std::size_t b = 0; b < all.size(); ++b) {
    SequenceSums& sums = all[b];
    for (std::size_t i = b * targets; i < (b + 1) * targets; ++i) {
      const double gap = events.values<double>()[2 * i], mark = events.values<double>()[2 * i + 1];
      sums.time += scores.time.values<double>()[i];
      if (mark == kNoEvent) continue;
      const auto probability = scores.mark_probability.values<double>().subspan(i * marks, marks);
      const double error = scores.expected_gap.values<double>()[i] - gap;
      sums.events += 1;
      sums.mark += scores.mark.values<double>()[i];
      sums.correct += std::ranges::max_element(probability) - probability.begin() == static_cast<std::ptrdiff_t>(mark);
      sums.error += error;
      sums.squares += error * error;
    }
  }
  return all;
}

/// With `baselines`, also adds their log-likelihoods and that of the true process.
std::vector<SequenceSums> score(const Model& model, const Batch& batch, std::int64_t index, std::uint64_t seed,
                                const std::vector<FittedBaseline>& baselines) {
  const NoGrad off;
  const Task& task = batch.task;
  Draws draws(seed, Purpose::evaluation, static_cast<std::uint64_t>(index));
  const auto state = model.condition({task.xc, task.yc, task.lengths}, draws, kSamples);
  const auto prediction = model.query(*state, task.xt);
  const auto* events = dynamic_cast<const EventPrediction*>(prediction.get());
  check(events != nullptr, "[events] the model does not predict events, expected one that does, such as thp-plus");
  std::vector<SequenceSums> all = sums_of(events->score(task.yt), task.yt);
  if (baselines.empty()) return all;
  const std::vector<TaskEvents> sequences = events_of(task);
  const auto truth = batch.truth ? batch.truth->log_likelihood(task, Density::joint) : std::nullopt;
  for (std::size_t b = 0; b < all.size(); ++b) {
    for (const FittedBaseline& baseline : baselines)
      all[b].fitted.push_back(baseline.process->log_likelihood(sequences[b].sequence, sequences[b].first_target));
    if (truth) all[b].truth = (*truth)[b];
  }
  return all;
}

/// Totals of all sequences.
class EventTotals {
 public:
  explicit EventTotals(std::vector<SequenceSums> all) : all_(std::move(all)) {}

  std::int64_t sequences() const { return std::ssize(all_); }
  bool has_truth() const { return !all_.empty() && all_.front().truth; }
  /// Returns the mean of `sum` over sequences, per event.
  template <class F>
  Estimate per_event(const F& sum) const {
    std::vector<double> sums, counts;
    for (const SequenceSums& one : all_) {
      sums.push_back(sum(one));
      counts.push_back(one.events);
    }
    return ratio_of_sums(sums, counts);
  }
  /// Root of it, with its error to first order.
  template <class F>
  Estimate root_per_event(const F& sum) const {
    const Estimate square = per_event(sum);
    const double root = std::sqrt(square.value);
    return {root, square.standard_error / (2 * root)};
  }

 private:
  std::vector<SequenceSums> all_;
};

double log_likelihood_of(const SequenceSums& s) { return s.time + s.mark; }

void add_figures(const EventTotals& totals, const std::vector<FittedBaseline>& baselines, Findings& found) {
  const auto add = [&](const char* name, const Estimate& value, bool more_is_better) {
    found.figures.push_back(
        {.name = name, .value = value, .has_error = true, .more_is_better = more_is_better, .how = kTeacherForced});
  };
  add("time_log_likelihood", totals.per_event([](const SequenceSums& s) { return s.time; }), true);
  add("mark_log_likelihood", totals.per_event([](const SequenceSums& s) { return s.mark; }), true);
  add("mark_accuracy", totals.per_event([](const SequenceSums& s) { return s.correct; }), true);
  add("gap_rmse", totals.root_per_event([](const SequenceSums& s) { return s.squares; }), false);
  add("gap_rmse_of_sums", totals.root_per_event([](const SequenceSums& s) { return s.error * s.error; }), false);
  for (std::size_t i = 0; i < baselines.size(); ++i)
    add(baselines[i].figure.c_str(), totals.per_event([i](const SequenceSums& s) { return s.fitted[i]; }), true);
  if (!totals.has_truth()) return;
  add("true_log_likelihood", totals.per_event([](const SequenceSums& s) { return *s.truth; }), true);
  found.lacking = totals.per_event([](const SequenceSums& s) { return *s.truth - log_likelihood_of(s); });
}

std::string line_of(const char* words, const Estimate& value, const std::string& what) {
  return fmt::format("{:<20} {:.3f} ± {:.3f}  ({})", words, value.value, value.standard_error, what);
}

void describe(const std::string& truth, const std::vector<FittedBaseline>& baselines, Findings& found) {
  const auto value = [&](const char* name) { return std::ranges::find(found.figures, name, &Figure::name)->value; };
  found.headline_lines = {line_of("log-likelihood", found.headline().value, "nats per event, teacher-forced"),
                          line_of("  of times", value("time_log_likelihood"), "the ends of sequences among them"),
                          line_of("  of marks", value("mark_log_likelihood"), "given the times")};
  for (const FittedBaseline& baseline : baselines)
    found.headline_lines.push_back(
        line_of(baseline.process->name().c_str(), value(baseline.figure.c_str()), baseline.how));
  if (found.lacking)
    found.headline_lines.push_back(
        fmt::format("{:<20} {:.3f}          (no model beats it on average; the model is {:.3f} ± {:.3f} below)", truth,
                    value("true_log_likelihood").value, found.lacking->value, found.lacking->standard_error));
  found.further_lines = {
      line_of("accuracy of marks", value("mark_accuracy"), "the likeliest before the time is known, teacher-forced"),
      line_of("RMSE of gaps", value("gap_rmse"), "the mean as the forecast, teacher-forced"),
      line_of("the authors' RMSE", value("gap_rmse_of_sums"), "of THP+: squares the sum of a sequence's errors")};
}

/// How likely events are, each given those before it. Figures are ratios of sums over all sequences, per event;
/// standard errors are over sequences.
class EventsTrial final : public Trial {
 public:
  Findings run(const Model& model, const TaskConfig& tasks, const TrialOptions& options) const override {
    const EventTasks* config = tasks.as_events();
    check(config != nullptr,
          "[events] the tasks are not sequences of events, expected tasks such as those of events/hawkes");
    const auto source = tasks.source(options.tasks);
    const auto baselines = options.headline_only ? std::vector<FittedBaseline>() : fitted_baselines(*config);
    const std::int64_t batches = batches_of(*source, options.batches);
    std::vector<SequenceSums> all;
    std::string truth;
    const auto score_some = [&](std::int64_t first, std::int64_t last) {
      std::vector<ScoredSequences> scored(static_cast<std::size_t>(last - first));
      const auto score_one = [&](std::int64_t i, std::int64_t) {
        const Batch batch = source->batch(static_cast<std::uint64_t>(first + i));
        scored[static_cast<std::size_t>(i)] = {score(model, batch, first + i, options.tasks.seed, baselines),
                                               batch.truth ? batch.truth->name() : ""};
      };
      if (source->device() == Device::cpu)
        thread_pool().for_range(last - first, 1, score_one);
      else
        for (std::int64_t i = 0; i < last - first; ++i) score_one(i, i + 1);
      return scored;
    };
    share_rounds<ScoredSequences>(options.job, batches, items_together(), score_some,
                                  [&](std::int64_t index, const ScoredSequences& scored) {
                                    if (index == 0) truth = scored.truth;
                                    all.insert(all.end(), scored.sums.begin(), scored.sums.end());
                                    if (options.progress) options.progress(static_cast<double>(index + 1));
                                  });
    return findings(EventTotals(std::move(all)), truth, baselines);
  }

 private:
  static Findings findings(const EventTotals& totals, const std::string& truth,
                           const std::vector<FittedBaseline>& baselines) {
    Findings found{.tasks = totals.sequences()};
    found.figures = {{.name = "log_likelihood",
                      .value = totals.per_event(log_likelihood_of),
                      .has_error = true,
                      .density = Density::joint,
                      .how = kTeacherForced}};
    if (baselines.empty()) return found;
    add_figures(totals, baselines, found);
    describe(truth, baselines, found);
    return found;
  }
};

const Trial& events_trial() {
  static const EventsTrial trial;
  return trial;
}

}  // namespace

TrialInfo events_info() { return {.name = "events", .trial = events_trial}; }

}  // namespace npzoo
