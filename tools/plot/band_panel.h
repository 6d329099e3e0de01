#pragma once

#include <limits>
#include <string>
#include <vector>

#include "tools/plot/chart.h"

namespace npzoo::tools::plot {

/// Pairs (x, y), in any order.
struct Series {
  std::vector<double> x, y;
};

inline constexpr Range kNoLimits{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};

/// The prediction of another method.
struct OtherLine {
  std::string label;
  Series points;
};

/// A panel of predictions with one input: the line of means and the band mean ± 2 std over x, the context points, and
/// the true function if it is known. The legend names the prediction `name`, if it has one.
struct BandPanel {
  std::string name, x_label{}, y_label{};
  std::optional<TimeAxis> x_time{};
  Color color = palette(0);
  std::vector<double> x, mean, std;            // of equal length, in any order
  std::vector<std::vector<double>> samples{};  // functions at x, drawn as thin lines
  std::vector<Series> paths{};                 // sampled, of a part of x; also thin lines
  std::vector<OtherLine> others{};             // thin lines, each in a colour of its own
  Series context;
  Range limits = kNoLimits;  // of the band
  Series truth{};            // empty: not drawn
  Series history{};          // the same: a line of what was known before
};

/// Without title and ranges. Throws Error if lengths differ.
Panel make_panel(const BandPanel& shown);

}  // namespace npzoo::tools::plot
