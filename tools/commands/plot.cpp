#include <fmt/core.h>

#include "engine/tape.h"
#include "models/training/checkpoint.h"
#include "models/training/named_weights.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/outputs.h"
#include "tools/plot/band_panel.h"

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

constexpr std::int64_t kGridPoints = 400;

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

Tensor one_task(const std::vector<double>& values) {
  return Tensor::from<double>({1, static_cast<std::int64_t>(values.size()), 1}, std::span(values)).to(DType::float32);
}

Curve model_curve(const Model& model, const Row& row, const std::vector<double>& x, Draws draws) {
  NoGrad off;
  const auto state = model.condition({one_task(row.xc), one_task(row.yc)}, draws, kSamples);
  const Moments p = moments(*model.query(*state, one_task(x)));
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

int run(const PlotCommand& c) {
  apply(c.common);
  check_outputs("plot", c.common, {{"--out", c.out}},
                {{"--checkpoint", find_weights(c.checkpoint)}, {"--protocol", c.protocol}});
  const Checkpoint checkpoint = load_checkpoint(find_weights(c.checkpoint));
  const auto model = restore_model(checkpoint);
  const Protocol protocol = c.protocol.empty() ? checkpoint.run.protocol : load_protocol(c.protocol);
  const TaskConfig& data = *protocol.data;
  check(data.dim_x() == 1 && model->dim_x() == 1, "[plot] {} has {} inputs per point; only one can be drawn",
        protocol.name, data.dim_x());
  check(data.dim_y() == 1 && model->dim_y() == 1, "[plot] {} has {} values per point; only one can be drawn",
        protocol.name, data.dim_y());
  const Batch batch = data.picture(c.tasks, c.seed);
  const std::vector<double> x = regular_grid(data.training_range().inputs);
  plot::Figure figure{.share_y = true};
  const std::string& name = checkpoint.run.spec.name;
  const Draws draws(c.seed, Purpose::prediction, 0);
  for (std::int64_t i = 0; i < c.tasks; ++i) {
    const Row row = row_of(batch.task, i);
    const std::size_t before = figure.panels.size();
    figure.panels.push_back(
        panel(i ? "" : name, row, x, model_curve(*model, row, x, draws.from(i)), plot::palette(0), name));
    if (const auto exact = batch.truth ? batch.truth->curve(batch.task, i, x) : std::nullopt) {
      const std::string truth = batch.truth->name();
      figure.panels.push_back(panel(i ? "" : truth + " posterior", row, x, *exact, plot::palette(2), truth));
    }
    figure.columns = static_cast<int>(figure.panels.size() - before);
  }
  plot::write_figure(figure, c.out);
  if (c.common.json)
    print_json(JsonValue::object({{"out", c.out.string()}, {"tasks", c.tasks}}));
  else
    fmt::print("{}\n", c.out.string());
  return 0;
}

}  // namespace

extern const CommandInfo plot_command =
    command<PlotCommand, add_flags, run>("Draw predictions beside the exact Gaussian-process posterior.");

}  // namespace npzoo
