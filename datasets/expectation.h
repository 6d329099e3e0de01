#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/scores.h"
#include "npzoo/datasets/task_config.h"

namespace npzoo {

// The expectation of the exact posterior over all tasks of a test. It is a control variate: on the tasks of an
// evaluation a model and the posterior score high and low together, so that
//
//     mean(model − posterior) + expectation of the posterior
//
// has a far smaller error than mean(model). The expectation is computed once from very many tasks and stored with the
// version of the tasks that it is of.

/// Mean log-likelihood of targets under the distribution that they were drawn from, in nats per target point.
struct Expectation {
  std::optional<Estimate> marginal, joint;  // none: such a density says nothing
  std::int64_t tasks = 0;

  /// The one that a model's figure of this density is compared with: what is true is as good as any mixture.
  const std::optional<Estimate>& of(Density density) const { return density == Density::joint ? joint : marginal; }
};

/// The most tasks of an expectation.
inline constexpr std::int64_t kMostExpectationTasks = 10'000'000'000;

struct ExpectationOptions {
  std::int64_t tasks = 0;
  std::int64_t batch_size = 1;  // of the evaluation; used only where a task depends on the others of its batch
  std::uint64_t seed = 0;       // of tasks of the split of validations, so none of them is in any evaluation
  /// Called with the number of tasks done; may throw to stop.
  std::function<void(std::int64_t done)> progress{};
};

/// Computes the expectation of the truth. Throws Error if the tasks are not sets of points, or if their distribution is
/// not known.
Expectation expected_truth(const TaskConfig& tasks, const ExpectationOptions& options);

/// The expectation of one test. Any protocol with the same tasks uses it.
struct StoredExpectation {
  std::string protocol, test;  // that it was computed for
  std::string version;         // task_version of that test
  Expectation expectation;
};

/// Reads `[[expectation]]` tables; strict.
std::vector<StoredExpectation> read_expectations(std::string_view text, const std::string& where);
/// The same as TOML.
std::string expectation_text(const StoredExpectation& stored);
/// Those that are compiled into the program, from npzoo/datasets/expectations.toml.
std::span<const StoredExpectation> built_in_expectations();

/// The expectation that is of the tasks of a test.
struct FoundExpectation {
  const StoredExpectation* stored = nullptr;
  std::string problem{};  // why the one of this protocol and test is not used: the tasks have changed
};
FoundExpectation find_expectation(std::span<const StoredExpectation> stored, const Protocol& protocol,
                                  const TestConfig& test);

}  // namespace npzoo
