#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/models/applications/tables/series_predictor.h"
#include "npzoo/models/predictions/components.h"

namespace npzoo {

/// The figures of predicted series: moments, quantiles, samples and scores, in the units of the table. A row of the
/// prediction is a series.
class SeriesFigures {
 public:
  /// `added` (B, Nt, Dy) are variances of independent errors, in the units of the model; undefined: none. `options`
  /// must live as long as this.
  SeriesFigures(const Prediction& prediction, const Tensor& added, const SeriesOptions& options, Draws& draws);

  /// Scores known values `y` (B, Nt, Dy), in the units of the model.
  void score(const Tensor& y);

  /// Appends the figures of the first targets of row `b`, at `places` (count, Dx). `truth` (count, Dy) is in the units
  /// of the table; if it is not empty, `score` must have been called.
  void append(std::int64_t b, const Series& series, std::span<const double> places, std::span<const double> truth,
              SeriesPrediction& out) const;

 private:
  void append_plain(std::int64_t b, std::int64_t count, SeriesPrediction& out) const;
  void append_scores(std::int64_t b, std::span<const double> truth, SeriesPrediction& out) const;
  /// The same through transforms of the values.
  void append_transformed(std::int64_t b, std::int64_t count, std::span<const ValueTransform> transforms,
                          SeriesPrediction& out) const;
  void append_transformed_scores(std::int64_t b, std::span<const double> truth,
                                 std::span<const ValueTransform> transforms, SeriesPrediction& out) const;
  /// Appends samples of targets that are sampled independently.
  void append_samples(std::int64_t b, const Series& series, std::span<const double> places,
                      SeriesPrediction& out) const;

  const SeriesOptions& options_;
  Marginals drawn_;      // what samples of each target are drawn from
  Marginals marginals_;  // with the added variances
  Moments moments_;
  std::vector<Tensor> quantiles_;
  Tensor samples_, log_density_, crps_, central_mass_;
};

}  // namespace npzoo
