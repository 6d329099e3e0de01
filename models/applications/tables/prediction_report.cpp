#include "npzoo/models/applications/tables/prediction_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace npzoo {

namespace {

/// One text for each column.
std::string listed(const std::vector<std::string>& names, auto text) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < names.size(); ++i) parts.push_back(text(names[i], i));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string describe(const std::string& name, const InputMap& map, const ColumnForm& form) {
  const std::string low = form.text(map.from.low);
  if (map.constant) return fmt::format("{} shifted from {} to {}", name, low, map.to.low);
  return fmt::format("{} mapped from [{}, {}] to [{}, {}]", name, low, form.text(map.from.high), map.to.low,
                     map.to.high);
}

std::string describe(const std::string& name, const ValueMap& map, double value_std) {
  if (map.constant && map.scale == 1) return fmt::format("{} minus {}", name, map.shift);
  if (map.constant) return fmt::format("{} minus {}, divided by {}: its only value", name, map.shift, map.scale);
  return fmt::format("{} minus {:.9g}, divided by {:.4g}: standard deviation {:.4g}, as in training", name, map.shift,
                     map.scale, value_std);
}

/// Whether points cover the range of training, so that their values should vary as much as those of training.
bool cover_the_range(const RangeCheck& inputs, const Interval& range) {
  constexpr std::int64_t kFewest = 10;
  return inputs.rows() >= kFewest && std::ranges::all_of(inputs.columns(), [&range](const RangeCheck::Column& column) {
           const double low = std::max(column.seen.low, range.low), high = std::min(column.seen.high, range.high);
           return high - low >= (range.high - range.low) / 2;
         });
}

}  // namespace

std::vector<std::string> PredictionReport::comments(std::string_view command) const {
  std::vector<std::string> lines{weights.made_by(command)};
  if (!standardised) {
    lines.emplace_back("inputs and values: used as they are");
  } else if (unit_rows == 0) {
    lines.emplace_back("inputs and values: used as they are, without a context to standardise by");
  } else {
    lines.push_back("inputs: " + listed(x_names, [&](const auto& name, std::size_t i) {
                      return describe(name, units.inputs[i], x_forms.empty() ? ColumnForm() : x_forms[i]);
                    }));
    lines.push_back("values: " + listed(y_names, [&](const auto& name, std::size_t i) {
                      return describe(name, units.values[i], range.value_std);
                    }));
  }
  const auto in_units = [&](double std) {
    return listed(y_names, [&](const auto& name, std::size_t i) {
      return fmt::format("{:.4g} ({})", units.values[i].std(std), name);
    });
  };
  const std::string noise =
      range.target_noise > 0
          ? fmt::format("{}{} in the targets of training, here {}, included in std",
                        range.noise_varies ? "at least " : "", range.target_noise, in_units(range.target_noise))
          : "none in the targets of training, std is that of the function alone";
  lines.push_back(
      fmt::format("noise: {}; smallest std possible: {}", noise, std_floor ? in_units(*std_floor) : "unknown"));
  return lines;
}

std::string PredictionReport::shown(std::size_t input, double x) const {
  return (x_forms.empty() ? ColumnForm() : x_forms[input]).text(x);
}

void PredictionReport::warn_of_constants(std::vector<Warning>& warnings) const {
  std::vector<std::string> constant, scaled;
  for (std::size_t i = 0; i < x_names.size(); ++i)
    if (units.inputs[i].constant) constant.push_back(x_names[i]);
  for (std::size_t i = 0; i < y_names.size(); ++i)
    if (units.values[i].constant) (units.values[i].scale == 1 ? constant : scaled).push_back(y_names[i]);
  if (!constant.empty())
    warnings.push_back({"constant", fmt::format("one value alone in the context, so shifted and not scaled: {}",
                                                fmt::join(constant, ", "))});
  if (!scaled.empty())
    warnings.push_back({"constant values", fmt::format("one value alone in the context, so shifted and divided by its "
                                                       "own size: {}",
                                                       fmt::join(scaled, ", "))});
}

void PredictionReport::warn_of_context_size(std::vector<Warning>& warnings) const {
  if (context.rows() >= range.min_context && context.rows() <= range.max_context) return;
  warnings.push_back(
      {context.rows() < range.min_context ? "few context points" : "many context points",
       fmt::format("context points: {}, in training {} to {}", context.rows(), range.min_context, range.max_context)});
}

void PredictionReport::warn_of_inputs(std::vector<Warning>& warnings, const char* what, const RangeCheck& seen) const {
  for (std::size_t i = 0; i < seen.columns().size(); ++i) {
    const RangeCheck::Column& column = seen.columns()[i];
    const InputMap& map = units.inputs[i];
    if (column.outside > 0)
      warnings.push_back(
          {fmt::format("inputs of {} {}", what, i),
           fmt::format("{} of {} {} lie outside the range of inputs in training, here {} from {} to {}; furthest: {}",
                       column.outside, seen.rows(), what, x_names[i], shown(i, map.inverse(seen.inputs().low)),
                       shown(i, map.inverse(seen.inputs().high)), shown(i, column.furthest))});
  }
}

void PredictionReport::warn_of_values(std::vector<Warning>& warnings) const {
  for (std::size_t i = 0; i < y_names.size(); ++i) {
    const ValueCheck::Column& column = values.columns()[i];
    const ValueMap& map = units.values[i];
    if (column.outside > 0) {
      warnings.push_back(
          {fmt::format("values {}", i),
           fmt::format("{} of {} values of {} lie outside those of training, here from {:.4g} to {:.4g}; furthest: {}",
                       column.outside, values.rows(), y_names[i], map.mean(-values.limit()), map.mean(values.limit()),
                       column.furthest)});
      continue;
    }
    const bool displaced = std::abs(column.mean) > 3 * range.widest_std;
    const bool flat = column.std < 0.1 * range.narrowest_std;
    if (!map.constant && (displaced || flat) && cover_the_range(context, range.inputs))
      warnings.push_back(
          {fmt::format("values {}", i),
           fmt::format("the values of {} have mean {:.4g} and standard deviation {:.4g}, the functions of training 0 "
                       "and from {:.4g} to {:.4g}",
                       y_names[i], map.mean(column.mean), map.std(column.std), map.std(range.narrowest_std),
                       map.std(range.widest_std))});
  }
}

std::vector<Warning> PredictionReport::warnings() const {
  std::vector<Warning> all;
  if (standardised && context.rows() == 0)
    all.push_back({"empty context", "the context is empty: inputs and values are used as they are"});
  else if (standardised)
    warn_of_constants(all);
  warn_of_context_size(all);
  warn_of_inputs(all, "context points", context);
  warn_of_inputs(all, "targets", targets);
  warn_of_values(all);
  return all;
}

PredictionReport prediction_report(const TrainedModel& trained, bool standardised, const Standardisation& units,
                                   const std::vector<std::string>& x_names, const std::vector<std::string>& y_names) {
  const TrainingRange range = trained.checkpoint.run.protocol.data->training_range();
  return {.weights = weights_used(trained.checkpoint),
          .std_floor = trained.model->std_floor(),
          .range = range,
          .standardised = standardised,
          .units = units,
          .x_names = x_names,
          .y_names = y_names,
          .x_forms = {},
          .context = RangeCheck(units, range),
          .targets = RangeCheck(units, range, range.reach),
          .values = ValueCheck(units, range)};
}

}  // namespace npzoo
