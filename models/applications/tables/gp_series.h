#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/models/applications/gaussian_process/gaussian_process.h"
#include "npzoo/models/applications/tables/series_predictor.h"

namespace npzoo {

/// Maps the inputs of a table to those of a Gaussian process: longitude and latitude become a point of the unit sphere.
struct GpInputs {
  std::int64_t dim_x = 1;  // of the table
  bool lonlat = false;     // the first two are longitude and latitude, in degrees
  std::vector<std::size_t>
      x_groups{};                    // (Dx): inputs with the same number share a lengthscale; empty: each has its own
  std::int64_t covariates = 0;       // the last ones: in the mean as well
  bool covariates_in_kernel = true;  // else in the mean alone
  /// (Dx): the columns of the table in the order of the process; empty: as they are.
  std::vector<std::size_t> order{};

  /// Sorts the covariates by name: answers then do not depend on the order in which they were named, to the last bit.
  void sort_covariates(std::span<const std::string> x_names);
  /// Returns the inputs of the `GaussianProcess`: (n, Dx) → (n, D).
  std::vector<double> operator()(std::span<const double> x) const;
  /// The shape of the points, without arrays.
  GpPoints shape() const;
  /// The names of inputs (D).
  std::vector<std::string> names(std::span<const std::string> of_table) const;
  /// The column of the table that input `d` is.
  std::size_t column(std::size_t d) const;
};

/// The name of a covariate of which `column` is a column: "soil" of "soil = clay" where `category` is true.
std::string covariate_name(const std::string& column, bool category);

/// A number by its name, such as "lengthscale of lon and lat". Lengthscales of the sphere are in its radii.
struct NamedValue {
  std::string name;
  double value = 0;
};
std::vector<NamedValue> named_values(const GpFit& fit, const GpInputs& inputs, std::span<const std::string> x_names);
/// The slopes of a fit. The effect of a category is relative to the mean of its column's categories.
struct NamedSlope {
  std::string name;
  double value = 0, std = 0;
  bool category = false;

  /// "linear part: 2.7 ± 0.2 for each unit of price".
  std::string text() const;
};
std::vector<NamedSlope> named_slopes(const GpFit& fit, const GpInputs& inputs, std::span<const std::string> x_names);
/// Returns a line about each slope but those of categories that no point has.
std::vector<std::string> describe_slopes(const GpFit& fit, const GpInputs& inputs,
                                         std::span<const std::string> x_names);
/// Returns lines about the fit for a table of predictions.
std::vector<std::string> describe_fit(const GpFit& fit, const GpInputs& inputs, std::span<const std::string> x_names);

struct GpSeriesOptions {
  GpInputs inputs{};
  GpOptions gp{};
  std::vector<double> quantiles{};
  std::int64_t samples = 0;
  std::uint64_t seed = 0;              // of samples
  std::vector<std::string> x_names{};  // of the table
  /// Called with the number of targets since the last call, by one thread at a time.
  std::function<void(std::int64_t)> progress{};
};

/// Predicts series by Gaussian processes, one fitted to each. Each series has one value.
class GpSeriesPredictor : public SeriesMethod {
 public:
  explicit GpSeriesPredictor(GpSeriesOptions options) : options_(std::move(options)) {}

  std::int64_t dim_y() const override { return 1; }
  Standardisation units_of(const Series& series) const override;
  void predict(const Next& next, const Take& take) override;
  /// The fits so far, in the order of the series.
  const std::vector<GpFit>& fits() const { return fits_; }
  /// True if the samples of every series so far are of all its targets together.
  bool drew_jointly() const { return jointly_; }
  /// Points that were left out since another one has the same inputs and value.
  std::int64_t copies() const { return copies_; }
  /// A line about series with targets behind their last point, along a single input; empty if there are none.
  std::string note_on_ends() const;

 private:
  struct Answer;
  Answer answer(const Series& series, std::uint64_t number) const;

  GpSeriesOptions options_;
  std::vector<GpFit> fits_;
  bool jointly_ = true;
  bool behind_ = false;  // whether a series has targets behind its last point
  std::int64_t copies_ = 0;
};

}  // namespace npzoo
