#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "npzoo/datasets/events/scores.h"
#include "npzoo/datasets/expectation.h"
#include "npzoo/datasets/oracle.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/error.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/progress.h"

namespace npzoo::tools {

namespace {

struct OracleCommand {
  CommonOptions common;
  ProtocolOptions protocol;        // with `process`, its name is a table of events
  std::filesystem::path process;   // of events; empty: the tasks of a protocol
  std::vector<std::string> tests;  // empty: all
  std::optional<std::int64_t> tasks;
  std::optional<std::uint64_t> seed;
  int nodes = 8;
  bool expectation = false;  // of the exact posterior, from many tasks
};

void add_flags(Flags& flags, OracleCommand& c) {
  add_flags(flags, c.common);
  add_flags(flags, c.protocol,
            "name (see: npzoo list protocols) or path of a TOML file; with --process, a table of events (columns "
            "sequence, time and mark) or '-'",
            "protocol")
      .required();
  const Flag process = flags.text("--process", c.process,
                                  "TOML file of a process (poisson, clock-poisson, hawkes, self-correcting or renewal) "
                                  "with its parameters, to score a table of events: log-likelihood per event, observed "
                                  "from time 0, or the file's start, to each sequence's last event, or the file's end");
  flags.texts("--tests", c.tests, "names of test distributions, a list like rbf,matern52 (default: all)")
      .excludes(process);
  flags
      .whole("--tasks", c.tasks, {1, kMostExpectationTasks},
             "tasks over which unknown hyper-parameters are integrated out (default: 6000); known ones cost little. "
             "With --expectation: tasks of the mean (default: 1000000)")
      .excludes(process);
  flags.seed("--seed", c.seed, "seed of the tasks (default: the protocol's)").excludes(process);
  const Flag nodes =
      flags.whole("--nodes", c.nodes, {4, 32}, "nodes of the quadrature along each side of a cell").excludes(process);
  flags
      .toggle("--expectation", c.expectation,
              "only the mean of the exact posterior with known hyper-parameters, as TOML for `npzoo eval "
              "--expectations`: figures with it have far smaller errors")
      .excludes(process)
      .excludes(nodes);
  flags.check_together([&c] {
    check(c.process.empty() || c.protocol.changes.empty(), "--set found, expected a protocol and not --process");
  });
}

/// The best possible values of a test, and the value that the protocol states if it differs.
struct OracleRow {
  const Protocol& protocol;
  const TestConfig& test;
  OracleFindings found;

