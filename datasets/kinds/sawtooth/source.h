#pragma once

#include <optional>
#include <utility>

#include "npzoo/datasets/integer_range.h"
#include "npzoo/datasets/task_source.h"

namespace npzoo {

/// The Fourier series of a sawtooth from 0 to 1, `frequency` teeth to a unit, cut off after `terms`:
/// ½ − 1/π Σ_k (−1)^k sin(2π k frequency (x + shift)) / k.
double sawtooth(double x, double frequency, double shift, std::int64_t terms);

/// Sawtooth waves as ConvCNP's code (github.com/cambridge-mlg/convcnp, `convcnp/data.py`) draws them: uniform
/// frequencies, shifts and numbers of terms, and no noise. SConvCNP's code (github.com/peiman-m/SpecConvCNP, `data.py`)
/// also draws heights.
struct SawtoothDistribution {
  double low = -2, high = 2;  // inputs are uniform on [low, high)
  double lowest_frequency = 3, highest_frequency = 5, lowest_shift = -5, highest_shift = 5;
  IntegerRange terms{10, 21}, context{3, 101}, targets{3, 101};  // Nc and Nt are those of a batch
  /// The range of heights of waves, which then have the middle 0. Without, waves go from 0 to 1.
  std::optional<std::pair<double, double>> heights{};
};

class SawtoothSource final : public TaskSource {
 public:
  SawtoothSource(const SawtoothDistribution& distribution, const SourceOptions& options)
      : distribution_(distribution), options_(options) {}

  Batch batch(std::uint64_t index) const override;
  Device device() const override { return options_.device; }

 private:
  SawtoothDistribution distribution_;
  SourceOptions options_;
};

}  // namespace npzoo
