#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "engine/error.h"
#include "engine/random.h"
#include "engine/tape.h"
#include "models/decisions/acquisition.h"
#include "models/predictions/autoregressive.h"
#include "models/trials/trial.h"
#include "ops/concat/concat.h"
#include "ops/gather/gather.h"

namespace npzoo {

namespace {

/// `rules` of a protocol's `[evaluation]`.
struct SearchRules {
  std::int64_t steps = 0;
  Acquisition acquisition{};
  bool repeat = false;  // whether a point may be evaluated again

  explicit SearchRules(const ModelConfig& rules) {
    ConfigReader reader(rules, "optimisation");
    steps = reader.size("steps");
    acquisition.kind = acquisition_kind(reader.get<std::string>("acquisition"));
    acquisition.width = reader.get<double>("width", acquisition.width);
    acquisition.margin = reader.get<double>("margin", 0.0);
    repeat = reader.get<bool>("repeat");
    reader.finish();
  }
};

/// Functions at the places where they may be evaluated, all tasks at the same number of them.
class Candidates {
 public:
  explicit Candidates(const Task& task) : task_(task) {
    check(!task.lengths.defined() && !task.target_lengths.defined() && task.yt.dim(2) == 1,
          "[optimisation] tasks of different sizes or of several values found, expected one value and `context_per = "
          "\"batch\"`");
    check(task.xc.dim(1) >= 1 && task.xt.dim(1) >= 1,
          "[optimisation] {} points known at first and {} candidates found, expected 1 or more", task.xc.dim(1),
          task.xt.dim(1));
    values_ = in_double_of(task.yt);
    known_ = in_double_of(task.yc);
    const std::vector<double> x = in_double_of(task.xt), xc = in_double_of(task.xc);
    seen_.assign(values_.size(), false);
    const std::int64_t dims = task.xt.dim(2);
    for (std::int64_t i = 0; i < tasks() * count(); ++i)
      for (std::int64_t j = 0; j < task.xc.dim(1); ++j)
        if (std::equal(x.begin() + i * dims, x.begin() + (i + 1) * dims,
                       xc.begin() + (i / count() * task.xc.dim(1) + j) * dims))
          seen_[static_cast<std::size_t>(i)] = true;
  }

  const Task& task() const { return task_; }
  std::int64_t tasks() const { return task_.xt.dim(0); }
  std::int64_t count() const { return task_.xt.dim(1); }
  double value(std::int64_t b, std::int64_t i) const { return values_[static_cast<std::size_t>(b * count() + i)]; }
  /// The least value of the candidates, and of what is known at first where that is less.
  double least(std::int64_t b) const {
    double least = least_known(b);
    for (std::int64_t i = 0; i < count(); ++i) least = std::min(least, value(b, i));
    return least;
  }
  double least_known(std::int64_t b) const {
    const std::int64_t n = task_.xc.dim(1);
    return *std::min_element(known_.begin() + b * n, known_.begin() + (b + 1) * n);
  }
  /// Of each candidate, whether its value is known at first.
  const std::vector<bool>& seen() const { return seen_; }

 private:
  static std::vector<double> in_double_of(const Tensor& x) {
    const Tensor values = x.to(Device::cpu).to(DType::float64);
    return {values.values<double>().begin(), values.values<double>().end()};
  }

