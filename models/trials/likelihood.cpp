#include "npzoo/models/trials/likelihood.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "npzoo/datasets/scores.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/share_work.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"

namespace npzoo {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A model's predictions of a batch.
struct PredictedBatch {
  DensityForms forms;
  std::optional<Marginals> targets{}, context{};  // if requested
  std::unique_ptr<ContextState> state{};          // that `together` may refer to
  std::unique_ptr<Prediction> together{};         // of the targets, where their joint density is wanted
};

struct ScoredBatch {
  DensityForms forms;
  std::optional<double> log_likelihood{}, joint{};  // mean over tasks, per target
  Tensor crps{}, central_mass{};                    // (B, Nt, Dy)
  std::int64_t tasks = 0;
  double context_squares = 0;         // sum of (mean − value)² at the context's points
  double context_log_likelihood = 0;  // sum over the context's points
  std::int64_t context_values = 0, context_points = 0;
  std::optional<double> exact{};  // log-likelihood under the truth
  std::string truth{};            // what that is called

  static void fields(auto& bytes, auto& self) {
    bytes(self.forms.marginal, self.forms.joint, self.forms.paths, self.log_likelihood, self.joint, self.crps,
          self.central_mass, self.tasks, self.context_squares, self.context_log_likelihood, self.context_values,
          self.context_points, self.exact, self.truth);
  }
};

/// Padded targets would be scored, and a joint density cannot leave them out.
void check_no_padding(const Task& task) {
  if (!task.target_lengths.defined()) return;
  const std::int64_t targets = task.xt.dim(1);
  for (const std::int64_t length : task.target_lengths.values<std::int64_t>())
    check(length == targets, "[likelihood] tasks of {} and of {} targets found in a batch, expected one number", length,
          targets);
}

PredictedBatch predict(const Model& model, const Task& task, std::int64_t index, const EvaluationOptions& options) {
  check_no_padding(task);
  check_support(model.likelihood(), task);
  const NoGrad off;
  Draws draws(options.seed, Purpose::evaluation, static_cast<std::uint64_t>(index));
  auto state = model.condition({task.xc, task.yc, task.lengths}, draws, kSamples);
  auto targets = model.query(*state, task.xt);
  PredictedBatch batch{.forms = targets->forms()};
  const bool joint_alone = options.density_only && options.density == Density::joint;
  if (!joint_alone && (!batch.forms.paths || index < options.path_batches)) {
    batch.targets = targets->marginals();
    if (options.context) batch.context = model.query(*state, task.xc)->marginals();
  }
  if (options.density == Density::joint || !options.density_only) {
    batch.state = std::move(state);
    batch.together = std::move(targets);
  }
  return batch;
}

/// Scores the real points of each row; padding does not count.
void score_context(const Marginals& marginals, const Task& task, ScoredBatch& scored) {
  const Tensor mean = moments(marginals).mean, all = task.yc.to(Device::cpu).to(DType::float64),
               y = marginals.labels == 0 ? all : slice(all, 2, 0, mean.dim(2));
  const Tensor likely = log_likelihood(marginals, all);  // (B, Nc)
  const auto means = mean.values<double>(), values = y.values<double>(), densities = likely.values<double>();
  const std::int64_t rows = y.dim(0), width = y.dim(1) * y.dim(2);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t points = task.lengths.defined() ? task.lengths.values<std::int64_t>()[row] : y.dim(1);
    for (std::int64_t i = row * width; i < row * width + points * y.dim(2); ++i)
      scored.context_squares += (means[i] - values[i]) * (means[i] - values[i]);
    scored.context_values += points * y.dim(2);
    for (std::int64_t i = row * y.dim(1); i < row * y.dim(1) + points; ++i)
      scored.context_log_likelihood += densities[i];
    scored.context_points += points;
  }
}

/// Mean over tasks, per target; (B, Nt) or (B).
double mean_per_target(const Tensor& log_likelihoods, const Tensor& y) {
  double sum = 0;
  for (const double value : log_likelihoods.values<double>()) sum += value;
  return sum / static_cast<double>(y.dim(0) * y.dim(1));
}

ScoredBatch score(const PredictedBatch& batch, const Task& task) {
  const NoGrad off;
  const Tensor y = task.yt.to(Device::cpu).to(DType::float64);
  ScoredBatch scored{.forms = batch.forms, .tasks = y.dim(0)};
  if (batch.targets) {
    const Marginals marginals = on_host(*batch.targets);
    scored.log_likelihood = mean_per_target(log_likelihood(marginals, y), y);
    scored.crps = crps(marginals, y);
    scored.central_mass = central_mass(marginals, y);
  }
  if (batch.together) scored.joint = mean_per_target(batch.together->joint_log_likelihood(y), y);
  if (batch.context) score_context(*batch.context, task, scored);
  return scored;
}

void score_truth(const Batch& batch, Density density, ScoredBatch& scored) {
  if (!batch.truth) return;
  scored.exact = mean_log_likelihood(*batch.truth, batch.task, density);
  scored.truth = batch.truth->name();
}

