#include "npzoo/models/applications/tables/linear_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "npzoo/models/applications/tables/covariate_errors.h"

namespace npzoo {

namespace {

std::uint32_t group_at(std::span<const std::uint32_t> groups, std::size_t i) { return groups.empty() ? 0 : groups[i]; }

}  // namespace

LinearParts::LinearParts(const FillData& data)
    : of_(data),
      dim_x_(static_cast<std::size_t>(data.dim_x)),
      at_(data.targets.value_or(data.x)),
      place_groups_(data.targets ? data.target_groups : data.groups) {
  GpInputs inputs{.dim_x = data.dim_x,
                  .lonlat = data.lonlat,
                  .x_groups = data.x_groups,
                  .covariates = data.covariates,
                  .covariates_in_kernel = false};
  inputs.sort_covariates(data.x_names);
  const std::size_t places = at_.size() / dim_x_;
  for (std::size_t v = 0; v < data.values.size(); ++v) {
    std::map<std::uint32_t, std::vector<std::size_t>> rows;
    for (std::size_t i = 0; i < data.values[v].size(); ++i)
      if (!std::isnan(data.values[v][i])) rows[group_at(data.groups, i)].push_back(i);
    for (const auto& [group, of_group] : rows) parts_[{v, group}];
    for (std::size_t i = 0; i < places; ++i)
      if (const auto part = parts_.find({v, group_at(place_groups_, i)}); part != parts_.end())
        part->second.places.push_back(i);
    variance_.emplace_back(places);
    if (!data.covariate_std.empty()) of_covariates_.emplace_back(places);
    for (const auto& [group, of_group] : rows) fit(inputs, {v, group}, of_group, parts_[{v, group}]);
  }
  if (parts_.size() > 1)
    notes_ = {fmt::format("a linear part in {} was fitted to each series and predicted apart",
                          fmt::join(std::span(data.x_names).last(static_cast<std::size_t>(data.covariates)), ", "))};
}

void LinearParts::fit(const GpInputs& inputs, const Key& key, const std::vector<std::size_t>& rows, Part& part) {
  std::vector<double> x, y, places;
  const auto add = [&](std::span<const double> from, std::size_t row, std::vector<double>& to) {
    const auto one = from.subspan(row * dim_x_, dim_x_);
    to.insert(to.end(), one.begin(), one.end());
  };
  for (const std::size_t row : rows) {
    add(of_.x, row, x);
    y.push_back(of_.values[key.first][row]);
  }
  for (const std::size_t place : part.places) add(at_, place, places);
  GpPoints points = inputs.shape();
  x = inputs(x);
  points.x = x;
  points.y = y;
  const GaussianProcess process = GaussianProcess::fit(points);
  part.slopes = process.found().slopes;
  for (GpSlope& slope : part.slopes) slope.input = inputs.column(slope.input);
  part.errors = process.slope_errors(inputs(places));
  for (std::size_t i = 0; i < part.errors.size(); ++i)
    variance_[key.first][part.places[i / part.slopes.size()]] += part.errors[i] * part.errors[i];
  if (!of_covariates_.empty()) add_covariate_errors(key.first, part);
  if (notes_.empty()) notes_ = describe_slopes(process.found(), inputs, of_.x_names);
}

void LinearParts::add_covariate_errors(std::size_t value, const Part& part) {
  const auto count = static_cast<std::size_t>(of_.covariates);
  for (const std::size_t place : part.places)
    for (const GpSlope& slope : part.slopes) {
      const double std = of_.covariate_std[place * count + slope.input - (dim_x_ - count)],
                   more = (slope.value * slope.value + slope.std * slope.std) * std * std;
      variance_[value][place] += more;
      of_covariates_[value][place] += more;
    }
}

double LinearParts::Part::at(std::span<const double> row) const {
  double sum = 0;
  for (const GpSlope& slope : slopes) sum += slope.value * (row[slope.input] - slope.center);
  return sum;
}

PlaceSamples LinearParts::Part::streams(std::uint64_t seed) const {
  std::vector<double> numbers;
  for (const GpSlope& slope : slopes) numbers.insert(numbers.end(), {slope.value, slope.std});
  return {seed, numbers, {}};
}

/// Returns `y` of a value column at rows with these inputs without the linear parts.
std::vector<double> LinearParts::less(std::size_t value, std::span<const double> y, std::span<const double> x,
                                      std::span<const std::uint32_t> groups) const {
  std::vector<double> rest(y.begin(), y.end());
  for (std::size_t i = 0; i < rest.size(); ++i)
    if (const auto part = parts_.find({value, group_at(groups, i)}); part != parts_.end())
      rest[i] -= part->second.at(x.subspan(i * dim_x_, dim_x_));
  return rest;
}

std::vector<std::vector<double>> LinearParts::values() const {
  std::vector<std::vector<double>> all;
  for (std::size_t v = 0; v < of_.values.size(); ++v) all.push_back(less(v, of_.values[v], of_.x, of_.groups));
  return all;
}

std::vector<std::vector<double>> LinearParts::truth() const {
  std::vector<std::vector<double>> all;
  for (std::size_t v = 0; v < of_.truth.size(); ++v) all.push_back(less(v, of_.truth[v], at_, place_groups_));
  return all;
}

void LinearParts::add_to(FillResult& answer, std::uint64_t seed) const {
  std::vector<std::vector<double>> added(answer.columns.size(), std::vector<double>(at_.size() / dim_x_));
  for (const auto& [key, part] : parts_) {
    PredictedColumn& column = answer.columns[key.first];
    const std::size_t rows = column.mean.size(), samples = column.samples.size() / rows,
                      quantiles = column.quantiles.size() / rows, slopes = part.slopes.size();
    for (const std::size_t i : part.places) {
      const double more = added[key.first][i] = part.at(at_.subspan(i * dim_x_, dim_x_));
      column.mean[i] += more;
      for (std::size_t k = i * quantiles; k < (i + 1) * quantiles; ++k) column.quantiles[k] += more;
      for (std::size_t k = i * samples; k < (i + 1) * samples; ++k) column.samples[k] += more;
    }
    const PlaceSamples streams = part.streams(seed);
    for (std::size_t s = 0; s < samples; ++s) {
      const std::vector<double> normals = slope_normals(streams, static_cast<std::int64_t>(s), slopes);
      for (std::size_t p = 0; p < part.places.size(); ++p)
        column.samples[part.places[p] * samples + s] += std::inner_product(
            normals.begin(), normals.end(), part.errors.begin() + static_cast<std::ptrdiff_t>(p * slopes), 0.0);
    }
  }
  add_errors_to_samples(of_covariates_, at_, seed, answer);
  for (TableEnd& end : answer.ends) {
    const auto part = parts_.find({end.column, static_cast<std::uint32_t>(end.group)});
    if (part == parts_.end()) continue;
    end.slope_streams = part->second.streams(seed);
    const std::size_t slopes = part->second.slopes.size();
    for (const std::int64_t row : end.rows) {
      const auto i = static_cast<std::size_t>(row);
      end.added.push_back(added[end.column][i]);
      const auto p = std::ranges::lower_bound(part->second.places, i) - part->second.places.begin();
      const auto first = part->second.errors.begin() + p * static_cast<std::ptrdiff_t>(slopes);
      end.slope_errors.insert(end.slope_errors.end(), first, first + static_cast<std::ptrdiff_t>(slopes));
    }
  }
}

}  // namespace npzoo
