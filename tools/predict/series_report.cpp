#include "tools/predict/series_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/config.h"

namespace npzoo {

namespace {

JsonValue named(const std::vector<std::string>& names) {
  JsonValue list = JsonValue::array();
  for (const std::string& name : names) list.push_back(JsonValue::object({{"name", name}}));
  return list;
}

JsonValue to_json(const TruthScores& s, const char* rows) {
  return JsonValue::object(
      {{"mae", s.mae}, {"rmse", s.rmse}, {"crps", s.crps}, {"coverage_95", s.coverage_95}, {rows, s.rows}});
}

std::string line(const std::string& name, const TruthScores& s) {
  return fmt::format("{}: MAE {:.5g}, RMSE {:.5g}, CRPS {:.5g}, {:.1f} % within the 95 % interval, {} values", name,
                     s.mae, s.rmse, s.crps, 100 * s.coverage_95, s.rows);
}

}  // namespace

std::vector<std::string> SeriesReport::comments() const {
  const TrainingRun& run = checkpoint.run;
  std::vector<std::string> lines{fmt::format("npzoo {} predict: {} trained under {}, seed {}, {} steps", kVersion,
                                             run.spec.name, run.protocol.name, run.seed, checkpoint.step)};
  lines.push_back(fmt::format("columns: {} by {}{}", fmt::join(columns.values, ", "), fmt::join(columns.inputs, ", "),
                              columns.group.empty() ? "" : fmt::format(", in {} groups of {}", groups, columns.group)));
  const SeriesTally& tally = answer.tally;
  if (single) {
    const std::vector<std::string> more = single->comments();
    lines.insert(lines.end(), more.begin() + 1, more.end());
  } else {
    lines.push_back(fmt::format("series: {}, of {} to {} observed points, {}", tally.series, tally.smallest,
                                tally.largest, standardised ? "each standardised by itself" : "used as they are"));
  }
  if (tally.largest > local.largest_context)
    lines.push_back(fmt::format("contexts of more than {} points: targets that are near to each other share {} of them",
                                local.largest_context, local.neighbours));
  return lines;
}

std::vector<Warning> SeriesReport::warnings() const {
  const SeriesTally& tally = answer.tally;
  const std::int64_t most = checkpoint.run.protocol.data->training_range().max_context;
  std::vector<Warning> all;
  if (single) {
    all = single->warnings();
    if (local.neighbours <= most)  // which is what a tile has
      std::erase_if(all, [&](const Warning& w) { return w.about == "many context points"; });
    return all;
  }
  const auto warn = [&](const char* about, std::int64_t count, const std::string& text) {
    if (count > 0) all.push_back({about, fmt::format("{} of {} {}", count, tally.series, text)});
  };
  warn("empty context", tally.without_context, "series have no observed point: inputs and values are used as they are");
  warn("few context points", tally.small - tally.without_context,
       fmt::format("series have fewer observed points than in training, {}",
                   checkpoint.run.protocol.data->training_range().min_context));
  if (local.neighbours > most || local.largest_context > most)
    warn("many context points", tally.large,
         fmt::format("series have more observed points than in training, {}", most));
  if (standardised)
    warn("constant", tally.constant,
         "series have one value alone in the context, so that it is shifted and not scaled");
  if (tally.outside > 0)
    all.push_back(
        {"inputs of targets", fmt::format("{} of {} targets lie outside the range of inputs in training, which "
                                          "their series' observed points are mapped to",
                                          tally.outside, tally.targets)});
  return all;
}

JsonValue SeriesReport::json() const {
  if (single) {
    JsonValue json = single->json();
    json.set("warnings", npzoo::to_json(warnings()));
    return json;
  }
  return JsonValue::object({{"standardised", standardised},
                            {"inputs", named(columns.inputs)},
                            {"values", named(columns.values)},
                            {"warnings", npzoo::to_json(warnings())}});
}

void SeriesReport::print(const PredictOptions& c, std::int64_t rows, std::span<const std::vector<double>> truth,
                         double seconds) const {
  std::vector<TruthScores> scores;
  for (std::size_t v = 0; v < truth.size(); ++v) scores.push_back(score(answer.columns[v], truth[v]));
  if (!c.common.json) {
    std::FILE* to = c.out == "-" || c.samples_out == "-" ? stderr : stdout;
    for (std::size_t v = 0; v < scores.size(); ++v) fmt::print(to, "{}\n", line(columns.values[v], scores[v]));
    if (scores.size() > 1) fmt::print(to, "{}\n", line("all", pooled(scores)));
    return;
  }
  JsonValue result = json();
  result.update(
      {{"rows", rows}, {"context_rows", context_rows}, {"series", answer.tally.series}, {"seconds", seconds}});
  if (!columns.group.empty()) result.update({{"group", columns.group}, {"groups", groups}});
  if (!c.out.empty()) result.set("out", c.out.string());
  if (!c.plot.empty()) result.set("plot", c.plot.string());
  if (c.samples > 0) result.update({{"samples", c.samples}, {"samples_out", c.samples_out.string()}});
  if (!scores.empty()) {
    result.update(to_json(pooled(scores), "scored"));
    JsonValue each = JsonValue::object();
    for (std::size_t v = 0; v < scores.size(); ++v) each.set(columns.values[v], to_json(scores[v], "scored"));
    result.set("scores", each);
  }
  print_json(result);
}

SeriesReport series_report(const PredictOptions& c, const Checkpoint& checkpoint, const Model& model,
                           const ColumnChoice& columns, const LocalOptions& local, const TableQuestion& question,
                           const TableAnswer& answer, const std::vector<ColumnForm>& forms) {
  SeriesReport report{checkpoint, columns, answer, local, !c.as_is};
  if (!columns.group.empty()) report.groups = question.group_count;
  const std::size_t dim_x = columns.inputs.size();
  const auto known = [&](std::size_t row) {
    return [row](const std::vector<double>& y) { return !std::isnan(y[row]); };
  };
  for (std::size_t row = 0; row < static_cast<std::size_t>(question.rows()); ++row)
    report.context_rows +=
        model.dim_y() == 1 ? std::ranges::any_of(question.y, known(row)) : std::ranges::all_of(question.y, known(row));
  if (answer.tally.series != 1) return report;
  report.single.emplace(
      prediction_report(checkpoint, model, !c.as_is, answer.tally.units, columns.inputs, columns.values));
  report.single->x_forms = forms;
  std::vector<double> values(question.y.size());
  for (std::size_t row = 0; row < static_cast<std::size_t>(question.rows()); ++row) {
    if (!std::ranges::all_of(question.y, known(row))) continue;
    std::ranges::transform(question.y, values.begin(), [row](const std::vector<double>& y) { return y[row]; });
    report.single->context.add(question.x.subspan(row * dim_x, dim_x));
    report.single->values.add(values);
  }
  report.single->targets.add(question.targets);
  return report;
}

}  // namespace npzoo
