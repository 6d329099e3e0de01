#include "npzoo/models/applications/tables/plain_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "npzoo/datasets/tables/sphere.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/applications/tables/gp_series.h"

namespace npzoo {

PlainTable::PlainTable(const FillData& data)
    : of_(data), coordinates_(static_cast<std::size_t>(data.dim_x - data.covariates)) {
  check(data.covariates >= 0 && data.covariates < data.dim_x,
        "[predict] {} covariates of {} inputs found, expected fewer than inputs", data.covariates, data.dim_x);
  x_ = without_covariates(data.x);
  targets_ = without_covariates(data.targets.value_or(data.x));
  if (data.covariates > 0) subtract_linear_part();
  if (!data.lonlat) return;
  check_lonlat(x_, coordinates_);
  check_lonlat(targets_, coordinates_);
  const SphereMap map(without_covariates(observed()), coordinates_);
  x_ = map(x_);
  targets_ = map(targets_);
  notes_.push_back(map.text());
}

std::vector<double> PlainTable::without_covariates(std::span<const double> x) const {
  std::vector<double> kept;
  const auto dim_x = static_cast<std::size_t>(of_.dim_x);
  for (std::size_t i = 0; i < x.size(); i += dim_x)
    kept.insert(kept.end(), &x[i], &x[i] + static_cast<std::ptrdiff_t>(coordinates_));
  return kept;
}

/// The rows of inputs with a known value: predictions must not depend on the other requested rows.
std::vector<double> PlainTable::observed() const {
  const auto dim_x = static_cast<std::size_t>(of_.dim_x);
  std::vector<double> rows;
  for (std::size_t i = 0; i < of_.x.size() / dim_x; ++i)
    if (std::ranges::any_of(of_.values, [i](std::span<const double> y) { return !std::isnan(y[i]); }))
      rows.insert(rows.end(), &of_.x[i * dim_x], &of_.x[i * dim_x] + dim_x);
  return rows;
}

void PlainTable::subtract_linear_part() {
  const auto dim_x = static_cast<std::size_t>(of_.dim_x);
  const std::size_t rows = of_.x.size() / dim_x;
  const std::vector<double> seen = observed();
  centers_.assign(dim_x, 0.0);
  for (std::size_t i = 0; i < seen.size(); ++i)
    centers_[i % dim_x] += seen[i] / static_cast<double>(seen.size() / dim_x);
  const GpInputs inputs{.dim_x = of_.dim_x,
                        .lonlat = of_.lonlat,
                        .x_groups = of_.x_groups,
                        .covariates = of_.covariates,
                        .covariates_in_kernel = false};
  const auto group_of = [](std::span<const std::uint32_t> groups, std::size_t i) {
    return groups.empty() ? std::uint32_t{0} : groups[i];
  };
  const std::set<std::uint32_t> groups =
      of_.groups.empty() ? std::set<std::uint32_t>{0} : std::set<std::uint32_t>(of_.groups.begin(), of_.groups.end());
  for (std::size_t v = 0; v < of_.values.size(); ++v) {
    for (const std::uint32_t g : groups) {
      std::vector<double> x, y;
      for (std::size_t i = 0; i < rows; ++i) {
        if (std::isnan(of_.values[v][i]) || group_of(of_.groups, i) != g) continue;
        x.insert(x.end(), &of_.x[i * dim_x], &of_.x[i * dim_x] + dim_x);
        y.push_back(of_.values[v][i]);
      }
      note_constant({v, g}, x);
      GpPoints points = inputs.shape();
      const std::vector<double> places = inputs(x);
      points.x = places;
      points.y = y;
      std::vector<GpSlope> slopes = GaussianProcess::fit(points).found().slopes;
      for (GpSlope& slope : slopes) slope.input -= of_.lonlat ? 1 : 0;
      slopes_[{v, g}] = std::move(slopes);
    }
    std::vector<double>& y = y_.emplace_back(of_.values[v].begin(), of_.values[v].end());
    for (std::size_t i = 0; i < rows; ++i)
      y[i] -= linear_part({v, group_of(of_.groups, i)}, of_.x.subspan(i * dim_x, dim_x));
    if (of_.truth.empty()) continue;
    const auto at = of_.targets.value_or(of_.x);
    std::vector<double>& truth = truth_.emplace_back(of_.truth[v].begin(), of_.truth[v].end());
    for (std::size_t i = 0; i < truth.size(); ++i)
      truth[i] -=
          linear_part({v, group_of(of_.targets ? of_.target_groups : of_.groups, i)}, at.subspan(i * dim_x, dim_x));
  }
  if (groups.size() > 1 || of_.values.size() > 1)
    return notes_.push_back(fmt::format("a linear part in {} was fitted to each series and predicted apart",
                                        fmt::join(std::span(of_.x_names).subspan(coordinates_), ", ")));
  for (const GpSlope& slope : slopes_.begin()->second)
    notes_.push_back(fmt::format("linear part: {:.5g} ± {:.2g} for each unit of {}", slope.value, slope.std,
                                 of_.x_names[slope.input]));
}

void PlainTable::note_constant(const SeriesKey& series, std::span<const double> x) {
  const auto dim_x = static_cast<std::size_t>(of_.dim_x);
  for (std::size_t c = coordinates_; c < dim_x && !x.empty(); ++c) {
    bool constant = true;
    for (std::size_t i = c; i < x.size(); i += dim_x) constant = constant && x[i] == x[c];
    if (constant) constant_[series][c] = x[c];
  }
}

/// Names the first covariate that changes in rows to predict and never did where values are known.
std::vector<Warning> PlainTable::unknown_effects() const {
  const auto dim_x = static_cast<std::size_t>(of_.dim_x);
  const std::span<const double> at = of_.targets.value_or(of_.x);
  const std::span<const std::uint32_t> groups = of_.targets ? of_.target_groups : of_.groups;
  std::int64_t rows = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < at.size() / dim_x; ++i)
    for (std::size_t v = 0; v < of_.values.size(); ++v) {
      if (!of_.targets && !std::isnan(of_.values[v][i])) continue;
      const auto constant = constant_.find({v, groups.empty() ? 0 : groups[i]});
      if (constant == constant_.end()) continue;
      const auto changed = std::ranges::find_if(
          constant->second, [&](const auto& known) { return at[i * dim_x + known.first] != known.second; });
      if (changed == constant->second.end()) continue;
      if (rows++ == 0) first = changed->first;
    }
  if (rows == 0) return {};
  return {{"unknown effect",
           fmt::format("{} has one value in all observed rows of a series and another one in {} to predict: its effect "
                       "is unknown and taken to be 0",
                       of_.x_names[first], rows == 1 ? "a row" : fmt::format("{} rows", rows))}};
}

