#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/series/baselines.h"
#include "npzoo/datasets/series/series_tasks.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/applications/forecasts/window_forecast.h"
#include "npzoo/models/share_work.h"
#include "npzoo/models/trials/forecast_scores.h"
#include "npzoo/ops/concat/concat.h"

namespace npzoo {

namespace {

/// Batches that are scored, evenly over the test, if marginals need a walk along each of many sampled paths.
constexpr std::int64_t kFreeRunningBatches = 20;

/// The model and the data that are scored.
struct ForecastTrialSubject {
  const Model& model;
  const ForecastSource& source;
  const ForecastSeries& series;
  const WindowRules& rules;
  const TrialOptions& options;

  std::vector<std::vector<std::int64_t>> targets(std::span<const std::int64_t> starts) const {
    std::vector<std::vector<std::int64_t>> all;
    for (const std::int64_t start : starts) all.push_back(known_targets(series, rules, start));
    return all;
  }
};

/// The windows of a batch, in one mode after the other.
struct ScoredForecasts {
  bool autoregressive = false;
  DensityForms forms{};
  std::vector<double> headline{};         // per target point
  std::vector<WindowScore> known_past{};  // teacher-forced, of what is autoregressive; else one-shot
  std::vector<WindowScore> own_past{};    // free-running, for autoregressive models on request

  static void fields(auto& bytes, auto& self) {
    bytes(self.autoregressive, self.forms.marginal, self.forms.joint, self.forms.paths, self.headline, self.known_past,
          self.own_past);
  }
};

Task row_of(const Task& task, std::int64_t b) {
  const auto part = [b](const Tensor& x, const Tensor& lengths) {
    return slice(slice(x, 0, b, b + 1), 1, 0, lengths.values<std::int64_t>()[b]);
  };
  return {part(task.xc, task.lengths), part(task.yc, task.lengths), part(task.xt, task.target_lengths),
          part(task.yt, task.target_lengths)};
}

/// Tasks without padding.
ScoredForecasts score_tasks(const ForecastTrialSubject& subject, const Task& task, std::uint64_t index,
                            std::span<const std::vector<std::int64_t>> targets, bool free_running) {
  const TrialOptions& options = subject.options;
  Draws draws(options.tasks.seed, Purpose::evaluation, index);
  const WindowForecast forecast = forecast_windows(subject.model, {task.xc, task.yc}, task.xt, draws);
  const auto& prediction = forecast.prediction;
  const Autoregressive* sequence = forecast.sequence;
  ScoredForecasts scored{.autoregressive = sequence != nullptr, .forms = prediction->forms()};
  const std::int64_t horizon = subject.rules.horizon;
  const Tensor y = task.yt.to(Device::cpu).to(DType::float64);
  if (options.density == Density::joint) {
    const Tensor joint = prediction->joint_log_likelihood(y);
    for (const double value : joint.values<double>())
      scored.headline.push_back(value / static_cast<double>(task.yt.dim(1)));
    if (options.headline_only) return scored;
  }
  const Marginals known = sequence ? sequence->given_those_before(y) : prediction->marginals();
  scored.known_past = score_marginals(known, y, targets, horizon);
  if (options.density != Density::joint)
    for (const WindowScore& window : scored.known_past) scored.headline.push_back(window.log_likelihood);
  if (sequence && free_running) scored.own_past = score_marginals(prediction->marginals(), y, targets, horizon);
  return scored;
}

ScoredForecasts score_batch(const ForecastTrialSubject& subject, std::uint64_t index, bool free_running) {
  const NoGrad off;
  const Task task = subject.source.task(index);
  const auto targets = subject.targets(subject.source.starts_of(index));
  if (!task.target_lengths.defined()) return score_tasks(subject, task, index, targets, free_running);
  ScoredForecasts all;
  for (std::int64_t b = 0; b < task.xt.dim(0); ++b) {
    const ScoredForecasts one = score_tasks(subject, row_of(task, b), index,
                                            std::span(targets).subspan(static_cast<std::size_t>(b), 1), free_running);
    all.autoregressive = one.autoregressive;
    all.forms = one.forms;
    all.headline.insert(all.headline.end(), one.headline.begin(), one.headline.end());
    all.known_past.insert(all.known_past.end(), one.known_past.begin(), one.known_past.end());
    all.own_past.insert(all.own_past.end(), one.own_past.begin(), one.own_past.end());
  }
  return all;
}

/// Persistence and its kin on windows of a series.
class Baselines {
 public:
  Baselines(const ForecastSeries& series, const WindowRules& rules) : series_(series), rules_(rules) {
    const std::int64_t season = season_of(series.series);
    const SeriesPart& training = series.part(Split::training);
    season_ = season;
    for (std::int64_t c = 0; c < series.series.dim_y; ++c) {
      std::vector<double>& y = channels_.emplace_back();
      for (std::int64_t place = 0; place < series.series.size(); ++place) y.push_back(series.standardised(place, c));
      const std::span<const double> seen = std::span(y).first(static_cast<std::size_t>(training.end));
      smoothing_.emplace_back(HoltWinters::fit(seen, season, rules.horizon), y);
      step_variance_.push_back(HoltWintersPath({.alpha = 1}, seen).one_step_mse());
    }
    const std::string given = "teacher-forced, Gaussian with the errors of the training part";
    scores_ = {ForecastScores("persistence_one_step", given, rules), ForecastScores("persistence", "", rules),
               ForecastScores("seasonal_naive", "", rules), ForecastScores("drift", "", rules),
               ForecastScores("holt_winters", "", rules)};
  }

