#pragma once

#include <vector>

#include "npzoo/models/blocks/growing_rows.h"
#include "npzoo/models/blocks/transformer.h"

namespace npzoo {

/// A transformer of two streams in which the order of the context counts (Mortimer et al., "Incremental transformer
/// neural processes", ICML 2026). In each layer a context point attends to itself and to the points before it. Then the
/// targets attend to the states that leave that layer. The two streams have weights of their own; all layers of a
/// stream start equal.
///
/// What a context point is in a layer never depends on later points. So its keys and values are computed once and kept:
/// `extend` encodes the new points alone.
class CausalTransformer {
 public:
  /// Keys and values of both streams in each layer; memory for all points of a context.
  struct Cache {
    GrowingRows rows{};  // 4 arrays a layer: keys and values of the context, then those for targets
    Tensor lengths{};    // (B) int64: real points of each row, which come first; undefined: all of them
  };

  CausalTransformer(const TransformerConfig& config, Initializer& init);

  /// Returns the cache of the points in `before` and of more: tokens (B, n, E), of which `lengths` are real. If
  /// `leaving` is given, appends to it the states (B, n, E) of these points that leave each layer. Throws Error if the
  /// cache comes from another number of layers or of batch elements.
  Cache extend(const Cache& before, const Tensor& tokens, const Tensor& lengths,
               std::vector<Tensor>* leaving = nullptr) const;
  /// Returns which points of a cache are real.
  static PrefixMask real_points(const Cache& cache) {
    return cache.lengths.defined() ? PrefixMask::lengths(cache.lengths) : PrefixMask::first(cache.rows.count());
  }
  /// Returns the keys and values that further context points read in layer `i`, as `read_by_targets`.
  KeysValues read_by_context(const Cache& cache, std::size_t i) const;
  /// Returns the keys and values that targets read in layer `i`. They may have room behind the points of the context.
  KeysValues read_by_targets(const Cache& cache, std::size_t i) const;
  /// tokens (B, Nt, E) → (B, Nt, E). `mask` tells which points of the context a target sees.
  Tensor query(const Cache& cache, const Tensor& tokens, const PrefixMask& mask) const;
  /// The same, each target seeing all real points.
  Tensor query(const Cache& cache, const Tensor& tokens) const { return query(cache, tokens, real_points(cache)); }

  void visit(ModuleVisitor& visitor);

  std::vector<TransformerLayer> context_layers, target_layers;

 private:
  void check_fits(const Cache& cache, std::int64_t batch) const;
};

}  // namespace npzoo