double PlainTable::linear_part(const SeriesKey& series, std::span<const double> row) const {
  const auto at = slopes_.find(series);
  if (at == slopes_.end()) return 0;
  double sum = 0;
  for (const GpSlope& slope : at->second) sum += slope.value * (row[slope.input] - centers_[slope.input]);
  return sum;
}

FillData PlainTable::data() const {
  FillData plain = of_;
  plain.dim_x = static_cast<std::int64_t>(coordinates_);
  plain.lonlat = false;
  plain.covariates = 0;
  plain.x_groups.clear();
  plain.x = x_;
  if (plain.targets) plain.targets = targets_;
  plain.x_names.resize(coordinates_);
  if (!plain.x_forms.empty()) plain.x_forms.resize(coordinates_);
  if (!y_.empty()) plain.values = as_columns(y_);
  if (!truth_.empty()) plain.truth = as_columns(truth_);
  return plain;
}

void PlainTable::finish(FillResult& answer) const {
  const auto dim_x = static_cast<std::size_t>(of_.dim_x);
  const std::span<const double> at = of_.targets.value_or(of_.x);
  const std::span<const std::uint32_t> groups = of_.targets ? of_.target_groups : of_.groups;
  for (std::size_t v = 0; v < answer.columns.size() && !slopes_.empty(); ++v) {
    PredictedColumn& column = answer.columns[v];
    const std::size_t rows = column.mean.size();
    for (std::size_t i = 0; i < rows; ++i) {
      const double part = linear_part({v, groups.empty() ? 0 : groups[i]}, at.subspan(i * dim_x, dim_x));
      column.mean[i] += part;
      for (std::vector<double>* figures : {&column.quantiles, &column.samples}) {
        const std::size_t width = figures->size() / rows;
        for (std::size_t k = i * width; k < (i + 1) * width; ++k) (*figures)[k] += part;
      }
    }
  }
  for (TableEnd& end : answer.ends)
    for (const std::int64_t row : end.rows) {
      const auto i = static_cast<std::size_t>(row);
      end.added.push_back(
          linear_part({end.column, static_cast<std::uint32_t>(end.group)}, at.subspan(i * dim_x, dim_x)));
    }
  std::ranges::move(unknown_effects(), std::back_inserter(answer.warnings));
  if (of_.lonlat) std::erase_if(answer.warnings, [](const Warning& w) { return w.about == "longitudes"; });
  answer.report.notes.insert(answer.report.notes.begin(), notes_.begin(), notes_.end());
  answer.report.columns.inputs = of_.x_names;
}

}  // namespace npzoo
