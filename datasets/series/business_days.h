#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace npzoo {

/// Steps from one business day (Monday to Friday) to the next. Holidays are gaps.
struct BusinessDays {
  static constexpr double kMeanStep = 7.0 / 5;  // days

  std::int64_t epoch = 0;  // the day since 1970-01-01 that times count from
  std::int64_t first = 0;  // business days from Monday, 1969-12-29, to the first date

  /// Returns the time `steps` business days after the first date, in days since `epoch`.
  double time(std::int64_t steps) const;
  /// Returns how many business days after the first date this time is, which must be one.
  std::int64_t steps_to(double time) const;
};

/// Finds out whether ascending times (days since `epoch`) are business days. None if one is not, if there are fewer
/// than ten, or if a quarter of the business days between the first and the last is missing.
std::optional<BusinessDays> find_business_days(std::span<const double> times, std::int64_t epoch);

}  // namespace npzoo
