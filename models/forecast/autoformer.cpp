#include "npzoo/models/forecast/autoformer.h"

#include <utility>

#include "npzoo/models/forecast/authors.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/moving_average/moving_average.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

struct Decomposition {
  Tensor season, trend;  // (B, L, ·)
};

Decomposition decompose(const Tensor& x, std::int64_t average) {
  const Tensor trend = moving_average(x, average);
  return {sub(x, trend), trend};
}

/// The mean over a series, `steps` times: (B, steps, C).
Tensor repeated_mean(const Tensor& x, std::int64_t steps) {
  return broadcast_to(reshape(mean(x, 1), {x.dim(0), 1, x.dim(2)}), {x.dim(0), steps, x.dim(2)});
}

}  // namespace

Tensor SeasonalNorm::operator()(const Tensor& x) const {
  const Tensor normal = norm(x);
  return sub(normal, reshape(mean(normal, 1), {x.dim(0), 1, x.dim(2)}));
}

AutoformerEncoderLayer::AutoformerEncoderLayer(const AutoformerConfig& config, Initializer& init)
    : attention(config.width, config.factor, init),
      network(config.width, config.hidden, false, config.gelu, init),
      average_(config.moving_average) {}

Tensor AutoformerEncoderLayer::operator()(const Tensor& x, const SeriesPass& pass) const {
  const Tensor h = decompose(add(x, pass.dropped(attention(x, x, pass))), average_).season;  // (B, L, E)
  return decompose(add(h, network(h, pass)), average_).season;                               // (B, L, E)
}

void AutoformerEncoderLayer::visit(ModuleVisitor& visitor) {
  visitor("attention", attention);
  visitor("network", network);
}

AutoformerDecoderLayer::AutoformerDecoderLayer(const AutoformerConfig& config, Initializer& init)
    : self(config.width, config.factor, init),
      cross(config.width, config.factor, init),
      network(config.width, config.hidden, false, config.gelu, init),
      trend{init.convolution_weight({3, config.width, config.series.dim_y})},
      average_(config.moving_average) {}

AutoformerDecoderLayer::Parts AutoformerDecoderLayer::operator()(const Tensor& x, const Tensor& memory,
                                                                 const SeriesPass& pass) const {
  const auto [first, trend1] = decompose(add(x, pass.dropped(self(x, x, pass))), average_);  // (B, L, E)
  const auto [second, trend2] = decompose(add(first, pass.dropped(cross(first, memory, pass))), average_);
  auto [season, trend3] = decompose(add(second, network(second, pass)), average_);
  const Tensor trends = add(add(trend1, trend2), trend3);
  return {std::move(season), convolution(circular(trends, 1), trend.value, {})};
}

void AutoformerDecoderLayer::visit(ModuleVisitor& visitor) {
  visitor("self", self);
  visitor("cross", cross);
  visitor("network", network);
  visitor("trend", trend);
}

Autoformer::Autoformer(const AutoformerConfig& config, Initializer& init)
    : SeriesModel(config.series),
      encoder_embedding(config.series.dim_y, config.series.marks(), config.width, false, init),
      decoder_embedding(config.series.dim_y, config.series.marks(), config.width, false, init),
      encoder_norm(config.width),
      decoder_norm(config.width),
      head(config.width, config.series.out(), init),
      config_(config) {
  for (std::int64_t i = 0; i < config.encoder_layers; ++i) encoder.emplace_back(config, init);
  for (std::int64_t i = 0; i < config.decoder_layers; ++i) decoder.emplace_back(config, init);
}

Tensor Autoformer::encode(const History& history, const SeriesPass& pass) const {
  Tensor h = encoder_embedding(history.y, history.marks, pass);  // (B, L, E)
  for (const AutoformerEncoderLayer& layer : encoder) h = layer(h, pass);
  h = encoder_norm(h);
  if (pass.trace != nullptr) pass.trace->encoded = h;
  return h;
}

