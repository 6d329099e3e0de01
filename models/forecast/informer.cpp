#include "npzoo/models/forecast/informer.h"

#include "npzoo/engine/tape.h"
#include "npzoo/models/blocks/attention.h"
#include "npzoo/models/forecast/authors.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/max_pool/max_pool.h"

namespace npzoo {

namespace {

constexpr double kLayerNormEps = 1e-5;
constexpr std::int64_t kPool = 3;

}  // namespace

InformerCrossAttention::InformerCrossAttention(const InformerConfig& config, Initializer& init)
    : attention(config.attention(false), init), heads_(config.heads), sparse_(config.sparse_cross) {}

Tensor InformerCrossAttention::operator()(const Tensor& x, const Tensor& memory, const SeriesPass& pass) const {
  if (sparse_) return attention(x, memory, pass);
  const SeriesProjections& p = attention.projections;
  const Tensor found = attend(p.query(x), {.keys = p.key(memory), .values = p.value(memory)}, PrefixMask::all(),
                              {.heads = static_cast<int>(heads_)});  // (B, L, E)
  return p.out(found);
}

InformerEncoderLayer::InformerEncoderLayer(const InformerConfig& config, Initializer& init)
    : attention(config.attention(false), init),
      network(config.width, config.hidden, true, config.gelu, init),
      norm1(config.width, kLayerNormEps),
      norm2(config.width, kLayerNormEps) {}

Tensor InformerEncoderLayer::operator()(const Tensor& x, const SeriesPass& pass) const {
  const Tensor h = norm1(x, pass.dropped(attention(x, x, pass))).norm;  // (B, L, E)
  return norm2(h, network(h, pass)).norm;                               // (B, L, E)
}

void InformerEncoderLayer::visit(ModuleVisitor& visitor) {
  visitor("attention", attention);
  visitor("network", network);
  visitor("norm1", norm1);
  visitor("norm2", norm2);
}

InformerDecoderLayer::InformerDecoderLayer(const InformerConfig& config, Initializer& init)
    : self(config.attention(true), init),
      cross(config, init),
      network(config.width, config.hidden, true, config.gelu, init),
      norm1(config.width, kLayerNormEps),
      norm2(config.width, kLayerNormEps),
      norm3(config.width, kLayerNormEps) {}

Tensor InformerDecoderLayer::operator()(const Tensor& x, const Tensor& memory, const SeriesPass& pass) const {
  Tensor h = norm1(x, pass.dropped(self(x, x, pass))).norm;  // (B, L, E)
  h = norm2(h, pass.dropped(cross(h, memory, pass))).norm;   // (B, L, E)
  return norm3(h, network(h, pass)).norm;                    // (B, L, E)
}

void InformerDecoderLayer::visit(ModuleVisitor& visitor) {
  visitor("self", self);
  visitor("cross", cross);
  visitor("network", network);
  visitor("norm1", norm1);
  visitor("norm2", norm2);
  visitor("norm3", norm3);
}

DistillingLayer::DistillingLayer(std::int64_t width, Initializer& init)
    : convolution({{kPool}, width, width}, {}, init),
      gain{Tensor::full({width}, 1)},
      bias{Tensor::zeros({width})},
      mean{Tensor::zeros({width}), false},
      variance{Tensor::full({width}, 1), false} {}

Tensor DistillingLayer::operator()(const Tensor& x, bool training, BatchNorm* found) const {
  Tensor h = convolution(circular(x, 2));  // (B, L + 2, E)
  if (training) {
    BatchNorm normal = batch_norm(h, gain.value, bias.value);
    h = normal.out;
    if (found != nullptr) *found = normal;
  } else {
    h = batch_norm(h, mean.value, variance.value, gain.value, bias.value);
  }
  return max_pool(elu(h), {.width = kPool, .stride = 2, .padding = 1});
}

void DistillingLayer::keep(const BatchNorm& found) {
  const RunningStatistics now = running_statistics({mean.value, variance.value}, found);
  mean.value = now.mean;
  variance.value = now.variance;
}

void DistillingLayer::visit(ModuleVisitor& visitor) {
  visitor("convolution", convolution);
  visitor("gain", gain);
  visitor("bias", bias);
  visitor("mean", mean);
  visitor("variance", variance);
}

Informer::Informer(const InformerConfig& config, Initializer& init)
    : SeriesModel(config.series),
      encoder_embedding(config.series.dim_y, config.series.marks(), config.width, true, init),
      decoder_embedding(config.series.dim_y, config.series.marks(), config.width, true, init),
      encoder_norm(config.width, kLayerNormEps),
      decoder_norm(config.width, kLayerNormEps),
      head(config.width, config.series.out(), init),
      config_(config) {
  for (std::int64_t i = 0; i < config.encoder_layers; ++i) encoder.emplace_back(config, init);
  for (std::int64_t i = 1; config.distil && i < config.encoder_layers; ++i) distilling.emplace_back(config.width, init);
  for (std::int64_t i = 0; i < config.decoder_layers; ++i) decoder.emplace_back(config, init);
}

Tensor Informer::encode(const History& history, const SeriesPass& pass) const { return encode(history, pass, nullptr); }

Tensor Informer::encode(const History& history, const SeriesPass& pass, std::vector<BatchNorm>* found) const {
  Tensor h = encoder_embedding(history.y, history.marks, pass);  // (B, L, E)
  for (std::size_t i = 0; i < encoder.size(); ++i) {
    h = encoder[i](h, pass);
    if (i < distilling.size()) h = distilling[i](h, pass.training, found ? &(*found)[i] : nullptr);
  }
  h = encoder_norm(h);
  if (pass.trace != nullptr) pass.trace->encoded = h;
  return h;
}

Tensor Informer::decode(const History& history, const Tensor& memory, const Tensor& marks,
                        const SeriesPass& pass) const {
  const std::int64_t steps = marks.dim(1);
  const Tensor unknown = Tensor::zeros(history.y.shape().with(1, steps), history.y.dtype(), history.y.device());
  Tensor h = decoder_embedding(concat({last_known(history.y), unknown}, 1),
                               concat({last_known(history.marks), marks}, 1), pass);  // (B, label + Nt, E)
  for (const InformerDecoderLayer& layer : decoder) h = layer(h, memory, pass);
  const Tensor raw = head(decoder_norm(h));  // (B, label + Nt, out)
  if (pass.trace != nullptr) pass.trace->decoded = raw;
  return slice(raw, 1, raw.dim(1) - steps, raw.dim(1));  // (B, Nt, out)
}

void Informer::before_step(const Task& task, const Draws& draws) {
  if (distilling.empty()) return;
  const NoGrad off;
  for_histories(task, draws, [&](const History& history, const SeriesPass& pass) {
    std::vector<BatchNorm> found(distilling.size());
    static_cast<void>(encode(history, pass, &found));
    for (std::size_t i = 0; i < found.size(); ++i) distilling[i].keep(found[i]);
  });
}

void Informer::visit(ModuleVisitor& visitor) {
  visitor("encoder_embedding", encoder_embedding);
  visitor("decoder_embedding", decoder_embedding);
  visitor("encoder", encoder);
  visitor("distilling", distilling);
  visitor("encoder_norm", encoder_norm);
  visitor("decoder", decoder);
  visitor("decoder_norm", decoder_norm);
  visitor("head", head);
}

namespace {

std::unique_ptr<Model> make_informer(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "informer");
  InformerConfig c;
  c.series.read(reader);
  c.width = reader.size("d_model", "width of tokens");
  c.hidden = reader.size("d_ff", "width of the feed-forward networks");
  c.heads = reader.size("n_heads", "attention heads");
  c.encoder_layers = reader.depth("e_layers", "encoder layers");
  c.decoder_layers = reader.depth("d_layers", "decoder layers");
  c.factor = reader.size("factor", "queries that sparse attention keeps, per logarithm of the length");
  c.distil = reader.get<bool>("distil", "whether the encoder halves the series between layers");
  c.gelu = read_activation(reader);
  c.sparse_cross =
      reader.choice("cross", "attention of the decoder to the encoder", {"full", "sparse"}, "full") == "sparse";
  constexpr KeyLine kHeads = "how the outputs of the heads are joined; \"scrambled\" as in the authors' code";
  c.scrambled = reader.choice("merge_heads", kHeads, {"side-by-side", "scrambled"}, "side-by-side") == "scrambled";
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<Informer>(c, init);
}

constexpr PublishedSize kInformerSizes[] = {
    {"autoformer/exchange", 2'269, R"({"d_model": 8, "d_ff": 12, "n_heads": 2, "label_len": 6, "gaussian": false})"},
};

constexpr const char* kSmallInformers[] = {
    R"({"label_len": 3, "d_model": 6, "d_ff": 8, "n_heads": 2, "e_layers": 2, "d_layers": 1, "factor": 1, "distil": true, "activation": "gelu"})",
    R"({"label_len": 2, "d_model": 6, "d_ff": 8, "n_heads": 3, "e_layers": 1, "d_layers": 2, "factor": 2, "distil": false, "activation": "relu", "cross": "sparse", "merge_heads": "scrambled", "gaussian": false})",
};

}  // namespace

ModelInfo informer_info() {
  return {
      .name = "informer",
      .title = "Informer, forecasts at one shot by sparse attention",
      .paper = "Zhou et al., Informer: beyond efficient transformer for long sequence forecasting, AAAI 2021",
      .make = make_informer,
      .small_forms = kSmallInformers,
      .sizes = kInformerSizes,
      .authors = informer_authors(),
      .density = Density::joint,
      .takes = TaskForm::series,
      .input_gradients = false,  // places are not looked at
  };
}

}  // namespace npzoo
