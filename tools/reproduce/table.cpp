#include "tools/reproduce/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <thread>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/engine/ranks/program_facts.h"
#include "npzoo/engine/ranks/result_bytes.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/trainer.h"
#include "npzoo/models/trials/trial.h"
#include "tools/bench/support.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/reproduce/results_store.h"
#include "tools/reproduce/run.h"

namespace npzoo::tools {

namespace {

/// A protocol as the run asks for it.
struct Table {
  Protocol protocol;  // with the run's own number of steps
  std::int64_t batches = 0;
  bool shortened = false;  // by --steps or --batches: its figures are no results
};

/// Words of letters, digits, '-', '_' and, within, '.', with '/' between them: a path that stays where it begins.
bool is_plain_path(std::string_view name) {
  bool at_start = true;  // of a word
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    if (!plain && (at_start || (c != '.' && c != '/'))) return false;
    at_start = c == '/';
  }
  return !at_start;
}

Table read_table(const ReproduceOptions& c) {
  Table table{.protocol = load_protocol(c.table)};
  const std::string& name = table.protocol.name;
  check(is_plain_path(name), "[reproduce] {} is called '{}', expected a name like tnp/gp-rbf", c.table, name);
  const EvaluationConfig& rules = table.protocol.evaluation;
  find_trial(rules.trial).check_rules(rules.rules);
  const std::int64_t all_steps = table.protocol.training.steps, all_batches = rules.batches;
  const std::int64_t steps = c.steps.value_or(all_steps);
  set_steps(table.protocol, steps);
  table.batches = c.batches.value_or(all_batches);
  table.shortened = steps != all_steps || table.batches != all_batches;
  return table;
}

/// As the headline or as another figure.
bool is_published(const TestConfig& test, const std::string& model) {
  return test.published.contains(model) ||
         std::ranges::any_of(test.published_figures, [&](const auto& rows) { return rows.second.contains(model); });
}

bool is_published(const Protocol& protocol, const std::string& model) {
  return std::ranges::any_of(protocol.evaluation.tests,
                             [&](const TestConfig& test) { return is_published(test, model); });
}

std::vector<std::string> chosen_models(const ReproduceOptions& c, const Protocol& protocol) {
  if (!c.models.empty()) return c.models;
  std::vector<std::string> names;
  for (const ModelInfo& info : models())
    if (protocol.models.contains(info.name) && is_published(protocol, info.name)) names.emplace_back(info.name);
  check(!names.empty(), "[reproduce] {} has no published row of a model with a preset; choose models with --models",
        protocol.name);
  return names;
}

/// Throws Error if the table has neither results nor published rows. Without results, rows are reported as not run.
void check_reportable(const ReproduceOptions& c, const Protocol& protocol, const std::filesystem::path& store) {
  if (std::filesystem::exists(store)) return;
  check(std::filesystem::is_directory(c.results), "[reproduce] {} does not exist: there are no results to report",
        c.results.string());
  const bool published = std::ranges::any_of(protocol.evaluation.tests, [](const TestConfig& t) {
    return !t.published.empty() || !t.published_figures.empty();
  });
  check(published, "[reproduce] {} does not exist, and {} has no published row: there is nothing to report",
        store.string(), protocol.name);
}

/// One seed of every model comes before the next seed.
std::vector<TableRun> plan_runs(const ReproduceOptions& c, const Protocol& protocol, const TableRunOptions& options) {
  std::vector<TableRun> runs;
  for (const std::uint64_t seed : c.seeds)
    for (const std::string& model : chosen_models(c, protocol)) {
      const bool twice = std::ranges::any_of(
          runs, [&](const TableRun& run) { return run.run().spec.name == model && run.run().seed == seed; });
      if (twice) continue;
      runs.emplace_back(TrainingRun{protocol, model_spec(protocol, model), seed},
                        c.out / protocol.name / model / fmt::format("seed-{}", seed), options);
    }
  return runs;
}

/// Children at once, and the threads of each.
std::pair<int, int> share_cores(const ReproduceOptions& c, std::size_t runs) {
  const int cores = thread_pool().threads();
  const int most = c.jobs.value_or(default_device() == Device::cuda ? 1 : cores);
  const int at_once = std::max(1, std::min(most, static_cast<int>(runs)));
  return {at_once, std::max(1, cores / at_once)};
}

/// Shows how far all runs together are: a bar on a terminal, lines in a log.
class TableProgress {
 public:
  explicit TableProgress(const std::vector<TableRun*>& runs) : runs_(runs) {
    std::int64_t total = 0;
    for (const TableRun* run : runs_) total += run->run().protocol.training.steps;
    progress_.emplace("runs", total, Progress::Options{.start = steps_done()});
  }

