#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "npzoo/datasets/sobol.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/trials/choosers.h"
#include "npzoo/models/trials/share_batches.h"
#include "npzoo/models/trials/trial.h"

namespace npzoo {

namespace {

/// `rules` of a protocol's `[evaluation]`.
struct SearchRules {
  std::int64_t steps = 0;
  ChoiceRules choice{};
  std::int64_t fit_every = 0;  // evaluations after which the Gaussian process is fitted anew; 0: there is none

  explicit SearchRules(const ModelConfig& rules) {
    ConfigReader reader(rules, "optimisation");
    steps = reader.size("steps", "evaluations");
    constexpr KeyLine kAcquisition =
        "rule by which a point is chosen; \"thompson\": at the minimum of a sampled function";
    const std::string acquisition =
        reader.choice("acquisition", kAcquisition, {"ei", "log-ei", "ucb", "pi", "thompson"});
    choice.thompson = acquisition == "thompson";
    if (!choice.thompson) choice.acquisition.kind = find_acquisition(acquisition).value();
    choice.acquisition.width = reader.number("width", "standard deviations of the acquisition \"ucb\"", kNonNegative,
                                             choice.acquisition.width);
    choice.acquisition.margin =
        reader.number("margin", "improvement that does not count, in units of the function", kNonNegative, 0);
    choice.repeat = reader.get<bool>("repeat", "whether a point may be evaluated again");
    fit_every = reader.integer("fit_every", "evaluations between fits of the Gaussian process; 0: no such baseline", 0,
                               65536, 0);
    reader.finish();
  }
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

/// One search method.
struct Searcher {
  std::string key;    // of its figures: "random"
  std::string words;  // for people
  SearchTotals totals{};

  bool searched() const { return !totals.last.empty(); }
};

/// The searches of one batch: one of each method, in their order; none of a method that does not search here.
struct SearchedBatch {
  std::vector<std::optional<SearchCurve>> curves;
  std::string truth{};  // what the distribution of the tasks is called, if it is known
  std::int64_t tasks = 0;

