#include "npzoo/datasets/expectation.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "npzoo/datasets/kinds/gp/config.h"
#include "npzoo/engine/parallel.h"
#include "tests/datasets/gp_fixtures.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

GpDistribution small_disjoint() {
  GpDistribution d;
  d.kernels = {{KernelKind::rbf, {Prior::Kind::uniform, 0.1, 1}, {Prior::Kind::constant, 1}, {}}};
  d.points = 16;
  d.context = {2, 9};
  d.context_noise = d.target_noise = 0.1;
  d.jitter = 1e-9;
  return d;
}

/// The same by hand: batches of the validation split.
Estimate by_hand(const GpConfig& tasks, std::int64_t batches, std::int64_t batch_size, Density density) {
  const auto source =
      tasks.source({.batch_size = batch_size, .seed = 5, .split = Split::validation, .dtype = DType::float64});
  RunningMean mean;
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch = source->batch(i);
    mean.add(*mean_log_likelihood(*batch.truth, batch.task, density));
  }
  return mean.estimate();
}

void check_same(const std::optional<Estimate>& found, const Estimate& expected) {
  REQUIRE(found);
  CHECK(found->value == expected.value);
  CHECK(found->standard_error == expected.standard_error);
}

constexpr const char* kTwoExpectations = R"([[expectation]]
protocol = "tnp/gp-rbf"
test = "rbf"
version = "ab"
tasks = 1000
marginal = [1.500000, 0.010000]
joint = [1.800000, 0.020000]

[[expectation]]
protocol = "tnp-kr/gp1d-rbf"
test = "rbf"
version = "cd"
tasks = 2000
marginal = [0.500000, 0.030000]
)";

}  // namespace

TEST_CASE("[expectation] is the mean of the exact posterior over single tasks, on any number of threads") {
  const GpConfig tasks(small_disjoint());
  std::vector<std::int64_t> seen;
  const Expectation found = expected_truth(
      tasks, {.tasks = 100, .batch_size = 7, .seed = 5, .progress = [&](std::int64_t done) { seen.push_back(done); }});
  CHECK(found.tasks == 100);
  CHECK(seen == std::vector<std::int64_t>{100});
  check_same(found.marginal, by_hand(tasks, 100, 1, Density::marginal));
  check_same(found.joint, by_hand(tasks, 100, 1, Density::joint));
  CHECK(&found.of(Density::mixture) == &found.marginal);
  CHECK(&found.of(Density::joint) == &found.joint);
}

TEST_CASE("[expectation] a task that depends on the others of its batch is drawn in one") {
  GpDistribution d = small_disjoint();
  d.ragged = true;
  const GpConfig tasks(d);
  const Expectation found = expected_truth(tasks, {.tasks = 64, .batch_size = 7, .seed = 5});
  CHECK(found.tasks == 70);
  check_same(found.marginal, by_hand(tasks, 10, 7, Density::marginal));
  // Otherwise the size makes no difference: here to a mean over many tasks.
  const GpConfig all(fixed_distribution());
  CHECK_FALSE(all.batch_size_matters());
  const Estimate ones = by_hand(all, 600, 1, Density::marginal), tens = by_hand(all, 600, 10, Density::marginal);
  CHECK(std::abs(ones.value - tens.value) < 4 * std::hypot(ones.standard_error, tens.standard_error));
  // Targets without noise have no joint density.
  CHECK_FALSE(expected_truth(all, {.tasks = 4}).joint);
}

TEST_CASE("[expectation] agrees with the value that the protocol states") {
  const Protocol protocol = load_protocol("tnp/gp-rbf");
  const TestConfig& test = protocol.evaluation.tests[0];
  const Expectation found = expected_truth(*test.data, {.tasks = 4000, .batch_size = protocol.evaluation.batch_size});
  CHECK(std::abs(found.marginal->value - *test.oracle.known_marginal) < 4 * found.marginal->standard_error + 0.01);
  CHECK(std::abs(found.joint->value - *test.oracle.known_joint) < 4 * found.joint->standard_error + 0.01);
  CHECK(found.marginal->standard_error < 0.03);
}