  const Task& task_;
  std::vector<double> values_, known_;
  std::vector<bool> seen_;
};

/// What a search knows.
struct SearchState {
  Context all, newest;       // (B, n, ·); `newest`: what the last step added, undefined at first
  std::vector<double> best;  // (B)
  std::vector<bool> seen;    // (B, N)
  std::int64_t step = 0;
};

/// Which candidate of each task to evaluate next, (B).
using Chooser = std::function<std::vector<std::int64_t>(const SearchState&)>;

/// After each number of evaluations from 0 on.
struct SearchCurve {
  std::vector<std::vector<double>> simple;  // (steps + 1, B): the best value so far less the least one
  std::vector<double> cumulative;           // (B): of what was evaluated, added up
};

SearchCurve search(const Candidates& candidates, std::int64_t steps, const Chooser& choose) {
  const Task& task = candidates.task();
  const std::int64_t batch = candidates.tasks();
  SearchState state{.all = {task.xc, task.yc}, .newest = {}, .best = {}, .seen = candidates.seen()};
  SearchCurve curve{.simple = {}, .cumulative = std::vector<double>(static_cast<std::size_t>(batch))};
  std::vector<double> least;
  for (std::int64_t b = 0; b < batch; ++b) {
    state.best.push_back(candidates.least_known(b));
    least.push_back(candidates.least(b));
  }
  const auto add_regrets = [&] {
    std::vector<double>& now = curve.simple.emplace_back();
    for (std::size_t b = 0; b < least.size(); ++b) now.push_back(state.best[b] - least[b]);
  };
  add_regrets();
  for (state.step = 0; state.step < steps; ++state.step) {
    const std::vector<std::int64_t> chosen = choose(state);
    for (std::int64_t b = 0; b < batch; ++b) {
      const auto row = static_cast<std::size_t>(b);
      const double found = candidates.value(b, chosen[row]);
      state.seen[static_cast<std::size_t>(b * candidates.count() + chosen[row])] = true;
      state.best[row] = std::min(state.best[row], found);
      curve.cumulative[row] += found - least[row];
    }
    const Tensor index = Tensor::from<std::int64_t>({batch, 1}, chosen);
    state.newest = {gather(task.xt, index), gather(task.yt, index)};
    state.all = {concat({state.all.xc, state.newest.xc}, 1), concat({state.all.yc, state.newest.yc}, 1)};
    add_regrets();
  }
  return curve;
}

/// The candidate of each task that is worth most, the first of equals; all of them where none is new.
std::vector<std::int64_t> most_worth(const std::vector<double>& worth, const SearchState& state, bool repeat) {
  const std::size_t batch = state.best.size(), count = worth.size() / batch;
  std::vector<std::int64_t> chosen;
  for (std::size_t b = 0; b < batch; ++b) {
    std::size_t top = count;
    for (std::size_t i = 0; i < count; ++i)
      if ((repeat || !state.seen[b * count + i]) && (top == count || worth[b * count + i] > worth[b * count + top]))
        top = i;
    chosen.push_back(static_cast<std::int64_t>(top == count ? 0 : top));
  }
  return chosen;
}

std::vector<double> flat(const Tensor& x) {
  if (!x.defined()) return {};
  return {x.values<double>().begin(), x.values<double>().end()};
}

Belief belief_of(const Marginals& marginals) {
  const Marginals m = on_host(marginals);
  check(m.scale == Scale::linear && m.labels == 0, "[optimisation] the model does not predict values of functions");
  return {m.mean.dim(0), flat(m.mean), flat(m.std), flat(m.log_weight)};
}

/// Of each candidate by itself, given what is known.
Belief believe(const Model& model, const ContextState& state, const Tensor& xt) {
  const auto prediction = model.query(state, xt);
  if (!dynamic_cast<const Autoregressive*>(prediction.get())) return belief_of(prediction->marginals());
  // Every candidate as the first of the targets.
  std::vector<Tensor> means, deviations;
  for (std::int64_t i = 0; i < xt.dim(1); ++i) {
    const Tensor one = slice(xt, 1, i, i + 1);
    const auto first = model.query(state, one);
    const Marginals m = on_host(dynamic_cast<const Autoregressive&>(*first).given_those_before(
        Tensor::zeros({xt.dim(0), 1, 1}, xt.dtype(), xt.device())));
    means.push_back(m.mean);
    deviations.push_back(m.std);
  }
  return belief_of({concat(means, 2), concat(deviations, 2)});
}

/// A model's, which extends its context where it streams.
class ModelChooser {
 public:
  ModelChooser(const Model& model, const Candidates& candidates, const SearchRules& rules, std::uint64_t seed,
               std::int64_t batch)
      : model_(model), candidates_(candidates), rules_(rules), seed_(seed), batch_(batch) {}

