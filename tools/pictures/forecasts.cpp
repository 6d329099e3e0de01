#include "tools/pictures/forecasts.h"

#include <algorithm>

#include "tools/plot/band_panel.h"

namespace npzoo::tools {

namespace {

/// Every `stride`th number.
std::vector<double> column_of(const std::vector<double>& rows, std::size_t stride) {
  std::vector<double> column;
  for (std::size_t i = 0; i < rows.size(); i += stride) column.push_back(rows[i]);
  return column;
}

}  // namespace

plot::Figure draw_forecasts(const TaskPicture& c, const std::vector<Shown>& models, const SeriesTasks& data,
                            const Batch& batch) {
  const SeriesScale scale = data.scale();
  const WindowRules& rules = data.rules();
  const auto in_steps = [&rules](std::vector<double> x) {
    for (double& at : x)
      at = (at + 1) / 2 * static_cast<double>(rules.length() - 1) - static_cast<double>(rules.context) + 1;
    return x;
  };
  const auto in_units = [&scale](std::vector<double> y) {
    for (double& value : y) value = scale.mean[0] + scale.std[0] * value;
    return y;
  };
  plot::Figure figure{.panel_width = models.size() > 1 ? 250.0 : 480.0, .share_y = true};
  figure.columns = static_cast<int>(models.size());
  const Draws draws(c.seed, Purpose::prediction, 0);
  const auto dim_x = static_cast<std::size_t>(data.dim_x());
  for (std::int64_t i = 0; i < c.tasks; ++i) {
    TaskRow row = row_of(batch.task, i);
    const std::vector<double> steps = in_steps(column_of(row.xt, dim_x));
    for (const Shown& shown : models) {
      Said said = predict(shown, row, row.xt, draws.from(i), c.samples);
      for (double& std : said.curve.std) std *= scale.std[0];
      for (auto& path : said.functions) path = in_units(std::move(path));
      plot::Panel panel = plot::make_panel({.name = models.size() > 1 ? "" : shown.name,
                                            .x_label = i + 1 < c.tasks ? "" : "steps ahead",
                                            .y_label = data.values()[0],
                                            .x = steps,
                                            .mean = in_units(said.curve.mean),
                                            .std = said.curve.std,
                                            .samples = said.functions,
                                            .context = {},
                                            .truth = {steps, in_units(row.yt)},
                                            .history = {in_steps(column_of(row.xc, dim_x)), in_units(row.yc)}});
      if (i == 0) panel.title = shown.name;
      figure.panels.push_back(std::move(panel));
    }
  }
  return figure;
}

}  // namespace npzoo::tools
