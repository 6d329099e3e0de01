#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "npzoo/datasets/gaussian_processes/covariance.h"
#include "npzoo/datasets/integer_range.h"

namespace npzoo {

/// Distribution of a positive number.
struct PositivePrior {
  enum class Kind : std::uint8_t { constant, log_uniform, log_normal };

  Kind kind = Kind::constant;
  double a = 1;  // the constant, the lower bound, or the median
  double b = 0;  // the upper bound, or the deviation of the logarithm

  double draw(Random& random) const;
  bool operator==(const PositivePrior&) const = default;
};

/// One of n alternatives, with probabilities in proportion to weights.
template <std::size_t n>
struct Choice {
  std::array<double, n> weights{};

  std::size_t draw(Random& random) const {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    double left = sum * random.uniform();
    std::size_t which = 0;
    while (which + 1 < n && left >= weights[which]) left -= weights[which++];
    while (weights[which] == 0) --which;  // where rounding went past the last
    return which;
  }
  bool operator==(const Choice&) const = default;
};

/// How synthetic tables are drawn. Inputs are in the units of a model, in which each column of the context goes from −2
/// to 2, and standard deviations are relative to that of the signal. Shares are chances of a task, each by itself.
struct SyntheticDistribution {
  static constexpr std::array<std::string_view, 7> kKernels{"matern12",           "matern32", "matern52", "rbf",
                                                            "rational_quadratic", "periodic", "linear"};
  static constexpr std::array<std::string_view, 4> kPlaces{"regular", "uniform", "clustered", "transects"};
  static constexpr std::array<std::string_view, 5> kMissing{"gaps", "scattered", "forecast", "half", "clouds"};

  std::int64_t dims = 1;
  // Extents: one of each for a batch.
  IntegerRange context{1, 513};   // Nc, log-uniform
  double few = 0.15;              // share of batches with 10 points at most
  IntegerRange targets{16, 129};  // Nt, log-uniform

  // Places.
  Choice<kPlaces.size()> places{};
  Choice<kMissing.size()> missing{};
  double draped = 0;   // share whose last input is a smooth function of the others, and noise; three inputs only
  double mixed = 0.2;  // share with points missing in two ways
  double far = 0.1;    // share of the targets that may be anywhere within `reach`
  double reach = 4;    // targets are at most so far outside of the context's range

  // The signal.
  Choice<kKernels.size()> kernels{};
  IntegerRange terms{1, 4};          // kernels that are added up
  double products = 0.15;            // share of terms that are multiplied by a periodic kernel or a straight line
  PositivePrior lengthscale, alpha;  // alpha is a rational quadratic kernel's
  PositivePrior roughness;           // lengthscale of a periodic kernel within its period
  double least_period = 8;           // spacings of the data
  double longest_period = 3;         // periods are log-uniform
  double decaying = 0.8;             // share of the periodic terms that change …
  PositivePrior decay;               // … with a lengthscale of so many periods
  PositivePrior anisotropy;          // ratio of lengthscales, in a rotated frame; several inputs only
  double aligned = 0;                // share in which each term has its own ones along each input; three inputs only
  double trend = 0.25, steps = 0.15, cycles = 0.25;
  PositivePrior extra;  // standard deviation of each of these three, relative to that of the kernels
  double warped = 0.15;

  // Noise and what happens to values.
  double noiseless = 0.2;
  PositivePrior noise;        // a standard deviation, otherwise
  double least_noise = 1e-3;  // of every task: what measures, and rounding, leave
  double student = 0.15;      // share with Student's t for the noise
  PositivePrior freedom;      // its degrees of freedom
  double outliers = 0.1;      // share in which a few values are far off
  double exponentiated = 0.05, clipped = 0.04, rounded = 0.06;
  PositivePrior scale;      // of all values, which shows where the context is constant
  double least_std = 0.05;  // of a context that is not constant, relative to `scale`

  bool operator==(const SyntheticDistribution&) const = default;
};

}  // namespace npzoo
