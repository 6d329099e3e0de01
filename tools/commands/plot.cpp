#include <fmt/core.h>

#include <algorithm>

#include "engine/tape.h"
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
  std::filesystem::path out;
  std::string protocol;
  std::uint64_t seed = 0;
  int tasks = 2;
};

void add_flags(Flags& flags, PlotCommand& c) {
  add_flags(flags, c.common);
  add_checkpoint(flags, c.checkpoint);
  flags.text("--out", c.out, "picture to write, .svg or .png").required();
  flags.text("--protocol", c.protocol, "whose tasks to draw, instead of the one it was trained under");
  flags.seed("--seed", c.seed, "of the tasks");
  flags.whole("--tasks", c.tasks, {1, 8}, "rows of the picture, one task each");
}

constexpr std::int64_t kGridPoints = 400;  // of a curve
constexpr std::int64_t kMapSide = 48;      // cells of a map along each axis
constexpr double kMapSize = 160;           // canvas units

/// One row of a batch as plain numbers.
struct Row {
  std::vector<double> xc, yc, xt, yt;
};

std::vector<double> leading(const Tensor& x, std::int64_t row, std::int64_t count) {
  const auto values = x.values<float>().subspan(static_cast<std::size_t>(row * x.dim(1) * x.dim(2)),
                                                static_cast<std::size_t>(count * x.dim(2)));
  return {values.begin(), values.end()};
}

Row row_of(const Task& task, std::int64_t row) {
  const std::int64_t nc = task.lengths.defined() ? task.lengths.values<std::int64_t>()[row] : task.xc.dim(1);
  return {leading(task.xc, row, nc), leading(task.yc, row, nc), leading(task.xt, row, task.xt.dim(1)),
          leading(task.yt, row, task.yt.dim(1))};
}

std::vector<double> regular_grid(const Interval& range) {
  const auto& [low, high] = range;
  std::vector<double> x(kGridPoints);
  for (std::int64_t i = 0; i < kGridPoints; ++i)
    x[static_cast<std::size_t>(i)] = low + (high - low) * static_cast<double>(i) / (kGridPoints - 1);
  return x;
}

/// The middles of the cells, (n, 2).
std::vector<double> map_grid(const Interval& range) {
  const auto at = [&](std::int64_t i) {
    return range.low + (range.high - range.low) * (static_cast<double>(i) + 0.5) / kMapSide;
  };
  std::vector<double> x;
  for (std::int64_t i = 0; i < kMapSide * kMapSide; ++i) {
    x.push_back(at(i % kMapSide));
    x.push_back(at(i / kMapSide));
  }
  return x;
}

Tensor one_task(const std::vector<double>& values, std::int64_t width) {
  const auto points = static_cast<std::int64_t>(values.size()) / width;
  return Tensor::from<double>({1, points, width}, std::span(values)).to(DType::float32);
}

Curve predict(const Model& model, const Row& row, const std::vector<double>& x, Draws draws) {
  NoGrad off;
  const std::int64_t dim_x = model.dim_x();
  const auto state = model.condition({one_task(row.xc, dim_x), one_task(row.yc, 1)}, draws, kSamples);
  const Moments p = moments(*model.query(*state, one_task(x, dim_x)));
  const auto mean = p.mean.values<double>(), std = p.std.values<double>();
  return {{mean.begin(), mean.end()}, {std.begin(), std.end()}};
}

plot::Panel panel(const std::string& title, const Row& row, const std::vector<double>& x, const Curve& curve,
                  plot::Color color, const std::string& name) {
  plot::Panel panel = plot::make_panel({.name = name,
                                        .x_label = "x",
                                        .y_label = "y",
                                        .color = color,
                                        .x = x,
                                        .mean = curve.mean,
                                        .std = curve.std,
                                        .context = {row.xc, row.yc},
                                        .truth = {row.xt, row.yt}});
  panel.title = title;
  panel.x_range = plot::Range{x.front(), x.back()};
  return panel;
}