  void say(std::string_view text) { progress_->message(text); }
  void finish() {
    progress_->note("");
    progress_->update(steps_done());
    progress_->finish();
  }

  /// Cheap: looks at the runs twice a second at most.
  void update() {
    const auto now = Clock::now();
    if (now - looked_ < std::chrono::milliseconds(500)) return;
    looked_ = now;
    std::string note;
    for (const TableRun* run : runs_)
      if (const std::string status = run->status(); !status.empty()) note += (note.empty() ? "" : "  ") + status;
    progress_->note(std::move(note));
    progress_->update(steps_done());
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t steps_done() const {
    std::int64_t steps = 0;
    for (const TableRun* run : runs_) steps += run->steps_done();
    return steps;
  }

  const std::vector<TableRun*>& runs_;
  std::optional<Progress> progress_;
  Clock::time_point looked_{};
};

/// Looks for results, and returns the runs of this part that have none.
std::vector<TableRun*> look_for_work(std::vector<TableRun>& runs, const Shard& shard) {
  std::vector<TableRun*> pending;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    TableRun& run = runs[i];
    run.look();
    if (!run.done() && shard.has(i)) pending.push_back(&run);
    if (run.failed()) fmt::print(stderr, "{}: failed: {}\n", run.name(), run.error());
  }
  return pending;
}

/// Trains and evaluates; false if that was interrupted. What another process is at comes last: that one finishes it,
/// or ends and leaves it to this one.
bool work_off(const ReproduceOptions& c, const std::vector<TableRun>& runs, const std::vector<TableRun*>& pending,
              TableRunOptions& options) {
  constexpr std::chrono::milliseconds kBetweenLooks{500};
  const auto [at_once, threads] = share_cores(c, pending.size());
  set_threads(threads);
  options.common.threads = threads;
  options.machine = machine_in_words();
  fmt::print(stderr, "{}: {} of {} runs to do, {} at a time, each on {} thread(s)\n", runs[0].run().protocol.name,
             pending.size(), runs.size(), at_once, threads);

  const InterruptGuard interrupt;
  TableProgress progress(pending);
  options.say = [&progress](std::string_view text) { progress.say(text); };
  std::vector<TableRun*> left = pending;
  bool all = true;
  while (all && !left.empty()) {
    ProcessQueue queue(at_once);
    for (TableRun* run : left) queue.add([run](const auto& before) { return run->next(before); });
    all = queue.run([&interrupt] { return interrupt.requested(); }, [&progress] { progress.update(); });
    std::erase_if(left, [](const TableRun* run) { return run->done(); });
    progress.update();
    if (all && !left.empty()) std::this_thread::sleep_for(kBetweenLooks);
  }
  for (TableRun* run : pending) run->release();
  if (all) progress.finish();
  return all;
}

std::vector<JsonValue> results_of(const std::vector<TableRun>& runs) {
  std::vector<JsonValue> results;
  for (const TableRun& run : runs)
    if (run.done() && !run.failed()) results.push_back(run.result());
  return results;
}

/// Waits until every rank has done its part. Then brings this rank's runs up to date with what the others did.
void wait_for_ranks(std::vector<TableRun>& runs, Job& job) {
  if (job.size() == 1) return;
  std::vector<std::string> errors;
  for (const TableRun& run : runs) errors.push_back(run.error());
  ResultWriter own;
  own(errors);
  for (const std::vector<std::byte>& bytes : job.collect(own.bytes())) {
    ResultReader reader(bytes);
    reader(errors);
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!errors[i].empty()) runs[i].fail_as(errors[i]);
  }
  for (TableRun& run : runs)
    if (!run.done()) run.look();
}