  /// As a log-likelihood.
  std::optional<double> stated(const OracleFigure& figure) const {
    const std::optional<double>& value = test.oracle.*figure.stated;
    return value ? std::optional(to_log_likelihood(protocol.evaluation.metric, *value)) : std::nullopt;
  }
  bool differs(const OracleFigure& figure) const {
    const std::optional<double> value = stated(figure);
    return value && figure.value && !agrees(*figure.value, *value, test.oracle.standard_error.value_or(0));
  }
};

JsonValue coverage_of(const MarginalFit& fit) {
  JsonValue coverage = JsonValue::object();
  for (const auto& [percent, share] : fit.coverage()) coverage.set(std::to_string(percent), share);
  return coverage;
}

JsonValue to_json(const OracleRow& row) {
  const OracleFindings& found = row.found;
  JsonValue json =
      JsonValue::object({{"protocol", row.protocol.name}, {"test", row.test.name}, {"tasks", found.tasks}});
  JsonValue stated = JsonValue::object({{"standard_error", row.test.oracle.standard_error}});
  JsonValue differs = JsonValue::array();
  for (const OracleFigure& f : found.figures) {
    JsonValue figure;
    if (f.value) figure.update({{"value", f.value->value}, {"standard_error", f.value->standard_error}});
    if (f.fit) figure.update({{"coverage", coverage_of(*f.fit)}, {"crps", f.fit->crps()}});
    json.set(f.key, figure);
    stated.set(f.key, row.stated(f));
    if (row.differs(f)) differs.push_back(f.key);
  }
  json.update({{"stated", stated}, {"differs", differs}});
  if (found.integration)
    json.update({{"known_tasks", found.known_tasks}, {"quadrature_error", found.integration->error}});
  return json;
}

std::string stated_cell(const OracleRow& row, const OracleFigure& figure, int digits) {
  const std::optional<double> value = row.stated(figure);
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

/// Figures of which some have integrated parameters out.
void print_integrated(const OracleRow& row) {
  const OracleFindings& found = row.found;
  fmt::print("{} / {}: {} tasks, {} with known kernels (nats per target point, higher is better)\n", row.protocol.name,
             row.test.name, found.tasks, found.known_tasks);
  fmt::print("  {:<20} {:>16} {:>9}\n", "log-likelihood", "computed", "stated");
  for (const OracleFigure& f : found.figures)
    fmt::print("  {:<20} {:>16} {:>9}\n", f.words,
               f.value ? fmt::format("{:.3f} ± {:.3f}", f.value->value, f.value->standard_error) : "-",
               stated_cell(row, f, 3));
  for (const OracleFigure& f : found.figures)
    if (row.differs(f)) fmt::print("  the protocol states another value: {}\n", f.words);
  for (const OracleFigure& f : found.figures) {
    if (!f.fit) continue;
    const auto coverage = f.fit->coverage();
    fmt::print("  diagonal's coverage  50 %: {:.1f}   80 %: {:.1f}   90 %: {:.1f}   95 %: {:.1f}\n",
               100 * coverage.at(50), 100 * coverage.at(80), 100 * coverage.at(90), 100 * coverage.at(95));
    fmt::print("  diagonal's CRPS      {:.4f}\n", f.fit->crps());
  }
  fmt::print("  quadrature error     {:.4f}\n", found.integration->error);
}

/// Figures of a process that is known.
void print_known(const OracleRow& row) {
  const OracleFindings& found = row.found;
  fmt::print("{} / {}: {} {}s (nats per {}, higher is better)\n", row.protocol.name, row.test.name, found.tasks,
             found.task, found.unit);
  for (const OracleFigure& f : found.figures) {
    if (!f.value) continue;
    fmt::print("  {:<20} {:.4f} ± {:.4f}  (stated: {})\n", f.words, f.value->value, f.value->standard_error,
               stated_cell(row, f, 4));
    if (row.differs(f)) fmt::print("  the protocol states another value\n");
  }
}

std::vector<TestConfig> chosen_tests(const Protocol& protocol, const std::vector<std::string>& names) {
  if (names.empty()) return protocol.evaluation.tests;
  std::vector<TestConfig> chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(protocol.evaluation.tests, name, &TestConfig::name);
    if (found == protocol.evaluation.tests.end()) {
      std::vector<std::string> known;
      for (const TestConfig& test : protocol.evaluation.tests) known.push_back(test.name);
      fail("[oracle] {} has no test {}, expected one of: {}", protocol.name, name, fmt::join(known, ", "));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

/// With a line of progress for each stage.
OracleFindings compute(const OracleCommand& c, const EvaluationConfig& rules, const TestConfig& test) {
  std::optional<Progress> progress;
  OracleOptions options{.tasks = c.tasks.value_or(6000),
                        .batch_size = rules.batch_size,
                        .seed = c.seed.value_or(rules.seed),
                        .nodes = c.nodes,
                        .progress = [&](const char* stage, std::int64_t done, std::int64_t of) {
                          const bool known = stage == std::string_view("known");
                          if (done == 0) {
                            if (progress) progress->finish();
                            progress.emplace(fmt::format("{} {}", stage, test.name), of,
                                             Progress::Options{.unit = known ? "batches" : "tasks"});
                          }
                          if (done > 0) progress->update(static_cast<double>(done));
                        }};
  OracleFindings found = test.data->oracle(options);
  if (progress) progress->finish();
  return found;
}

/// In full where it is of usual size, so that times of 1e15 do not print hundreds of digits.
std::string nats(double value) {
  constexpr double kUsual = 1e6;
  return std::abs(value) < kUsual ? fmt::format("{:.6f}", value) : fmt::format("{:.8g}", value);
}

int score_table(const OracleCommand& c) {
  const ProcessScores scores = score_events(c.protocol.name, c.process);
  if (!scores.warning.empty())
    fmt::print(stderr, "npzoo: warning: {}: {}, or write it as start in {}\n", c.protocol.name, scores.warning,
               c.process.string());
  const auto& [value, error] = scores.log_likelihood;
  if (c.common.json) {
    print_json(JsonValue::object({{"table", c.protocol.name},
                                  {"process", scores.process},
                                  {"sequences", scores.sequences},
                                  {"events", scores.events},
                                  {"log_likelihood", value},
                                  {"standard_error", error},
                                  {"total", scores.total}}));
  } else {
    fmt::print("{}: {} events in {} sequences under the {} process\n", c.protocol.name, scores.events, scores.sequences,
               scores.process);
    fmt::print("  {:<20} {}{}  (nats per event)\n", "log-likelihood", nats(value),
               scores.sequences > 1 ? fmt::format(" ± {}", nats(error)) : "");
  }
  return 0;
}

JsonValue to_json(const StoredExpectation& stored) {
  const auto& [protocol, test, version, expectation] = stored;
  JsonValue json =
      JsonValue::object({{"protocol", protocol}, {"test", test}, {"version", version}, {"tasks", expectation.tasks}});
  const auto add = [&json](const char* key, const std::optional<Estimate>& e) {
    json.set(key, e ? JsonValue::object({{"value", e->value}, {"standard_error", e->standard_error}}) : JsonValue());
  };
  add("marginal", expectation.marginal);
  add("joint", expectation.joint);
  return json;
}

/// Prints the expectations of some tests as a file.
int compute_expectations(const OracleCommand& c, const Protocol& protocol) {
  const std::int64_t tasks = c.tasks.value_or(1'000'000);
  JsonValue results = JsonValue::array();
  for (const TestConfig& test : chosen_tests(protocol, c.tests)) {
    Progress progress("expectation " + test.name, tasks, Progress::Options{.unit = "tasks"});
    const StoredExpectation found{
        .protocol = protocol.name,
        .test = test.name,
        .version = task_version(protocol, test.name),
        .expectation = expected_truth(
            *test.data, {.tasks = tasks,
                         .batch_size = protocol.evaluation.batch_size,
                         .seed = c.seed.value_or(protocol.evaluation.seed),
                         .progress = [&](std::int64_t done) { progress.update(static_cast<double>(done)); }})};
    progress.finish();
    if (c.common.json)
      results.push_back(to_json(found));
    else
      fmt::print("{}\n", expectation_text(found));
  }
  if (c.common.json) print_json(results);
  return 0;
}

int run(const OracleCommand& c) {
  apply(c.common);
  if (!c.process.empty()) return score_table(c);
  const Protocol protocol = load_protocol(c.protocol);
  if (c.expectation) return compute_expectations(c, protocol);
  JsonValue results = JsonValue::array();
  for (const TestConfig& test : chosen_tests(protocol, c.tests)) {
    const OracleRow row{protocol, test, compute(c, protocol.evaluation, test)};
    const auto& integration = row.found.integration;
    if (integration && !integration->converged)
      fmt::print(stderr, "npzoo: {}: the quadrature has not converged, its error is {:.3f}: give it more --nodes\n",
                 test.name, integration->error);
    if (c.common.json)
      results.push_back(to_json(row));
    else
      (integration ? print_integrated : print_known)(row);
  }
  if (c.common.json) print_json(results);
  return 0;
}

}  // namespace

extern const CommandInfo oracle_command = command<OracleCommand, add_flags, run>(
    "Compute the best values that are possible under a protocol, or score a table of events under a process.",
    CommandGroup::train, "npzoo oracle tnp/gp-rbf --tests rbf");

}  // namespace npzoo::tools
