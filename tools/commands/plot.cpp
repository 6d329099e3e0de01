#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/tape.h"
#include "models/registry.h"
#include "models/training/checkpoint.h"
#include "models/training/named_weights.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/outputs.h"
#include "tools/plot/band_panel.h"
#include "tools/plot/map_panel.h"

namespace npzoo {

namespace {

struct PlotCommand {
  CommonOptions common;
  std::string checkpoint;
  std::vector<std::string> grid;
  std::filesystem::path out;
  ProtocolOptions protocol;
  std::uint64_t seed = 0;
  int tasks = 2;
  int samples = 5;
};

void add_flags(Flags& flags, PlotCommand& c) {
  add_flags(flags, c.common);
  const Flag checkpoint = add_optional_checkpoint(flags, c.checkpoint);
  flags.texts("--grid", c.grid, "several of these instead, separated by commas: models side by side on the same tasks")
      .excludes(checkpoint);
  flags.check_together([&c] { check(!c.checkpoint.empty() || !c.grid.empty(), "--checkpoint or --grid is required"); });
  flags.text("--out", c.out, "picture to write, .svg or .png").required();
  add_flags(flags, c.protocol, "whose tasks to draw, instead of the one that the (first) model was trained under");
  flags.seed("--seed", c.seed, "of the tasks");
  flags.whole("--tasks", c.tasks, {1, 8}, "rows of the picture, one task each");
  flags.whole(
      "--samples", c.samples, {0, 50},
      "functions of one input to draw through the band, as thin lines: samples of a model that predicts targets "
      "jointly, means of the functions that a model with latent variables or a bootstrap draws. A model that "
      "predicts each target by itself tells of one function alone, its mean");
}

constexpr std::int64_t kGridPoints = 400;  // of a curve
constexpr std::int64_t kMapSide = 48;      // cells of a map along each axis
// The same of a model that predicts them jointly: time and memory may grow with their square, and more.
constexpr std::int64_t kJointGridPoints = 100, kJointMapSide = 24;
constexpr double kMapSize = 160;  // canvas units

/// One row of a batch as plain numbers.
struct TaskRow {
  std::vector<double> xc, yc, xt, yt;
};

std::vector<double> leading(const Tensor& x, std::int64_t row, std::int64_t count) {
  const auto values = x.values<float>().subspan(static_cast<std::size_t>(row * x.dim(1) * x.dim(2)),
                                                static_cast<std::size_t>(count * x.dim(2)));
  return {values.begin(), values.end()};
}

TaskRow row_of(const Task& task, std::int64_t row) {
  const std::int64_t nc = task.lengths.defined() ? task.lengths.values<std::int64_t>()[row] : task.xc.dim(1);
  return {leading(task.xc, row, nc), leading(task.yc, row, nc), leading(task.xt, row, task.xt.dim(1)),
          leading(task.yt, row, task.yt.dim(1))};
}

std::vector<double> regular_grid(const Interval& range, std::int64_t points) {
  const auto& [low, high] = range;
  std::vector<double> x(static_cast<std::size_t>(points));
  for (std::int64_t i = 0; i < points; ++i)
    x[static_cast<std::size_t>(i)] = low + (high - low) * static_cast<double>(i) / static_cast<double>(points - 1);
  return x;
}

/// The middles of side × side cells, (n, 2).
std::vector<double> map_grid(const Interval& range, std::int64_t side) {
  const auto at = [&](std::int64_t i) {
    return range.low + (range.high - range.low) * (static_cast<double>(i) + 0.5) / static_cast<double>(side);
  };
  std::vector<double> x;
  for (std::int64_t i = 0; i < side * side; ++i) {
    x.push_back(at(i % side));
    x.push_back(at(i / side));
  }
  return x;
}

/// A model of the picture, under the name that it has there.
struct Shown {
  std::string name;
  Density density;
  std::unique_ptr<Model> model;