RunEnd end_of(const TableRun& run) {
  return {.model = run.run().spec.name,
          .seed = run.run().seed,
          .steps = run.steps_done(),
          .done = run.done() && !run.failed(),
          .error = run.error()};
}

}  // namespace

Shard read_shard(const std::string& text) {
  if (text.empty()) return {};
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, shard.index);
  const bool split = number.ec == std::errc() && number.ptr != end && *number.ptr == '/';
  const auto count = split ? std::from_chars(number.ptr + 1, end, shard.count) : number;
  check(split && count.ec == std::errc() && count.ptr == end && shard.index >= 1 && shard.index <= shard.count,
        "--shard {} found, expected its number and how many there are, such as 2/4", text);
  --shard.index;
  return shard;
}

std::vector<RunEnd> look_at_runs(const ReproduceOptions& c) {
  const Table table = read_table(c);
  const TableRunOptions options{.protocol = c.table, .steps = c.steps, .batches = table.batches, .common = c.common};
  std::vector<RunEnd> ends;
  for (TableRun& run : plan_runs(c, table.protocol, options)) {
    run.look();
    ends.push_back(end_of(run));
    ends.back().elsewhere = run.elsewhere();
  }
  return ends;
}

TableEnd reproduce_table(const ReproduceOptions& c, Job& job) {
  const Table table = read_table(c);
  const bool in_parts = !c.shard.empty();
  check(job.size() == 1 || !in_parts, "[reproduce] --shard and {} ranks found, expected one of them", job.size());
  const Shard shard = in_parts ? read_shard(c.shard) : Shard{job.rank(), job.size()};
  const std::filesystem::path path = results_path(c.results, table.protocol);
  if (c.report) check_reportable(c, table.protocol, path);
  if (!table.shortened) check_store(path, table.protocol);  // days later would be too late
  if (job.size() > 1) job.compare(program_facts());

  TableRunOptions options{.protocol = c.table, .steps = c.steps, .batches = table.batches, .common = c.common};
  // One process writes the file of results: on a shared folder its lock may not work.
  const bool collects = !in_parts && job.size() == 1;
  const auto keep = [&](const std::vector<JsonValue>& results) {
    return table.shortened ? make_store(table.protocol, results) : update_store(path, table.protocol, results);
  };
  options.keep = [&](const TableRun& run) {
    if (collects) keep({run.result()});
  };
  TableEnd end{.protocol = table.protocol, .batches = table.batches, .shortened = table.shortened};
  std::vector<TableRun> runs;
  if (!c.report) {
    runs = plan_runs(c, table.protocol, options);
    const std::vector<TableRun*> pending = look_for_work(runs, shard);
    if (const auto results = results_of(runs); !results.empty() && collects) keep(results);
    if (!pending.empty() && !work_off(c, runs, pending, options)) {
      job.stop();
      end.interrupted = true;
      return end;
    }
    if (!in_parts) wait_for_ranks(runs, job);
  }
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!in_parts || shard.has(i)) end.runs.push_back(end_of(runs[i]));
  if (in_parts || !job.leads()) return end;
  end.store = keep(results_of(runs));
  if (table.batches < table.protocol.evaluation.batches) drop_verdicts(end.store);
  return end;
}

}  // namespace npzoo::tools
