#pragma once

#include <memory>
#include <vector>

#include "npzoo/datasets/gaussian_processes/covariance.h"
#include "npzoo/models/applications/optimise/surrogate.h"

namespace npzoo {

/// A zero-mean Gaussian process with a lengthscale for each input.
struct GpHyperparameters {
  KernelKind kind = KernelKind::matern52;
  std::vector<double> lengthscales;  // (D), of inputs; a kernel with a period has equal ones
  double scale = 1;                  // a standard deviation
  double noise = 1e-3;               // a standard deviation, of every observation
  double period = 1;
  double second = 1;  // lengthscales of the other half of a mixture, relative to these
  /// The number of categories of each input (D), 0 for numbers; empty: all are numbers. Coordinate u of an input of n
  /// categories stands for category ⌊n u⌋. The distance between two categories is 1.
  std::vector<std::int64_t> categories{};

  bool is_category(std::size_t d) const { return !categories.empty() && categories[d] > 0; }
};

/// True for rbf, matern32 and matern52. Kernels with a period know no categories.
bool can_be_fitted(KernelKind kind);

/// Returns the hyper-parameters of the largest posterior density given standardised values of a function of the unit
/// cube (see climb_evidence), with the kind of `start`. Priors are log-normal: lengthscales around 0.4 D^¼ by a factor
/// of e, the scale around 1 by e, the noise around 10⁻³ by e² or, if that explains the values better by two nats,
/// around 0.3 by e. A fit looks at 256 observations at most, spread over all. Throws Error for a kernel with a period
/// and for the mixture.
GpHyperparameters fit_gp(const GpHyperparameters& start, std::span<const double> x, std::span<const double> y);

/// Exact posteriors of Gaussian processes, one for each task, of the function itself without noise.
class GpSurrogate final : public Surrogate {
 public:
  /// Known hyper-parameters of each task, in the units of inputs and values.
  explicit GpSurrogate(std::vector<GpHyperparameters> known);
  /// Hyper-parameters are those of maximum likelihood (see fit_gp) of values that are standardised, each time that
  /// `learn` is called.
  GpSurrogate(std::int64_t tasks, std::int64_t dims, KernelKind kind = KernelKind::matern52,
              std::vector<std::int64_t> categories = {});
  ~GpSurrogate() override;

  std::int64_t tasks() const override;
  std::int64_t dims() const override { return dims_; }
  void observe(std::span<const double> x, std::span<const double> y) override;
  void learn() override;
  Belief believe(std::span<const double> x) const override;
  Judged judge(std::span<const double> x, const Judge& judge) const override;
  std::vector<double> sample(std::span<const double> x, Draws& draws) const override;
  bool samples_functions() const override { return true; }
  double noise() const override;
  std::string name() const override { return fitted_ ? "gp" : "exact-gp"; }

 private:
  struct Process;

  /// Fills a belief about x and, unless they are empty, derivatives with respect to x.
  void describe(std::span<const double> x, Belief& belief, std::span<double> d_mean, std::span<double> d_std) const;

  std::int64_t dims_;
  bool fitted_;
  std::vector<Process> processes_;
};

}  // namespace npzoo
