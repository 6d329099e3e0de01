#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "npzoo/models/applications/tables/fill.h"

namespace npzoo {

/// The linear parts of the series of a table in its covariates, fitted to each series by a Gaussian process of the
/// other inputs, with the uncertainty of the slopes at each place.
class LinearParts {
 public:
  /// `data` has names and must outlive this.
  explicit LinearParts(const FillData& data);

  /// Returns the values without their linear parts, and the truths, if there are any.
  std::vector<std::vector<double>> values() const;
  std::vector<std::vector<double>> truth() const;
  /// The variance that the uncertainty of slopes and of predicted covariates adds at each place, of each value column.
  const std::vector<std::vector<double>>& variance() const { return variance_; }
  /// Adds the linear parts to predictions of `values`, made with these variances. Samples get draws of the slopes from
  /// random numbers of this seed.
  void add_to(FillResult& answer, std::uint64_t seed) const;
  /// Lines about the slopes for a table of predictions.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// The fit to one value of one group.
  struct Part {
    std::vector<GpSlope> slopes{};  // inputs are columns of the table
    std::vector<std::size_t> places{};
    std::vector<double> errors{};  // (places, S), see GaussianProcess::slope_errors

    double at(std::span<const double> row) const;
    PlaceSamples streams(std::uint64_t seed) const;
  };
  using Key = std::pair<std::size_t, std::uint32_t>;  // number of the value, group

  void add_covariate_errors(std::size_t value, const Part& part);
  void fit(const GpInputs& inputs, const Key& key, const std::vector<std::size_t>& rows, Part& part);
  std::vector<double> less(std::size_t value, std::span<const double> y, std::span<const double> x,
                           std::span<const std::uint32_t> groups) const;

  const FillData& of_;
  std::size_t dim_x_;
  std::span<const double> at_;  // the inputs of places
  std::span<const std::uint32_t> place_groups_;
  std::map<Key, Part> parts_;
  std::vector<std::vector<double>> variance_, of_covariates_;  // all of it, and the part of predicted covariates
  std::vector<std::string> notes_;
};

}  // namespace npzoo