/// Scores batches first, first + 1 … of a source on the host, each on one thread. Also scores the truth of the first
/// `exact` batches.
std::vector<ScoredBatch> score_on_host(const Model& model, const TaskSource& source, std::int64_t first,
                                       std::int64_t count, std::int64_t exact, const EvaluationOptions& options) {
  std::vector<ScoredBatch> scored(count);
  thread_pool().for_range(count, 1, [&](std::int64_t i, std::int64_t) {
    const Batch batch = source.batch(static_cast<std::uint64_t>(first + i));
    scored[i] = score(predict(model, batch.task, first + i, options), batch.task);
    if (i < exact) score_truth(batch, options.density, scored[i]);
  });
  return scored;
}

/// Does the same on a device, which has one stream of work: while its kernels run, the host's threads score the truth.
std::vector<ScoredBatch> score_on_device(const Model& model, const TaskSource& source, std::int64_t first,
                                         std::int64_t count, std::int64_t exact, const EvaluationOptions& options) {
  std::vector<Task> tasks;
  std::vector<Batch> here(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const Batch batch = source.batch(static_cast<std::uint64_t>(first + i));
    tasks.push_back(batch.task);
    if (i < exact && batch.truth) here[i] = {batch.task.to(Device::cpu), batch.truth};
  }
  std::vector<PredictedBatch> predicted;
  for (std::int64_t i = 0; i < count; ++i) predicted.push_back(predict(model, tasks[i], first + i, options));
  std::vector<ScoredBatch> known(static_cast<std::size_t>(count));
  thread_pool().for_range(count, 1,
                          [&](std::int64_t i, std::int64_t) { score_truth(here[i], options.density, known[i]); });
  std::vector<ScoredBatch> scored;
  for (std::int64_t i = 0; i < count; ++i) {
    scored.push_back(score(std::exchange(predicted[i], {}), tasks[i]));
    scored.back().exact = known[i].exact;
    scored.back().truth = known[i].truth;
  }
  return scored;
}

/// Totals of all batches.
class Total {
 public:
  /// `density` is that of the truth.
  void add(const ScoredBatch& batch, Density density) {
    forms_ = batch.forms;
    tasks_ += batch.tasks;
    if (batch.joint) joint_.add(*batch.joint);
    if (batch.log_likelihood) {
      const auto crps = batch.crps.values<double>(), central_mass = batch.central_mass.values<double>();
      for (std::size_t i = 0; i < crps.size(); ++i) fit_.add(crps[i], central_mass[i]);
      log_likelihood_.add(*batch.log_likelihood);
      context_squares_ += batch.context_squares;
      context_values_ += batch.context_values;
      context_log_likelihood_ += batch.context_log_likelihood;
      context_points_ += batch.context_points;
    }
    if (!batch.exact) return;
    exact_.add(*batch.exact);
    truth_ = batch.truth;
    gap_.add(*batch.exact - *(density == Density::joint ? batch.joint : batch.log_likelihood));
  }

  Evaluation result() const {
    Evaluation e;
    const auto mean = [](const RunningMean& values) {
      return values.count() > 0 ? values.estimate() : Estimate{kNone};
    };
    e.log_likelihood = mean(log_likelihood_).value;
    e.standard_error = mean(log_likelihood_).standard_error;
    e.joint_log_likelihood = mean(joint_).value;
    e.joint_standard_error = mean(joint_).standard_error;
    e.forms = forms_;
    e.marginal_batches = log_likelihood_.count();
    e.coverage = fit_.coverage();
    e.calibration_error = fit_.calibration_error();
    e.crps = fit_.crps();
    e.context_rmse = context_values_ > 0 ? std::sqrt(context_squares_ / static_cast<double>(context_values_)) : kNone;
    e.context_log_likelihood =
        context_points_ > 0 ? context_log_likelihood_ / static_cast<double>(context_points_) : kNone;
    e.exact_gp = mean(exact_).value;
    e.exact_gap = exact_.count() > 0 ? gap_.estimate().value : kNone;
    e.exact_gap_error = gap_.estimate().standard_error;
    e.exact_batches = exact_.count();
    e.truth = truth_;
    e.tasks = tasks_;
    return e;
  }

 private:
  MarginalFit fit_;
  DensityForms forms_;
  RunningMean log_likelihood_, joint_, exact_, gap_;
  std::string truth_;
  double context_squares_ = 0, context_log_likelihood_ = 0;
  std::int64_t context_values_ = 0, context_points_ = 0, tasks_ = 0;
};

}  // namespace

Evaluation evaluate(const Model& model, const TaskSource& source, const EvaluationOptions& options) {
  check(options.batches >= 1, "[evaluate] {} batches found, expected 1 or more", options.batches);
  const std::int64_t batches = batches_of(source, options.batches);
  const CountScope clamped(clamped_denominator_counter());
  Total total;
  const auto score_some = source.device() == Device::cpu ? score_on_host : score_on_device;
  // Sums are over batches in their order.
  share_rounds<ScoredBatch>(
      options.job, batches, items_together(),
      [&](std::int64_t first, std::int64_t last) {
        return score_some(model, source, first, last - first, options.exact_batches - first, options);
      },
      [&](std::int64_t index, const ScoredBatch& scored) {
        total.add(scored, options.density);
        if (options.progress) options.progress(index + 1);
      });
  Evaluation result = total.result();
  result.std_floor = model.std_floor();
  result.clamped_denominators = clamped.count();
  return result;
}

}  // namespace npzoo
