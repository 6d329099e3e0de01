#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/models/prediction.h"

namespace npzoo {

/// Random numbers for the targets of one series that are sampled each by itself. Those of a target follow from the
/// seed, the observed points and the target's place: neither other targets nor the order of a table changes a sample.
class PlaceSamples {
 public:
  /// x (n, Dx) and y (n, Dy) are the observed points.
  PlaceSamples(std::uint64_t seed, std::span<const double> x, std::span<const double> y);

  /// Returns the random numbers of a target at `place`, or of anything else that these numbers name.
  Random stream(std::span<const double> place) const;
  /// Appends (Dy, count) values of a target at `place`, in the units of the marginals, which are float64 on the CPU.
  /// More samples begin with the same ones.
  void draw(const Marginals& marginals, std::int64_t task, std::int64_t target, std::span<const double> place,
            std::int64_t count, std::vector<double>& values) const;

 private:
  std::uint64_t seed_, points_;
};

}  // namespace npzoo
