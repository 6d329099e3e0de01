#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/scores.h"
#include "npzoo/datasets/task_config.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/models/model.h"

namespace npzoo {

/// A figure of a model.
struct Figure {
  std::string name;  // "log_likelihood", as results are stored; one of a group is "coverage.50"
  Estimate value;
  bool has_error = false;  // whether it has a standard error; NaN if it is unknown
  bool more_is_better = true;
  std::optional<double> ideal{};     // the best value, of a figure that can be too low and too high, such as coverage
  std::optional<Density> density{};  // of a log-likelihood; what is none has no ceiling
  std::optional<std::int64_t> batches{};  // that it is of, where that is not all of them
  std::string how{};                      // a log-likelihood is got, "exact" or what stands for it

  /// As words go, "log-likelihood".
  std::string words() const;
  /// The value such that more is better, for comparisons.
  double gain() const {
    if (ideal) return -std::abs(value.value - *ideal);
    return more_is_better ? value.value : -value.value;
  }
};

/// Results of a trial.
struct Findings {
  std::vector<Figure> figures{};  // the first is the headline, which published tables print
  std::int64_t tasks = 0;
  /// The gap between the headline and that of the truth, on the same tasks, if a truth is known.
  std::optional<Estimate> lacking{};
  /// Lines for people, the headline's and the others.
  std::vector<std::string> headline_lines{}, further_lines{};

  const Figure& headline() const { return figures.front(); }
};

struct TrialOptions {
  SourceOptions tasks;
  std::int64_t batches = 1;
  Density density = Density::marginal;  // of what the model predicts
  bool headline_only = false;           // for validations, which come often
  bool at_context = false;              // also score the points of the context, if the trial can
  ModelConfig rules{};                  // of the trial alone, as a protocol has them
  /// The model as it was before training, as a control of trials in which chance decides much; may be empty.
  std::function<std::unique_ptr<Model>()> untrained{};
  /// Called with the number of batches done, after each batch, and after parts of batches that take long. May throw to
  /// stop.
  std::function<void(double done)> progress{};
  Job* job = nullptr;  // ranks that score together: all get the findings of one process, to the bit
};

/// Reports the progress within batches of equally many steps.
class StepProgress {
 public:
  explicit StepProgress(const TrialOptions& options) : options_(options) {}

  void begin_batch(std::int64_t index, std::int64_t steps) {
    batch_ = static_cast<double>(index);
    share_ = 1.0 / static_cast<double>(steps);
    done_ = 0;
  }
  void step() {
    if (options_.progress) options_.progress(batch_ + share_ * static_cast<double>(++done_));
  }

 private:
  const TrialOptions& options_;
  double batch_ = 0, share_ = 1;
  std::int64_t done_ = 0;
};

/// One way to judge a model.
class Trial {
 public:
  virtual ~Trial() = default;
  /// Throws Error if this trial cannot use these `rules` of a protocol's `[evaluation]`. By default it has none.
  virtual void check_rules(const ModelConfig& rules) const;
  virtual Findings run(const Model& model, const TaskConfig& tasks, const TrialOptions& options) const = 0;
};

/// A trial's row, which its own file gives by a function `TrialInfo NAME_info()`.
struct TrialInfo {
  const char* name;  // as `trial` in a protocol's `[evaluation]` has it
  const Trial& (*trial)();
};

/// Throws Error listing the trials if there is none of that name.
const Trial& find_trial(const std::string& name);

/// Every trial of this build: a table that `rows.py` makes from the words in `npzoo/models/meson.build`.
std::span<const TrialInfo> built_in_trials();

}  // namespace npzoo
