#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npzoo/engine/draws.h"
#include "npzoo/engine/init.h"
#include "npzoo/engine/module.h"
#include "npzoo/models/blocks/layer_norm.h"
#include "npzoo/models/blocks/linear.h"

namespace npzoo {

// Parts of Autoformer and Informer, as in github.com/thuml/Autoformer @51c7d41. Rows of a series are its steps: (B, L,
// ·).

/// Intermediate results, for comparisons with a recording.
struct SeriesTrace {
  Tensor encoded;                      // (B, ·, E)
  Tensor decoded;                      // (B, label + Nt, ·), what the decoder says of known and of asked steps
  Tensor trend;                        // Autoformer: of the same steps, the part of their mean that is no season
  std::vector<Tensor> correlations{};  // Autoformer: (B, L) of each auto-correlation
  std::vector<Tensor> weights{};       // Autoformer: (B, L) of each delay in each of them, 0 unless it is chosen
  std::vector<Tensor> chosen{};        // Informer: (B, H, L) of each sparse attention, 1 for queries that attend
};

/// One walk through the layers.
struct SeriesPass {
  Draws& draws;
  bool training = false;
  double dropout = 0;
  SeriesTrace* trace = nullptr;

  Tensor dropped(const Tensor& x) const;
};

/// x (B, L, C) with `count` rows of its end in front and as many of its start behind, as if it went round:
/// (B, L + 2 count, C). L ≥ 1.
Tensor circular(const Tensor& x, std::int64_t count);

/// Values by a circular convolution of three steps, and features of their times by a matrix, added up.
class SeriesEmbedding {
 public:
  /// `positions`: sine and cosine of a step's number are added too (Vaswani et al. 2017).
  SeriesEmbedding(std::int64_t dim_y, std::int64_t marks, std::int64_t width, bool positions, Initializer& init);

  /// y (B, L, Dy), marks (B, L, M) → (B, L, E)
  Tensor operator()(const Tensor& y, const Tensor& marks, const SeriesPass& pass) const;

  void visit(ModuleVisitor& visitor);

  Parameter value;             // (3, Dy, E)
  std::optional<Linear> time;  // (E, M), without bias; none if there are no features

 private:
  bool positions_;
};

/// width → hidden → width.
class SeriesNetwork {
 public:
  SeriesNetwork(std::int64_t width, std::int64_t hidden, bool biases, bool gelu, Initializer& init);

  Tensor operator()(const Tensor& x, const SeriesPass& pass) const;
  void visit(ModuleVisitor& visitor);

  Linear expand, contract;

 private:
  bool gelu_;
};

/// Projections of an attention of any kind, of one width.
struct SeriesProjections {
  SeriesProjections(std::int64_t width, Initializer& init);
  void visit(ModuleVisitor& visitor);

  Linear query, key, value, out;
};

}  // namespace npzoo
