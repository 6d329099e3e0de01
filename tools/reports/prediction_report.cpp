#include "tools/reports/prediction_report.h"

#include <array>

namespace npzoo::tools {

JsonValue to_json(const std::vector<Warning>& warnings) {
  JsonValue lines = JsonValue::array();
  for (const Warning& warning : warnings) lines.push_back(warning.text);
  return lines;
}

JsonValue to_json(const PredictionReport& r) {
  JsonValue inputs = JsonValue::array(), maps = JsonValue::array();
  const auto ends = [](const Interval& range) { return JsonValue::array(std::array{range.low, range.high}); };
  const auto from = [&](std::size_t i, const Interval& range) {
    const bool time = !r.x_forms.empty() && r.x_forms[i].kind == ColumnForm::Kind::time;
    return time ? JsonValue::array(std::array{r.shown(i, range.low), r.shown(i, range.high)}) : ends(range);
  };
  for (std::size_t i = 0; i < r.x_names.size(); ++i) {
    const InputMap& map = r.units.inputs[i];
    inputs.push_back(JsonValue::object({{"name", r.x_names[i]}, {"from", from(i, map.from)}, {"to", ends(map.to)}}));
  }
  for (std::size_t i = 0; i < r.y_names.size(); ++i) {
    const ValueMap& map = r.units.values[i];
    maps.push_back(
        JsonValue::object({{"name", r.y_names[i]},
                           {"shift", map.shift},
                           {"scale", map.scale},
                           {"noise_floor", map.std(r.range.target_noise)},
                           {"std_floor", r.std_floor ? std::optional(map.std(*r.std_floor)) : std::nullopt}}));
  }
  return JsonValue::object(
      {{"standardised", r.standardised}, {"inputs", inputs}, {"values", maps}, {"warnings", to_json(r.warnings())}});
}

}  // namespace npzoo::tools
