#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/applications/tables/table_series.h"

namespace npzoo {

/// Checked data with names for all columns, and the table to predict.
class CompleteData {
 public:
  /// Throws Error if the arrays do not fit together or if a number is not finite.
  explicit CompleteData(FillData given);
  CompleteData(const CompleteData&) = delete;
  CompleteData& operator=(const CompleteData&) = delete;

  std::int64_t values() const { return data.places() * std::ssize(data.values); }

  FillData data;
  TableQuestion question{};

 private:
  std::vector<std::vector<double>> unseen_{};  // the truth without the values that were observed
};

/// Adds up the targets of which a method reports progress, each of `together` values, for the caller of `fill`. Empty
/// if nobody listens. `options` must outlive it.
std::function<void(std::int64_t targets)> summed_progress(const FillOptions& options, std::int64_t all,
                                                          std::int64_t together);

/// Throws Error for impossible quantiles, counts and sizes.
void check_options(const FillOptions& options);

/// Returns the number of inputs without the covariates. Throws Error unless there is one, and a group for each input or
/// for none.
std::int64_t check_covariates(const FillData& data);
/// The same for a Gaussian process, with longitudes and latitudes if there are any.
void check_gp_inputs(const CompleteData& data);

}  // namespace npzoo
