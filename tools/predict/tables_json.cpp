#include "tools/predict/tables_json.h"

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
  if (const auto& turn = report.tally.turn)
    json.set("turn", JsonValue::object({{"series", report.tally.turned},
                                        {"ratio", turn->ratio},
                                        {"angle", turn->angle},
                                        {"gain_nats", turn->gain}}));
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
