#include "tools/pictures/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "npzoo/engine/error.h"
#include "npzoo/models/context_attention.h"
#include "tools/pictures/images.h"
#include "tools/pictures/tasks.h"

namespace npzoo::tools {

namespace {

constexpr plot::Color kUnseen{0.86, 0.86, 0.86};  // points without attention
constexpr double kPanelSize = 120;
constexpr std::int64_t kTargets = 120;  // of a map over one input

/// A head of a layer and, for each target, how it weighs the points.
struct Head {
  int layer, head;              // from 1
  std::vector<double> weights;  // (targets, Nc)
  double largest;

  std::string title() const { return fmt::format("layer {}, head {}", layer, head); }
  /// Returns a weight relative to the largest.
  double share(std::size_t i) const { return largest > 0 ? weights[i] / largest : 0; }
  std::string caption() const { return fmt::format("weights up to {:.2g}", largest); }
  plot::Color color() const { return head % 8 == 0 ? plot::Color{0.25, 0.25, 0.25} : plot::palette(head % 8 - 1); }
};

void check_choice(const std::optional<int>& chosen, std::int64_t count, const char* what) {
  check(!chosen || *chosen <= count, "[plot] --{} {} found, expected 1 to {}", what, chosen.value_or(0), count);
}

/// Those that are to be drawn, for targets (n, Dx).
std::vector<Head> heads_of(const AttentionPicture& drawn, const Shown& shown, const TaskRow& row,
                           const std::vector<double>& targets) {
  const std::int64_t dim_x = shown.model->dim_x(), count = std::ssize(targets) / dim_x;
  const auto for_each_target = [&](const std::vector<double>& values, std::int64_t width) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < count; ++i) all.insert(all.end(), values.begin(), values.end());
    return one_task(all, width).view({count, std::ssize(values) / width, width});
  };
  const Context context{for_each_target(row.xc, dim_x), for_each_target(row.yc, shown.model->dim_y())};
  const Tensor xt = one_task(targets, dim_x).view({count, 1, dim_x});
  const auto layers = context_attention(*shown.model, context, xt, Draws(drawn.seed, Purpose::prediction, 0));
  check(!layers.empty(), "[plot] {} has no attention to its context", shown.name);
  check_choice(drawn.layer, std::ssize(layers), "layer");
  std::vector<Head> heads;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const std::int64_t number = layers[layer].dim(1), points = layers[layer].dim(2);
    if (drawn.layer && *drawn.layer != static_cast<int>(layer) + 1) continue;
    check_choice(drawn.head, number, "head");
    for (std::int64_t head = 0; head < number; ++head) {
      if (drawn.head && *drawn.head != head + 1) continue;
      Head& one = heads.emplace_back(Head{static_cast<int>(layer) + 1, static_cast<int>(head) + 1, {}, 0});
      for (std::int64_t i = 0; i < count; ++i) {
        const double* const weights = layers[layer].data<double>() + (i * number + head) * points;
        one.weights.insert(one.weights.end(), weights, weights + points);
      }
      one.largest = std::ranges::max(one.weights);
    }
  }
  return heads;
}

plot::Color mixed(const plot::Color& from, const plot::Color& to, double share) {
  const auto mix = [&](double a, double b) { return a + share * (b - a); };
  return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue)};
}

/// A point of which heads in their colours see these shares.
plot::Color color_of_point(plot::Color unseen, const std::vector<Head>& heads, std::size_t point) {
  double sum = 0;
  for (const Head& head : heads) sum += head.share(point);
  plot::Color seen{0, 0, 0};
  for (const Head& head : heads) {
    const plot::Color color = head.color();
    const double share = sum > 0 ? head.share(point) / sum : 0;
    seen = {seen.red + share * color.red, seen.green + share * color.green, seen.blue + share * color.blue};
  }
  return mixed(unseen, seen, std::min(sum, 1.0));
}

/// Marks a place with a cross; `size` is of its arms.
void add_cross(plot::Panel& panel, plot::Point at, plot::Point size) {
  for (const auto& [color, width] : {std::pair{plot::kWhite, 3.2}, std::pair{plot::kBlack, 1.5}}) {
    panel.layers.emplace_back(plot::Line{
        .x = {at.x - size.x, at.x + size.x}, .y = {at.y - size.y, at.y + size.y}, .color = color, .width = width});
    panel.layers.emplace_back(plot::Line{
        .x = {at.x - size.x, at.x + size.x}, .y = {at.y + size.y, at.y - size.y}, .color = color, .width = width});
  }
}

