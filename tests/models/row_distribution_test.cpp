#include "npzoo/models/applications/tables/row_distribution.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "npzoo/datasets/normal_distribution.h"

using namespace npzoo;

namespace {

using Kind = ValueTransform::Kind;

const ComonotonicSum kSum{-1, 0.8, {{0.6, 1.1, 0.5}, {0.2, 0.3, 1}}}, kGaussian{2, 1.3};

std::vector<ValueTransform> transforms() {
  ValueTransform none, limits, counts, root, logarithm, logit;
  limits.low = 0;
  limits.high = 4;
  counts.low = 0;
  counts.counts = true;
  root.kind = Kind::sqrt;
  root.low = 0;
  logarithm.kind = Kind::log;
  logarithm.low = 0.5;
  logit.kind = Kind::logit;
  logit.low = -1;
  logit.high = 3;
  return {none, limits, counts, root, logarithm, logit};
}

/// The figures of many equally probable values.
struct Drawn {
  std::vector<double> values;  // ascending
  double mean = 0, variance = 0;

  explicit Drawn(const RowDistribution& d) {
    constexpr int kCount = 40'000;
    for (int i = 0; i < kCount; ++i) values.push_back(d.at(normal_quantile((i + 0.5) / kCount)));
    for (const double v : values) mean += v / kCount;
    for (const double v : values) variance += (v - mean) * (v - mean) / kCount;
  }
  double crps(double y) const {
    double sum = 0;
    const auto count = static_cast<double>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double p = (static_cast<double>(i) + 0.5) / count, above = values[i] - y;
      sum += 2 * (above > 0 ? (1 - p) * above : -p * above) / count;
    }
    return sum;
  }
  double central_mass(double y) const {
    const auto count = static_cast<double>(values.size());
    const double below = static_cast<double>(std::ranges::count_if(values, [&](double v) { return v <= y; })) / count,
                 above = static_cast<double>(std::ranges::count_if(values, [&](double v) { return v >= y; })) / count;
    return std::max(0.0, 1 - 2 * std::min(below, above));
  }
};

}  // namespace

TEST_CASE("row distribution: figures are those of its quantiles, through every transform") {
  for (const ComonotonicSum& z : {kGaussian, kSum})
    for (const ValueTransform& transform : transforms()) {
      if (transform.kind == Kind::log && !z.parts.empty()) continue;  // no finite mean
      CAPTURE(z.parts.size());
      CAPTURE(static_cast<int>(transform.kind));
      CAPTURE(transform.counts);
      const RowDistribution d{z, transform, 0.25};
      const Drawn drawn(d);
      const ValueMoments m = d.moments();
      CHECK(m.mean == doctest::Approx(drawn.mean).epsilon(2e-3));
      CHECK(m.std == doctest::Approx(std::sqrt(drawn.variance)).epsilon(4e-2));
      for (const double y : {0.25, 1.25, 2.25, 3.25}) {
        CAPTURE(y);
        CHECK(d.crps(y) == doctest::Approx(drawn.crps(y)).epsilon(5e-3));
        CHECK(std::abs(d.central_mass(y) - drawn.central_mass(y)) < 1e-3);
      }
      CHECK(d.quantile(0.3) == d.at(normal_quantile(0.3)));
    }
}
