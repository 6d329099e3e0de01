#pragma once

#include <span>
#include <vector>

#include "npzoo/datasets/gaussian_processes/posterior.h"
#include "npzoo/datasets/task_source.h"

namespace npzoo {

/// The same tasks in double, on the CPU.
Task in_double(const Task& task);

/// One task of a batch: its own context points and its targets.
struct GpRow {
  Inputs xc;
  std::span<const double> yc;
  Inputs xt;
  std::span<const double> yt;

  /// Reads a row of a task in double on the CPU. The task must outlive it.
  GpRow(const Task& task, std::int64_t row);
};

/// The kernels of the tasks of a batch, with their exact posterior.
class GpTruth final : public Truth {
 public:
  /// A kernel for each task, and the standard deviations of the noise.
  GpTruth(std::vector<Kernel> kernels, double context_noise, double target_noise)
      : kernels_(std::move(kernels)), context_noise_(context_noise), target_noise_(target_noise) {}

  std::string name() const override { return "exact GP"; }
  /// Joint ones only where targets carry noise.
  std::optional<std::vector<double>> log_likelihood(const Task& task, Density density) const override;
  std::optional<Curve> curve(const Task& task, std::int64_t row, std::span<const double> x) const override;

  /// Given its true hyper-parameters.
  GpPosterior posterior(const GpRow& task, std::int64_t row) const;

  const std::vector<Kernel>& kernels() const { return kernels_; }
  double context_noise() const { return context_noise_; }
  double target_noise() const { return target_noise_; }

 private:
  std::vector<Kernel> kernels_;
  double context_noise_, target_noise_;
};

}  // namespace npzoo
