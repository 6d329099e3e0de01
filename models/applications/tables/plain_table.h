#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "npzoo/models/applications/tables/fill.h"

namespace npzoo {

/// Turns a table into one that weights can predict: longitudes and latitudes become places on a plane, and the linear
/// part in the covariates is subtracted from values.
class PlainTable {
 public:
  /// `data` has names, and must outlive this.
  explicit PlainTable(const FillData& data);

  /// Returns the table for the weights. It lives as long as this.
  FillData data() const;
  /// Adds the linear parts to an answer, and a note about them.
  void finish(FillResult& answer) const;

 private:
  using SeriesKey = std::pair<std::size_t, std::uint32_t>;  // number of the value, group

  std::vector<double> observed() const;
  void subtract_linear_part();
  /// The linear part of a row of inputs, in one series; 0 if no slope was fitted.
  double linear_part(const SeriesKey& series, std::span<const double> row) const;
  std::vector<double> without_covariates(std::span<const double> x) const;
  void note_constant(const SeriesKey& series, std::span<const double> x);
  std::vector<Warning> unknown_effects() const;

  const FillData& of_;
  std::size_t coordinates_;
  std::vector<double> x_, targets_;             // coordinates alone, on the map
  std::vector<std::vector<double>> y_, truth_;  // without the linear part
  std::vector<double> centers_;                 // of the covariates, over observed rows
  std::map<SeriesKey, std::vector<GpSlope>> slopes_;
  std::map<SeriesKey, std::map<std::size_t, double>> constant_;  // covariates with one value in all observed rows
  std::vector<std::string> notes_;
};

}  // namespace npzoo
