#include "npzoo/datasets/expectation.h"

#include <fmt/format.h>

#include <algorithm>

#include "npzoo/datasets/protocol_files.h"
#include "npzoo/datasets/toml_reader.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"

namespace npzoo {

namespace {

/// Log-likelihoods of a batch under its truth.
struct PosteriorScores {
  std::optional<double> marginal, joint;
};

PosteriorScores score_truth_of(const Batch& batch) {
  check(batch.truth != nullptr,
        "[expectation] the process of these tasks is unknown, expected tasks with an exact posterior");
  return {mean_log_likelihood(*batch.truth, batch.task, Density::marginal),
          mean_log_likelihood(*batch.truth, batch.task, Density::joint)};
}

std::optional<Estimate> estimate_of(const RunningMean& mean) {
  return mean.count() > 0 ? std::optional(mean.estimate()) : std::nullopt;
}

std::optional<Estimate> read_estimate(TomlReader& reader, std::string_view key) {
  if (!reader.has(key)) return {};
  const auto [value, error] = reader.two_numbers(key, "mean log-density, and its standard error", kFinite);
  if (error <= 0) reader.reject(key, fmt::format("[{}, {}]", value, error), "a standard error > 0");
  return Estimate{value, error};
}

/// Whether `name` is the protocol or it with changes by --set.
bool is_form_of(std::string_view name, const std::string& protocol) {
  return name == protocol || name.starts_with(protocol + " --set ");
}

}  // namespace

Expectation expected_truth(const TaskConfig& tasks, const ExpectationOptions& options) {
  check(options.tasks >= 2, "[expectation] {} tasks, expected 2 or more", options.tasks);
  check(tasks.form() == TaskForm::points, "[expectation] the tasks are events or series, expected sets of points");
  constexpr std::int64_t kTogether = 4096, kEach = 64;
  const std::int64_t batch_size = tasks.batch_size_matters() ? options.batch_size : 1;
  const auto source = tasks.source(
      {.batch_size = batch_size, .seed = options.seed, .split = Split::validation, .dtype = DType::float64});
  const std::int64_t batches = std::max<std::int64_t>(2, (options.tasks + batch_size - 1) / batch_size);
  RunningMean marginal, joint;
  for (std::int64_t first = 0; first < batches; first += kTogether) {
    std::vector<PosteriorScores> scores(std::min(kTogether, batches - first));
    thread_pool().for_range(std::ssize(scores), kEach, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        scores[i] = score_truth_of(source->batch(static_cast<std::uint64_t>(first + i)));
    });
    for (const PosteriorScores& s : scores) {
      if (s.marginal) marginal.add(*s.marginal);
      if (s.joint) joint.add(*s.joint);
    }
    if (options.progress) options.progress((first + std::ssize(scores)) * batch_size);
  }
  return {estimate_of(marginal), estimate_of(joint), batches * batch_size};
}

std::vector<StoredExpectation> read_expectations(std::string_view text, const std::string& where) {
  TomlReader reader(text, "[expectations] " + where);
  std::vector<StoredExpectation> all;
  if (!reader.has("expectation")) return all;  // none was computed
  for (TomlReader& row : reader.tables("expectation", "expected densities under the exact posterior")) {
    StoredExpectation& stored = all.emplace_back();
    stored.protocol = row.text("protocol", "name of the protocol");
    stored.test = row.text("test", "name of the test");
    stored.version = row.text("version", "hash of all settings that determine the tasks");
    stored.expectation.tasks = row.integer("tasks", "tasks that the means are over", 2, kMostExpectationTasks);
    stored.expectation.marginal = read_estimate(row, "marginal");
    stored.expectation.joint = read_estimate(row, "joint");
    row.finish();
  }
  reader.finish();
  return all;
}

std::string expectation_text(const StoredExpectation& stored) {
  const auto& [protocol, test, version, expectation] = stored;
  std::string text = fmt::format("[[expectation]]\nprotocol = \"{}\"\ntest = \"{}\"\nversion = \"{}\"\ntasks = {}\n",
                                 protocol, test, version, expectation.tasks);
  const auto add = [&text](const char* key, const std::optional<Estimate>& estimate) {
    if (estimate) text += fmt::format("{} = [{:.6f}, {:.6f}]\n", key, estimate->value, estimate->standard_error);
  };
  add("marginal", expectation.marginal);
  add("joint", expectation.joint);
  return text;
}

std::span<const StoredExpectation> built_in_expectations() {
  static const std::vector<StoredExpectation> stored = read_expectations(expectations_file(), "expectations.toml");
  return stored;
}

FoundExpectation find_expectation(std::span<const StoredExpectation> stored, const Protocol& protocol,
                                  const TestConfig& test) {
  FoundExpectation found;
  if (stored.empty()) return found;
  const std::string version = task_version(protocol, test.name);
  for (const StoredExpectation& candidate : stored) {
    if (candidate.version == version) return {.stored = &candidate};
    if (candidate.test == test.name && is_form_of(protocol.name, candidate.protocol))
      found.problem = fmt::format(
          "{}, test {}: the stored expectation of the posterior is for other tasks (version {}, expected {}) and is "
          "not used; to compute it, run npzoo oracle {} --expectation",
          protocol.name, test.name, candidate.version, version, protocol.name);
  }
  return found;
}

}  // namespace npzoo
