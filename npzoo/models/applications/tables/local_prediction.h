#pragma once

#include <cstdint>

#include "npzoo/models/applications/tables/series_predictor.h"

namespace npzoo {

/// Which series are answered by tiles (see LocalContexts), and by how large ones.
struct LocalOptions {
  std::int64_t largest_context = 1024;  // rows; a series with more goes as tiles
  std::int64_t neighbours = 128;        // rows of a tile's context
};

/// As `predictor.predict`, but series with large contexts are split into tiles, each standardised by itself, which the
/// predictor answers as it does small series. What comes back is that of whole series, in their order and that of their
/// targets, with the units that the whole series would have; samples are joint within a tile.
///
/// Tiles are made a batch at a time, on the threads of the pool; the bits of an answer do not depend on their number.
/// Memory beyond the predictor's: that of LocalContexts of one series, and answers until the series has all of them.
void predict_locally(const SeriesPredictor& predictor, const LocalOptions& options, const SeriesPredictor::Next& next,
                     const SeriesPredictor::Take& take);

}  // namespace npzoo
