#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "npzoo/datasets/tables/table_writer.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/models/applications/optimise/gp_surrogate.h"
#include "npzoo/models/applications/optimise/model_surrogate.h"
#include "npzoo/models/applications/optimise/propose.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/training/named_weights.h"
#include "tools/cli/command.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/outputs.h"
#include "tools/cli/progress.h"
#include "tools/optimise/picture.h"
#include "tools/plot/canvas.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostAsked = 64;
constexpr std::int64_t kMostInputsOfWeights = 1;  // for two a fitted Gaussian process finds better points
constexpr std::int64_t kMostInputsOfTables = 2;   // that there are weights for

struct OptimiseCommand {
  CommonOptions common;
  std::filesystem::path space, tell, plot;
  std::int64_t ask = 1;
  bool maximise = false, gaussian_process = false;
  std::string checkpoint, acquisition = "log-ei", batch = "fantasies";
  std::uint64_t seed = 0;
};

void add_flags(Flags& flags, OptimiseCommand& c) {
  add_flags(flags, c.common);
  flags.text("--space", c.space, "TOML file of what can be chosen: [[axis]] with name, low, high; scale, type, fixed")
      .required();
  flags
      .text("--tell", c.tell,
            "table of the evaluations so far, which is only read: a column for each axis, and value, blank if the "
            "evaluation failed; no file or an empty one: none")
      .required();
  flags.whole("--ask", c.ask, {1, kMostAsked}, "points to propose, which may be evaluated at the same time");
  flags.toggle("--maximise", c.maximise, "larger values are better");
  add_optional_checkpoint(flags, c.checkpoint,
                          ". Default: npzoo/any-1d for one input; for more inputs a fitted Gaussian process");
  flags.toggle("--gaussian-process", c.gaussian_process,
               "ask one whose hyper-parameters are fitted, also where there are weights");
  flags.choice("--acquisition", c.acquisition, {"ei", "log-ei", "ucb", "pi"}, "what makes a point worth an evaluation");
  flags.choice(
      "--batch", c.batch, {"fantasies", "thompson"},
      "several points: each as if those before had given what is expected, or each the best of a function drawn");
  flags.text("--plot", c.plot,
             "picture to write as well, .svg or .png: what is believed of two axes, as maps, or along each of others, "
             "and the acquisition");
  flags.seed("--seed", c.seed, "of the design and of what is drawn");
  flags.check_together([&c] {
    check(c.checkpoint.empty() || !c.gaussian_process,
          "--checkpoint and --gaussian-process found, expected one of them");
  });
}

/// Weights, and what is asked of them.
struct Believer {
  std::optional<Checkpoint> checkpoint{};
  std::unique_ptr<Model> model{};
  std::unique_ptr<Surrogate> surrogate;
};

/// The weights that are named, or those for as many inputs, or a Gaussian process, which says so.
Believer believer_for(const OptimiseCommand& c, const SearchSpace& space) {
  std::string weights = c.checkpoint;
  const bool no_weights = c.gaussian_process || c.batch == "thompson" || space.dims() > kMostInputsOfWeights;
  if (weights.empty() && !no_weights) weights = default_weights(space.dims());
  if (weights.empty()) {
    if (!c.gaussian_process && (c.batch == "thompson" || space.dims() > kMostInputsOfTables))
      fmt::print(stderr, "npzoo: a Gaussian process answers: {}\n",
                 c.batch == "thompson" ? "the weights for tables draw no functions"
                                       : fmt::format("no weights are for {} inputs", space.dims()));
    return {.surrogate = std::make_unique<GpSurrogate>(1, space.dims())};
  }
  Believer b{.checkpoint = load_checkpoint(find_weights(weights)), .surrogate = nullptr};
  b.model = restore_model(*b.checkpoint);
  const TrainingRun& run = b.checkpoint->run;
  check(b.model->dim_x() == space.dims(), "[optimise] {} axes that vary found, {} trained under {} takes {} inputs",
        space.dims(), run.spec.name, run.protocol.name, b.model->dim_x());
  ModelSurrogateOptions options;
  options.range = run.protocol.data->training_range();
  options.seed = c.seed;
  b.surrogate = std::make_unique<ModelSurrogate>(*b.model, model_info(run.spec.name), 1, std::move(options));
  return b;
}