Tensor Autoformer::decode(const History& history, const Tensor& memory, const Tensor& marks,
                          const SeriesPass& pass) const {
  const std::int64_t steps = marks.dim(1);
  const auto [season, trend_before] = decompose(history.y, config_.moving_average);
  const Tensor unknown = Tensor::zeros(history.y.shape().with(1, steps), history.y.dtype(), history.y.device());
  Tensor trend = concat({last_known(trend_before), repeated_mean(history.y, steps)}, 1);  // (B, label + Nt, Dy)
  Tensor h = decoder_embedding(concat({last_known(season), unknown}, 1), concat({last_known(history.marks), marks}, 1),
                               pass);  // (B, label + Nt, E)
  for (const AutoformerDecoderLayer& layer : decoder) {
    AutoformerDecoderLayer::Parts parts = layer(h, memory, pass);
    h = std::move(parts.season);
    trend = add(trend, parts.trend);
  }
  const Tensor raw = head(decoder_norm(h));  // (B, label + Nt, out)
  const std::int64_t all = raw.dim(1), channels = dim_y(), from = all - steps;
  if (pass.trace != nullptr) {
    pass.trace->decoded = raw;
    pass.trace->trend = trend;
  }
  const Tensor mean_of = add(slice(slice(raw, 2, 0, channels), 1, from, all), slice(trend, 1, from, all));
  if (!config_.series.gaussian) return mean_of;
  return concat({mean_of, slice(slice(raw, 2, channels, 2 * channels), 1, from, all)}, 2);  // (B, Nt, 2 Dy)
}

void Autoformer::visit(ModuleVisitor& visitor) {
  visitor("encoder_embedding", encoder_embedding);
  visitor("decoder_embedding", decoder_embedding);
  visitor("encoder", encoder);
  visitor("encoder_norm", encoder_norm);
  visitor("decoder", decoder);
  visitor("decoder_norm", decoder_norm);
  visitor("head", head);
}

namespace {

std::unique_ptr<Model> make_autoformer(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "autoformer");
  AutoformerConfig c;
  c.series.read(reader);
  c.width = reader.size("d_model", "width of tokens");
  c.hidden = reader.size("d_ff", "width of the feed-forward networks");
  c.encoder_layers = reader.depth("e_layers", "encoder layers");
  c.decoder_layers = reader.depth("d_layers", "decoder layers");
  c.moving_average = reader.size("moving_avg", "points of the moving average; an odd number");
  check(c.moving_average % 2 == 1, "[autoformer] moving_avg {} found, expected an odd number", c.moving_average);
  constexpr NumberRule kFactor{[](double x) { return x > 0 && x <= 1000; }, "a number > 0, up to 1000"};
  c.factor = reader.number("factor", "delays that auto-correlation keeps, per logarithm of the length", kFactor);
  c.gelu = read_activation(reader);
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<Autoformer>(c, init);
}

constexpr PublishedSize kAutoformerSizes[] = {
    {"autoformer/exchange", 1'905, R"({"d_model": 8, "d_ff": 12, "moving_avg": 5, "label_len": 6, "gaussian": false})"},
};

constexpr const char* kSmallAutoformers[] = {
    R"({"label_len": 3, "d_model": 6, "d_ff": 8, "e_layers": 2, "d_layers": 1, "moving_avg": 3, "factor": 1, "activation": "gelu"})",
    R"({"label_len": 2, "d_model": 6, "d_ff": 8, "e_layers": 1, "d_layers": 2, "moving_avg": 5, "factor": 2, "activation": "relu", "gaussian": false})",
};

}  // namespace

ModelInfo autoformer_info() {
  return {
      .name = "autoformer",
      .title = "Autoformer, forecasts at one shot by auto-correlation of decomposed series",
      .paper = "Wu et al., Autoformer: decomposition transformers with auto-correlation, NeurIPS 2021",
      .make = make_autoformer,
      .small_forms = kSmallAutoformers,
      .sizes = kAutoformerSizes,
      .authors = autoformer_authors(),
      .density = Density::joint,
      .takes = TaskForm::series,
      .input_gradients = false,  // places are not looked at
  };
}

}  // namespace npzoo