  void add(std::int64_t start) {
    const std::vector<std::int64_t> targets = known_targets(series_, rules_, start);
    const std::size_t width = channels_.size();
    std::array<std::vector<double>, 5> forecasts;
    std::vector<double> y(targets.size() * width);
    for (auto& forecast : forecasts) forecast.resize(y.size());
    double density = 0;
    for (std::size_t c = 0; c < width; ++c) {
      const std::span<const double> window =
          std::span(channels_[c]).subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(rules_.length()));
      const std::span<const double> context = window.first(static_cast<std::size_t>(rules_.context));
      const std::array<std::vector<double>, 5> of_channel{
          persistence_one_step(window, rules_.context), persistence(context, rules_.horizon),
          seasonal_naive(context, rules_.horizon, season_), drift(context, rules_.horizon),
          smoothing_[c].forecast(start + rules_.context, rules_.horizon)};
      for (std::size_t t = 0; t < targets.size(); ++t) {
        const auto at = static_cast<std::size_t>(targets[t]);
        const double value = window[static_cast<std::size_t>(rules_.context) + at];
        y[t * width + c] = value;
        for (std::size_t i = 0; i < forecasts.size(); ++i) forecasts[i][t * width + c] = of_channel[i][at];
        density += log_normal_density(value, of_channel[0][at], step_variance_[c]);
      }
    }
    for (std::size_t i = 0; i < forecasts.size(); ++i) {
      WindowScore window = score_values(forecasts[i], y, targets, rules_.horizon);
      if (i == 0) window.log_likelihood = density / static_cast<double>(targets.size());
      scores_[i].add(window);
    }
  }
  const std::vector<ForecastScores>& scores() const { return scores_; }

 private:
  const ForecastSeries& series_;
  const WindowRules& rules_;
  std::int64_t season_ = 1;
  std::vector<std::vector<double>> channels_;
  std::vector<HoltWintersPath> smoothing_;
  std::vector<double> step_variance_;
  std::vector<ForecastScores> scores_;
};

/// Totals of all batches, in their order.
struct ForecastTotal {
  WindowMean headline;
  std::vector<ForecastScores> modes;  // of the model
  bool autoregressive = false;
  DensityForms forms{};

