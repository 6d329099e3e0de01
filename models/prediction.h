#pragma once

#include <string>

#include "npzoo/datasets/distributions/distribution.h"
#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/datasets/task.h"
#include "npzoo/engine/draws.h"

namespace npzoo {

/// Mean and standard deviation of each channel of each target: (B, Nt, Dy).
struct Moments {
  Tensor mean;
  Tensor std;
};

/// The distribution of each channel of each target by itself: a mixture of K Gaussians, of the channel's value or of
/// its logarithm. K = 1 is one Gaussian. The channels of a target come from the same one of the K.
///
/// Or a distribution of another family, with its parameters: `mean` and `std` are then its moments, K = 1, and the
/// functions below compute with the distribution itself.
struct Marginals {
  Tensor mean;          // (K, B, Nt, Dy)
  Tensor std;           // (K, B, Nt, Dy)
  Tensor log_weight{};  // (K, B, Nt), logarithms of what adds up to 1 over K; undefined: all are as likely
  Scale scale = Scale::linear;
  /// Channels of y behind these that hold names of classes, such as the mark of an event.
  std::int64_t labels = 0;
  const Distribution* distribution = nullptr;  // null: Gaussians
  Tensor parameters{};                         // (P, B, Nt, Dy), those of `distribution`
};

/// Throws Error, opened by `[where]`, if the marginals are of another family than Gaussians.
void check_gaussian(const Marginals& marginals, const char* where);

// Figures of marginals, computed in double; float64 on the CPU. y is (B, Nt, Dy + labels); labels are ignored, and only
// the marginals' Dy channels have figures.

/// Returns the marginals on the CPU in float64. Call it once before several of the functions below.
Marginals on_host(const Marginals& marginals);
/// Returns the moments of the values, by the law of total variance.
Moments moments(const Marginals& marginals);
/// Returns log p(y) of each target, channels together and without labels: (B, Nt), nats.
Tensor log_likelihood(const Marginals& marginals, const Tensor& y);
/// Returns P(Y ≤ y), (B, Nt, Dy).
Tensor cdf(const Marginals& marginals, const Tensor& y);
/// Returns the probability of the smallest central interval that holds y: |2 P(Y ≤ y) − 1|, (B, Nt, Dy). Of a value
/// that has a probability itself, P(Y ≤ y) is replaced by a pseudo-random number between P(Y < y) and P(Y ≤ y), see
/// npzoo/datasets/distributions/distribution.h; it is a function of the parameters and the place.
Tensor central_mass(const Marginals& marginals, const Tensor& y);
/// Continuous ranked probability score in units of y, (B, Nt, Dy); takes time quadratic in K (see
/// npzoo/datasets/scores.h).
Tensor crps(const Marginals& marginals, const Tensor& y);
/// Returns the least value with P(Y ≤ value) ≥ p, (B, Nt, Dy). Throws Error unless 0 < p < 1.
Tensor quantile(const Marginals& marginals, double p);

/// Replaces the logarithm of 0, and of all numbers below the least float32, in recorded densities on a logarithmic
/// scale. So padding, which is 0 and has weight 0, adds nothing to a loss; −∞ would make the loss NaN.
inline constexpr double kLeastLogarithm = -88;

/// How the densities of each target by itself, and of all together, are computed.
struct DensityForms {
  std::string marginal = "exact", joint = "exact";
  bool paths = false;  // marginals take a walk over the targets for each of many samples
};

/// A model's prediction of targets. npzoo/models/predictions holds the kinds; users of a prediction need not know its
/// kind. It shares the parts of the model and the state that it needs. So it may outlive both, and further training
/// does not change it. All functions may be called from several threads at the same time.
class Prediction {
 public:
  virtual ~Prediction() = default;

  /// Returns the distribution of each target by itself, in the model's dtype, on its device.
  virtual Marginals marginals() const = 0;
  /// Returns log p(y) of each target by itself, channels together: (B, Nt), nats. In the model's dtype, recorded if a
  /// recording is on. By default the density of the marginals, which leave out labels.
  virtual Tensor log_likelihood(const Tensor& y) const;
  /// Returns log p(y) of all targets of a task together: (B), nats; float64 on the CPU, computed in double.
  virtual Tensor joint_log_likelihood(const Tensor& y) const = 0;
  /// Samples all targets jointly, (n, B, Nt, Dy + labels), float64 on the CPU.
  virtual Tensor sample(std::int64_t n, Draws& draws) const = 0;
  /// Samples functions at all targets jointly, without the noise of observations, (n, B, Nt, Dy); float64 on the CPU.
  /// By default returns `sample`: most predictions do not separate a function's uncertainty from noise.
  virtual Tensor functions(std::int64_t n, Draws& draws) const { return sample(n, draws); }
  /// Returns how the densities are computed: "exact", or an approximation such as "50 samples".
  virtual DensityForms forms() const { return {}; }
};

/// Returns the moments of the marginals.
inline Moments moments(const Prediction& prediction) { return moments(prediction.marginals()); }

/// Returns the mean of the negative of log-likelihoods (B, Nt) over batch and points, in nats. With `weights` (B, Nt):
/// the mean over the batch of each row's weighted sum divided by `totals` (B), or by its weights' sum.
Tensor nll(const Tensor& log_likelihood, const Tensor& weights = {}, const Tensor& totals = {});
/// Returns the training objective of the deterministic models.
inline Tensor nll(const Prediction& prediction, const Tensor& y, const Tensor& weights = {},
                  const Tensor& totals = {}) {
  return nll(prediction.log_likelihood(y), weights, totals);
}

/// Converts a network's raw output to a standard deviation: a function, whose least value is `floor`, plus a constant.
struct StdForm {
  enum class Kind : std::uint8_t {
    exp,                // exp(s), no floor
    softplus,           // floor + (1 − floor) softplus(s)
    half_log_variance,  // floor + (1 − floor) exp(s / 2)
    root_softplus       // floor + √softplus(s)
  };
  Kind kind = Kind::exp;
  double floor = 0;
  double added = 0;

  double least() const { return floor + added; }
};

/// Returns standard deviations, or other scales, of raw outputs of any shape.
Tensor standard_deviation(const Tensor& raw, const StdForm& form);
/// Splits raw (…, Nt, 2 Dy) into mean and standard deviation.
Moments gaussian_head(const Tensor& raw, const StdForm& form);

}  // namespace npzoo
