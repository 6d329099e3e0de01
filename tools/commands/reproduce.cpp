#include <fmt/format.h>

#include <algorithm>

#include "npzoo/datasets/data_folder.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/outputs.h"
#include "tools/cli/shared_job.h"
#include "tools/pictures/results.h"
#include "tools/reproduce/papers.h"
#include "tools/reproduce/results_store.h"
#include "tools/reproduce/results_table.h"
#include "tools/reproduce/table.h"

namespace npzoo::tools {

namespace {

struct ReproduceCommand : ReproduceOptions {
  std::string data, paper;
  std::filesystem::path plot;
};

void add_flags(Flags& flags, ReproduceCommand& c) {
  add_flags(flags, c.common);
  flags.text("table", c.table, "protocol (see: npzoo list protocols) or path of a TOML file; or --paper");
  flags.text("--paper", c.paper,
             "reproduce all protocols of a paper and print the state of each model: " + paper_names());
  add_data(flags, c.data);
  flags.texts("--models", c.models, "models, a list like cnp,tnp-d (default: all of the table)");
  flags.wholes("--seeds", c.seeds, {0, kLargestSeed}, "seeds, a list like 0,1,2");
  flags.text("--out", c.out, "directory of the runs; unfinished runs continue");
  flags.text("--results", c.results, "directory of the file that collects results");
  const Flag steps = flags.whole("--steps", c.steps, {1}, "updates instead of the protocol's; collects no results");
  const Flag batches =
      flags.whole("--batches", c.batches, {1}, "batches of evaluation instead of the protocol's; collects no results");
  flags.whole("--jobs", c.jobs, {1}, "runs at once that share the threads, instead of one per thread");
  const Flag shard = flags.text(
      "--shard", c.shard,
      "part of the runs to do, such as 2/4 for the second of four, for array jobs on a shared --out; collects no "
      "results. When all parts have ended, the same command without --shard collects them");
  flags.text("--plot", c.plot, "picture of the figures beside the published ones: a file that ends in .svg or .png")
      .excludes(shard);
  flags.toggle("--report", c.report, "print the collected results, without running anything")
      .excludes(steps)
      .excludes(batches)
      .excludes(shard);
  flags.check_together([&c] {
    check(c.table.empty() != c.paper.empty(), "{} found, expected one of them",
          c.table.empty() ? "neither a table nor --paper" : "a table and --paper");
    static_cast<void>(read_shard(c.shard));
  });
}

bool failed(const RunEnd& run) { return !run.error.empty(); }

void print(const TableEnd& end) {
  if (end.shortened)
    fmt::print("A shortened run of {} steps and {} batches of evaluation. Published figures are from full runs.\n\n",
               end.protocol.training.steps, end.batches);
  std::vector<std::string> models;
  for (const RunEnd& run : end.runs)
    if (failed(run)) models.push_back(run.model);
  print_table(end.store, models);
}

JsonValue to_json(const TableEnd& end) {
  JsonValue json = end.store, runs = JsonValue::array();
  for (const RunEnd& run : end.runs)
    if (failed(run))
      runs.push_back(JsonValue::object({{"model", run.model}, {"seed", run.seed}, {"error", run.error}}));
  json.update({{"shortened", end.shortened}, {"failed", runs}});
  return json;
}

/// The end of one part of several, whose results the command without --shard collects.
JsonValue part_as_json(const std::string& shard, const TableEnd& end) {
  return JsonValue::object(
      {{"shard", shard}, {"runs", std::ssize(end.runs)}, {"failed", std::ranges::count_if(end.runs, failed)}});
}

void print_part(const std::string& shard, const TableEnd& end) {
  const auto all = std::ssize(end.runs);
  fmt::print("part {}: {} of {} runs done\n", shard, all - std::ranges::count_if(end.runs, failed), all);
}

/// Returns the problems of a table as sentences.
std::vector<std::string> problems_of(const TableEnd& end, bool in_parts) {
  std::vector<std::string> problems = in_parts ? std::vector<std::string>() : leaks(end.store);
  if (const auto count = std::ranges::count_if(end.runs, failed); count > 0)
    problems.push_back(fmt::format("{} of {} runs failed", count, end.runs.size()));
  return problems;
}

int report_interruption() {
  fmt::print(stderr, "interrupted; to continue, run the same command\n");
  return kInterruptedExit;
}

int reproduce_one(const ReproduceCommand& c, Job& job) {
  const TableEnd end = reproduce_table(c, job);
  if (end.interrupted) return report_interruption();
  const bool in_parts = !c.shard.empty();
  if (!job.leads()) return 0;
  if (!c.plot.empty()) plot::write_figure(draw_results({&end.store, 1}), c.plot);
  if (c.common.json)
    print_json(in_parts ? part_as_json(c.shard, end) : to_json(end));
  else if (in_parts)
    print_part(c.shard, end);
  else
    print(end);
  const std::vector<std::string> problems = problems_of(end, in_parts);
  check(problems.empty(), "[reproduce] {}", fmt::join(problems, "; "));
  return 0;
}

/// Returns true if there is something to run, or with --report something to read.
bool has_work(const ReproduceOptions& c, const Protocol& protocol, const std::string& missing) {
  return c.report ? std::filesystem::exists(results_path(c.results, protocol)) : missing.empty();
}

int reproduce_paper(const ReproduceCommand& c, Job& job) {
  const Paper& paper = find_paper(c.paper);
  check(job.size() == 1, "[reproduce] --paper and {} ranks found, expected one process, or --shard in each of several",
        job.size());
  const bool in_parts = !c.shard.empty();
  std::vector<MatrixRow> rows;
  std::vector<std::string> problems;
  JsonValue tables = JsonValue::array();
  std::vector<JsonValue> stores;
  for (const char* name : paper.protocols) {
    ReproduceOptions one = c;
    one.table = name;
    const Protocol protocol = load_protocol(name);
    one.models = models_of(paper, protocol, c.models);
    if (one.models.empty()) continue;
    const std::string missing = missing_data(protocol);
    if (has_work(one, protocol, missing)) {
      const TableEnd end = reproduce_table(one, job);
      if (end.interrupted) return report_interruption();
      if (c.common.json) {
        tables.push_back(in_parts ? part_as_json(c.shard, end) : to_json(end));
      } else {
        fmt::print("\n");
        in_parts ? print_part(c.shard, end) : print(end);
        fmt::print("\n");
      }
      stores.push_back(end.store);
      for (const std::string& problem : problems_of(end, in_parts))
        problems.push_back(fmt::format("{}: {}", name, problem));
    }
    std::ranges::copy(matrix_rows(one, missing), std::back_inserter(rows));
  }
  check(!rows.empty(), "[reproduce] {} has none of these models: {}; expected some of {}", c.paper,
        fmt::join(c.models, ", "), fmt::join(paper.models, ", "));
  if (!c.plot.empty()) plot::write_figure(draw_results(stores), c.plot);
  if (c.common.json)
    print_json(JsonValue::object({{"paper", paper.name}, {"tables", tables}, {"matrix", to_json(rows)}}));
  else
    print_matrix(paper, rows);
  check(problems.empty(), "[reproduce] {}", fmt::join(problems, "; "));
  return 0;
}

int run(const ReproduceCommand& c) {
  SharedJob job({});
  return job.run([&](Job& ranks) {
    apply(c.common);
    set_data_folder(c.data);
    check_outputs("reproduce", c.common, {{"--plot", c.plot}}, {});
    if (!c.plot.empty()) {
      plot::format_of(c.plot);
      check_can_be_written(c.plot);
    }
    return c.paper.empty() ? reproduce_one(c, ranks) : reproduce_paper(c, ranks);
  });
}

}  // namespace

extern const CommandInfo reproduce_command = command<ReproduceCommand, add_flags, run>(
    "Train and evaluate the models of a published table, and print it.", CommandGroup::train,
    "npzoo reproduce tnp/gp-rbf --models cnp --seeds 0,1,2", Processes::several);

}  // namespace npzoo::tools
