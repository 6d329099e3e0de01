#include "tools/predict/tables_json.h"

#include <algorithm>
#include <cmath>

#include "tools/reports/prediction_report.h"

namespace npzoo {

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
  JsonValue json = report.single ? to_json(*report.single)
                                 : JsonValue::object({{"standardised", report.standardised},
                                                      {"inputs", named(report.columns.inputs)},
                                                      {"values", named(report.columns.values)}});
  json.set("warnings", to_json(report.warnings()));
  return json;
}

}  // namespace

JsonValue to_json(const FillResult& result, const PredictOptions& c, std::int64_t rows, double seconds) {
  const FillReport& report = result.report;
  const ColumnChoice& columns = report.columns;
  JsonValue json = to_json(report);
  json.update(
      {{"rows", rows}, {"context_rows", report.context_rows}, {"series", report.tally.series}, {"seconds", seconds}});
  if (!columns.group.empty()) json.update({{"group", columns.group}, {"groups", report.groups}});
  json.set("facts", JsonValue::array(report.comments()));
  JsonValue transforms = JsonValue::object();
  for (std::size_t v = 0; v < result.transforms.size(); ++v)
    if (result.transforms[v].active()) transforms.set(columns.values[v], to_json(result.transforms[v]));
  if (std::ranges::any_of(result.transforms, &ValueTransform::active)) json.set("transforms", transforms);
  if (!c.out.empty()) json.set("out", c.out.string());
  if (!c.plot.empty()) json.set("plot", c.plot.string());
  if (c.samples > 0) json.update({{"samples", c.samples}, {"samples_out", c.samples_out.string()}});
  if (result.scores.empty()) return json;
  json.update(to_json(pooled(result.scores)));
  JsonValue each = JsonValue::object();
  for (std::size_t v = 0; v < result.scores.size(); ++v) each.set(columns.values[v], to_json(result.scores[v]));
  json.set("scores", each);
  return json;
}

}  // namespace npzoo
