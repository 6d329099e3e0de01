#pragma once

#include <span>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/applications/warning.h"

namespace npzoo {

/// The options that keep predictions within limits, as far as a warning may advise them.
struct LimitAdvice {
  bool bounds = true;       // --bounds works here
  bool transform = true;    // --transform auto works here, and is not given
  bool gaps_alone = false;  // rows with a value do not count: other columns helped the rows without one alone
};

/// Warns if a column of values seems to have a limit that nobody set. Either no observed value is negative, but at
/// least 5 % of the quantiles at .025 are below 0. Or the largest observed value is 1 or 100, seen in three rows, and
/// at least 5 % of the quantiles at .975 are above it. Both must be so by more than a hundredth of the range of the
/// values. Without these quantiles the outermost ones count, on their side of the median. Columns of fewer than ten
/// values, or of zeros, have no limit. Directions in degrees, which pass north again and again, get a warning instead.
std::vector<Warning> look_for_limits(std::span<const double> observed, const PredictedColumn& predicted,
                                     std::span<const double> quantiles, const std::string& name,
                                     const LimitAdvice& advice);

/// Looks for limits in an answer: at the bounds of 95 %, or, if the table is large and they are not printed, at the
/// outermost quantiles that are.
class LimitCheck {
 public:
  /// `data` has names and must outlive this.
  LimitCheck(const FillData& data, const FillOptions& options);

  /// The options for the answer, with the quantiles to look at.
  const FillOptions& options() const { return options_; }
  /// Adds warnings, and drops quantiles that were not asked for. `bounds`: --bounds works for this answer.
  void finish(bool bounds, FillResult& result) const;

 private:
  const FillData& data_;
  FillOptions options_;
  std::size_t printed_;  // quantiles that were asked for
};

}  // namespace npzoo
