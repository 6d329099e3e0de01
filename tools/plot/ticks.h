#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace npzoo::tools::plot {

struct Range {
  double low = 0.0;
  double high = 1.0;
};

/// From the least to the largest of some values that can be drawn: those that are not finite, or so large that the
/// width of a range would not be, are left out. Where none is left `low` is above `high`.
Range range_of(std::initializer_list<std::span<const double>> values);

struct Tick {
  double value;
  std::string label;
};

/// Ticks at multiples of 1, 2 or 5 times a power of ten inside `range`, about `count` of them. None if the range is
/// empty, not finite, or of a width outside 1e-200 to 1e200.
std::vector<Tick> nice_ticks(Range range, int count);

/// An axis of time: values are days since the midnight that day `epoch` begins with, counted from 1970-01-01.
struct TimeAxis {
  std::int64_t epoch = 0;
};

/// Ticks where years, months, days, hours, minutes or seconds begin, at most `count`, with labels such as 2026,
/// Apr 2026, Apr 3, 06:00 and 06:00:30; a midnight among hours is labelled by its day. Ticks of decimal numbers if the
/// range is shorter than a minute or leaves the years 1 to 9999.
std::vector<Tick> date_ticks(Range range, const TimeAxis& axis, int count);

/// The years that a range of time lies in, "2026" or "2025 to 2026", if its ticks do not say them; else empty.
std::string years_of(Range range, const TimeAxis& axis, int count);

}  // namespace npzoo::tools::plot