TEST_CASE("[expectation] refuses tasks without a known posterior") {
  const auto error = [](const char* protocol, std::int64_t tasks) {
    return error_of([&] { expected_truth(*load_protocol(protocol).data, {.tasks = tasks}); });
  };
  CHECK(error("events/hawkes", 2) == "[expectation] the tasks are events or series, expected sets of points");
  CHECK(error("convcnp/sawtooth", 2) ==
        "[expectation] the process of these tasks is unknown, expected tasks with an exact posterior");
  CHECK(error("tnp/gp-rbf", 1) == "[expectation] 1 tasks, expected 2 or more");
}

TEST_CASE("[expectation] files of them") {
  const std::vector<StoredExpectation> two = read_expectations(kTwoExpectations, "two.toml");
  REQUIRE(two.size() == 2);
  CHECK(two[0].expectation.joint->standard_error == 0.02);
  CHECK_FALSE(two[1].expectation.joint);
  CHECK(expectation_text(two[0]) + "\n" + expectation_text(two[1]) == kTwoExpectations);
  CHECK(read_expectations("# nothing\n", "none.toml").empty());
  const auto error = [](const std::string& from, const std::string& to) {
    std::string text = kTwoExpectations;
    text.replace(text.find(from), from.size(), to);
    return error_of([&] { read_expectations(text, "two.toml"); });
  };
  CHECK(error("[1.500000, 0.010000]", "[1.5, 0.0]") ==
        "[expectations] two.toml: expectation[0].marginal is [1.5, 0], expected a standard error > 0");
  CHECK(error("tasks = 1000", "task = 1000").find("tasks") != std::string::npos);
  CHECK(error("version", "verzion").find("version") != std::string::npos);
}

TEST_CASE("[expectation] is used for the tasks that it is of, and for no others") {
  const Protocol protocol = load_protocol("tnp/gp-rbf");
  const TestConfig &rbf = protocol.evaluation.tests[0], &matern = protocol.evaluation.tests[1];
  std::vector<StoredExpectation> stored = read_expectations(kTwoExpectations, "two.toml");
  stored[0].version = task_version(protocol, "rbf");
  CHECK(find_expectation(stored, protocol, rbf).stored == &stored[0]);
  CHECK(find_expectation(stored, protocol, matern).stored == nullptr);
  CHECK(find_expectation(stored, protocol, matern).problem.empty());
  CHECK(find_expectation({}, protocol, rbf).stored == nullptr);

  const auto changed = [&](const std::string& change) {
    const Protocol other = with_changes(protocol, std::vector<std::string>{change});
    return find_expectation(stored, other, other.evaluation.tests[0]);
  };
  // Training, models, batches and, as no task depends on its batch, the batch size change no task.
  for (const char* change : {"training.steps=7", "models.cnp.dim_hid=64", "evaluation.batches=9",
                             "evaluation.batch_size=9", "validation.batches=1"}) {
    CAPTURE(change);
    CHECK(changed(change).stored == &stored[0]);
  }
  // Another protocol may have the same tasks.
  const Protocol ours = load_protocol("npzoo/gp-rbf");
  CHECK(find_expectation(stored, ours, ours.evaluation.tests[0]).stored == &stored[0]);

  const FoundExpectation other = changed("data.points=60");
  CHECK(other.stored == nullptr);
  CHECK(other.problem.starts_with(
      "tnp/gp-rbf --set data.points=60, test rbf: the stored expectation of the posterior is for "
      "other tasks (version " +
      stored[0].version + ", expected "));
  CHECK(other.problem.ends_with(
      ") and is not used; to compute it, run npzoo oracle tnp/gp-rbf --set data.points=60 --expectation"));
}

TEST_CASE("[expectation] those of the program are of the protocols as they are, and precise") {
  for (const StoredExpectation& stored : built_in_expectations()) {
    CAPTURE(stored.protocol);
    CAPTURE(stored.test);
    const Protocol protocol = load_protocol(stored.protocol);
    CHECK(stored.version == task_version(protocol, stored.test));
    const auto test = std::ranges::find(protocol.evaluation.tests, stored.test, &TestConfig::name);
    REQUIRE(test != protocol.evaluation.tests.end());
    REQUIRE(stored.expectation.marginal);
    CHECK(stored.expectation.marginal->standard_error <= 0.001);
    if (const auto& known = test->oracle.known_marginal) {
      const double value = to_log_likelihood(protocol.evaluation.metric, *known);
      CHECK(std::abs(stored.expectation.marginal->value - value) <
            3 * test->oracle.standard_error.value_or(0.004) + 0.001);
    }
  }
  CHECK_FALSE(built_in_expectations().empty());
}