/// One panel for the heads of each layer together, where there are several, then one for each by itself. `panel` draws
/// some heads.
template <class F>
plot::Figure by_layer(const std::vector<Head>& heads, const F& panel) {
  plot::Figure figure{
      .panel_width = kPanelSize, .panel_height = kPanelSize, .share_y = true, .legend = plot::LegendPlace::kNone};
  int widest = 1, layers = 0;
  for (std::size_t begin = 0, end = 0; begin < heads.size(); begin = end, ++layers) {
    while (end < heads.size() && heads[end].layer == heads[begin].layer) ++end;
    const std::vector<Head> layer(heads.begin() + std::ptrdiff_t(begin), heads.begin() + std::ptrdiff_t(end));
    if (layer.size() > 1)
      figure.panels.push_back(panel(layer, fmt::format("layer {}, all heads", layer.front().layer)));
    for (const Head& head : layer) {
      figure.panels.push_back(panel(std::vector{head}, head.title()));
      std::string& label = figure.panels.back().x_label;
      label = label.empty() ? head.caption() : fmt::format("{} ({})", label, head.caption());
    }
    widest = std::max(widest, static_cast<int>(layer.size()) + (layer.size() > 1 ? 1 : 0));
  }
  figure.columns = layers > 1 ? widest : static_cast<int>(std::ceil(std::sqrt(widest)));
  return figure;
}

/// On the image itself, faded: points that are looked at have the colours of the heads.
plot::Figure draw_on_image(const ImageFormat& format, const TaskRow& row, const std::vector<Head>& heads,
                           const plot::Point& pixel) {
  constexpr double kUnknownFade = 0.82, kContextFade = 0.55;
  const auto height = static_cast<double>(format.height), width = static_cast<double>(format.width);
  const plot::Image whole = image_of(picture_of(format, row.xt, row.yt));
  const std::vector<std::size_t> context = pixels_at(format, row.xc);
  plot::Figure figure = by_layer(heads, [&](const std::vector<Head>& some, const std::string& title) {
    plot::Image image = whole;
    for (plot::Color& color : image.pixels) color = mixed(color, plot::kWhite, kUnknownFade);
    for (std::size_t i = 0; i < context.size(); ++i)
      image.pixels[context[i]] = color_of_point(mixed(whole.pixels[context[i]], kUnseen, kContextFade), some, i);
    plot::Panel made = image_panel(std::move(image), title);
    add_cross(made, {pixel.x + 0.5, height - pixel.y - 0.5}, {0.028 * width, 0.028 * height});
    return made;
  });
  const plot::Figure size = image_figure(format.height, format.width);
  figure.panel_width = size.panel_width;
  figure.panel_height = size.panel_height;
  return figure;
}

plot::Figure draw_on_map(const Interval& inputs, const TaskRow& row, const std::vector<Head>& heads,
                         const std::vector<double>& target) {
  const plot::Range axis{inputs.low, inputs.high};
  const double arm = 0.03 * (axis.high - axis.low);
  return by_layer(heads, [&](const std::vector<Head>& some, const std::string& title) {
    plot::Panel made{.title = title, .x_range = axis, .y_range = axis};
    std::vector<std::size_t> order;
    for (std::size_t i = 0; 2 * i < row.xc.size(); ++i) order.push_back(i);
    const auto looked_at = [&](std::size_t i) {
      double sum = 0;
      for (const Head& head : some) sum += head.share(i);
      return sum;
    };
    std::ranges::stable_sort(order, {}, looked_at);  // what is looked at most lies on top
    for (const std::size_t i : order)
      made.layers.emplace_back(plot::Markers{.x = {row.xc[2 * i]},
                                             .y = {row.xc[2 * i + 1]},
                                             .color = color_of_point(kUnseen, some, i),
                                             .radius = 2.2 + 2.2 * std::sqrt(std::min(looked_at(i), 1.0))});
    add_cross(made, {target[0], target[1]}, {arm, arm});
    return made;
  });
}

