#include "npzoo/models/applications/tables/far_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include "npzoo/datasets/tables/outliers.h"

namespace npzoo {

namespace {

/// Values at known rows of each group of a column.
struct Known {
  std::vector<std::size_t> rows{};
  std::vector<double> values{};
};

std::map<std::uint32_t, Known> by_group(const FillData& data, std::size_t column) {
  std::map<std::uint32_t, Known> groups;
  for (std::size_t i = 0; i < data.values[column].size(); ++i) {
    if (std::isnan(data.values[column][i])) continue;
    Known& known = groups[data.groups.empty() ? 0 : data.groups[i]];
    known.rows.push_back(i);
    known.values.push_back(data.values[column][i]);
  }
  return groups;
}

std::vector<std::vector<double>> copies(const std::vector<std::span<const double>>& columns) {
  std::vector<std::vector<double>> copied;
  for (const std::span<const double> column : columns) copied.emplace_back(column.begin(), column.end());
  return copied;
}

}  // namespace

FarValues::FarValues(const FillData& data, const FillOptions& options) : data_(data) {
  if (options.transform.any()) return;
  for (std::size_t v = 0; v < data.values.size(); ++v) leave_out(v);
}

void FarValues::leave_out(std::size_t column) {
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [group, known] : by_group(data_, column)) {
    ++series_;
    const std::optional<FarNumbers> far = far_values(known.values);
    if (!far || far->distance <= kFarFromAll) continue;
    if (values_.empty()) {
      values_ = copies(data_.values);
      data_.values = as_columns(values_);
      if (!data_.targets) {  // truths are those of the rows
        truth_ = copies(data_.truth);
        data_.truth = as_columns(truth_);
      }
    }
    for (std::size_t i = 0; i < known.rows.size(); ++i) {
      if (std::ranges::find(far->values, known.values[i]) == far->values.end()) continue;
      values_[column][known.rows[i]] = kMissing;
      if (!truth_.empty()) truth_[column][known.rows[i]] = kMissing;
    }
    ++far_.series;
    many_ = many_ || far->values.size() > 1;
    far_.points += far->count;
    if (far->distance > far_.distance) {
      far_.column = column;
      far_.furthest = far->furthest;
      far_.distance = far->distance;
    }
  }
}

void FarValues::finish(FillResult& result) const {
  if (far_.points == 0) return;
  result.warnings.push_back(
      {"far values",
       fmt::format("{} of {} series {} {} {} = {} is {:.3g} standard deviations of the others away; if it "
                   "stands for a missing value, use --missing {}; --transform auto keeps it",
                   far_.series, series_, far_.series == 1 ? "has" : "have",
                   many_ ? "values far from all others, which are left out, the furthest:"
                         : "a value far from all others, which is left out:",
                   data_.value_names[far_.column], far_.furthest, far_.distance, far_.furthest)});
}

}  // namespace npzoo