/// Rows of curves: the model's and, where it is known, the truth's.
plot::Figure draw_curves(const PlotCommand& c, const std::string& name, const Model& model, const TaskConfig& data,
                         const Batch& batch) {
  const std::vector<double> x = regular_grid(data.training_range().inputs);
  plot::Figure figure{.share_y = true};
  const Draws draws(c.seed, Purpose::prediction, 0);
  for (std::int64_t i = 0; i < c.tasks; ++i) {
    const Row row = row_of(batch.task, i);
    const std::size_t before = figure.panels.size();
    figure.panels.push_back(
        panel(i ? "" : name, row, x, predict(model, row, x, draws.from(i)), plot::palette(0), name));
    if (const auto exact = batch.truth ? batch.truth->curve(batch.task, i, x) : std::nullopt) {
      const std::string truth = batch.truth->name();
      figure.panels.push_back(panel(i ? "" : truth + " posterior", row, x, *exact, plot::palette(2), truth));
    }
    figure.columns = static_cast<int>(figure.panels.size() - before);
  }
  return figure;
}

/// A range that holds the values, not empty.
plot::Range range_of(const std::vector<double>& values, double low, double high) {
  for (const double value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return {low, high > low ? high : low + 1};
}

/// Rows of maps: context, mean and standard deviation, and the targets.
plot::Figure draw_maps(const PlotCommand& c, const std::string& name, const Model& model, const TaskConfig& data,
                       const Batch& batch) {
  const Interval inputs = data.training_range().inputs;
  const std::vector<double> x = map_grid(inputs);
  const double fine = (inputs.high - inputs.low) / kMapSide, coarse = 2 * fine;
  plot::Figure figure{.columns = 4, .panel_width = kMapSize, .panel_height = kMapSize, .share_y = true};
  const Draws draws(c.seed, Purpose::prediction, 0);
  for (std::int64_t i = 0; i < c.tasks; ++i) {
    const Row row = row_of(batch.task, i);
    const Curve said = predict(model, row, x, draws.from(i));
    const double some = said.mean.front();
    plot::Range values = range_of(said.mean, some, some);
    values = range_of(row.yc, values.low, values.high);
    values = range_of(row.yt, values.low, values.high);
    const plot::Range deviations = range_of(said.std, 0, 0);
    const double side = plot::cell_side(row.xt, coarse);
    const auto add = [&](const plot::MapPanel& map) {
      plot::Panel panel = plot::make_map(map);
      if (i > 0) panel.title.clear();
      panel.x_range = panel.y_range = plot::Range{inputs.low, inputs.high};
      figure.panels.push_back(std::move(panel));
    };
    const plot::Color blue = plot::palette(0), red = plot::palette(1);
    add({.title = "context",
         .x = row.xc,
         .values = row.yc,
         .side = side,
         .shown = values,
         .color = blue,
         .marked = row.xc});
    add({.title = name + ": mean",
         .x = x,
         .values = said.mean,
         .side = fine,
         .shown = values,
         .color = blue,
         .marked = row.xc});
    add({.title = "standard deviation",
         .x = x,
         .values = said.std,
         .side = fine,
         .shown = deviations,
         .color = red,
         .marked = row.xc});
    add({.title = "targets", .x = row.xt, .values = row.yt, .side = side, .shown = values, .color = blue});
  }
  return figure;
}

int run(const PlotCommand& c) {
  apply(c.common);
  check_outputs("plot", c.common, {{"--out", c.out}},
                {{"--checkpoint", find_weights(c.checkpoint)}, {"--protocol", c.protocol}});
  const Checkpoint checkpoint = load_checkpoint(find_weights(c.checkpoint));
  const auto model = restore_model(checkpoint);
  const Protocol protocol = c.protocol.empty() ? checkpoint.run.protocol : load_protocol(c.protocol);
  const TaskConfig& data = *protocol.data;
  check(data.dim_x() <= 2, "[plot] {} has {} inputs per point; at most two can be drawn", protocol.name, data.dim_x());
  check(data.dim_x() == model->dim_x(), "[plot] {} has {} inputs per point, the model of {} takes {}", protocol.name,
        data.dim_x(), c.checkpoint, model->dim_x());
  check(data.dim_y() == 1 && model->dim_y() == 1, "[plot] {} has {} values per point; only one can be drawn",
        protocol.name, data.dim_y());
  const Batch batch = data.picture(c.tasks, c.seed);
  const auto draw = data.dim_x() == 1 ? draw_curves : draw_maps;
  plot::write_figure(draw(c, checkpoint.run.spec.name, *model, data, batch), c.out);
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
