#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/models/predictions/autoregressive_model.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/training/named_weights.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/outputs.h"
#include "tools/cli/progress.h"
#include "tools/pictures/attention.h"
#include "tools/pictures/curves.h"
#include "tools/pictures/forms.h"
#include "tools/reports/training_log.h"

namespace npzoo::tools {

namespace {

constexpr std::size_t kMostCurves = 14;

struct PlotCommand {
  CommonOptions common;
  std::string checkpoint;
  std::vector<std::string> grid, curves;
  std::filesystem::path out;
  ProtocolOptions protocol;
  std::string data;
  TaskPicture drawn;
  std::vector<std::int64_t> contexts;
  bool attention = false, autoregressive = false;
  std::vector<std::string> target;
  AttentionPicture looked_at;
};

void add_flags(Flags& flags, PlotCommand& c) {
  add_flags(flags, c.common);
  const Flag checkpoint = add_optional_checkpoint(flags, c.checkpoint);
  const Flag grid =
      flags
          .texts("--grid", c.grid,
                 "several models side by side on the same tasks, separated by commas, instead of --checkpoint")
          .excludes(checkpoint);
  Flag curves =
      flags
          .texts("--curves", c.curves,
                 "draw trainings instead: losses and validations of these folders of runs (or metrics.jsonl files), "
                 "separated by commas, also while they run")
          .excludes(checkpoint)
          .excludes(grid);
  flags.text("--out", c.out, "picture to write, .svg or .png").required();
  const Flag named =
      add_flags(flags, c.protocol, "protocol of the tasks (default: the one that the first model was trained under)");
  add_data(flags, c.data);
  const Flag seed = flags.seed("--seed", c.drawn.seed, "seed of the tasks");
  const Flag tasks = flags.whole("--tasks", c.drawn.tasks, {1, 8}, "rows of the picture, one task each");
  const Flag samples = flags.whole(
      "--samples", c.drawn.samples, {0, 50},
      "sampled functions to draw as thin lines, for one input. Models that predict each target by itself have none");
  Flag autoregressive = flags.toggle(
      "--autoregressive", c.autoregressive,
      "draw these functions one point after the other, each given those before it, with a model that predicts each "
      "target by itself; slow");
  const Flag contexts = flags.wholes(
      "--contexts", c.contexts, {1, kMostCount},
      "for images: numbers of context pixels, one row of the picture for each (default: as many as the tasks have)");
  Flag attention = flags.toggle(
      "--attention", c.attention,
      "draw attention instead: the weights of the context points in each head of each layer, for one task");
  for (const Flag& of_tasks : {named, seed, tasks, samples, autoregressive, contexts, attention})
    curves.excludes(of_tasks);
  attention.excludes(grid).excludes(tasks).excludes(samples).excludes(autoregressive).excludes(contexts);
  flags.texts("--target", c.target,
              "with --attention: inputs of the target, separated by commas; for images row and column of a pixel, from "
              "0 (default: the middle; with one input all targets as a map)");
  flags.whole("--layer", c.looked_at.layer, {1, 1000}, "with --attention: only this layer, from 1");
  flags.whole("--head", c.looked_at.head, {1, 1000}, "with --attention: only this head, from 1");
  flags.check_together([&c] {
    check(!c.checkpoint.empty() || !c.grid.empty() || !c.curves.empty(),
          "--checkpoint, --grid or --curves is required");
    check(c.curves.size() <= kMostCurves, "--curves: {} runs found, expected at most {}", c.curves.size(), kMostCurves);
    check(c.curves.empty() || c.protocol.changes.empty(), "--set excludes --curves");
    const bool looks = !c.target.empty() || c.looked_at.layer || c.looked_at.head;
    check(c.attention || !looks, "--target, --layer and --head need --attention");
  });
}

double coordinate(const std::string& text) {
  double value = 0;
  const auto [end, error] = parse_number(text, value);
  check(error == std::errc() && end == text.data() + text.size() && std::isfinite(value),
        "[plot] --target: '{}' found, expected a number", text);
  return value;
}

/// Those that are to be drawn, and the protocol whose tasks are.
std::pair<std::vector<Shown>, Protocol> load(const PlotCommand& c, const std::vector<std::string>& names) {
  std::vector<Shown> models;
  std::optional<Protocol> protocol;
  if (!c.protocol.name.empty()) protocol = load_protocol(c.protocol);
  for (const std::string& name : names) {
    const Checkpoint checkpoint = load_checkpoint(find_weights(name));
    if (!protocol) protocol = load_protocol(c.protocol, checkpoint.run.protocol);
    const std::string& model = checkpoint.run.spec.name;
    models.push_back({model, model_info(model).drawing(), restore_model(checkpoint)});
    if (!c.autoregressive) continue;
    check_predicts_each_alone(model_info(model), "plot");
    models.back() = {model, Density::joint, std::make_unique<AutoregressiveModel>(std::move(models.back().model))};
  }
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < names.size(); ++i)  // two of one name are distinguished by the words that selected them
    titles.push_back(std::ranges::count(models, models[i].name, &Shown::name) > 1 ? names[i] : models[i].name);
  for (std::size_t i = 0; i < names.size(); ++i) models[i].name = titles[i];
  return {std::move(models), std::move(*protocol)};
}

plot::Figure draw(const PlotCommand& c, const std::vector<Shown>& models, const TaskConfig& data) {
  if (c.attention) {
    AttentionPicture looked_at = c.looked_at;
    looked_at.seed = c.drawn.seed;
    if (!c.target.empty()) std::ranges::transform(c.target, std::back_inserter(looked_at.target.emplace()), coordinate);
    return draw_attention(looked_at, models.front(), data, data.picture(1, c.drawn.seed));
  }
  return picture_form(data).draw(c.drawn, c.contexts, models, data);
}

int run_curves(const PlotCommand& c) {
  const std::vector<std::filesystem::path> runs(c.curves.begin(), c.curves.end());
  std::vector<NamedFile> inputs;
  for (const std::filesystem::path& run : runs) inputs.push_back({"--curves", training_log_file(run)});
  check_outputs("plot", c.common, {{"--out", c.out}}, inputs);
  plot::write_figure(draw_curves(runs), c.out);
  if (c.common.json)
    print_json(JsonValue::object({{"out", c.out.string()}, {"runs", runs.size()}}));
  else
    fmt::print("{}\n", c.out.string());
  return 0;
}

int run(const PlotCommand& c) {
  apply(c.common);
  if (!c.curves.empty()) return run_curves(c);
  set_data_folder(c.data);
  const std::vector<std::string> names = c.grid.empty() ? std::vector{c.checkpoint} : c.grid;
  std::vector<NamedFile> inputs{{"--protocol", c.protocol.name}};
  for (const std::string& name : names)
    inputs.push_back({c.grid.empty() ? "--checkpoint" : "--grid", find_weights(name)});
  check_outputs("plot", c.common, {{"--out", c.out}}, inputs);
  const auto [models, protocol] = load(c, names);
  const TaskConfig& data = *protocol.data;
  const PictureForm& form = picture_form(data);
  check(data.dim_x() <= 2 || (form.any_inputs && !c.attention),
        "[plot] {} has {} inputs per point, expected at most two", protocol.name, data.dim_x());
  for (std::size_t i = 0; i < models.size(); ++i) {
    const Model& model = *models[i].model;
    check(data.dim_x() == model.dim_x(), "[plot] {} has {} inputs per point, the model of {} takes {}", protocol.name,
          data.dim_x(), names[i], model.dim_x());
    check(data.dim_y() == model.dim_y(), "[plot] {} has {} values per point, the model of {} predicts {}",
          protocol.name, data.dim_y(), names[i], model.dim_y());
    check(data.dim_y() == 1 || c.attention || form.any_values, "[plot] {} has {} values per point, expected one",
          protocol.name, data.dim_y());
  }
  check(c.contexts.empty() || form.takes_contexts, "[plot] --contexts found, but the tasks are not images");
  {
    const Progress progress("plot", 0, {.unit = "tasks", .passing = true});
    plot::write_figure(draw(c, models, data), c.out);
  }
  if (c.common.json)
    print_json(JsonValue::object({{"out", c.out.string()}, {"tasks", c.attention ? 1 : c.drawn.tasks}}));
  else
    fmt::print("{}\n", c.out.string());
  return 0;
}

}  // namespace

extern const CommandInfo plot_command = command<PlotCommand, add_flags, run>(
    "Draw predictions beside the truth (curves of one input, maps of two, intensities of events), or how trainings "
    "went.",
    CommandGroup::train, "npzoo plot --grid cnp:tnp/gp-rbf,tnp-d:tnp/gp-rbf --tasks 3 --out models.svg");

}  // namespace npzoo::tools
