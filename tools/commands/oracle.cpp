#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/kinds/events/scores.h"
#include "npzoo/datasets/kinds/gp/oracle.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/error.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/progress.h"

namespace npzoo {

namespace {

struct OracleCommand {
  CommonOptions common;
  ProtocolOptions protocol;        // with `process`, its name is a table of events
  std::filesystem::path process;   // of events; empty: the tasks of a protocol
  std::vector<std::string> tests;  // empty: all
  std::int64_t tasks = 6000;
  std::optional<std::uint64_t> seed;
  int nodes = 8;
};

void add_flags(Flags& flags, OracleCommand& c) {
  add_flags(flags, c.common);
  add_flags(flags, c.protocol,
            "name (see: npzoo list protocols) or path of a TOML file; with --process, a table of events (columns "
            "sequence, time and mark) or '-'",
            "protocol")
      .required();
  const Flag process = flags.text(
      "--process", c.process,
      "TOML file of a process with given parameters, kind poisson, hawkes, self-correcting or renewal, that a table of "
      "events is scored under: the log-likelihood per event, observed from time 0, or the file's start, to each "
      "sequence's last event, or the file's end");
  flags.texts("--tests", c.tests, "names of test distributions, a list like rbf,matern52; all of them if left out")
      .excludes(process);
  flags.whole("--tasks", c.tasks, {1}, "for how many the hyper-parameters are integrated out; known ones cost little")
      .excludes(process);
  flags.seed("--seed", c.seed, "of the tasks, instead of the protocol's").excludes(process);
  flags.whole("--nodes", c.nodes, {4, 32}, "of the quadrature, along each side of a cell").excludes(process);
  flags.check_together([&c] {
    check(c.process.empty() || c.protocol.changes.empty(), "--set found, expected a protocol and not --process");
  });
}

/// Batches with known kernels for each task whose kernel is not: they cost little, and make all figures better.
constexpr std::int64_t kKnownForEach = 6;

/// Nats per target point that the quadrature may be wrong by.
constexpr double kConverged = 0.005;

struct OracleResult {
  const TestConfig& test;
  std::int64_t tasks = 0, known_tasks = 0;
  OracleEstimates estimates;
  BayesScores bayes;
};

constexpr std::string_view kDiagonal = "bayes_diagonal";  // whose calibration is told as well

/// One of the figures, with the value that the protocol states.
struct OracleFigure {
  std::string_view key;
  const char* words;
  std::optional<Estimate> estimate;
  std::optional<double> stated;
  bool differs = false;
};

std::vector<OracleFigure> figures(const Protocol& protocol, const OracleResult& result) {
  const OracleEstimates& e = result.estimates;
  const OracleValues& o = result.test.oracle;
  std::vector<OracleFigure> figures{{"known_marginal", "known, marginal", e.known_marginal, o.known_marginal},
                                    {kDiagonal, "Bayes, diagonal", e.bayes_diagonal, o.bayes_diagonal},
                                    {"bayes_mixture", "Bayes, mixture", e.bayes_mixture, o.bayes_mixture},
                                    {"known_joint", "known, joint", e.known_joint, o.known_joint},
                                    {"bayes_joint", "Bayes, joint", e.bayes_joint, o.bayes_joint}};
  for (OracleFigure& f : figures) {
    if (f.stated) f.stated = to_log_likelihood(protocol.evaluation.metric, *f.stated);
    f.differs = f.stated && f.estimate && !agrees(*f.estimate, *f.stated, o.standard_error.value_or(0));
  }
  return figures;
}

JsonValue to_json(const Protocol& protocol, const OracleResult& result) {
  JsonValue row = JsonValue::object({{"protocol", protocol.name},
                                     {"test", result.test.name},
                                     {"tasks", result.tasks},
                                     {"known_tasks", result.known_tasks},
                                     {"quadrature_error", result.bayes.quadrature_error}});
  JsonValue stated = JsonValue::object({{"standard_error", result.test.oracle.standard_error}});
  JsonValue coverage = JsonValue::object(), differs = JsonValue::array();
  for (const auto& [percent, share] : result.bayes.fit.coverage()) coverage.set(std::to_string(percent), share);
  for (const OracleFigure& f : figures(protocol, result)) {
    JsonValue figure;
    if (f.estimate) figure.update({{"value", f.estimate->value}, {"standard_error", f.estimate->standard_error}});
    if (f.key == kDiagonal) figure.update({{"coverage", coverage}, {"crps", result.bayes.fit.crps()}});
    row.set(f.key, figure);
    stated.set(f.key, f.stated);
    if (f.differs) differs.push_back(f.key);
  }
  row.update({{"stated", stated}, {"differs", differs}});
  return row;
}

void print(const Protocol& protocol, const OracleResult& result) {
  fmt::print("{} / {}: {} tasks, {} with known kernels (nats per target point, higher is better)\n", protocol.name,
             result.test.name, result.tasks, result.known_tasks);
  fmt::print("  {:<20} {:>16} {:>9}\n", "log-likelihood", "computed", "stated");
  const std::vector<OracleFigure> all = figures(protocol, result);
  for (const OracleFigure& f : all)
    fmt::print("  {:<20} {:>16} {:>9}\n", f.words,
               f.estimate ? fmt::format("{:.3f} ± {:.3f}", f.estimate->value, f.estimate->standard_error) : "-",
               f.stated ? fmt::format("{:.3f}", *f.stated) : "-");
  for (const OracleFigure& f : all)
    if (f.differs) fmt::print("  the protocol states another value: {}\n", f.words);
  const auto coverage = result.bayes.fit.coverage();
  fmt::print("  diagonal's coverage  50 %: {:.1f}   80 %: {:.1f}   90 %: {:.1f}   95 %: {:.1f}\n",
             100 * coverage.at(50), 100 * coverage.at(80), 100 * coverage.at(90), 100 * coverage.at(95));
  fmt::print("  diagonal's CRPS      {:.4f}\n  quadrature error     {:.4f}\n", result.bayes.fit.crps(),
             result.bayes.quadrature_error);
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

OracleResult compute(const EvaluationConfig& rules, const TestConfig& test, const OracleCommand& c) {
  const GpSampler sampler = oracle_tasks(c.protocol.name, *test.data,
                                         {.batch_size = rules.batch_size,
                                          .seed = c.seed.value_or(rules.seed),
                                          .split = Split::evaluation,
                                          .dtype = DType::float64});
  const std::int64_t known_batches = kKnownForEach * c.tasks;
  Progress known_progress("known " + test.name, known_batches, {.unit = "batches"});
  const KnownScores known =
      known_scores(sampler, known_batches, [&](std::int64_t done) { known_progress.update(done); });
  known_progress.finish();
  Progress progress("oracle " + test.name, c.tasks, {.unit = "tasks"});
  BayesScores bayes =
      bayes_scores(sampler, c.tasks, {.nodes = c.nodes}, [&](std::int64_t done) { progress.update(done); });
  progress.finish();
  const OracleEstimates estimates = estimate_oracles(known, bayes);
  return {test, c.tasks, known_batches * rules.batch_size, estimates, std::move(bayes)};
}

/// Of simulated events, whose process is known.
JsonValue score_process(const OracleCommand& c, const Protocol& protocol, const TestConfig& test,
                        const EventsConfig& events) {
  const EvaluationConfig& rules = protocol.evaluation;
  const Estimate known = true_log_likelihood(events, c.tasks, c.seed.value_or(rules.seed));
  const OracleValues& o = test.oracle;
  std::optional<double> stated;
  if (o.known_joint) stated = to_log_likelihood(rules.metric, *o.known_joint);
  const bool differs = stated && !agrees(known, *stated, o.standard_error.value_or(0));
  if (!c.common.json) {
    fmt::print("{} / {}: {} sequences (nats per event, higher is better)\n", protocol.name, test.name, c.tasks);
    fmt::print("  {:<20} {:.4f} ± {:.4f}  (stated: {})\n", events.process()->name() + " process", known.value,
               known.standard_error, stated ? fmt::format("{:.4f}", *stated) : "-");
    if (differs) fmt::print("  the protocol states another value\n");
  }
  JsonValue differing = JsonValue::array();
  if (differs) differing.push_back("known_joint");
  return JsonValue::object(
      {{"protocol", protocol.name},
       {"test", test.name},
       {"tasks", c.tasks},
       {"known_joint", JsonValue::object({{"value", known.value}, {"standard_error", known.standard_error}})},
       {"stated", JsonValue::object({{"known_joint", stated}, {"standard_error", o.standard_error}})},
       {"differs", differing}});
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

int run(const OracleCommand& c) {
  apply(c.common);
  if (!c.process.empty()) return score_table(c);
  const Protocol protocol = load_protocol(c.protocol);
  JsonValue results = JsonValue::array();
  for (const TestConfig& test : chosen_tests(protocol, c.tests)) {
    if (const EventsConfig* events = events_config(*test.data)) {
      results.push_back(score_process(c, protocol, test, *events));
      continue;
    }
    const OracleResult result = compute(protocol.evaluation, test, c);
    if (result.bayes.quadrature_error > kConverged)
      fmt::print(stderr, "npzoo: {}: the quadrature has not converged, its error is {:.3f}: give it more --nodes\n",
                 test.name, result.bayes.quadrature_error);
    if (c.common.json)
      results.push_back(to_json(protocol, result));
    else
      print(protocol, result);
  }
  if (c.common.json) print_json(results);
  return 0;
}

}  // namespace

extern const CommandInfo oracle_command = command<OracleCommand, add_flags, run>(
    "Compute the best values that are possible under a protocol, or score a table of events under a process.");

}  // namespace npzoo
