#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace npzoo {

/// Place of a moment in a calendar, from −½ for the least to ½ for the greatest, such as midnight and 23 h (Zhou et
/// al., "Informer", AAAI 2021, and its successors: "timeF").
struct CalendarFeature {
  std::string_view name;      // in protocols, "hour-of-day"
  double (*at)(double days);  // since 1970-01-01
};

/// minute-of-hour, hour-of-day, day-of-week (from Monday), day-of-month, day-of-year.
std::span<const CalendarFeature> calendar_features();

}  // namespace npzoo
