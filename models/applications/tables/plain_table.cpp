#include "npzoo/models/applications/tables/plain_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "npzoo/datasets/tables/sphere.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/applications/tables/covariate_check.h"

namespace npzoo {

PlainTable::PlainTable(const FillData& data)
    : of_(data), coordinates_(static_cast<std::size_t>(data.dim_x - data.covariates)) {
  check(data.covariates >= 0 && data.covariates < data.dim_x,
        "[predict] {} covariates of {} inputs found, expected fewer than inputs", data.covariates, data.dim_x);
  x_ = without_covariates(data.x);
  targets_ = without_covariates(data.targets.value_or(data.x));
  if (data.covariates > 0) {
    const LinearParts& parts = parts_.emplace(data);
    y_ = parts.values();
    truth_ = parts.truth();
  }
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

FillData PlainTable::data() const {
  FillData plain = of_;
  plain.dim_x = static_cast<std::int64_t>(coordinates_);
  plain.lonlat = false;
  plain.covariates = 0;
  plain.covariate_std = {};
  plain.x_groups.clear();
  plain.x = x_;
  if (plain.targets) plain.targets = targets_;
  plain.x_names.resize(coordinates_);
  if (!plain.x_forms.empty()) plain.x_forms.resize(coordinates_);
  if (!y_.empty()) plain.values = as_columns(y_);
  if (!truth_.empty()) plain.truth = as_columns(truth_);
  if (parts_) plain.added_variance = as_columns(parts_->variance());
  return plain;
}

void PlainTable::finish(FillResult& answer, std::uint64_t seed) const {
  std::vector<std::string> notes;
  if (parts_) {
    parts_->add_to(answer, seed);
    notes = parts_->notes();
    CovariateCheck check = check_covariate_values(of_);
    std::ranges::move(check.notes, std::back_inserter(notes));
    std::ranges::move(check.warnings, std::back_inserter(answer.warnings));
  }
  if (of_.lonlat) std::erase_if(answer.warnings, [](const Warning& w) { return w.about == "longitudes"; });
  notes.insert(notes.end(), notes_.begin(), notes_.end());
  answer.report.notes.insert(answer.report.notes.begin(), notes.begin(), notes.end());
  answer.report.columns.inputs = of_.x_names;
}

}  // namespace npzoo
