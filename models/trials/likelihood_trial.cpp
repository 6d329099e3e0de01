#include <fmt/format.h>

#include <limits>

#include "npzoo/models/trials/likelihood.h"
#include "npzoo/models/trials/trial.h"

namespace npzoo {

namespace {

/// Exact posteriors may cost more than the model. This many batches give their mean to about 0.01.
constexpr std::int64_t kExactBatches = 3000;

/// Batches that are scored if marginals need a walk along each of many sampled paths: their mean is then exact to about
/// 0.02.
constexpr std::int64_t kPathBatches = 100;

/// The log-likelihood of the model's density comes first.
void add_log_likelihoods(const Evaluation& e, const TrialOptions& options, Findings& found) {
  const bool joint = options.density == Density::joint;
  Figure each{.name = "log_likelihood",
              .value = {e.log_likelihood, e.standard_error},
              .has_error = true,
              .density = joint ? Density::mixture : options.density,
              .how = e.forms.marginal};
  Figure together{.name = "joint_log_likelihood",
                  .value = {e.joint_log_likelihood, e.joint_standard_error},
                  .has_error = true,
                  .density = Density::joint,
                  .how = e.forms.joint};
  if (e.forms.paths) each.batches = e.marginal_batches;
  found.figures = {joint ? together : each};
  if (!options.headline_only) found.figures.push_back(joint ? each : together);
}

void add_context(const Evaluation& e, Findings& found) {
  found.figures.push_back({.name = "context_rmse", .value = {e.context_rmse}, .more_is_better = false});
  found.figures.push_back({.name = "context_log_likelihood", .value = {e.context_log_likelihood}});
}

void add_all(const Evaluation& e, Density density, Findings& found) {
  found.figures.push_back({.name = "exact_gp", .value = {e.exact_gp}, .density = density, .batches = e.exact_batches});
  found.figures.push_back(
      {.name = "exact_gap", .value = {e.exact_gap, e.exact_gap_error}, .has_error = true, .more_is_better = false});
  for (const auto& [percent, share] : e.coverage)
    found.figures.push_back({.name = fmt::format("coverage.{}", percent), .value = {share}, .ideal = percent / 100.0});
  const auto add_error = [&found](const char* name, double value) {
    found.figures.push_back({.name = name, .value = {value}, .more_is_better = false});
  };
  add_error("calibration_error", e.calibration_error);
  add_error("crps", e.crps);
  add_context(e, found);
  add_error("std_floor", e.std_floor.value_or(std::numeric_limits<double>::quiet_NaN()));
}

std::string log_likelihood_line(const Figure& figure) {
  const bool joint = figure.name != "log_likelihood";
  return fmt::format("{:<20} {:.3f} ± {:.3f}  (nats per target point, {}: {}{})", joint ? "joint" : "log-likelihood",
                     figure.value.value, figure.value.standard_error,
                     joint ? "all of a task together" : "each by itself", figure.how,
                     figure.batches ? fmt::format(", first {} batches", *figure.batches) : "");
}

void put_into_words(const Evaluation& e, const TrainingRange& range, Findings& found) {
  found.headline_lines = {log_likelihood_line(found.figures[0]), log_likelihood_line(found.figures[1])};
  if (e.exact_batches > 0)
    found.headline_lines.push_back(
        fmt::format("{:<20} {:.3f}           (knows the true hyper-parameters, first {} batches; the model is {:.3f} ± "
                    "{:.3f} below)",
                    e.truth + " posterior", e.exact_gp, e.exact_batches, e.exact_gap, e.exact_gap_error));
  found.further_lines = {
      fmt::format("coverage             50 %: {:.1f}   80 %: {:.1f}   90 %: {:.1f}   95 %: {:.1f}   (calibration error "
                  "{:.1f})",
                  100 * e.coverage.at(50), 100 * e.coverage.at(80), 100 * e.coverage.at(90), 100 * e.coverage.at(95),
                  100 * e.calibration_error),
      fmt::format("CRPS                 {:.4f}", e.crps),
      fmt::format("RMSE at context      {:.4f}          (noise there {}{})", e.context_rmse,
                  range.noise_varies ? "of at least " : "", range.context_noise),
      fmt::format("log-lik. at context  {:.3f}           (nats per context point, each by itself)",
                  e.context_log_likelihood),
      fmt::format("smallest std         {}  (that the model can predict)",
                  e.std_floor ? fmt::format("{}", *e.std_floor) : "-")};
}

/// How likely the targets are under the model's predictions, and how these fit otherwise; see likelihood.h.
class LikelihoodTrial final : public Trial {
 public:
  Findings run(const Model& model, const TaskConfig& tasks, const TrialOptions& options) const override {
    const auto source = tasks.source(options.tasks);
    const bool all = !options.headline_only;
    const Evaluation e = evaluate(model, *source,
                                  {.batches = options.batches,
                                   .seed = options.tasks.seed,
                                   .exact_batches = all ? kExactBatches : 0,
                                   .density = options.density,
                                   .density_only = options.headline_only,
                                   .path_batches = kPathBatches,
                                   .context = all || options.at_context,
                                   .progress = options.progress,
                                   .job = options.job});
    Findings found{.tasks = e.tasks};
    add_log_likelihoods(e, options, found);
    if (options.at_context && !all) add_context(e, found);
    if (!all) return found;
    add_all(e, options.density, found);
    if (e.exact_batches > 0) found.lacking = Estimate{e.exact_gap, e.exact_gap_error};
    put_into_words(e, tasks.training_range(), found);
    return found;
  }
};

const Trial& likelihood_trial() {
  static const LikelihoodTrial trial;
  return trial;
}

}  // namespace

TrialInfo likelihood_info() { return {.name = "likelihood", .trial = likelihood_trial}; }

}  // namespace npzoo