  void add(const ScoredForecasts& batch, const WindowRules& rules) {
    autoregressive = batch.autoregressive;
    forms = batch.forms;
    for (const double value : batch.headline) headline.add(value);
    if (modes.empty() && !batch.known_past.empty()) {
      modes.emplace_back(autoregressive ? "teacher_forced" : "one_shot", how_known(), rules);
      if (autoregressive) modes.emplace_back("free_running", "free-running, " + forms.marginal, rules);
    }
    for (const WindowScore& window : batch.known_past) modes[0].add(window);
    for (const WindowScore& window : batch.own_past) modes[1].add(window);
  }
  std::string how_known() const { return autoregressive ? forms.joint : "one-shot, " + forms.marginal; }
};

Figure headline_of(const ForecastTotal& total, Density density) {
  const bool joint = density == Density::joint;
  return {.name = joint ? "joint_log_likelihood" : "log_likelihood",
          .value = total.headline.estimate(),
          .has_error = true,
          .density = density,
          .how = joint && !total.autoregressive ? "one-shot, " + total.forms.joint : total.how_known()};
}

void put_into_words(const ForecastTotal& total, const Baselines& baselines, double windows_per_point, Findings& found) {
  const Figure& headline = found.headline();
  const double error = headline.value.standard_error;
  found.headline_lines = {fmt::format("{:<20} {:.4f}{}  (nats per target point, {})", "log-likelihood",
                                      headline.value.value, std::isnan(error) ? "" : fmt::format(" ± {:.4f}", error),
                                      headline.how)};
  std::vector<std::string>& lines = found.further_lines;
  lines = {kForecastHead};
  for (const ForecastScores& mode : total.modes) lines.push_back(mode.line());
  for (const ForecastScores& baseline : baselines.scores()) lines.push_back(baseline.line());
  lines.push_back(total.autoregressive
                      ? fmt::format("free-running: along {}, on {} of {} windows", total.forms.marginal,
                                    total.modes[1].windows(), total.modes[0].windows())
                      : "free-running is one-shot: the model predicts each target independently of the earlier ones");
  lines.push_back(fmt::format("MSE by step          {}", total.modes.back().line_of_steps()));
  lines.push_back(fmt::format("divided by points    the sums over windows, as Taylorformer's code does: times {:.4f}",
                              windows_per_point));
}

/// Scores forecasts in each mode that a model supports, and baselines without training. "Teacher-forced" knows the true
/// values of all targets before each, "free-running" its own, "one-shot" none.
class ForecastTrial final : public Trial {
 public:
  Findings run(const Model& model, const TaskConfig& tasks, const TrialOptions& options) const override {
    const SeriesTasks* config = tasks.as_series();
    check(config != nullptr,
          "[forecast] the tasks are not windows of a series, expected tasks such as those of taylorformer/exchange");
    const auto series = config->series();
    const ForecastSource source(series, config->rules(), options.tasks);
    const ForecastTrialSubject subject{model, source, *series, config->rules(), options};
    ForecastTotal total{.headline = WindowMean(config->rules().length()), .modes = {}};
    score_all(subject, total);
    Findings found{.tasks = total.headline.count()};
    found.figures = {headline_of(total, options.density)};
    if (options.headline_only) return found;

    Baselines baselines(*series, config->rules());
    for (std::int64_t i = 0; i < batches_of(source, options.batches); ++i)
      for (const std::int64_t start : source.starts_of(static_cast<std::uint64_t>(i))) baselines.add(start);
    const auto windows = std::ssize(window_starts(*series, config->rules(), options.tasks.split));
    const double windows_per_point =
        static_cast<double>(windows) / static_cast<double>(series->part(options.tasks.split).size());
    for (const ForecastScores& mode : total.modes) {
      mode.add_figures(windows_per_point, found.figures);
      if (mode.windows() < found.tasks)
        for (Figure& figure : found.figures)
          if (figure.name == mode.name() + ".log_likelihood") figure.how += fmt::format(", {} windows", mode.windows());
    }
    for (const ForecastScores& baseline : baselines.scores()) baseline.add_figures(windows_per_point, found.figures);
    put_into_words(total, baselines, windows_per_point, found);
    return found;
  }

 private:
  /// On the host several batches at a time, each on one thread.
  static void score_all(const ForecastTrialSubject& subject, ForecastTotal& total) {
    const std::int64_t batches = batches_of(subject.source, subject.options.batches),
                       every = (batches + kFreeRunningBatches - 1) / kFreeRunningBatches;
    const bool on_host = subject.source.device() == Device::cpu;
    const auto score_some = [&](std::int64_t first, std::int64_t last) {
      std::vector<ScoredForecasts> scored(static_cast<std::size_t>(last - first));
      const auto score = [&](std::int64_t i, std::int64_t) {
        scored[static_cast<std::size_t>(i)] =
            score_batch(subject, static_cast<std::uint64_t>(first + i), (first + i) % every == 0);
      };
      if (on_host)
        thread_pool().for_range(last - first, 1, score);
      else
        for (std::int64_t i = 0; i < last - first; ++i) score(i, i + 1);
      return scored;
    };
    share_rounds<ScoredForecasts>(subject.options.job, batches, on_host ? items_together() : 1, score_some,
                                  [&](std::int64_t index, const ScoredForecasts& scored) {
                                    total.add(scored, subject.rules);
                                    if (subject.options.progress)
                                      subject.options.progress(static_cast<double>(index + 1));
                                  });
  }
};

const Trial& forecast_trial() {
  static const ForecastTrial trial;
  return trial;
}

}  // namespace

TrialInfo forecast_info() { return {.name = "forecast", .trial = forecast_trial}; }

}  // namespace npzoo
