#pragma once

#include <span>

#include "npzoo/engine/draws.h"
#include "npzoo/engine/init.h"
#include "npzoo/engine/module.h"
#include "npzoo/models/model.h"

namespace npzoo {

struct TaylorFeaturesConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::int64_t encoding = 32;     // channels for each input
  double least = 0.1, most = 1;   // periods of the encoding: from the least on, over 100 times as much as between them
  double neighbour_noise = 0.01;  // deviation of what is added to neighbours' x; for two inputs alone
  bool local = true;              // features of neighbours; without them a point has its place and its value alone
  int order = 0;                  // p of the expansion that means are predicted relative to, 0 or 1
};

/// Inputs of the networks for some points, and the anchors of their predictions.
struct TaylorInputs {
  Tensor query;   // (R, n, xy width): of targets nothing that their own values tell
  Tensor key;     // (R, n, xy width): with it
  Tensor values;  // (R, n, Dy), y itself
  Tensor anchor;  // (R, n, Dy): the expansion around the nearest point; 0 without neighbours
  std::int64_t x_width;

  /// The last channels, which say nothing of values but the neighbours' x.
  Tensor of_x(const Tensor& features) const;
};

/// Points as they are known on R rows: a context, then targets.
struct TaylorPoints {
  Tensor x, y;  // (R, N, ·); y of targets whose values are not known is of no matter
  std::int64_t context;
  Tensor lengths{};  // as in Task
  Tensor noise{};    // (R, N, Dx²)
};

/// Features of points by their neighbours (npzoo/ops/local_taylor), derivatives normalised over the batch, with a gain
/// and a bias that are trained.
class TaylorFeatures {
 public:
  explicit TaylorFeatures(const TaylorFeaturesConfig& config);

  std::int64_t x_width() const;
  std::int64_t xy_width() const;
  /// Computes the inputs of points `first` …. `statistics` (2, C): means and variances to normalise derivatives by;
  /// undefined: the running ones.
  TaylorInputs operator()(const TaylorPoints& points, std::int64_t first, const Tensor& statistics = {}) const;

  /// Means and variances of the derivatives of all real points of a batch, in some orders of its targets (one at
  /// least): (2, C) of its dtype on its device.
  Tensor statistics(std::span<const TaylorPoints> orders, const Tensor& target_lengths) const;
  /// Goes a hundredth of the way to those of a batch.
  void keep(const Tensor& statistics);
  /// Draws the noise of the neighbours of `points` points; undefined if there is none.
  Tensor draw_noise(std::int64_t batch, std::int64_t points, const Tensor& like, Draws& draws) const;

  void visit(ModuleVisitor& visitor);

  Parameter gain, bias, mean, variance;  // (C), the last two not trained

 private:
  TaylorInputs without_neighbours(const TaylorPoints& points, std::int64_t first) const;
  Tensor encoded(const Tensor& x) const;

  TaylorFeaturesConfig config_;
};

}  // namespace npzoo
