#pragma once

#include <string>
#include <vector>

#include "npzoo/models/blocks/transformer.h"
#include "npzoo/ops/masked_attention/distance_bias.h"

namespace npzoo {

/// Columns [begin, end) of inputs, and how distances between them enter the scores of attention.
struct CoordinateBias {
  std::string group;  // its name among the weights
  std::int64_t begin = 0, end = 0;
  BiasForm form = BiasForm::rbf;
  DistanceKind distance = DistanceKind::euclidean;
  std::int64_t terms = 5;
};

struct BiasedBlockConfig {
  std::int64_t width = 64, attention_width = 128, hidden = 256, heads = 4;
  std::int64_t scan_chunk = 1024;  // see AttentionOptions
  std::vector<CoordinateBias> biases{};
};

/// The bias of one group with the parameters of each head: a = b = 1 and c = 0 at the start, of a scalar bias a = −1.
class HeadBias {
 public:
  HeadBias(CoordinateBias bias, std::int64_t heads, Initializer& init);

  /// Between inputs from (B, Nq, Dx) and to (B, Nk, Dx).
  DistanceBias between(const Tensor& from, const Tensor& to) const;
  const std::string& group() const { return bias_.group; }
  void visit(ModuleVisitor& visitor);

  Parameter a, b{}, c{};  // (H, F), of a scalar bias (H)

 private:
  CoordinateBias bias_;
};

/// The block of BSA-TNP: TNP-KR's pre-norm block, whose attention has distance biases, with the tanh form of GELU
/// between its feed-forward layers. Queries and keys are points with inputs x (B, N, Dx).
class BiasedBlock {
 public:
  BiasedBlock(const BiasedBlockConfig& config, Initializer& init);

  KeysValues keys_values(const Tensor& context) const { return layer.keys_values(context); }
  /// h (B, Nq, E) at x → (B, Nq, E), attending to the context's points at xc.
  Tensor operator()(const Tensor& h, const Tensor& x, const KeysValues& context, const Tensor& xc,
                    const PrefixMask& mask) const;
  void visit(ModuleVisitor& visitor);

  TransformerLayer layer;
  std::vector<HeadBias> biases;

 private:
  AttentionOptions options_;
};

}  // namespace npzoo
