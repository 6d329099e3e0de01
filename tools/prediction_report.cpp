#include "tools/prediction_report.h"

#include <fmt/format.h>

#include "engine/config.h"

namespace npzoo {

namespace {

/// One text for each column.
std::string listed(const std::vector<std::string>& names, auto text) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < names.size(); ++i) parts.push_back(text(names[i], i));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string describe(const std::string& name, const InputMap& map) {
  if (map.constant) return fmt::format("{} shifted from {} to {}", name, map.from.low, map.to.low);
  return fmt::format("{} mapped from [{}, {}] to [{}, {}]", name, map.from.low, map.from.high, map.to.low, map.to.high);
}

std::string describe(const std::string& name, const ValueMap& map, double value_std) {
  if (map.constant) return fmt::format("{} minus {}", name, map.shift);
  return fmt::format("{} minus {:.9g}, divided by {:.4g}: standard deviation {:.4g}, as in training", name, map.shift,
                     map.scale, value_std);
}

void warn_of_outside(std::vector<std::string>& warnings, const char* what, const RangeCheck& seen,
                     const PredictionReport& report) {
  for (std::size_t i = 0; i < seen.columns().size(); ++i) {
    const auto& [outside, furthest] = seen.columns()[i];
    const InputMap& map = report.units.inputs[i];
    if (outside > 0)
      warnings.push_back(
          fmt::format("{} of {} {} lie outside the range of inputs in training, here {} from {} to {}; furthest: {}",
                      outside, seen.rows(), what, report.x_names[i], map.inverse(report.range.inputs.low),
                      map.inverse(report.range.inputs.high), furthest));
  }
}

}  // namespace

std::vector<std::string> PredictionReport::comments() const {
  std::vector<std::string> lines{fmt::format("npzoo {} predict: {} trained under {}, seed {}, {} steps", kVersion,
                                             run.spec.name, run.protocol.name, run.seed, steps)};
  if (!standardised) {
    lines.emplace_back("inputs and values: used as they are");
  } else if (context.rows() == 0) {
    lines.emplace_back("inputs and values: used as they are, without a context to standardise by");
  } else {
    lines.push_back("inputs: " +
                    listed(x_names, [&](const auto& name, std::size_t i) { return describe(name, units.inputs[i]); }));
    lines.push_back("values: " + listed(y_names, [&](const auto& name, std::size_t i) {
                      return describe(name, units.values[i], range.value_std);
                    }));
  }
  const auto in_units = [&](double std) {
    return listed(y_names, [&](const auto& name, std::size_t i) {
      return fmt::format("{:.4g} ({})", units.values[i].std(std), name);
    });
  };
  const std::string noise = range.target_noise > 0
                                ? fmt::format("{} in the targets of training, here {}, included in std",
                                              range.target_noise, in_units(range.target_noise))
                                : "none in the targets of training, std is that of the function alone";
  lines.push_back(fmt::format("noise: {}; smallest std possible: {}", noise, in_units(std_floor)));
  return lines;
}

std::vector<std::string> PredictionReport::warnings() const {
  std::vector<std::string> lines;
  if (standardised && context.rows() == 0) {
    lines.emplace_back("the context is empty: inputs and values are used as they are");
  } else if (standardised) {
    std::vector<std::string> constant;
    for (std::size_t i = 0; i < x_names.size(); ++i)
      if (units.inputs[i].constant) constant.push_back(x_names[i]);
    for (std::size_t i = 0; i < y_names.size(); ++i)
      if (units.values[i].constant) constant.push_back(y_names[i]);
    if (!constant.empty())
      lines.push_back(
          fmt::format("one value alone in the context, so shifted and not scaled: {}", fmt::join(constant, ", ")));
  }
  if (context.rows() < range.min_context || context.rows() > range.max_context)
    lines.push_back(
        fmt::format("context points: {}, in training {} to {}", context.rows(), range.min_context, range.max_context));
  warn_of_outside(lines, "context points", context, *this);
  warn_of_outside(lines, "targets", targets, *this);
  return lines;
}

nlohmann::json PredictionReport::json() const {
  nlohmann::json inputs = nlohmann::json::array(), values = nlohmann::json::array();
  for (std::size_t i = 0; i < x_names.size(); ++i) {
    const InputMap& map = units.inputs[i];
    inputs.push_back(
        {{"name", x_names[i]}, {"from", {map.from.low, map.from.high}}, {"to", {map.to.low, map.to.high}}});
  }
  for (std::size_t i = 0; i < y_names.size(); ++i) {
    const ValueMap& map = units.values[i];
    values.push_back({{"name", y_names[i]},
                      {"shift", map.shift},
                      {"scale", map.scale},
                      {"noise_floor", map.std(range.target_noise)},
                      {"std_floor", map.std(std_floor)}});
  }
  return {{"standardised", standardised}, {"inputs", inputs}, {"values", values}, {"warnings", warnings()}};
}

}  // namespace npzoo
