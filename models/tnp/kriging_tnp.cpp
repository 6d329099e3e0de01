#include "models/tnp/kriging_tnp.h"

#include <limits>

#include "models/blocks/chunks.h"
#include "models/blocks/kriging_bank.h"
#include "models/predictions/independent.h"
#include "models/registry.h"
#include "ops/concat/concat.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reshape/reshape.h"

namespace npzoo {

struct KrigingTnpState : HeldContext {
  KrigingTnpState(HeldContext held, std::vector<KrigingFit> of_channels, TwoStreamTransformer::Encoded layers)
      : HeldContext(std::move(held)), fits(std::move(of_channels)), encoded(std::move(layers)) {}

  std::vector<KrigingFit> fits;
  TwoStreamTransformer::Encoded encoded;
};

namespace {

constexpr double kMostDeviations = 8;  // that the network is told of
constexpr double kMostNats = 10;       // that a target counts for in training

/// Of each channel, side by side: (B, N, Dy) each.
struct Kriged {
  Tensor mean, std, spread;
};

template <class F>
Kriged side_by_side(std::int64_t channels, F f) {
  std::vector<Tensor> means, deviations, spreads;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const KrigingMoments of = f(static_cast<std::size_t>(channel));
    const Shape points{of.mean.dim(0), of.mean.dim(1), 1};
    means.push_back(reshape(of.mean, points));
    deviations.push_back(reshape(of.std, points));
    spreads.push_back(reshape(of.spread, points));
  }
  return {concat(means, -1), concat(deviations, -1), concat(spreads, -1)};
}

/// (B, N, Dx + 4 Dy + 1)
Tensor features(const Tensor& x, const Tensor& value, const Tensor& error, const Kriged& kriged, double observed) {
  const Tensor flag = Tensor::full(x.shape().with(-1, 1), observed, x.dtype(), x.device());
  return concat({x, value, error, log(kriged.std), kriged.spread, flag}, -1);
}

std::vector<std::int64_t> widths_of_embedder(const KrigingTnpConfig& c) {
  std::vector<std::int64_t> widths(static_cast<std::size_t>(c.embedder_depth) + 1, c.transformer.width);
  widths.front() = c.dim_x + 4 * c.dim_y + 1;
  return widths;
}

}  // namespace

KrigingTnp::KrigingTnp(const KrigingTnpConfig& config, Initializer& init)
    : embedder(widths_of_embedder(config), init),
      encoder(config.transformer, init),
      predictor({config.transformer.width, config.head_hidden, 2 * config.dim_y}, init),
      config_(config),
      bank_(kriging_bank(broad_kriging_bank(config.dim_x))) {
  Linear& last = predictor.layers.back();
  last.weight.value = Tensor::zeros_like(last.weight.value);
  last.bias.value = Tensor::zeros_like(last.bias.value);
}

std::unique_ptr<ContextState> KrigingTnp::condition(const Context& context, Draws& draws, std::int64_t samples) const {
  const Context points = clear_padding(context);
  std::vector<KrigingFit> fits;
  for (std::int64_t channel = 0; channel < config_.dim_y; ++channel)
    fits.push_back(
        kriging_fit(points.xc, slice(points.yc, -1, channel, channel + 1), points.lengths, bank_, config_.kernels));
  const Kriged kriged = side_by_side(
      config_.dim_y, [&](std::size_t channel) { return kriging_leave_one_out(fits[channel], points.xc.dtype()); });
  const Tensor deviations = div(sub(points.yc, kriged.mean), kriged.std);  // (B, Nc, Dy)
  const Tensor error = affine(tanh(affine(deviations, 1 / kMostDeviations, 0)), kMostDeviations, 0);
  Tensor tokens = in_chunks(features(points.xc, points.yc, error, kriged, 1), embedder);   // (B, Nc, E)
  auto encoded = encoder.encode(std::move(tokens), PrefixMask::lengths(context.lengths));  // per layer (B, Nc, E)
  return std::make_unique<KrigingTnpState>(HeldContext(context, draws, samples), std::move(fits), std::move(encoded));
}

Moments KrigingTnp::gaussians(const KrigingTnpState& context, const Tensor& xt) const {
  const std::int64_t dy = config_.dim_y;
  const PrefixMask mask = PrefixMask::lengths(context.context.lengths);
  const Kriged kriged =
      side_by_side(dy, [&](std::size_t channel) { return kriging_predict(context.fits[channel], xt); });
  const Tensor nothing = Tensor::zeros_like(kriged.mean);
  const Tensor tokens = embedder(features(xt, kriged.mean, nothing, kriged, 0));                  // (B, n, E)
  const auto raw = split(predictor(encoder.query(context.encoded, tokens, mask)), -1, {dy, dy});  // (B, n, Dy) each
  return {add(kriged.mean, mul(kriged.std, raw[0])), mul(kriged.std, exp(raw[1]))};
}

std::unique_ptr<Prediction> KrigingTnp::query(const ContextState& state, const Tensor& xt) const {
  const auto& context = state_as<KrigingTnpState>(state, "kriging-tnp");
  const Tensor both = in_chunks(xt, [&](const Tensor& x) {
    const Moments said = gaussians(context, x);
    return concat({said.mean, said.std}, -1);
  });
  const auto parts = split(both, -1, {config_.dim_y, config_.dim_y});
  return std::make_unique<Independent>(Moments{parts[0], parts[1]});  // (B, Nt, Dy)
}

Tensor KrigingTnp::loss(const Task& task, Draws& draws) const {
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, 1);
  const Tensor likelihood = query(*state, task.xt)->log_likelihood(task.yt);  // (B, Nt)
  constexpr double kNoLimit = std::numeric_limits<float>::max();
  return nll(clamp(likelihood, -kMostNats, kNoLimit), task.target_weights, task.target_totals);
}

void KrigingTnp::visit(ModuleVisitor& visitor) {
  visitor("embedder", embedder);
  visitor("encoder", encoder);
  visitor("predictor", predictor);
}

namespace {

std::unique_ptr<Model> make_kriging_tnp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "kriging-tnp");
  KrigingTnpConfig c;
  c.dim_x = reader.size("dim_x");
  c.dim_y = reader.size("dim_y");
  c.kernels = reader.size("kernels");
  c.embedder_depth = reader.size("emb_depth");
  c.transformer = {.width = reader.size("d_model"),
                   .hidden = reader.size("dim_feedforward"),
                   .heads = reader.size("nhead"),
                   .layers = reader.size("num_layers"),
                   .norm = NormPlacement::pre,
                   .final_norm = true};
  c.head_hidden = c.transformer.hidden;
  reader.finish();
  check(c.kernels <= kMostKrigingKernels, "[kriging-tnp] {} kernels found, expected at most {}", c.kernels,
        kMostKrigingKernels);
  Initializer init(Framework::torch, weights);
  return std::make_unique<KrigingTnp>(c, init);
}

constexpr const char* kSmall[] = {
    R"({"kernels": 4, "emb_depth": 2, "d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2})",
};

}  // namespace

ModelInfo kriging_tnp_info() {
  return {
      .name = "kriging-tnp",
      .title = "Transformer neural process that corrects kriging over a bank of kernels",
      .paper = "none: npzoo's own",
      .make = make_kriging_tnp,
      .small_forms = kSmall,
      .counts_points = true,
  };
}

}  // namespace npzoo
