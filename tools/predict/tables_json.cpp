#include "tools/predict/tables_json.h"

#include <algorithm>
#include <cmath>

#include "tools/reports/prediction_report.h"

namespace npzoo::tools {

namespace {

JsonValue named(const std::vector<std::string>& names) {
  JsonValue list = JsonValue::array();
  for (const std::string& name : names) list.push_back(JsonValue::object({{"name", name}}));
  return list;
}

JsonValue to_json(const TruthScores& s) {
  return JsonValue::object(
      {{"mae", s.mae}, {"rmse", s.rmse}, {"crps", s.crps}, {"coverage_95", s.coverage_95}, {"scored", s.rows}});
}

JsonValue to_json(const ValueTransform& t) {
  JsonValue json = JsonValue::object({{"name", transform_name(t.kind)}, {"counts", t.counts}});
  if (std::isfinite(t.low)) json.set("low", t.low);
  if (std::isfinite(t.high)) json.set("high", t.high);
  return json;
}

JsonValue to_json(const FillReport& report) {
  JsonValue json = report.single ? tools::to_json(*report.single)
                                 : JsonValue::object({{"standardised", report.standardised},
                                                      {"inputs", named(report.columns.inputs)},
                                                      {"values", named(report.columns.values)}});
  json.set("warnings", tools::to_json(report.warnings()));
  if (!report.notes.empty()) {
    JsonValue notes = JsonValue::array();
    for (const std::string& note : report.notes) notes.push_back(note);
    json.set("notes", notes);
  }
  return json;
}

JsonValue to_json(const std::vector<NamedValue>& values) {
  JsonValue json = JsonValue::object();
  for (const auto& [name, value] : values) json.set(name, value);
  return json;
}

/// Whether columns helped each other: shares of methods for each kind of gap, and the gain of each column.
JsonValue to_json(const ColumnHelp& help) {
  JsonValue json = JsonValue::object({{"together", help.together()}, {"text", help.text()}});
  JsonValue gaps = JsonValue::object(), columns = JsonValue::object();
  for (const GapShares& gap : help.gaps) {
    JsonValue shares = JsonValue::object();
    for (std::size_t k = 0; k < gap.methods.shares.size(); ++k) shares.set(help.methods[k], gap.methods.shares[k]);
    gaps.set(help.name_of(gap),
             JsonValue::object({{"together", gap.together}, {"hidden", gap.hidden}, {"shares", shares}}));
  }
  for (std::size_t c = 0; c < help.columns.size(); ++c) {
    const ColumnGain& gain = help.columns[c];
    if (gain.hidden == 0) continue;
    JsonValue from = JsonValue::object();
    for (const auto& [name, share] : help.sources(c)) from.set(name, share);
    columns.set(
        help.names[c],
        JsonValue::object(
            {{"hidden", gain.hidden}, {"crps_apart", gain.alone}, {"crps_together", gain.together}, {"from", from}}));
  }
  json.update({{"gaps", gaps}, {"columns", columns}});
  return json;
}

/// The Gaussian processes of all series, in the order of values and groups.
JsonValue to_json(const std::vector<SeriesProcess>& processes, const ColumnChoice& columns) {
  JsonValue list = JsonValue::array();
  for (const SeriesProcess& p : processes) {
    JsonValue one = JsonValue::object({{"value", columns.values[p.value]}});
    if (!columns.group.empty()) one.set("group", p.group);
    one.update({{"points", p.fit.points},
                {"fitted_points", p.fit.fitted_points},
                {"kernel", p.fit.kernel.text()},
                {"hyperparameters", to_json(p.values)},
                {"slopes", to_json(p.slopes)},
                {"log_density", p.fit.log_density}});
    list.push_back(std::move(one));
  }
  return list;
}

JsonValue to_json(const std::vector<BaselineScores>& baselines, const ColumnChoice& columns) {
  JsonValue json = JsonValue::object();
  for (const BaselineScores& b : baselines) {
    JsonValue one = to_json(pooled(b.scores)), each = JsonValue::object();
    for (std::size_t v = 0; v < b.scores.size(); ++v) each.set(columns.values[v], to_json(b.scores[v]));
    one.set("scores", each);
    json.set(b.name, one);
  }
  return json;
}

/// Forecasts of the hidden last season; skill is one minus the CRPS relative to that of the seasonal naive forecast.
JsonValue to_json(const std::vector<EndScore>& scores) {
  const auto naive = std::ranges::find(scores, name_of(EndMethod::seasonal_naive), &EndScore::method);
  JsonValue list = JsonValue::array();
  for (const EndScore& s : scores)
    list.push_back(JsonValue::object({{"method", s.method},
                                      {"mase", s.mase},
                                      {"crps", s.crps},
                                      {"coverage_95", s.coverage_95},
                                      {"skill", 1 - s.crps / naive->crps},
                                      {"values", s.values}}));
  return list;
}

}  // namespace

JsonValue to_json(const FillResult& result, const PredictOptions& c, std::int64_t rows, double seconds) {
  const FillReport& report = result.report;
  const ColumnChoice& columns = report.columns;
  JsonValue json = to_json(report);
  json.update(
      {{"rows", rows}, {"context_rows", report.context_rows}, {"series", report.tally.series}, {"seconds", seconds}});
  if (!columns.group.empty()) json.update({{"group", columns.group}, {"groups", report.groups}});
  if (const auto& turn = report.tally.turn)
    json.set("turn", JsonValue::object({{"series", report.tally.turned},
                                        {"ratio", turn->ratio},
                                        {"angle", turn->angle},
                                        {"gain_nats", turn->gain}}));
  if (const SeriesTally& tally = report.tally; tally.noise_changes > 0)
    json.set("noise_changes", JsonValue::object({{"series", tally.noise_changes}, {"ratio", tally.noise_ratio}}));
  json.set("model", result.weights.name());
  if (report.help) json.set("columns_help", to_json(*report.help));
  if (!result.processes.empty()) json.set("processes", to_json(result.processes, columns));
  json.set("facts", JsonValue::array(report.comments()));
  JsonValue transforms = JsonValue::object();
  for (std::size_t v = 0; v < result.transforms.size(); ++v)
    if (result.transforms[v].active()) transforms.set(columns.values[v], to_json(result.transforms[v]));
  if (std::ranges::any_of(result.transforms, &ValueTransform::active)) json.set("transforms", transforms);
  if (!c.out.empty()) json.set("out", c.out.string());
  if (!c.plot.empty()) json.set("plot", c.plot.string());
  if (c.samples > 0) json.update({{"samples", c.samples}, {"samples_out", c.samples_out.string()}});
  if (c.check) json.set("check", to_json(result.end_scores));
  if (result.scores.empty()) return json;
  json.update(to_json(pooled(result.scores)));
  JsonValue each = JsonValue::object();
  for (std::size_t v = 0; v < result.scores.size(); ++v) each.set(columns.values[v], to_json(result.scores[v]));
  json.set("scores", each);
  if (!result.baselines.empty()) json.set("baselines", to_json(result.baselines, columns));
  return json;
}

}  // namespace npzoo::tools
