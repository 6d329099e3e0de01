#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "npzoo/datasets/series/season.h"
#include "npzoo/datasets/series/smoothing.h"
#include "npzoo/models/applications/forecasts/series_ends.h"

namespace npzoo {

/// A forecast from some first part of a series: all of it, or less where the rest is held out.
struct EndPart {
  std::size_t series = 0;
  std::vector<double> y;
  std::vector<double> truth;  // empty: nothing is held out
  std::int64_t horizon = 0;
  std::vector<double> periods;
  bool takes_logarithms = true;
  std::array<EndPath, kEndMethods> methods{};
  std::optional<AveragedSmoothing> smoothing{};
  /// The values or their logarithms, without their season. Smoothing is fitted to them.
  struct Curve {
    SeriesTrend trend;
    std::vector<double> flat;
    std::vector<ExponentialSmoothing::Form> forms;
    std::vector<std::optional<ExponentialSmoothing>> fitted{};
  };
  std::optional<Curve> curve{}, log_curve{};  // the second of positive values
  struct Remainder {
    std::vector<double> regular{}, variance{};  // line and season behind the part, and their variance
    std::vector<double> left{};                 // values without these
  };
  Remainder values{};
  std::optional<Remainder> logarithms{};  // of positive values
};

/// The whole steps of the first period; 1 without one.
std::int64_t whole_period(std::span<const double> periods);

/// From logarithms back to values. So that no mean explodes, the deviation of a logarithm is 1 at most.
EndPath from_logarithms(GaussianPath logarithm);

/// Returns the parts of each series: all of it, and where it is long enough two of its first parts. Computes every
/// method but those of the weights; the threads of the pool share the fits, since a single series has many.
std::vector<std::vector<EndPart>> fit_parts(std::span<const SeriesEnd> ends);

}  // namespace npzoo