  bool jointly() const { return density == Density::joint; }
};

Tensor one_task(const std::vector<double>& values, std::int64_t width) {
  const auto points = static_cast<std::int64_t>(values.size()) / width;
  return Tensor::from<double>({1, points, width}, std::span(values)).to(DType::float32);
}

/// What a model says of a row.
struct Said {
  Curve curve;
  std::vector<std::vector<double>> functions;
};

/// The first `count` of functions (K, 1, n, 1).
std::vector<std::vector<double>> first_functions(const Tensor& functions, std::int64_t count) {
  const Tensor here = functions.to(Device::cpu).to(DType::float64);
  const auto points = static_cast<std::size_t>(here.dim(2));
  std::vector<std::vector<double>> first;
  for (std::int64_t k = 0; k < std::min(count, here.dim(0)); ++k) {
    const auto function = here.values<double>().subspan(static_cast<std::size_t>(k) * points, points);
    first.emplace_back(function.begin(), function.end());
  }
  return first;
}

Said predict(const Shown& shown, const TaskRow& row, const std::vector<double>& x, Draws draws,
             std::int64_t functions) {
  NoGrad off;
  const Model& model = *shown.model;
  const std::int64_t dim_x = model.dim_x();
  const auto state = model.condition({one_task(row.xc, dim_x), one_task(row.yc, 1)}, draws, kSamples);
  const auto prediction = model.query(*state, one_task(x, dim_x));
  const Moments p = moments(*prediction);
  const auto mean = p.mean.values<double>(), std = p.std.values<double>();
  Said said{{{mean.begin(), mean.end()}, {std.begin(), std.end()}}, {}};
  if (functions > 0 && shown.density != Density::marginal)
    said.functions = first_functions(
        shown.jointly() ? prediction->sample(functions, draws) : prediction->marginals().mean, functions);
  return said;
}

/// A row's panel, without what differs between rows.
plot::Panel panel(const TaskRow& row, const std::vector<double>& x, const Said& said, plot::Color color,
                  const std::string& name) {
  plot::Panel panel = plot::make_panel({.name = name,
                                        .x_label = "x",
                                        .y_label = "y",
                                        .color = color,
                                        .x = x,
                                        .mean = said.curve.mean,
                                        .std = said.curve.std,
                                        .samples = said.functions,
                                        .context = {row.xc, row.yc},
                                        .truth = {row.xt, row.yt}});
  panel.x_range = plot::Range{x.front(), x.back()};
  return panel;
}

/// Rows of curves: the models' and, where it is known, the truth's.
plot::Figure draw_curves(const PlotCommand& c, const std::vector<Shown>& models, const TaskConfig& data,
                         const Batch& batch) {
  const Interval inputs = data.training_range().inputs;
  const bool several = models.size() > 1;
  plot::Figure figure{.share_y = true};
  if (several) {
    figure.panel_width = 150;
    figure.panel_height = 105;
  }
  const Draws draws(c.seed, Purpose::prediction, 0);
  for (std::int64_t i = 0; i < c.tasks; ++i) {
    const TaskRow row = row_of(batch.task, i);
    const std::size_t before = figure.panels.size();
    const auto add = [&](plot::Panel panel, const std::string& title) {
      if (i == 0) panel.title = title;
      if (several && i + 1 < c.tasks) panel.x_label.clear();
      figure.panels.push_back(std::move(panel));
    };
    for (const Shown& shown : models) {
      const std::vector<double> x = regular_grid(inputs, shown.jointly() ? kJointGridPoints : kGridPoints);
      add(panel(row, x, predict(shown, row, x, draws.from(i), c.samples), plot::palette(0), several ? "" : shown.name),
          shown.name);
    }
    const std::vector<double> x = regular_grid(inputs, kGridPoints);
    if (const auto exact = batch.truth ? batch.truth->curve(batch.task, i, x) : std::nullopt) {
      const std::string truth = batch.truth->name();
      add(panel(row, x, {*exact, {}}, plot::palette(2), truth), truth + " posterior");
    }
    figure.columns = static_cast<int>(figure.panels.size() - before);
  }
  return figure;
}

/// One value at each of some points, as a map.
struct Map {
  std::string title;
  plot::PlaneValues shown;
  plot::Grid cells;
  bool marked;  // shows where the context is
  bool bar = false;
};

/// Rows of maps: context, mean and, of a model alone, standard deviation, and the targets.
plot::Figure draw_maps(const PlotCommand& c, const std::vector<Shown>& models, const TaskConfig& data,
                       const Batch& batch) {
  const Interval inputs = data.training_range().inputs;
  const plot::Range axis{inputs.low, inputs.high};
  const plot::Grid coarse{axis, axis, kMapSide / 2, kMapSide / 2};
  plot::Figure figure{.panel_width = kMapSize, .panel_height = kMapSize, .share_y = true};
  const Draws draws(c.seed, Purpose::prediction, 0);
  for (std::int64_t i = 0; i < c.tasks; ++i) {
    const TaskRow row = row_of(batch.task, i);
    const plot::Grid cells = plot::grid_of(row.xt).value_or(coarse);
    std::vector<Map> maps{{"context", {row.xc, row.yc}, cells, true}};
    std::optional<Map> deviations;
    for (const Shown& shown : models) {
      const std::int64_t side = shown.jointly() ? kJointMapSide : kMapSide;
      const plot::Grid fine{axis, axis, static_cast<std::size_t>(side), static_cast<std::size_t>(side)};
      const std::vector<double> x = map_grid(inputs, side);
      const Curve said = predict(shown, row, x, draws.from(i), 0).curve;
      maps.push_back({models.size() > 1 ? shown.name : shown.name + ": mean", {x, said.mean}, fine, true});
      if (models.size() == 1) deviations = Map{"standard deviation", {x, said.std}, fine, true, true};
    }
    plot::Range values = plot::range_of({row.yt});
    for (const Map& map : maps) values = plot::range_of({map.shown.values, std::array{values.low, values.high}});
    if (!(values.low < values.high)) values.high = values.low + 1;
    const std::size_t before = figure.panels.size();
    const auto add = [&](const Map& map, const plot::ColorScale& scale) {
      plot::Panel panel = plot::make_map({.title = i > 0 ? "" : map.title,
                                          .raster = plot::rasterise(map.cells, map.shown, scale),
                                          .marked = map.marked ? row.xc : std::vector<double>(),
                                          .bar_label = map.bar ? std::optional(std::string()) : std::nullopt});
      panel.x_range = panel.y_range = axis;
      figure.panels.push_back(std::move(panel));
    };
    maps.push_back({"targets", {row.xt, row.yt}, cells, false, true});
    for (const Map& map : maps) add(map, {values});
    if (deviations) add(*deviations, {{0, plot::range_of({deviations->shown.values}).high}, plot::ColorMap::plasma});
    figure.columns = static_cast<int>(figure.panels.size() - before);
  }
  return figure;
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
    models.push_back({model, model_info(model).density, restore_model(checkpoint)});
  }
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < names.size(); ++i)  // two of one name are told apart by what they were asked for as
    titles.push_back(std::ranges::count(models, models[i].name, &Shown::name) > 1 ? names[i] : models[i].name);
  for (std::size_t i = 0; i < names.size(); ++i) models[i].name = titles[i];
  return {std::move(models), std::move(*protocol)};
}

