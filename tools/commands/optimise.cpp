#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "npzoo/datasets/tables/table_writer.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/optimise/bayesian_optimiser.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/outputs.h"
#include "tools/cli/progress.h"
#include "tools/pictures/optimise.h"
#include "tools/plot/canvas.h"

namespace npzoo::tools {

namespace {

constexpr std::int64_t kMostAsked = 64;

struct OptimiseCommand {
  CommonOptions common;
  std::filesystem::path space, tell, pending, plot;
  std::int64_t ask = 1;
  bool maximise = false, gaussian_process = false;
  std::string checkpoint, acquisition = "log-ei", batch = "fantasies";
  std::uint64_t seed = 0;
};

void add_flags(Flags& flags, OptimiseCommand& c) {
  add_flags(flags, c.common);
  flags
      .text("--space", c.space,
            "TOML file of the search space: [[axis]] with name, and low, high or choices; scale, type, fixed")
      .required();
  flags
      .text("--tell", c.tell,
            "table of the evaluations so far: a column for each axis, and value, blank if the evaluation failed; a "
            "missing or empty file: none")
      .required();
  flags.text(
      "--pending", c.pending,
      "table of points that are being evaluated, such as earlier proposals: none is proposed again, and proposals "
      "assume their expected values. Rows that --tell has as well do not count");
  flags.whole("--ask", c.ask, {1, kMostAsked}, "points to propose, which may be evaluated at the same time");
  flags.toggle("--maximise", c.maximise, "larger values are better");
  add_optional_checkpoint(flags, c.checkpoint,
                          ". Default: npzoo/any-1d for one input of numbers, else a fitted Gaussian process");
  flags.toggle("--gaussian-process", c.gaussian_process, "use a fitted Gaussian process instead of weights");
  flags.choice("--acquisition", c.acquisition, {"ei", "log-ei", "ucb", "pi"}, "acquisition function");
  flags.choice("--batch", c.batch, {"fantasies", "thompson"},
               "how several points are chosen: fantasies assumes the expected value at each earlier point, thompson "
               "minimises a sampled function for each");
  flags.text("--plot", c.plot,
             "picture to write, .svg or .png: predictions and acquisition as maps for two axes, else along each axis");
  flags.seed("--seed", c.seed, "seed of the design and of samples");
  flags.check_together([&c] {
    check(c.checkpoint.empty() || !c.gaussian_process,
          "--checkpoint and --gaussian-process found, expected one of them");
  });
}

BayesianOptions options_of(const OptimiseCommand& c, std::stop_token stop) {
  BayesianOptions options{.maximise = c.maximise, .seed = c.seed, .stop = std::move(stop)};
  options.acquisition.kind = acquisition_kind(c.acquisition);
  if (c.batch == "thompson") options.batch = BatchRule::thompson;
  if (c.gaussian_process) options.surrogate = FittedGp();
  if (!c.checkpoint.empty()) options.surrogate = WeightsSurrogate{c.checkpoint};
  return options;
}

/// The point by the names of the axes.
JsonValue point_of(const SearchSpace& space, const std::vector<double>& values) {
  JsonValue point = JsonValue::object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Axis& axis = space.axes()[i];
    axis.categorical() ? point.set(axis.name, axis.text(values[i])) : point.set(axis.name, values[i]);
  }
  return point;
}

void print_recommended(const SearchSpace& space, const RecommendedPoint& point) {
  std::vector<std::string> coordinates;
  for (std::size_t i = 0; i < point.values.size(); ++i)
    coordinates.push_back(fmt::format("{} = {}", space.axes()[i].name, space.axes()[i].text(point.values[i])));
  fmt::print(stderr, "npzoo: recommended so far, by expected value: {}; {:.4g} ± {:.2g}\n",
             one_line(fmt::format("{}", fmt::join(coordinates, ", "))), point.mean, point.std);
}

void print_proposals(const OptimiseCommand& c, const SearchSpace& space, const Proposals& proposals) {
  std::vector<std::string> names;
  for (const Axis& axis : space.axes()) names.push_back(axis.name);
  if (!c.common.json) {
    TableWriter table("-", names);
    for (const ProposedPoint& p : proposals.points) {
      std::vector<std::string> cells;
      for (std::size_t i = 0; i < names.size(); ++i) cells.push_back(as_cell(space.axes()[i].text(p.values[i]), ','));
      table.write(fmt::format("{}", fmt::join(cells, ",")), {});
    }
    table.commit();
    return;
  }
  JsonValue all = JsonValue::array();
  for (const ProposedPoint& p : proposals.points) {
    JsonValue one = JsonValue::object({{"point", point_of(space, p.values)}, {"by", proposals.by}});
    if (p.mean) one.update({{"mean", *p.mean}, {"std", *p.std}});
    if (p.acquisition) one.set("acquisition", *p.acquisition);
    all.push_back(std::move(one));
  }
  JsonValue recommended(nullptr);
  if (const auto& r = proposals.recommended)
    recommended = JsonValue::object({{"point", point_of(space, r->values)}, {"mean", r->mean}, {"std", r->std}});
  print_json(JsonValue::object({{"proposals", all}, {"recommended", recommended}}));
}

int optimise(const OptimiseCommand& c) {
  apply(c.common);
  check_outputs("optimise", c.common, {{"--plot", c.plot}},
                {{"--space", c.space}, {"--tell", c.tell}, {"--pending", c.pending}});
  if (!c.plot.empty()) plot::format_of(c.plot);
  const InterruptGuard interrupt;
  BayesianOptimiser optimiser(SearchSpace::read(c.space), options_of(c, interrupt.token()));
  const Evaluations evaluations = read_evaluations(c.tell, optimiser.space());
  optimiser.tell(evaluations.points, evaluations.values);
  if (!c.pending.empty()) optimiser.wait_for(read_points(c.pending, optimiser.space()));
  std::optional<Progress> progress(std::in_place, "optimise", 0, Progress::Options{.unit = "points", .passing = true});
  std::optional<Beliefs> beliefs;
  if (!c.plot.empty()) beliefs = optimiser.beliefs();
  const Proposals proposals = optimiser.ask(c.ask);
  progress.reset();
  if (const std::string& note = beliefs ? beliefs->note : proposals.note; !note.empty())
    fmt::print(stderr, "npzoo: {}\n", note);
  if (beliefs) plot::write_figure(draw_beliefs(optimiser.space(), *beliefs, proposals.points), c.plot);
  if (const auto found = std::ssize(proposals.points); found < c.ask)
    fmt::print(stderr, "npzoo: {} points wanted, but only {} {} not {} yet\n", c.ask, found, found == 1 ? "is" : "are",
               c.pending.empty() ? "evaluated" : "evaluated or pending");
  if (proposals.recommended && !c.common.json) print_recommended(optimiser.space(), *proposals.recommended);
  print_proposals(c, optimiser.space(), proposals);
  return 0;
}

int run(const OptimiseCommand& c) try { return optimise(c); } catch (const Interrupted&) {
  return kInterruptedExit;
}

}  // namespace

extern const CommandInfo optimise_command = command<OptimiseCommand, add_flags, run>(
    "Propose where to evaluate an objective next, given the evaluations so far.", CommandGroup::predict,
    "npzoo optimise --space examples/space.toml --tell results.csv --ask 4");

}  // namespace npzoo::tools
