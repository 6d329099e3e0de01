#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/described_keys.h"
#include "npzoo/datasets/model_config.h"
#include "npzoo/datasets/oracle.h"
#include "npzoo/datasets/scores.h"
#include "npzoo/datasets/task_config.h"
#include "npzoo/engine/optim/optimiser.h"
#include "npzoo/engine/optim/schedule.h"

namespace npzoo {

/// Largest number of tasks in a batch of an evaluation. In training the memory limits a batch.
inline constexpr std::int64_t kMostTasksPerBatch = 65'536;
/// Largest number of batches of a validation or an evaluation.
inline constexpr std::int64_t kMostScoredBatches = 10'000'000;

struct TrainingConfig {
  std::int64_t steps = 0;
  std::int64_t batch_size = 0;
  OptimiserConfig optimiser;
  ScheduleConfig schedule;
  double clip_norm = 0;    // largest global gradient norm, 0: no clipping
  bool keep_best = false;  // the weights that count are those of the best validation, and not the last
  std::int64_t parts = 0;  // number of parts of each batch, 0: chosen by its size and the device

  bool operator==(const TrainingConfig&) const = default;
};

struct ValidationConfig {
  std::int64_t every = 0;  // steps, 0: never
  std::int64_t batches = 0;
  std::uint64_t seed = 0;
  bool at_context = false;  // also score the points of the context

  bool operator==(const ValidationConfig&) const = default;
};

/// How a source prints its figures: the sign, and whether as the mean over the channels of a target point.
struct Metric {
  bool negative = false;
  std::int64_t channels = 1;  // that figures are divided by

  static const Metric log_likelihood, nll;
  bool operator==(const Metric&) const = default;
};
inline constexpr Metric Metric::log_likelihood{}, Metric::nll{.negative = true};

/// Converts a figure in `metric` to a log-likelihood per target point, the figure that npzoo reports.
inline double to_log_likelihood(const Metric& metric, double value) {
  return static_cast<double>(metric.channels) * (metric.negative ? -value : value);
}
/// Converts the standard error of such a figure.
inline double error_of_log_likelihood(const Metric& metric, double error) {
  return static_cast<double>(metric.channels) * error;
}
inline double in_metric(const Metric& metric, double log_likelihood) {
  return (metric.negative ? -log_likelihood : log_likelihood) / static_cast<double>(metric.channels);
}
inline double error_in_metric(const Metric& metric, double error) {
  return error / static_cast<double>(metric.channels);
}
/// Returns the word of protocols: "log-likelihood", "nll" or "nll per channel".
const char* to_string(const Metric& metric);

/// A figure as printed, in the metric of the protocol.
struct Published {
  double value = 0;
  std::optional<double> error;

  bool operator==(const Published&) const = default;
};

/// Meaning of the second number of published rows.
enum class SpreadKind : std::uint8_t {
  unknown,    // the protocol does not state it
  deviation,  // standard deviation over trainings with different seeds, or over tasks
  error,      // standard error of their mean
};
struct Spread {
  SpreadKind kind = SpreadKind::unknown;
  std::int64_t seeds = 0;  // number of trainings; 0: it is over tasks
  std::int64_t tasks = 0;  // number of functions, problems or orders that one training was tested on
  bool assumed = false;    // the source prints the number of trainings, but not which kind it is

  bool operator==(const Spread&) const = default;
};

/// Test tasks, with published figures and oracles.
struct TestConfig {
  std::string name;
  std::shared_ptr<const TaskConfig> data;
  OracleValues oracle;
  std::map<std::string, Published> published;  // by model
  /// Published figures other than the headline, by their names: in the units of the figure, whatever the metric.
  std::map<std::string, std::map<std::string, Published>> published_figures;
};

struct EvaluationConfig {
  std::int64_t batches = 0;
  std::int64_t batch_size = 0;
  std::uint64_t seed = 0;
  std::string trial = "likelihood";  // how models are judged, see npzoo/models/trials
  ModelConfig rules{};               // for that trial alone, which reads them
  Metric metric;
  std::map<std::string, Density> densities;  // of published figures, by model; those not named are marginal
  Spread spread;                             // of the published rows and figures of all tests
  std::vector<TestConfig> tests;
};

/// The rules behind a figure: data, training, evaluation, models, and published figures under the same rules. Figures
/// are per target point, in nats; batches count equally.
struct Protocol {
  std::string name;
  std::string description;
  std::string source;  // papers, code and tables that the rules and figures come from
  std::shared_ptr<const TaskConfig> data;
  TrainingConfig training;
  ValidationConfig validation;
  std::shared_ptr<const TaskConfig> validation_data{};  // null: the same
  EvaluationConfig evaluation;
  std::map<std::string, ModelConfig> models;
  std::string text;  // the TOML it was read from: `parse_protocol` of it gives the same protocol
};

/// Reads TOML text in ASCII. It is strict: an unknown or missing key, a wrong type or a value out of range throws Error
/// naming `where`, the key, what was found and what was expected.
Protocol parse_protocol(std::string_view text, const std::string& where);

/// Returns the keys of protocols besides those of `[data]`, of the rules of trials and of the options of models.
std::vector<DescribedKey> described_protocol_keys();

/// Loads a protocol of the program by its name, or a user's own by the path of a file that ends in `.toml`. The
/// extended protocol is part of its text, see protocol_text.h.
Protocol load_protocol(const std::string& name_or_path);

/// Returns the protocol with changes to its text, see changed_text; unchanged if there are none. Steps, batch size and
/// learning rate that a run or a checkpoint replaced are those of the text again.
Protocol with_changes(Protocol protocol, std::span<const std::string> changes);

/// Returns the names of the protocols in the program, sorted.
std::vector<std::string> protocol_names();

/// Returns the identity of the rules behind a figure of `model` on that test, as 32 hexadecimal digits. It changes with
/// the data, the training, the validation, the batches of the evaluation, the distribution of the test and the preset
/// of the model, and with nothing else: not with comments, the order of keys, the notation of numbers, names, sources,
/// published figures or oracle values. It is that of the protocol as it was read: a run's own number of steps makes no
/// difference. Throws Error if there is no such test.
std::string protocol_version(const Protocol& protocol, const std::string& test, const std::string& model);

/// Returns the identity of the distribution of a test's tasks, as 32 hexadecimal digits. It changes with the data, the
/// distribution of the test and, if a task depends on the others of its batch, the batch size of the evaluation, but
/// not with training and models.
std::string task_version(const Protocol& protocol, const std::string& test);

/// True if `[data]`, and its changes for validations, are the same in both protocols as they were read.
bool same_data(const Protocol& a, const Protocol& b);

/// Returns the preset of `model`. Throws Error listing the presets if there is none.
const ModelConfig& model_config(const Protocol& protocol, const std::string& model);

}  // namespace npzoo