  static void fields(auto& bytes, auto& self) { bytes(self.curves, self.truth, self.tasks); }
};

/// Minimises functions by a model's predictions. A search starts from a task's context and evaluates its targets. All
/// tasks of a batch advance together. A regret is a value minus the least one of its task. Baselines are the exact
/// posterior, if it is known, a fitted Gaussian process, if the rules ask for one, the untrained model, a Sobol
/// sequence and random search. The exact posterior draws no functions: under Thompson's rule it chooses by log-ei.
/// Validations score likelihoods instead, because regrets of few tasks are too noisy to choose weights by.
class OptimisationTrial final : public Trial {
 public:
  void check_rules(const ModelConfig& rules) const override { static_cast<void>(SearchRules(rules)); }
  Findings run(const Model& model, const TaskConfig& tasks, const TrialOptions& options) const override {
    if (options.headline_only) return find_trial("likelihood").run(model, tasks, options);
    const SearchRules rules(options.rules);
    const auto source = tasks.source(options.tasks);
    const NoGrad off;
    const std::unique_ptr<Model> untrained = options.untrained ? options.untrained() : nullptr;
    Searcher of_model{"", "simple regret"}, exact{"exact", ""}, fitted{"fitted_gp", "fitted GP"},
        ignorant{"untrained", "untrained"}, sobol{"sobol", "Sobol sequence"}, chance{"random", "random search"};
    Findings found;
    StepProgress progress(options);
    const auto search_batch = [&](std::int64_t index) {
      const Batch batch = source->batch(static_cast<std::uint64_t>(index));
      const Candidates candidates(batch.task);
      const SearchSeed seed{options.tasks.seed, index, rules.steps};
      std::array<std::optional<Chooser>, 6> choosers;
      choosers[0] = model_chooser(model, candidates, rules.choice, seed);
      choosers[1] = exact_chooser(batch, rules.choice);
      if (rules.fit_every > 0) choosers[2] = gp_chooser(candidates, rules.choice, rules.fit_every, seed);
      if (untrained) choosers[3] = model_chooser(*untrained, candidates, rules.choice, seed);
      if (tasks.dim_x() <= kMostSobolDims) choosers[4] = sobol_chooser(candidates, seed);
      choosers[5] = random_chooser(seed);
      const auto searches = std::ranges::count_if(choosers, [](const auto& chooser) { return chooser.has_value(); });
      progress.begin_batch(index, searches * rules.steps);
      SearchedBatch searched{
          .curves = {}, .truth = choosers[1] ? batch.truth->name() : "", .tasks = candidates.tasks()};
      for (const auto& chooser : choosers) {
        std::optional<SearchCurve>& curve = searched.curves.emplace_back();
        if (!chooser) continue;
        curve = search(candidates, rules.steps, [&](const SearchState& state) {
          const std::vector<std::int64_t> chosen = (*chooser)(state);
          progress.step();
          return chosen;
        });
      }
      return searched;
    };
    const std::array searchers{&of_model, &exact, &fitted, &ignorant, &sobol, &chance};
    share_batches(options, search_batch, [&](const SearchedBatch& searched) {
      for (std::size_t i = 0; i < searchers.size(); ++i)
        if (searched.curves[i]) searchers[i]->totals.add(*searched.curves[i]);
      if (!searched.truth.empty()) exact.words = searched.truth + (rules.choice.thompson ? " by log-ei" : "");
      found.tasks += searched.tasks;
    });
    add_figures(of_model, exact, found);
    found.headline_lines = {regret_line(of_model.words, of_model.totals)};
    for (const Searcher* other : {&exact, &fitted, &ignorant, &sobol, &chance}) {
      if (!other->searched()) continue;
      add_figures_beside(*other, found);
      found.headline_lines.push_back(regret_line(other->words, other->totals));
      if (other != &exact) continue;
      const Estimate excess = paired_difference(of_model.totals, exact.totals);
      found.headline_lines.push_back(fmt::format("{:<20} {:.4f} ± {:.4f}  (of the same tasks)", "  more than that",
                                                 excess.value, excess.standard_error));
    }
    found.further_lines = {
        fmt::format("after {} evaluations by {}, minimised", rules.steps,
                    rules.choice.thompson ? "Thompson's rule" : std::string(to_string(rules.choice.acquisition.kind)))};
    return found;
  }

 private:
  static void add(std::string name, const Estimate& value, Findings& found) {
    found.figures.push_back({.name = std::move(name), .value = value, .has_error = true, .more_is_better = false});
  }
  static void add_curve(const std::string& name, const SearchTotals& totals, Findings& found) {
    for (std::size_t step = 0; step < totals.simple.size(); ++step)
      add(fmt::format("{}.{}", name, step), totals.simple[step].estimate(), found);
  }
  static void add_figures(const Searcher& model, const Searcher& exact, Findings& found) {
    add("simple_regret", model.totals.regret(), found);
    add("cumulative_regret", model.totals.cumulative.estimate(), found);
    found.figures.push_back({.name = "minimum_found", .value = model.totals.found.estimate(), .has_error = true});
    if (exact.searched()) add("excess_regret", paired_difference(model.totals, exact.totals), found);
    add_curve("regret_after", model.totals, found);
  }
  static void add_figures_beside(const Searcher& other, Findings& found) {
    add(other.key + "_regret", other.totals.regret(), found);
    add(other.key + "_cumulative_regret", other.totals.cumulative.estimate(), found);
    add_curve(other.key + "_regret_after", other.totals, found);
  }
};

const Trial& optimisation_trial() {
  static const OptimisationTrial trial;
  return trial;
}

}  // namespace

TrialInfo optimisation_info() { return {.name = "optimisation", .trial = optimisation_trial}; }

}  // namespace npzoo
