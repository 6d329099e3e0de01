#pragma once

#include <cstdint>
#include <utility>

#include "npzoo/models/applications/tables/series_predictor.h"

namespace npzoo {

/// Options of prediction cell by cell (see LocalContexts).
struct LocalOptions {
  std::int64_t largest_context = 1024;  // rows; a series with more is split into cells
  std::int64_t neighbours = 128;        // rows of a cell's context
  /// Turns and stretches the two inputs of a series of one value that is split into cells, if its values vary less
  /// along a slanted line than across it (see find_turn). Both the choice of contexts and the model see the turned
  /// inputs.
  bool turn = true;
};

/// Predicts as `predictor.predict` does, but splits series with large contexts into cells. Each cell is standardised by
/// its own context and predicted as a small series. Results are for whole series, in the order of series and targets,
/// in the units of the whole series.
///
/// The result at a target depends on the observed points of its series and on the target's place: neither on the other
/// targets, nor on the order of rows, nor on the number of threads, to the bit. Models that draw functions or predict
/// targets jointly are the exception: they sample the targets of a cell together.
///
/// Contexts are made a batch of cells at a time, on the threads of the pool. Memory beyond the predictor's: that of
/// LocalContexts of one series, and its results until all are there.
void predict_locally(const SeriesPredictor& predictor, const LocalOptions& options, const SeriesPredictor::Next& next,
                     const SeriesPredictor::Take& take);

/// Weights as a method for series, cell by cell.
class LocalPredictor : public SeriesMethod {
 public:
  LocalPredictor(SeriesPredictor predictor, const LocalOptions& options)
      : predictor_(std::move(predictor)), options_(options) {}

  std::int64_t dim_y() const override { return predictor_.dim_y(); }
  Standardisation units_of(const Series& series) const override { return predictor_.units_of(series); }
  void predict(const Next& next, const Take& take) override { predict_locally(predictor_, options_, next, take); }

 private:
  SeriesPredictor predictor_;
  LocalOptions options_;
};

}  // namespace npzoo