/// The curve that is predicted, and its context in the colours of the heads.
plot::Figure draw_on_curve(const AttentionPicture& drawn, const Shown& shown, const Interval& inputs,
                           const TaskRow& row, const std::vector<Head>& heads) {
  const double target = drawn.target->front();
  const std::vector<double> x = regular_grid({std::min(inputs.low, target), std::max(inputs.high, target)}, 100);
  const std::vector<double> mean = predict(shown, row, x, Draws(drawn.seed, Purpose::prediction, 0), 0).curve.mean;
  const plot::Range y = plot::range_of({mean, row.yc});
  const double margin = 0.1 * std::max(y.high - y.low, 1e-6);
  plot::Figure figure = by_layer(heads, [&](const std::vector<Head>& some, const std::string& title) {
    plot::Panel made{.title = title, .y_range = plot::Range{y.low - margin, y.high + margin}};
    made.layers.emplace_back(plot::Line{.x = x, .y = mean, .color = {0.6, 0.6, 0.6}, .width = 1});
    made.layers.emplace_back(plot::Line{.x = {target, target},
                                        .y = {y.low - margin, y.high + margin},
                                        .color = plot::kBlack,
                                        .width = 1,
                                        .dashed = true});
    for (std::size_t i = 0; i < row.xc.size(); ++i)
      made.layers.emplace_back(
          plot::Markers{.x = {row.xc[i]}, .y = {row.yc[i]}, .color = color_of_point(kUnseen, some, i), .radius = 3});
    return made;
  });
  figure.panel_width = 1.3 * kPanelSize;
  figure.panel_height = 0.8 * kPanelSize;
  return figure;
}

/// Targets from left to right, the context from bottom to top: each point has all places that are nearer to it than to
/// any other.
plot::Figure draw_all_targets(const Interval& inputs, const TaskRow& row, const std::vector<Head>& heads) {
  const plot::Range axis{inputs.low, inputs.high};
  const plot::Grid grid{axis, axis, kTargets, kTargets};
  const std::vector<double> places = regular_grid(inputs, kTargets);
  std::vector<std::size_t> nearest;
  for (const double place : places)
    nearest.push_back(static_cast<std::size_t>(
        std::ranges::min_element(row.xc, {}, [&](double x) { return std::abs(x - place); }) - row.xc.begin()));
  plot::Figure figure = by_layer(heads, [&](const std::vector<Head>& some, const std::string& title) {
    plot::Raster raster{grid, {}, {{0, some.size() > 1 ? 1 : some.front().largest}}};
    for (const std::size_t point : nearest)
      for (std::size_t target = 0; target < kTargets; ++target) {
        const std::size_t at = target * row.xc.size() + point;
        double mean = 0;
        for (const Head& head : some)
          mean += (some.size() > 1 ? head.share(at) : head.weights[at]) / static_cast<double>(some.size());
        raster.values.push_back(mean);
      }
    raster.scale.shown.high = std::max(plot::range_of({raster.values}).high, 1e-12);
    plot::Panel made{.title = title, .x_label = "target", .y_label = "context", .x_range = axis, .y_range = axis};
    made.layers.emplace_back(std::move(raster));
    made.layers.emplace_back(plot::Markers{.x = row.xc, .y = row.xc, .color = plot::kWhite, .radius = 1.2});
    return made;
  });
  return figure;
}

std::vector<double> middle_of(const TaskConfig& data) {
  const Interval inputs = data.training_range().inputs;
  return std::vector<double>(static_cast<std::size_t>(data.dim_x()), (inputs.low + inputs.high) / 2);
}

}  // namespace

plot::Figure draw_attention(const AttentionPicture& drawn, const Shown& model, const TaskConfig& data,
                            const Batch& batch) {
  const TaskRow row = row_of(batch.task, 0);
  check(!row.xc.empty(), "[plot] the task has no context, expected points to look at");
  const Interval inputs = data.training_range().inputs;
  check(!drawn.target || std::ssize(*drawn.target) == data.dim_x(), "[plot] --target of {} numbers found, expected {}",
        drawn.target ? drawn.target->size() : 0, data.dim_x());
  if (const auto format = data.image_format()) {
    const auto height = static_cast<double>(format->height), width = static_cast<double>(format->width);
    const std::vector<double> pixel = drawn.target.value_or(std::vector{std::floor(height / 2), std::floor(width / 2)});
    const auto beyond = [](double at, double end) { return !(at >= 0 && at <= end - 1); };
    check(!beyond(pixel[0], height) && !beyond(pixel[1], width),
          "[plot] --target {},{} found, expected a row of 0 to {} and a column of 0 to {}", pixel[0], pixel[1],
          format->height - 1, format->width - 1);
    const std::vector<double> target{format->row(pixel[0]), format->column(pixel[1])};
    return draw_on_image(*format, row, heads_of(drawn, model, row, target), {pixel[1], pixel[0]});
  }
  if (data.dim_x() == 2) {
    const std::vector<double> target = drawn.target.value_or(middle_of(data));
    return draw_on_map(inputs, row, heads_of(drawn, model, row, target), target);
  }
  if (drawn.target) return draw_on_curve(drawn, model, inputs, row, heads_of(drawn, model, row, *drawn.target));
  return draw_all_targets(inputs, row, heads_of(drawn, model, row, regular_grid(inputs, kTargets)));
}

}  // namespace npzoo::tools
