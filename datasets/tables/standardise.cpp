#include "npzoo/datasets/tables/standardise.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

std::vector<double> column(std::span<const double> rows, std::size_t width, std::size_t index) {
  std::vector<double> values;
  values.reserve(rows.size() / width);
  for (std::size_t i = index; i < rows.size(); i += width) values.push_back(rows[i]);
  return values;
}

template <class Map>
std::vector<double> mapped(std::span<const double> rows, const std::vector<Map>& maps) {
  std::vector<double> result(rows.begin(), rows.end());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = maps[i % maps.size()](result[i]);
  return result;
}

void check_scale(double scale, const std::string& name, double least, double largest) {
  check(std::isnormal(scale), "[standardise] column {} goes from {} to {}, expected an extent that a double can hold",
        name, least, largest);
}

InputMap input_map(const std::vector<double>& x, const std::string& name, const Interval& to) {
  if (x.empty()) return {to, to};
  const auto [least, largest] = std::ranges::minmax(x);
  if (least == largest) {
    const double middle = to.low + (to.high - to.low) / 2;
    return {{least, least}, {middle, middle}, 1, true};
  }
  const double scale = (largest - least) / (to.high - to.low);
  check_scale(scale, name, least, largest);
  return {{least, largest}, to, scale};
}

ValueMap value_map(const std::vector<double>& y, const std::string& name, double value_std) {
  if (y.empty()) return {};
  const double least = std::ranges::min(y), largest = std::ranges::max(y);
  if (least == largest) return {least, 1, true};
  const double extent = largest - least, count = static_cast<double>(y.size());
  const auto share = [&](double v) { return (v - least) / extent; };  // from 0 to 1, whatever the offset and the unit
  double mean = 0, square = 0;
  for (const double v : y) mean += share(v) / count;
  for (const double v : y) square += (share(v) - mean) * (share(v) - mean) / count;
  const double scale = std::sqrt(square) * extent / value_std;
  check_scale(scale, name, least, largest);
  return {least + mean * extent, scale};
}

}  // namespace

double ValueMap::std(double of_model, double mean_of_model) const {
  const double size = std::abs(mean(mean_of_model)), found = std(of_model);
  const double spacing = std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
  return found < spacing && std::isfinite(spacing) ? spacing : found;
}

std::vector<double> Standardisation::map_inputs(std::span<const double> x) const { return mapped(x, inputs); }

std::vector<double> Standardisation::map_values(std::span<const double> y) const { return mapped(y, values); }

Standardisation standardise(std::span<const double> x, std::span<const double> y, std::span<const std::string> x_names,
                            std::span<const std::string> y_names, const TrainingRange& range) {
  Standardisation units;
  for (std::size_t i = 0; i < x_names.size(); ++i)
    units.inputs.push_back(input_map(column(x, x_names.size(), i), x_names[i], range.inputs));
  for (std::size_t i = 0; i < y_names.size(); ++i)
    units.values.push_back(value_map(column(y, y_names.size(), i), y_names[i], range.value_std));
  return units;
}

Standardisation standardise_by_context(std::span<const double> x, std::span<const double> y,
                                       std::span<const std::string> x_names, std::span<const std::string> y_names,
                                       const TrainingRange& range) {
  Standardisation units = standardise(x, y, x_names, y_names, range);
  for (ValueMap& map : units.values)
    if (map.constant && std::isnormal(map.shift)) map.scale = std::abs(map.shift);
  return units;
}

void keep_proportions(Standardisation& units, double ratio) {
  const bool both = units.inputs.size() == 2 && std::ranges::none_of(units.inputs, [](const InputMap& map) {
                      return map.constant || map.from == map.to;
                    });
  if (!both || ratio <= 1) return;
  const double longer = std::max(units.inputs[0].scale, units.inputs[1].scale);
  for (InputMap& map : units.inputs) {
    if (map.scale == longer) continue;
    map.scale = std::min(longer, map.scale * ratio);
    const double middle = map.from.low + (map.from.high - map.from.low) / 2,
                 half = (map.to.high - map.to.low) / 2 * map.scale;
    map.from = {middle - half, middle + half};
  }
}

Standardisation leave_as_is(std::size_t dim_x, std::size_t dim_y, const TrainingRange& range) {
  return {std::vector<InputMap>(dim_x, {range.inputs, range.inputs}), std::vector<ValueMap>(dim_y)};
}

RangeCheck::RangeCheck(const Standardisation& units, const TrainingRange& range, double reach)
    : maps_(units.inputs),
      inputs_{range.inputs.low - reach, range.inputs.high + reach},
      columns_(maps_.size()),
      distance_(maps_.size()) {}

ValueCheck::ValueCheck(const Standardisation& units, const TrainingRange& range)
    : maps_(units.values),
      limit_(range.tails * std::hypot(range.widest_std, range.target_noise)),
      columns_(maps_.size()),
      squares_(maps_.size()) {}

void ValueCheck::add(std::span<const double> y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t c = i % maps_.size();
    if (c == 0) ++rows_;
    Column& column = columns_[c];
    const double in_model = maps_[c](y[i]), distance = in_model - column.mean;
    column.mean += distance / static_cast<double>(rows_);
    squares_[c] += distance * (in_model - column.mean);
    column.std = std::sqrt(squares_[c] / static_cast<double>(rows_));
    if (std::abs(in_model) <= limit_) continue;
    if (column.outside == 0 || std::abs(in_model) > std::abs(maps_[c](column.furthest))) column.furthest = y[i];
    ++column.outside;
  }
}

void RangeCheck::add(std::span<const double> x) {
  constexpr double kRounding = 1e-6;  // of float32, relative to the range
  const double slack = kRounding * (inputs_.high - inputs_.low);
  rows_ += static_cast<std::int64_t>(x.size() / maps_.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % maps_.size();
    const double in_model = maps_[c](x[i]);
    columns_[c].seen = {std::min(columns_[c].seen.low, in_model), std::max(columns_[c].seen.high, in_model)};
    const double distance = std::max(inputs_.low - in_model, in_model - inputs_.high);
    if (distance <= slack) continue;
    ++columns_[c].outside;
    if (distance > distance_[c]) {
      distance_[c] = distance;
      columns_[c].furthest = x[i];
    }
  }
}

}  // namespace npzoo
