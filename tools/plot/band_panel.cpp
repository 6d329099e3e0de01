#include "tools/plot/band_panel.h"

#include <algorithm>
#include <numeric>

#include "npzoo/engine/error.h"

namespace npzoo::tools::plot {

namespace {

std::vector<std::size_t> ascending(const std::vector<double>& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return x[i]; });
  return order;
}

/// A line through the points from left to right.
Line line_of(const Series& points, Line line) {
  for (const std::size_t i : ascending(points.x)) {
    line.x.push_back(points.x[i]);
    line.y.push_back(points.y[i]);
  }
  return line;
}

void check_length(const std::string& name, const char* what, const std::vector<double>& values,
                  const std::vector<double>& x) {
  check(values.size() == x.size(), "[plot] {} has {} x and {} {}, expected as many", name, x.size(), values.size(),
        what);
}

}  // namespace

Panel make_panel(const BandPanel& shown) {
  check_length(shown.name, "means", shown.mean, shown.x);
  check_length(shown.name, "standard deviations", shown.std, shown.x);
  check_length(shown.name, "true values", shown.truth.y, shown.truth.x);
  for (const std::vector<double>& sample : shown.samples) check_length(shown.name, "sampled values", sample, shown.x);
  const std::string whose = shown.name.empty() ? "" : shown.name + ": ", label = whose + "mean ± 2σ";
  Band band{.x = {}, .lower = {}, .upper = {}, .color = shown.color.with_alpha(0.22), .label = label};
  Line mean{.x = {}, .y = {}, .color = shown.color, .label = label};
  const std::vector<std::size_t> order = ascending(shown.x);
  for (const std::size_t i : order) {
    band.lower.push_back(std::max(shown.mean[i] - 2 * shown.std[i], shown.limits.low));
    band.upper.push_back(std::min(shown.mean[i] + 2 * shown.std[i], shown.limits.high));
    mean.x.push_back(shown.x[i]);
    mean.y.push_back(shown.mean[i]);
  }
  band.x = mean.x;
  Panel panel{.x_label = shown.x_label, .y_label = shown.y_label, .x_time = shown.x_time};
  panel.layers.emplace_back(std::move(band));
  for (const std::vector<double>& sample : shown.samples) {
    Line line{.x = mean.x, .y = {}, .color = shown.color.with_alpha(0.65), .width = 0.6, .label = whose + "samples"};
    for (const std::size_t i : order) line.y.push_back(sample[i]);
    panel.layers.emplace_back(std::move(line));
  }
  const auto add = [&](const Series& points, Line line) {
    if (!points.x.empty()) panel.layers.emplace_back(line_of(points, std::move(line)));
  };
  const Color pale = shown.color.with_alpha(0.65);
  for (const Series& path : shown.paths)
    add(path, {.x = {}, .y = {}, .color = pale, .width = 0.6, .label = whose + "sampled paths"});
  for (std::size_t i = 0; i < shown.others.size(); ++i)
    add(shown.others[i].points,
        {.x = {}, .y = {}, .color = palette(i + 1), .width = 0.9, .label = shown.others[i].label});
  panel.layers.emplace_back(std::move(mean));
  add(shown.truth, {.x = {}, .y = {}, .color = kBlack.with_alpha(0.7), .width = 1, .dashed = true, .label = "truth"});
  add(shown.history, {.x = {}, .y = {}, .color = kBlack, .width = 1, .label = "history"});
  if (!shown.context.x.empty() || shown.history.x.empty())
    panel.layers.emplace_back(Markers{.x = shown.context.x, .y = shown.context.y, .label = "context"});
  return panel;
}

}  // namespace npzoo::tools::plot