  std::vector<std::int64_t> operator()(const SearchState& state) {
    if (state_ && model_.streams()) {
      state_ = model_.update(*state_, state.newest);
    } else {
      Draws draws(seed_, Purpose::evaluation, static_cast<std::uint64_t>(batch_ * (rules_.steps + 1) + state.step));
      state_ = model_.condition(state.all, draws, kSamples);
    }
    const Belief belief = believe(model_, *state_, candidates_.task().xt);
    return most_worth(acquire(rules_.acquisition, belief, state.best), state, rules_.repeat);
  }

 private:
  const Model& model_;
  const Candidates& candidates_;
  const SearchRules& rules_;
  std::uint64_t seed_;
  std::int64_t batch_;
  std::unique_ptr<ContextState> state_;
};

/// That of who knows what the functions were drawn from; none where nobody does.
std::optional<Chooser> exact_chooser(const Batch& batch, const SearchRules& rules) {
  const Task& task = batch.task;
  const Tensor x = task.xt.to(Device::cpu).to(DType::float64);
  const auto each = static_cast<std::size_t>(x.dim(1) * x.dim(2));
  if (!batch.truth || !batch.truth->curve(task, 0, x.values<double>().first(each))) return {};
  return [&batch, &rules, x, each](const SearchState& state) {
    const Task known{state.all.xc, state.all.yc, batch.task.xt, batch.task.yt};
    Belief belief;
    for (std::size_t b = 0; b < state.best.size(); ++b) {
      const Curve curve =
          *batch.truth->curve(known, static_cast<std::int64_t>(b), x.values<double>().subspan(b * each, each));
      belief.mean.insert(belief.mean.end(), curve.mean.begin(), curve.mean.end());
      belief.std.insert(belief.std.end(), curve.std.begin(), curve.std.end());
    }
    for (double& std : belief.std) std = std::max(std, std::numeric_limits<double>::min());
    // It knows what it has seen, and could not be solved with a point twice.
    return most_worth(acquire(rules.acquisition, belief, state.best), state, false);
  };
}

/// Any candidate that has not been evaluated.
class RandomChooser {
 public:
  RandomChooser(std::uint64_t seed, std::int64_t batch) : random_(seed, kStream | static_cast<std::uint64_t>(batch)) {}

  std::vector<std::int64_t> operator()(const SearchState& state) {
    std::vector<double> worth(state.seen.size());
    std::ranges::generate(worth, [this] { return random_.uniform(); });
    return most_worth(worth, state, false);
  }

 private:
  static constexpr std::uint64_t kStream = std::uint64_t{0x73} << 56;  // apart from those of data and models

  Random random_;
};

/// Over the tasks of all batches.
struct SearchTotals {
  std::vector<RunningMean> simple;  // after each number of evaluations
  RunningMean cumulative, found;
  std::vector<double> last;  // simple regrets at the end

