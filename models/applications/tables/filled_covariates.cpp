#include "npzoo/models/applications/tables/filled_covariates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/engine/error.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/applications/tables/columns/column_scale.h"

namespace npzoo {

namespace {

bool missing(double value) { return std::isnan(value); }

}  // namespace

FilledCovariates::FilledCovariates(const FillData& data, const FillOptions& options, const Fill& fill)
    : of_(data),
      dim_x_(static_cast<std::size_t>(std::max<std::int64_t>(data.dim_x, 0))),
      count_(static_cast<std::size_t>(std::max<std::int64_t>(data.covariates, 0))) {
  if (fits_together() && misses_any()) predict(options, fill);
}

/// Else the fill will name what is wrong.
bool FilledCovariates::fits_together() const {
  if (count_ == 0 || count_ >= dim_x_ || of_.x_names.size() != dim_x_ || of_.x.size() % dim_x_ != 0) return false;
  const std::size_t rows = of_.x.size() / dim_x_, places = static_cast<std::size_t>(of_.places());
  const auto have = [](const auto& columns, std::size_t size) {
    return std::ranges::all_of(columns, [size](const auto& column) { return column.size() == size; });
  };
  const bool grouped = !of_.groups.empty();
  return (!of_.targets || of_.targets->size() % dim_x_ == 0) && have(of_.values, rows) && have(of_.truth, places) &&
         of_.groups.size() == (grouped ? rows : 0) && of_.target_groups.size() == (grouped && of_.targets ? places : 0);
}

bool FilledCovariates::misses_any() const {
  for (const std::span<const double> x : {of_.x, of_.targets.value_or(std::span<const double>())})
    for (std::size_t i = 0; i < x.size(); ++i)
      if (missing(x[i])) return i % dim_x_ >= dim_x_ - count_;
  return false;
}

/// Returns the columns of the rows, then of the targets.
FilledCovariates::Columns FilledCovariates::covariates() const {
  Columns columns(count_);
  for (const std::span<const double> x : {of_.x, of_.targets.value_or(std::span<const double>())})
    for (std::size_t row = 0; row < x.size(); row += dim_x_)
      for (std::size_t c = 0; c < count_; ++c) columns[c].push_back(x[row + dim_x_ - count_ + c]);
  return columns;
}

void FilledCovariates::predict(const FillOptions& options, const Fill& fill) {
  const std::size_t inputs = dim_x_ - count_;
  std::vector<double> x;
  for (const std::span<const double> from : {of_.x, of_.targets.value_or(std::span<const double>())})
    for (std::size_t row = 0; row < from.size(); row += dim_x_)
      x.insert(x.end(), from.begin() + static_cast<std::ptrdiff_t>(row),
               from.begin() + static_cast<std::ptrdiff_t>(row + inputs));
  std::vector<std::uint32_t> groups(of_.groups.begin(), of_.groups.end());
  groups.insert(groups.end(), of_.target_groups.begin(), of_.target_groups.end());
  const Columns columns = covariates();
  FillData question{.dim_x = static_cast<std::int64_t>(inputs),
                    .x = x,
                    .groups = groups,
                    .x_names = {of_.x_names.begin(), of_.x_names.begin() + static_cast<std::ptrdiff_t>(inputs)},
                    .group_name = of_.group_name,
                    .group_labels = of_.group_labels,
                    .lonlat = of_.lonlat};
  if (!of_.x_forms.empty())
    question.x_forms = {of_.x_forms.begin(), of_.x_forms.begin() + static_cast<std::ptrdiff_t>(inputs)};
  std::vector<std::size_t> gaps;
  for (std::size_t c = 0; c < count_; ++c) {
    const std::string& name = of_.x_names[inputs + c];
    const std::int64_t holes = std::ranges::count_if(columns[c], missing);
    check(holes < std::ssize(columns[c]), "[predict] the covariate {} has no value, expected some", name);
    (holes > 0 ? question.values : question.helpers).push_back(columns[c]);
    (holes > 0 ? question.value_names : question.helper_names).push_back(name);
    if (holes == 0) continue;
    gaps.push_back(c);
    warnings_.push_back(
        {"covariates",
         fmt::format("{} of {}, a covariate, {} missing and predicted, and their uncertainty is part of the answer",
                     counted(holes, "value"), name, holes == 1 ? "was" : "were")});
  }
  put(columns, gaps, fill(question, moments_alone(options)));
}

void FilledCovariates::put(const Columns& covariates, const std::vector<std::size_t>& gaps, const FillResult& found) {
  constexpr double kUncertain = 0.2;  // standard deviation, in those of the column
  x_.assign(of_.x.begin(), of_.x.end());
  if (of_.targets) targets_.assign(of_.targets->begin(), of_.targets->end());
  const std::size_t rows = of_.x.size() / dim_x_, first_place = of_.targets ? rows : 0;
  std_.assign(static_cast<std::size_t>(of_.places()) * count_, 0);
  std::vector<bool> uncertain(rows);
  for (std::size_t g = 0; g < gaps.size(); ++g) {
    const double spread = ColumnScale(ColumnScale::Kind::standard, covariates[gaps[g]]).moments().std;
    for (std::size_t row = 0; row < covariates[gaps[g]].size(); ++row) {
      if (!missing(covariates[gaps[g]][row])) continue;
      const std::size_t column = dim_x_ - count_ + gaps[g];
      const double mean = found.columns[g].mean[row], std = found.columns[g].std[row];
      (row < rows ? x_[row * dim_x_ + column] : targets_[(row - rows) * dim_x_ + column]) = mean;
      if (row >= first_place) std_[(row - first_place) * count_ + gaps[g]] = std;
      if (row < rows) uncertain[row] = uncertain[row] || std > kUncertain * spread;
    }
  }
  leave_out(uncertain);
}

/// Unless too few values are left to learn from.
void FilledCovariates::leave_out(const std::vector<bool>& uncertain) {
  constexpr std::int64_t kEnough = 2;  // of these values one is kept, or more
  std::int64_t known = 0, left_out = 0;
  for (const std::span<const double> column : of_.values)
    for (std::size_t row = 0; row < column.size(); ++row) {
      known += !missing(column[row]);
      left_out += !missing(column[row]) && uncertain[row];
    }
  if (left_out == 0 || kEnough * left_out > known) return;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  for (const std::span<const double> column : of_.values) values_.emplace_back(column.begin(), column.end());
  for (const std::span<const double> column : of_.truth) truth_.emplace_back(column.begin(), column.end());
  for (std::size_t row = 0; row < uncertain.size(); ++row) {
    if (!uncertain[row]) continue;
    for (std::size_t v = 0; v < values_.size(); ++v) {
      if (!of_.targets && v < truth_.size() && !missing(values_[v][row])) truth_[v][row] = kNone;
      values_[v][row] = kNone;
    }
  }
  warnings_.push_back(
      {"covariates", fmt::format("{} not used, since a covariate of the row was predicted and stays uncertain",
                                 left_out == 1 ? "1 known value was" : fmt::format("{} known values were", left_out))});
}

FillData FilledCovariates::data() const {
  FillData data = of_;
  if (warnings_.empty()) return data;
  data.x = x_;
  if (data.targets) data.targets = targets_;
  if (!values_.empty()) data.values = as_columns(values_);
  if (!truth_.empty()) data.truth = as_columns(truth_);
  data.covariate_std = std_;
  return data;
}

}  // namespace npzoo
