#pragma once

#include <optional>
#include <vector>

#include "npzoo/models/blocks/convolution.h"
#include "npzoo/models/forecast/prob_attention.h"
#include "npzoo/models/forecast/series_model.h"
#include "npzoo/ops/batch_norm/batch_norm.h"

namespace npzoo {

struct InformerConfig {
  SeriesConfig series;
  std::int64_t width = 512, hidden = 2048, heads = 8;
  std::int64_t encoder_layers = 2, decoder_layers = 1;
  std::int64_t factor = 5;  // of sparse attention
  bool distil = true;       // halves the series between the encoder's layers
  bool sparse_cross = false;
  bool scrambled = false;
  bool gelu = true;

  ProbAttentionConfig attention(bool causal) const { return {width, heads, factor, causal, scrambled}; }
};

/// Attention to all keys, or sparse attention.
class InformerCrossAttention {
 public:
  InformerCrossAttention(const InformerConfig& config, Initializer& init);

  Tensor operator()(const Tensor& x, const Tensor& memory, const SeriesPass& pass) const;
  void visit(ModuleVisitor& visitor) { attention.visit(visitor); }

  ProbAttention attention;  // or the projections of full attention

 private:
  std::int64_t heads_;
  bool sparse_;
};

class InformerEncoderLayer {
 public:
  InformerEncoderLayer(const InformerConfig& config, Initializer& init);

  Tensor operator()(const Tensor& x, const SeriesPass& pass) const;
  void visit(ModuleVisitor& visitor);

  ProbAttention attention;
  SeriesNetwork network;
  LayerNorm norm1, norm2;
};

class InformerDecoderLayer {
 public:
  InformerDecoderLayer(const InformerConfig& config, Initializer& init);

  Tensor operator()(const Tensor& x, const Tensor& memory, const SeriesPass& pass) const;
  void visit(ModuleVisitor& visitor);

  ProbAttention self;
  InformerCrossAttention cross;
  SeriesNetwork network;
  LayerNorm norm1, norm2, norm3;
};

/// A circular convolution with batch normalisation, ELU, and the largest of each three steps, every other one:
/// L → ⌊(L + 1) / 2⌋ + 1.
class DistillingLayer {
 public:
  DistillingLayer(std::int64_t width, Initializer& init);

  /// `found` becomes the statistics of the batch, if it is given.
  Tensor operator()(const Tensor& x, bool training, BatchNorm* found = nullptr) const;
  void keep(const BatchNorm& found);
  void visit(ModuleVisitor& visitor);

  Convolution convolution;
  Parameter gain, bias;      // (E)
  Parameter mean, variance;  // (E), of what batches in training had
};

/// Informer (Zhou et al., "Informer: beyond efficient transformer for long sequence time-series forecasting", AAAI
/// 2021) as in github.com/thuml/Autoformer @51c7d41. The decoder is shown the last known steps and zeros in the place
/// of the others. Without dropout of attention weights.
///
/// The authors' is a point forecast; with `gaussian`, the last layer gives deviations as well.
class Informer final : public SeriesModel {
 public:
  Informer(const InformerConfig& config, Initializer& init);

  void before_step(const Task& task, const Draws& draws) override;
  void visit(ModuleVisitor& visitor) override;

  SeriesEmbedding encoder_embedding, decoder_embedding;
  std::vector<InformerEncoderLayer> encoder;
  std::vector<DistillingLayer> distilling;
  LayerNorm encoder_norm;
  std::vector<InformerDecoderLayer> decoder;
  LayerNorm decoder_norm;
  Linear head;  // (out, E)

 protected:
  Tensor encode(const History& history, const SeriesPass& pass) const override;
  Tensor decode(const History& history, const Tensor& memory, const Tensor& marks,
                const SeriesPass& pass) const override;

 private:
  Tensor encode(const History& history, const SeriesPass& pass, std::vector<BatchNorm>* found) const;

  InformerConfig config_;
};

}  // namespace npzoo
