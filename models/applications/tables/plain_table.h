#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/applications/tables/linear_parts.h"

namespace npzoo {

/// Turns a table into one that weights can predict: longitudes and latitudes become places on a plane, and the linear
/// part in the covariates is subtracted from values.
class PlainTable {
 public:
  /// `data` has names, and must outlive this.
  explicit PlainTable(const FillData& data);

  /// Returns the table for the weights. It lives as long as this.
  FillData data() const;
  /// Adds the linear parts to an answer, with notes and warnings about them. `seed` is that of samples.
  void finish(FillResult& answer, std::uint64_t seed) const;

 private:
  std::vector<double> observed() const;
  std::vector<double> without_covariates(std::span<const double> x) const;

  const FillData& of_;
  std::size_t coordinates_;
  std::vector<double> x_, targets_;  // coordinates alone, on the map
  std::optional<LinearParts> parts_{};
  std::vector<std::vector<double>> y_, truth_;  // without the linear part
  std::vector<std::string> notes_;
};

}  // namespace npzoo
