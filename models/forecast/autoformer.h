#pragma once

#include <vector>

#include "npzoo/models/blocks/convolution.h"
#include "npzoo/models/forecast/auto_correlation.h"
#include "npzoo/models/forecast/series_model.h"

namespace npzoo {

struct AutoformerConfig {
  SeriesConfig series;
  std::int64_t width = 512, hidden = 2048;
  std::int64_t encoder_layers = 2, decoder_layers = 1;
  std::int64_t moving_average = 25;  // steps, odd
  double factor = 1;                 // of the number of delays
  bool gelu = true;
};

/// Layer normalisation, less its mean over the steps of a series.
class SeasonalNorm {
 public:
  explicit SeasonalNorm(std::int64_t width) : norm(width, 1e-5) {}

  Tensor operator()(const Tensor& x) const;
  void visit(ModuleVisitor& visitor) { norm.visit(visitor); }

  LayerNorm norm;
};

class AutoformerEncoderLayer {
 public:
  AutoformerEncoderLayer(const AutoformerConfig& config, Initializer& init);

  Tensor operator()(const Tensor& x, const SeriesPass& pass) const;
  void visit(ModuleVisitor& visitor);

  AutoCorrelation attention;
  SeriesNetwork network;

 private:
  std::int64_t average_;
};

class AutoformerDecoderLayer {
 public:
  AutoformerDecoderLayer(const AutoformerConfig& config, Initializer& init);

  /// x (B, L, E) without its trends, and the trends as a change of the forecast.
  struct Parts {
    Tensor season;  // (B, L, E)
    Tensor trend;   // (B, L, Dy)
  };
  Parts operator()(const Tensor& x, const Tensor& memory, const SeriesPass& pass) const;
  void visit(ModuleVisitor& visitor);

  AutoCorrelation self, cross;
  SeriesNetwork network;
  Parameter trend;  // (3, E, Dy), of a circular convolution

 private:
  std::int64_t average_;
};

/// Autoformer (Wu, Xu, Wang and Long, "Autoformer: decomposition transformers with auto-correlation for long-term
/// series forecasting", NeurIPS 2021), github.com/thuml/Autoformer @51c7d41: layers that take the moving average out of
/// what they work on, and a forecast that is the sum of these trends and of a season.
///
/// The authors' is a point forecast; with `gaussian`, the layer that gives the season gives deviations as well.
class Autoformer final : public SeriesModel {
 public:
  Autoformer(const AutoformerConfig& config, Initializer& init);

  void visit(ModuleVisitor& visitor) override;

  SeriesEmbedding encoder_embedding, decoder_embedding;
  std::vector<AutoformerEncoderLayer> encoder;
  SeasonalNorm encoder_norm;
  std::vector<AutoformerDecoderLayer> decoder;
  SeasonalNorm decoder_norm;
  Linear head;  // (out, E)

 protected:
  Tensor encode(const History& history, const SeriesPass& pass) const override;
  Tensor decode(const History& history, const Tensor& memory, const Tensor& marks,
                const SeriesPass& pass) const override;

 private:
  AutoformerConfig config_;
};

}  // namespace npzoo
