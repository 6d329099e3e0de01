#include "tools/pictures/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "npzoo/engine/error.h"
#include "tools/cli/json_tree.h"

namespace npzoo::tools {

namespace {

using nlohmann::json;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
constexpr double kBeside = 0.12;    // distance of a figure from the middle of its model
constexpr double kModelWidth = 62;  // canvas units
const plot::Color kOurs = plot::palette(0), kPublished = plot::palette(1);

/// Markers with error bars. Draws nothing if there are none.
class Points {
 public:
  Points(plot::Color color, std::string label, double beside) : color_(color), label_(std::move(label)), at_(beside) {}

  void add(std::size_t model, const json& value, const json& error) {
    if (!value.is_number()) return;
    const double x = static_cast<double>(model) + at_, y = value;
    x_.push_back(x);
    y_.push_back(y);
    if (!error.is_number()) return;
    const auto half = error.get<double>();
    bars_x_.insert(bars_x_.end(), {x, x, kGap});
    bars_y_.insert(bars_y_.end(), {y - half, y + half, kGap});
  }
  void add_seed(std::size_t model, const json& value) {
    if (!value.is_number()) return;
    seeds_x_.push_back(static_cast<double>(model) + at_ + kBeside);
    seeds_y_.push_back(value);
  }
  void draw(plot::Panel& panel) {
    if (x_.empty()) return;
    panel.layers.emplace_back(plot::Line{.x = std::move(bars_x_), .y = std::move(bars_y_), .color = color_});
    panel.layers.emplace_back(plot::Markers{
        .x = std::move(seeds_x_), .y = std::move(seeds_y_), .color = color_.with_alpha(0.5), .radius = 1.5});
    panel.layers.emplace_back(
        plot::Markers{.x = std::move(x_), .y = std::move(y_), .color = color_, .label = std::move(label_)});
  }

 private:
  plot::Color color_;
  std::string label_;
  double at_;
  std::vector<double> x_, y_, bars_x_, bars_y_, seeds_x_, seeds_y_;
};

struct TestName {
  std::string test, figure;
  bool operator==(const TestName&) const = default;
};

TestName name_of(const json& row) { return {row.at("test"), row.at("figure")}; }

plot::Panel draw_test(const json& store, const TestName& name) {
  std::string figure = name.figure;
  std::ranges::replace(figure, '_', ' ');
  const bool likelihood = store.at("trial") == "likelihood";
  plot::Panel panel{.title = fmt::format("{}, {}: {}", store.at("protocol").get<std::string>(), name.test, figure),
                    .y_label = likelihood ? store.at("metric").get<std::string>() : figure};
  Points ours(kOurs, "ours", -kBeside), published(kPublished, "published", kBeside);
  std::size_t models = 0;
  for (const char* list : {"rows", "not_run"})
    for (const json& row : store.at(list)) {
      if (name_of(row) != name) continue;
      panel.x_ticks.push_back({static_cast<double>(models), row.at("model")});
      published.add(models, row.at("published"), row.at("published_error"));
      if (row.contains("ours")) {
        ours.add(models, row.at("ours"), row.at("standard_error"));
        if (row.at("runs").size() > 1)
          for (const json& run : row.at("runs")) ours.add_seed(models, run);
      }
      ++models;
    }
  panel.x_range = plot::Range{-0.5, static_cast<double>(models) - 0.5};
  published.draw(panel);
  ours.draw(panel);
  return panel;
}

}  // namespace

plot::Figure draw_results(std::span<const JsonValue> stores) {
  plot::Figure drawn{.columns = 1, .panel_height = 200};
  std::size_t most = 4;  // models of a panel
  for (const JsonValue& each : stores) {
    const json& store = each.tree().value;
    std::vector<TestName> tests;
    for (const char* list : {"rows", "not_run"})
      for (const json& row : store.at(list))
        if (std::ranges::find(tests, name_of(row)) == tests.end()) tests.push_back(name_of(row));
    for (const TestName& test : tests) {
      drawn.panels.push_back(draw_test(store, test));
      most = std::max(most, drawn.panels.back().x_ticks.size());
    }
  }
  check(!drawn.panels.empty(), "[reproduce] there is nothing to draw, expected results or published figures");
  drawn.panel_width = kModelWidth * static_cast<double>(most);
  return drawn;
}

}  // namespace npzoo::tools
