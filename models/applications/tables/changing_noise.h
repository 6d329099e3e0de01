#pragma once

#include "npzoo/models/applications/tables/series_predictor.h"

namespace npzoo {

/// A method whose deviations follow the size of its errors along the input, where this changes clearly: a series of one
/// input, one value, no transform and 40 to 1000 points, whose differences from their neighbours change in size (see
/// find_local_scale). There `trials` predicts each tenth of the points from the others. If its errors over their
/// deviations change in size as well, deviations, quantiles, samples and scores at each place are multiplied by that
/// size. No deviation becomes smaller than the errors beside it are. Means stay.
class ChangingNoise final : public SeriesMethod {
 public:
  /// `trials` is the same method without progress, quantiles and samples. Both must outlive this.
  ChangingNoise(SeriesMethod& method, SeriesMethod& trials) : method_(method), trials_(trials) {}

  std::int64_t dim_y() const override { return method_.dim_y(); }
  Standardisation units_of(const Series& series) const override { return method_.units_of(series); }
  void predict(const Next& next, const Take& take) override;

 private:
  SeriesMethod& method_;
  SeriesMethod& trials_;
};

}  // namespace npzoo