void print_proposals(const OptimiseCommand& c, const SearchSpace& space, const std::vector<Proposal>& proposals,
                     const std::string& by) {
  std::vector<std::string> names;
  for (const Axis& axis : space.axes()) names.push_back(axis.name);
  if (!c.common.json) {
    TableWriter table("-", names);
    for (const Proposal& p : proposals) table.write("", space.values(p.x));
    table.commit();
    return;
  }
  JsonValue all = JsonValue::array();
  for (const Proposal& p : proposals) {
    JsonValue point = JsonValue::object();
    const std::vector<double> values = space.values(p.x);
    for (std::size_t i = 0; i < names.size(); ++i) point.set(names[i], values[i]);
    JsonValue one = JsonValue::object({{"point", point}, {"by", p.of_design ? "sobol" : by}});
    if (!p.of_design) one.update({{"mean", c.maximise ? -p.mean : p.mean}, {"std", p.std}});
    if (!p.of_design && c.batch != "thompson") one.set("acquisition", p.acquisition);
    all.push_back(std::move(one));
  }
  print_json(JsonValue::object({{"proposals", all}}));
}

int run(const OptimiseCommand& c) {
  apply(c.common);
  check_outputs("optimise", c.common, {{"--plot", c.plot}}, {{"--space", c.space}, {"--tell", c.tell}});
  if (!c.plot.empty()) plot::format_of(c.plot);
  const SearchSpace space = SearchSpace::read(c.space);
  const Observations read = read_observations(c.tell, space, c.maximise);
  if (const auto points = finished(space, read)) fail("[optimise] all {} points are known", *points);
  const Observations seen = told_values(read);
  ProposalOptions options;
  options.count = c.ask;
  options.acquisition.kind = acquisition_kind(c.acquisition);
  options.batch = c.batch == "thompson" ? BatchRule::thompson : BatchRule::fantasies;
  options.seed = c.seed;
  check(c.plot.empty() || seen.size() > 0, "[plot] nothing was observed so far, expected a table with rows");
  const bool by_design = read.size() == 0 || read.evaluations() < design_size(space);
  std::vector<Proposal> proposals;
  std::string by = "sobol";
  std::optional<plot::Figure> picture;
  if (by_design) proposals = propose_by_design(space, read, options);
  if (!by_design || !c.plot.empty()) {
    const Believer believer = believer_for(c, space);
    const Progress progress("optimise", 0, {.unit = "points", .passing = true});
    by = believer.surrogate->name();
    believer.surrogate->observe(seen.x, seen.y);
    believer.surrogate->learn();
    // Before proposals are made, which may tell the surrogate of values that nobody has observed.
    if (!c.plot.empty()) picture = draw_beliefs({space, seen, *believer.surrogate, options.acquisition, c.maximise});
    if (!by_design) proposals = propose(*believer.surrogate, space, seen, options);
  }
  if (picture) {
    mark_proposals(space, proposals, *picture);
    plot::write_figure(*picture, c.plot);
  }
  if (std::ssize(proposals) < c.ask)
    fmt::print(stderr, "npzoo: {} points asked for, {} found that {} not known\n", c.ask, proposals.size(),
               proposals.size() == 1 ? "is" : "are");
  print_proposals(c, space, proposals, by);
  return 0;
}

}  // namespace

extern const CommandInfo optimise_command = command<OptimiseCommand, add_flags, run>(
    "Propose where to evaluate an objective next, given the evaluations so far.");

}  // namespace npzoo
