#include "tools/optimise/picture.h"

#include <algorithm>
#include <cmath>

#include "tools/plot/band_panel.h"

namespace npzoo {

namespace {

constexpr std::int64_t kSlicePoints = 200;

/// The cube's points along input `d` through `through`.
std::vector<double> slice_along(std::span<const double> through, std::size_t d) {
  std::vector<double> x;
  for (std::int64_t i = 0; i <= kSlicePoints; ++i) {
    x.insert(x.end(), through.begin(), through.end());
    x[x.size() - through.size() + d] = static_cast<double>(i) / kSlicePoints;
  }
  return x;
}

/// What an axis shows of the point: logarithmic ones their exponent.
double shown_of(const Axis& axis, double unit) {
  const double low = axis.logarithmic ? std::log10(axis.low) : axis.low;
  const double high = axis.logarithmic ? std::log10(axis.high) : axis.high;
  return low + unit * (high - low);
}

}  // namespace

void draw_beliefs(const BeliefPicture& p) {
  const auto dims = static_cast<std::size_t>(p.space.dims());
  const auto best = static_cast<std::size_t>(std::ranges::min_element(p.seen.y) - p.seen.y.begin());
  const std::span<const double> through = std::span(p.seen.x).subspan(best * dims, dims);
  const double sign = p.maximise ? -1 : 1;
  plot::Figure figure{.columns = static_cast<int>(dims), .panel_width = 260, .panel_height = 170};
  std::vector<plot::Panel> below;
  for (std::size_t d = 0; d < dims; ++d) {
    const Axis& axis = p.space.input(static_cast<std::int64_t>(d));
    const std::vector<double> x = slice_along(through, d);
    const Belief belief = p.surrogate.believe(x);
    plot::BandPanel panel{
        .name = p.surrogate.name(),
        .x_label = axis.logarithmic ? "log10 " + axis.name : axis.name,
        .y_label = "value",
        .x = {},
        .mean = acquire({.kind = AcquisitionKind::confidence_bound, .width = 0}, belief, std::span(&p.seen.y[best], 1)),
        .std = acquire({.kind = AcquisitionKind::confidence_bound, .width = 1}, belief, std::span(&p.seen.y[best], 1)),
        .context = {}};
    for (std::size_t i = 0; i < panel.mean.size(); ++i) {
      panel.std[i] -= panel.mean[i];
      panel.mean[i] *= -sign;
      panel.x.push_back(shown_of(axis, x[i * dims + d]));
    }
    for (std::size_t i = 0; i < p.seen.y.size(); ++i) {
      panel.context.x.push_back(shown_of(axis, p.seen.x[i * dims + d]));
      panel.context.y.push_back(sign * p.seen.y[i]);
    }
    figure.panels.push_back(plot::make_panel(panel));
    plot::Panel worth{.x_label = panel.x_label, .y_label = std::string(to_string(p.acquisition.kind))};
    worth.layers.push_back(plot::Line{.x = panel.x,
                                      .y = acquire(p.acquisition, belief, std::span(&p.seen.y[best], 1)),
                                      .color = plot::palette(1),
                                      .label = "acquisition"});
    below.push_back(std::move(worth));
  }
  std::ranges::move(below, std::back_inserter(figure.panels));
  plot::write_figure(figure, p.path);
}

}  // namespace npzoo
