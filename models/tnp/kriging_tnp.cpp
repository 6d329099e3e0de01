#include "npzoo/models/tnp/kriging_tnp.h"

#include <limits>

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/kriging_bank.h"
#include "npzoo/models/predictions/components.h"
#include "npzoo/models/predictions/mixture.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"
#include "npzoo/ops/softmax/softmax.h"

namespace npzoo {

struct KrigingTnpState : HeldContext {
  KrigingTnpState(HeldContext held, std::vector<KrigingFit> of_channels, TwoStreamTransformer::Encoded layers)
      : HeldContext(std::move(held)), fits(std::move(of_channels)), encoded(std::move(layers)) {}

  std::vector<KrigingFit> fits;
  TwoStreamTransformer::Encoded encoded;
};

namespace {

constexpr double kMostDeviations = 8;  // in the input of the network
constexpr double kMostNats = 10;       // that a target counts for in full

/// Moments of each channel, side by side: (B, N, Dy) each.
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

/// Replaces the part of a loss beyond kMostNats by its logarithm: an outlier still counts, but does not dominate the
/// mean.
Tensor tempered(const Tensor& likelihood) {
  constexpr double kNoLimit = std::numeric_limits<float>::max();
  const Tensor beyond = clamp(affine(likelihood, -1, -kMostNats), 0, kNoLimit);
  return sub(clamp(likelihood, -kMostNats, kNoLimit), log(affine(beyond, 1, 1)));
}

std::vector<std::int64_t> widths_of_embedder(const KrigingTnpConfig& c) {
  std::vector<std::int64_t> widths(static_cast<std::size_t>(c.embedder_depth) + 1, c.transformer.width);
  widths.front() = c.dim_x + 4 * c.dim_y + 1;
  return widths;
}

/// Kriging's own Gaussian first, the others wider and narrower than it by turns and less likely: what starts equal
/// would stay equal.
Tensor untrained_bias(const KrigingTnpConfig& c) {
  constexpr double kUnlikely = -2;
  std::vector<float> bias;
  for (std::int64_t k = 0; k < c.components; ++k) {
    const double scale = k == 0 ? 0 : k % 2 == 1 ? 1 + 0.5 * static_cast<double>(k - 1) : -0.5 * static_cast<double>(k);
    bias.insert(bias.end(), static_cast<std::size_t>(c.dim_y), 0);
    bias.insert(bias.end(), static_cast<std::size_t>(c.dim_y), static_cast<float>(scale));
  }
  for (std::int64_t k = 0; k < c.components; ++k) bias.push_back(k == 0 ? 0 : static_cast<float>(kUnlikely));
  return Tensor::from<float>({std::ssize(bias)}, std::span<const float>(bias)).to(default_device());
}

}  // namespace

KrigingTnp::KrigingTnp(const KrigingTnpConfig& config, Initializer& init)
    : embedder(widths_of_embedder(config), init),
      encoder(config.transformer, init),
      predictor({config.transformer.width, config.head_hidden, config.components * (2 * config.dim_y + 1)}, init),
      config_(config),
      bank_(kriging_bank(named_kriging_bank(config.bank, config.dim_x)).to(default_device())) {
  Linear& last = predictor.layers.back();
  last.weight.value = Tensor::zeros_like(last.weight.value);
  last.bias.value = untrained_bias(config);
}

std::unique_ptr<ContextState> KrigingTnp::do_condition(const Context& context, Draws& draws,
                                                       std::int64_t samples) const {
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

/// Returns the parts that `query` joins from chunks: mean and deviation of each channel for each component, then the
/// logarithms of all weights; (B, n, K (2 Dy + 1)).
Tensor KrigingTnp::components(const KrigingTnpState& context, const Tensor& xt) const {
  const std::int64_t dy = config_.dim_y, count = config_.components;
  const PrefixMask mask = PrefixMask::lengths(context.context.lengths);
  const Kriged kriged =
      side_by_side(dy, [&](std::size_t channel) { return kriging_predict(context.fits[channel], xt); });
  const Tensor nothing = Tensor::zeros_like(kriged.mean);
  const Tensor tokens = embedder(features(xt, kriged.mean, nothing, kriged, 0));  // (B, n, E)
  const Tensor raw = predictor(encoder.query(context.encoded, tokens, mask));     // (B, n, K (2 Dy + 1))
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(2 * count), dy);
  sizes.push_back(count);
  std::vector<Tensor> parts = split(raw, -1, sizes);
  for (std::size_t k = 0; k + 1 < parts.size(); k += 2) {
    parts[k] = add(kriged.mean, mul(kriged.std, parts[k]));  // (B, n, Dy)
    parts[k + 1] = mul(kriged.std, exp(parts[k + 1]));       // (B, n, Dy)
  }
  parts.back() = log_softmax(parts.back());
  return concat(parts, -1);
}

std::unique_ptr<Prediction> KrigingTnp::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& context = state_as<KrigingTnpState>(state, "kriging-tnp");
  const Tensor all = in_chunks(xt, [&](const Tensor& x) { return components(context, x); });
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(2 * config_.components), config_.dim_y);
  sizes.push_back(config_.components);
  std::vector<Tensor> parts = split(all, -1, sizes), means, deviations;
  const Shape one{1, xt.dim(0), xt.dim(1), config_.dim_y};
  for (std::size_t k = 0; k + 1 < parts.size(); k += 2) {
    means.push_back(reshape(parts[k], one));
    deviations.push_back(reshape(parts[k + 1], one));
  }
  return std::make_unique<Mixture>(
      Marginals{concat(means, 0), concat(deviations, 0), components_first(parts.back())});  // (K, B, Nt, Dy)
}

Tensor KrigingTnp::loss(const Task& task, Draws& draws) const {
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, 1);
  const Tensor likelihood = query(*state, task.xt)->log_likelihood(task.yt);  // (B, Nt)
  return nll(tempered(likelihood), task.target_weights, task.target_totals);
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
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  c.bank = reader.get<std::string>("bank", "kernels of the Gaussian processes",
                                   c.bank);  // weights older than names of banks have this one
  c.kernels = reader.size("kernels", "Gaussian processes in the bank");
  c.components = reader.size("components", "components of the mixture");
  c.embedder_depth = reader.depth("emb_depth", "linear layers of the embedding of points");
  c.transformer = {.width = reader.size("d_model", "width of tokens"),
                   .hidden = reader.size("dim_feedforward", "width of the feed-forward networks"),
                   .heads = reader.size("nhead", "attention heads"),
                   .layers = reader.depth("num_layers", "layers"),
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
    R"({"kernels": 2, "components": 2, "emb_depth": 2, "d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2})",
};

}  // namespace

ModelInfo kriging_tnp_info() {
  return {
      .name = "kriging-tnp",
      .title = "Transformer neural process that corrects kriging over a bank of kernels",
      .paper = "npzoo's own",
      .make = make_kriging_tnp,
      .small_forms = kSmall,
      .density = Density::mixture,
      .draws_each_alone = true,
      .traits = {.counts_points = true},
  };
}

}  // namespace npzoo