int run(const PlotCommand& c) {
  apply(c.common);
  const std::vector<std::string> names = c.grid.empty() ? std::vector{c.checkpoint} : c.grid;
  std::vector<NamedFile> inputs{{"--protocol", c.protocol.name}};
  for (const std::string& name : names)
    inputs.push_back({c.grid.empty() ? "--checkpoint" : "--grid", find_weights(name)});
  check_outputs("plot", c.common, {{"--out", c.out}}, inputs);
  const auto [models, protocol] = load(c, names);
  const TaskConfig& data = *protocol.data;
  check(data.dim_x() <= 2, "[plot] {} has {} inputs per point; at most two can be drawn", protocol.name, data.dim_x());
  for (std::size_t i = 0; i < models.size(); ++i) {
    const Model& model = *models[i].model;
    check(data.dim_x() == model.dim_x(), "[plot] {} has {} inputs per point, the model of {} takes {}", protocol.name,
          data.dim_x(), names[i], model.dim_x());
    check(data.dim_y() == 1 && model.dim_y() == 1, "[plot] {} has {} values per point; only one can be drawn",
          protocol.name, data.dim_y());
  }
  const Batch batch = data.picture(c.tasks, c.seed);
  const auto draw = data.dim_x() == 1 ? draw_curves : draw_maps;
  plot::write_figure(draw(c, models, data, batch), c.out);
  if (c.common.json)
    print_json(JsonValue::object({{"out", c.out.string()}, {"tasks", c.tasks}}));
  else
    fmt::print("{}\n", c.out.string());
  return 0;
}

}  // namespace

extern const CommandInfo plot_command =
    command<PlotCommand, add_flags, run>("Draw predictions beside the truth, as curves of one input or maps of two.");

}  // namespace npzoo
