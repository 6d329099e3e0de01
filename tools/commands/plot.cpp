#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "datasets/gp/oracle.h"
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

std::vector<double> regular_grid(double low, double high) {
  std::vector<double> x(kGridPoints);
  for (std::int64_t i = 0; i < kGridPoints; ++i)
    x[static_cast<std::size_t>(i)] = low + (high - low) * static_cast<double>(i) / (kGridPoints - 1);
  return x;
}

struct Curve {
  std::vector<double> mean, std;
};

Tensor one_task(const std::vector<double>& values) {
  return Tensor::from<double>({1, static_cast<std::int64_t>(values.size()), 1}, std::span(values)).to(DType::float32);
}

Curve model_curve(const Model& model, const Row& row, const std::vector<double>& x) {
  NoGrad off;
  const Prediction p = model.predict({one_task(row.xc), one_task(row.yc), one_task(x), {}, {}});
  const Tensor means = p.mean.to(Device::cpu), deviations = p.std.to(Device::cpu);
  const auto mean = means.values<float>(), std = deviations.values<float>();
  return {{mean.begin(), mean.end()}, {std.begin(), std.end()}};
}

Curve exact_curve(const GpBatch& batch, std::int64_t index, const std::vector<double>& x) {
  GpMarginals marginals = exact_posterior(batch, index).marginals({std::span(x), 1}, batch.target_noise);
  for (double& v : marginals.variance) v = std::sqrt(v);
  return {std::move(marginals.mean), std::move(marginals.variance)};
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

/// What is drawn is a function on the whole domain, so the tasks are drawn with many targets, noise-free.
GpDistribution dense(GpDistribution data) {
  data.targets = GpDistribution::Targets::all;
  data.points = std::max<std::int64_t>(data.context.high, 2);
  data.grid = 200;
  data.target_noise = 0;
  data.shared = false;
  data.ragged = true;
  return data;
}

int run(const PlotCommand& c) {
  apply(c.common);
  check_outputs("plot", c.common, {{"--out", c.out}},
                {{"--checkpoint", find_weights(c.checkpoint)}, {"--protocol", c.protocol}});
  const Checkpoint checkpoint = load_checkpoint(find_weights(c.checkpoint));
  const auto model = restore_model(checkpoint);
  const Protocol protocol = c.protocol.empty() ? checkpoint.run.protocol : load_protocol(c.protocol);
  check(protocol.data.dims == 1 && model->dim_x() == 1, "[plot] {} has {} inputs per point; only one can be drawn",
        protocol.name, protocol.data.dims);
  const GpSampler sampler(dense(protocol.data), c.tasks, c.seed, Split::evaluation);
  GpBatch batch = sampler.batch(0);
  batch.target_noise = protocol.data.target_noise;
  plot::Figure figure{.columns = 2, .share_y = true};
  const std::string& name = checkpoint.run.spec.name;
  for (std::int64_t i = 0; i < c.tasks; ++i) {
    const Row row = row_of(batch.task, i);
    const std::vector<double> x = regular_grid(protocol.data.low, protocol.data.high);
    figure.panels.push_back(panel(i ? "" : name, row, x, model_curve(*model, row, x), plot::palette(0), name));
    figure.panels.push_back(
        panel(i ? "" : "exact GP posterior", row, x, exact_curve(batch, i, x), plot::palette(2), "exact GP"));
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
