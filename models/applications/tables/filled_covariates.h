#pragma once

#include <functional>
#include <vector>

#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/applications/warning.h"

namespace npzoo {

/// Data whose covariates miss nothing. A missing one is predicted from the inputs that are no covariates and from the
/// other covariates of its row, as a value is; never from the values, whose effect it is to explain. Its standard
/// deviation reaches the answer (see FillData::covariate_std). Observed values beside a covariate that stays uncertain
/// are left out: their deviation from the effect of the covariate would count as noise of all rows.
class FilledCovariates {
 public:
  using Fill = std::function<FillResult(const FillData&, const FillOptions&)>;

  /// `data` must outlive this.
  FilledCovariates(const FillData& data, const FillOptions& options, const Fill& fill);

  FillData data() const;
  /// Tells what was predicted and what was left out; empty if nothing was.
  const std::vector<Warning>& warnings() const { return warnings_; }

 private:
  using Columns = std::vector<std::vector<double>>;

  bool fits_together() const;
  bool misses_any() const;
  Columns covariates() const;
  void predict(const FillOptions& options, const Fill& fill);
  void put(const Columns& covariates, const std::vector<std::size_t>& gaps, const FillResult& found);
  void leave_out(const std::vector<bool>& uncertain);

  const FillData& of_;
  std::size_t dim_x_, count_;
  std::vector<double> x_, targets_, std_;
  Columns values_, truth_;  // empty: as they are
  std::vector<Warning> warnings_;
};

}  // namespace npzoo
