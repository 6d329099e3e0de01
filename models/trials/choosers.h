#pragma once

#include <optional>

#include "npzoo/datasets/task_source.h"
#include "npzoo/models/applications/optimise/acquisition.h"
#include "npzoo/models/model.h"
#include "npzoo/models/trials/search.h"

namespace npzoo {

/// How candidates are chosen by beliefs about them.
struct ChoiceRules {
  bool thompson = false;      // by the minimum of a function that is drawn, instead of the acquisition
  Acquisition acquisition{};  // under Thompson's rule, of choosers that draw no functions
  bool repeat = false;        // whether a model may choose a point again
};

/// The random numbers of a search, apart from data and from the others.
struct SearchSeed {
  std::uint64_t seed = 0;
  std::int64_t batch = 0, steps = 0;  // of the batch, and those of a search

  /// Returns the stream of a step.
  std::uint64_t at(std::int64_t step) const { return static_cast<std::uint64_t>(batch * (steps + 1) + step); }
};

/// By a model's predictions; a model that streams extends its context. Under Thompson's rule every step draws a new
/// function of the model (Prediction::functions) and takes its minimum. A model that predicts each candidate by itself
/// draws no functions: its independent values make a poor rule. Refers to model and candidates.
Chooser model_chooser(const Model& model, const Candidates& candidates, const ChoiceRules& rules, SearchSeed seed);

/// Chooses by the posterior of the process that functions were drawn from; none if it is unknown. It samples no
/// functions, so under Thompson's rule it uses the acquisition of `rules` as well. Refers to the batch.
std::optional<Chooser> exact_chooser(const Batch& batch, const ChoiceRules& rules);

/// By Gaussian processes whose hyper-parameters are fitted to what is known every `fit_every` evaluations; see fit_gp.
Chooser gp_chooser(const Candidates& candidates, const ChoiceRules& rules, std::int64_t fit_every, SearchSeed seed);

/// Any candidate that has not been evaluated.
Chooser random_chooser(SearchSeed seed);

/// The nearest one to the next point of a Sobol sequence of each task, in the candidates' bounds. At most
/// kMostSobolDims inputs.
Chooser sobol_chooser(const Candidates& candidates, SearchSeed seed);

}  // namespace npzoo
