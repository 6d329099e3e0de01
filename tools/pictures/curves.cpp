#include "tools/pictures/curves.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tools/reports/training_log.h"

namespace npzoo::tools {

namespace {

using Figure = TrainingLog::Figure;

constexpr std::size_t kColors = 7;          // of the palette
constexpr std::size_t kSmoothed = 40;       // values from which a line gets a moving average
constexpr std::size_t kWindows = 50;        // of a moving average, in a line
constexpr std::size_t kMostPoints = 2'000;  // of a line: more cannot be told apart
constexpr double kBeginning = 0.1;          // share of a run's updates that may lie outside the picture
constexpr double kExtreme = 0.02;           // share of the others on either side that may

/// Titles of known keys, in the order of their panels. Other keys follow.
const std::vector<std::pair<std::string, std::string>> kTitles{
    {"loss", "training loss"},
    {"validation_log_likelihood", "validation log-likelihood"},
    {"validation_context_rmse", "validation RMSE at the context"},
    {"validation_context_log_likelihood", "validation log-likelihood at the context"},
    {"kl_divergence", "KL divergence in nats"},
};

std::string words_of(std::string key) {
  std::ranges::replace(key, '_', ' ');
  return key;
}

/// Returns means of the finite values among `width` neighbours, NaN if none is finite.
std::vector<double> moving_average(const std::vector<double>& values, std::size_t width) {
  std::vector<double> sums{0}, counts{0};
  for (const double value : values) {
    const bool finite = std::isfinite(value);
    sums.push_back(sums.back() + (finite ? value : 0));
    counts.push_back(counts.back() + (finite ? 1 : 0));
  }
  std::vector<double> means;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t begin = i - std::min(i, width / 2), end = std::min(values.size(), i + width / 2 + 1);
    means.push_back((sums[end] - sums[begin]) / (counts[end] - counts[begin]));
  }
  return means;
}

/// Returns every n-th value and the last one, so that about `kMostPoints` are left.
std::vector<double> thinned(const std::vector<double>& values) {
  const std::size_t stride = (values.size() + kMostPoints - 1) / kMostPoints;
  std::vector<double> kept;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i % stride == 0 || i + 1 == values.size()) kept.push_back(values[i]);
  return kept;
}

void add_line(const Figure& figure, const std::string& name, std::size_t run, plot::Panel& panel) {
  const plot::Color color = plot::palette(static_cast<int>(run));
  const std::vector<double> steps(figure.steps.begin(), figure.steps.end());
  const bool smoothed = figure.values.size() >= kSmoothed;
  if (smoothed)
    panel.layers.emplace_back(
        plot::Line{.x = thinned(steps), .y = thinned(figure.values), .color = color.with_alpha(0.25), .width = 0.6});
  const std::size_t width = smoothed ? figure.values.size() / kWindows : 1;
  panel.layers.emplace_back(plot::Line{.x = thinned(steps),
                                       .y = thinned(moving_average(figure.values, width)),
                                       .color = color,
                                       .dashed = run >= kColors,
                                       .label = name});
  if (!smoothed)
    panel.layers.emplace_back(
        plot::Markers{.x = steps, .y = figure.values, .color = color, .radius = 2, .label = name});
}

/// Returns a range that shows most values. It ignores the beginning of long runs and the extremes of all runs.
std::optional<plot::Range> range_of_values(const std::vector<const Figure*>& figures) {
  std::vector<double> values;
  for (const Figure* figure : figures) {
    const double first = kBeginning * static_cast<double>(figure->steps.back());
    for (std::size_t i = 0; i < figure->values.size(); ++i)
      if (std::isfinite(figure->values[i]) &&
          (figure->values.size() < kSmoothed || static_cast<double>(figure->steps[i]) > first))
        values.push_back(figure->values[i]);
  }
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t out = static_cast<std::size_t>(kExtreme * static_cast<double>(values.size()));
  const double low = values[out], high = values[values.size() - 1 - out];
  const double margin = high > low ? 0.05 * (high - low) : 0.5;
  return plot::Range{low - margin, high + margin};
}

/// Returns a short name for each path, without the leading folders that all paths share.
std::vector<std::string> names_of_runs(const std::vector<std::filesystem::path>& runs) {
  std::vector<std::vector<std::filesystem::path>> parts;
  for (const std::filesystem::path& run : runs) {
    const std::filesystem::path folder = run.filename().empty() ? run.parent_path() : run;
    parts.emplace_back(folder.begin(), folder.end());
  }
  const auto same = [&](std::size_t i) {
    return std::ranges::all_of(parts, [&](const auto& p) { return i + 1 < p.size() && p[i] == parts[0][i]; });
  };
  std::size_t shared = 0;
  while (parts.size() > 1 && same(shared)) ++shared;
  if (shared == 1 && parts[0][0] == "/") shared = 0;
  std::vector<std::string> names;
  for (const auto& p : parts) {
    std::filesystem::path name;
    for (std::size_t i = shared; i < p.size(); ++i) name /= p[i];
    names.push_back(name.string());
  }
  return names;
}

}  // namespace

plot::Figure draw_curves(const std::vector<std::filesystem::path>& runs) {
  std::vector<TrainingLog> logs;
  std::ranges::transform(runs, std::back_inserter(logs), read_training_log);
  const std::vector<std::string> names = names_of_runs(runs);
  std::map<std::string, std::vector<const Figure*>> figures;  // those of each key, for the ranges
  std::int64_t last = 1;
  for (const TrainingLog& log : logs)
    for (const auto& [key, figure] : log.figures) {
      figures[key].push_back(&figure);
      last = std::max(last, figure.steps.back());
    }
  std::vector<std::pair<std::string, std::string>> shown = kTitles;
  for (const auto& [key, of_runs] : figures)
    if (!std::ranges::count(kTitles, key, &std::pair<std::string, std::string>::first))
      shown.emplace_back(key, words_of(key));
  plot::Figure drawn{.columns = static_cast<int>(std::min<std::size_t>(figures.size(), 3)), .panel_width = 300};
  for (const auto& [key, title] : shown) {
    const auto of_runs = figures.find(key);
    if (of_runs == figures.end()) continue;
    plot::Panel panel{.title = title,
                      .x_label = "updates",
                      .x_range = plot::Range{0, static_cast<double>(last)},
                      .y_range = range_of_values(of_runs->second)};
    for (std::size_t i = 0; i < logs.size(); ++i)
      if (const auto found = logs[i].figures.find(key); found != logs[i].figures.end())
        add_line(found->second, names[i], i, panel);
    drawn.panels.push_back(std::move(panel));
  }
  return drawn;
}

}  // namespace npzoo::tools
