#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "npzoo/datasets/symmetric_factor.h"
#include "npzoo/models/applications/gaussian_process/gaussian_process.h"
#include "npzoo/models/applications/gaussian_process/gp_fit.h"
#include "npzoo/models/applications/gaussian_process/gp_scaling.h"
#include "npzoo/models/applications/neighbour_tree.h"

namespace npzoo {

/// A context that targets are predicted from: all points, or the nearest ones.
struct GpContext {
  GpBlock block;
  SymmetricFactor factor;
  std::vector<double> white;        // L⁻¹ (y − H β)
  std::vector<double> white_trend;  // L⁻¹ H, (n, P)
};

struct GaussianProcess::State {
  GpOptions options;
  std::vector<std::size_t> group_of, in_mean, slope_of;
  bool has_mean = true;
  GpScaling scaling;
  GpBlock all;  // scaled
  GpCovariance covariance;
  double noise = 0;  // scaled
  GpFit found{};
  std::vector<double> beta{};                 // (P), scaled
  std::optional<SymmetricFactor> of_trend{};  // Hᵀ K⁻¹ H and the precisions of slopes
  std::optional<GpContext> whole{};           // of an exact process
  std::vector<double> near_x{};               // inputs in lengthscales, (n, D)
  std::optional<NeighbourTree> tree{};

  std::size_t dims() const { return group_of.size(); }
  std::size_t width() const { return has_mean ? in_mean.size() + 1 : 0; }
  bool exact() const { return std::ssize(all.y) <= options.largest_exact; }

  /// (m, P), of scaled inputs.
  std::vector<double> trend(std::span<const double> x) const {
    std::vector<double> h;
    for (std::size_t i = 0; has_mean && i < x.size() / dims(); ++i) {
      h.push_back(1);
      for (const std::size_t d : in_mean) h.push_back(x[i * dims() + d]);
    }
    return h;
  }

  /// Scales inputs (n, D) by lengthscales, so that neighbours are points that the kernel correlates.
  std::vector<double> in_lengthscales(std::span<const double> x) const {
    const std::vector<double> lengths = covariance.shortest();
    std::vector<double> places(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      if (const std::size_t group = group_of[i % dims()]; group != kMeanOnly) places[i] = x[i] / lengths[group];
    return places;
  }

  GpContext context(GpBlock block) const {
    std::vector<double> k = covariance.between(block.x, block.x);
    const std::size_t n = block.size();
    for (std::size_t i = 0; i < n; ++i) k[i * n + i] += noise * noise;
    GpContext c{std::move(block), SymmetricFactor(std::move(k), static_cast<std::int64_t>(n)), {}, {}};
    c.white = c.block.y;
    c.white_trend = c.block.trend;
    c.factor.solve_lower(c.white);
    c.factor.solve_lower(c.white_trend);
    return c;
  }

  static std::unique_ptr<State> of(const GpPoints& points, const GpOptions& options, GpKernel kernel);
  std::vector<GpBlock> blocks_with_trends();
  double unit(const GpParameter& p) const;
  void settle(GpCovariance fitted, std::span<const double> values, const std::vector<GpBlock>& blocks);
  std::vector<double> values_of(const GpCovariance& of, std::span<const double> logs) const;
  void estimate_trend(const std::vector<GpBlock>& blocks);
  void describe();
  double small_sample_factor() const;
  void find_neighbours();
  GpContext nearest_context(const double* target) const;
  std::vector<double> explained(const GpContext& c, std::span<const double> x) const;
  std::vector<double> open_trend(const GpContext& c, std::span<const double> h, std::span<const double> v) const;
  void at(const GpContext& c, std::span<const double> x, std::span<double> mean, std::span<double> variance) const;
  std::vector<double> joint(std::span<const double> x) const;
};

}  // namespace npzoo