  void add(const SearchCurve& curve) {
    simple.resize(curve.simple.size());
    for (std::size_t step = 0; step < curve.simple.size(); ++step)
      for (const double regret : curve.simple[step]) simple[step].add(regret);
    for (const double regret : curve.cumulative) cumulative.add(regret);
    for (const double regret : curve.simple.back()) {
      found.add(regret == 0 ? 1 : 0);
      last.push_back(regret);
    }
  }
  Estimate regret() const { return simple.back().estimate(); }
};

Estimate paired_difference(const SearchTotals& a, const SearchTotals& b) {
  RunningMean difference;
  for (std::size_t i = 0; i < a.last.size(); ++i) difference.add(a.last[i] - b.last[i]);
  return difference.estimate();
}

std::string regret_line(const std::string& who, const SearchTotals& totals) {
  const Estimate regret = totals.regret(), cumulative = totals.cumulative.estimate();
  std::string line = fmt::format("{:<20} {:.4f} ± {:.4f}  cumulative {:.2f} ± {:.2f}, minimum found in {:.0f} %; after",
                                 who, regret.value, regret.standard_error, cumulative.value, cumulative.standard_error,
                                 100 * totals.found.estimate().value);
  const std::int64_t steps = std::ssize(totals.simple) - 1;
  for (std::int64_t step = 1; step < steps; step *= 2)
    line += fmt::format(" {}: {:.3f}", step, totals.simple[static_cast<std::size_t>(step)].estimate().value);
  return line;
}

/// Minimisation of functions by a model's predictions: what is given at first is a task's context, where they may be
/// evaluated its targets. All tasks of a batch advance together. Regrets are of values less the least one of a task.
/// Beside the model the exact posterior decides, where it is known, and chance. A validation scores likelihoods
/// instead: regrets of as few tasks are too noisy to choose weights by.
class OptimisationTrial final : public Trial {
 public:
  Findings run(const Model& model, const TaskConfig& tasks, const TrialOptions& options) const override {
    if (options.headline_only) return find_trial("likelihood").run(model, tasks, options);
    const SearchRules rules(options.rules);
    const auto source = tasks.source(options.tasks);
    const NoGrad off;
    SearchTotals of_model, of_truth, of_chance;
    std::string truth;
    Findings found;
    for (std::int64_t index = 0; index < options.batches; ++index) {
      const Batch batch = source->batch(static_cast<std::uint64_t>(index));
      const Candidates candidates(batch.task);
      const std::uint64_t seed = options.tasks.seed;
      ModelChooser chooser(model, candidates, rules, seed, index);
      of_model.add(search(candidates, rules.steps, std::ref(chooser)));
      of_chance.add(search(candidates, rules.steps, RandomChooser(seed, index)));
      if (const auto exact = exact_chooser(batch, rules)) {
        of_truth.add(search(candidates, rules.steps, *exact));
        truth = batch.truth->name();
      }
      found.tasks += candidates.tasks();
      if (options.progress) options.progress(index + 1);
    }
    add_figures(of_model, of_truth, of_chance, found);
    found.headline_lines = {regret_line("simple regret", of_model)};
    if (!truth.empty()) {
      const Estimate excess = paired_difference(of_model, of_truth);
      found.headline_lines.push_back(regret_line(truth, of_truth));
      found.headline_lines.push_back(fmt::format("{:<20} {:.4f} ± {:.4f}  (of the same tasks)", "  more than that",
                                                 excess.value, excess.standard_error));
    }
    found.headline_lines.push_back(regret_line("random search", of_chance));
    found.further_lines = {
        fmt::format("after {} evaluations by {}, minimised", rules.steps, to_string(rules.acquisition.kind))};
    return found;
  }

 private:
  static void add_figures(const SearchTotals& model, const SearchTotals& truth, const SearchTotals& chance,
                          Findings& found) {
    const auto add = [&](std::string name, const Estimate& value) {
      found.figures.push_back({.name = std::move(name), .value = value, .has_error = true, .more_is_better = false});
    };
    add("simple_regret", model.regret());
    add("cumulative_regret", model.cumulative.estimate());
    found.figures.push_back({.name = "minimum_found", .value = model.found.estimate(), .has_error = true});
    add("random_regret", chance.regret());
    add("random_cumulative_regret", chance.cumulative.estimate());
    if (!truth.last.empty()) {
      add("exact_regret", truth.regret());
      add("exact_cumulative_regret", truth.cumulative.estimate());
      add("excess_regret", paired_difference(model, truth));
    }
    for (std::size_t step = 0; step < model.simple.size(); ++step)
      add(fmt::format("regret_after.{}", step), model.simple[step].estimate());
  }
};

const Trial& optimisation_trial() {
  static const OptimisationTrial trial;
  return trial;
}

}  // namespace

TrialInfo optimisation_info() { return {.name = "optimisation", .trial = optimisation_trial}; }

}  // namespace npzoo
