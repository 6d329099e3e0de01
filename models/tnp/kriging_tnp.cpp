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

struct KrigingTnpState final : HeldContext, BufferedState {
  KrigingTnpState(HeldContext held, std::vector<KrigingFit> of_channels, TwoStreamTransformer::Encoded layers)
      : HeldContext(std::move(held)), fits(std::move(of_channels)), encoded(std::move(layers)) {}

  std::unique_ptr<ContextState> with_buffer(Context points, BufferRows rows) const override {
    auto extended = std::make_unique<KrigingTnpState>(*this);
    extended->buffered = std::move(points);
    extended->buffer_rows = std::move(rows);
    return extended;
  }
  std::int64_t context_points() const override { return context.xc.dim(1); }

  std::vector<KrigingFit> fits;
  TwoStreamTransformer::Encoded encoded;
};

/// Moments of each channel, side by side: (B, N, Dy) each.
struct KrigedPoints {
  Tensor mean, std, spread;
};

namespace {

constexpr double kMostDeviations = 8;  // in the input of the network
constexpr double kMostNats = 10;       // that a target counts for in full

template <class F>
KrigedPoints side_by_side(std::int64_t channels, F f) {
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
Tensor features(const Tensor& x, const Tensor& value, const Tensor& error, const KrigedPoints& kriged,
                double observed) {
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
      positions{config.buffer > 0 ? learned_token_rows(config.buffer, config.transformer.width, init) : Tensor()},
      config_(config),
      bank_(kriging_bank(named_kriging_bank(config.bank, config.dim_x)).to(default_device())) {
  Linear& last = predictor.layers.back();
  last.weight.value = Tensor::zeros_like(last.weight.value);
  last.bias.value = untrained_bias(config);
}

/// Kriging at places (B·P, n, Dx) that are the same on all paths of a task.
KrigedPoints KrigingTnp::kriged_at(const KrigingTnpState& context, const Tensor& x) const {
  const std::int64_t batch = context.context.xc.dim(0), paths = batch > 0 ? x.dim(0) / batch : 1, n = x.dim(1),
                     dims = x.dim(2);
  const Tensor once = paths == 1 ? x : reshape(slice(reshape(x, {batch, paths, n, dims}), 1, 0, 1), {batch, n, dims});
  const KrigedPoints each =
      side_by_side(config_.dim_y, [&](std::size_t channel) { return kriging_predict(context.fits[channel], once); });
  return {points_of_paths(each.mean, paths), points_of_paths(each.std, paths), points_of_paths(each.spread, paths)};
}

/// Tokens (B, n, E) of points whose values are known.
Tensor KrigingTnp::observed_tokens(const Tensor& x, const Tensor& y, const KrigedPoints& kriged) const {
  const Tensor deviations = div(sub(y, kriged.mean), kriged.std);  // (B, n, Dy)
  const Tensor error = affine(tanh(affine(deviations, 1 / kMostDeviations, 0)), kMostDeviations, 0);
  return in_chunks(features(x, y, error, kriged, 1), embedder);
}

Tensor KrigingTnp::unknown_tokens(const Tensor& x, const KrigedPoints& kriged) const {
  return embedder(features(x, kriged.mean, Tensor::zeros_like(kriged.mean), kriged, 0));  // (B, n, E)
}

std::unique_ptr<KrigingTnpState> KrigingTnp::encoded(const Context& context, const Draws& draws,
                                                     std::int64_t samples) const {
  const Context points = clear_padding(context);
  std::vector<KrigingFit> fits;
  for (std::int64_t channel = 0; channel < config_.dim_y; ++channel)
    fits.push_back(
        kriging_fit(points.xc, slice(points.yc, -1, channel, channel + 1), points.lengths, bank_, config_.kernels));
  const KrigedPoints kriged = side_by_side(
      config_.dim_y, [&](std::size_t channel) { return kriging_leave_one_out(fits[channel], points.xc.dtype()); });
  Tensor tokens = observed_tokens(points.xc, points.yc, kriged);                          // (B, Nc, E)
  auto layers = encoder.encode(std::move(tokens), PrefixMask::lengths(context.lengths));  // per layer (B, Nc, E)
  return std::make_unique<KrigingTnpState>(HeldContext(context, draws, samples), std::move(fits), std::move(layers));
}

std::unique_ptr<ContextState> KrigingTnp::do_condition(const Context& context, Draws& draws,
                                                       std::int64_t samples) const {
  return encoded(context, draws, samples);
}

/// Returns the parts that `given_context_alone` joins from chunks: mean and deviation of each channel for each
/// component, then the logarithms of all weights; (B, n, K (2 Dy + 1)).
Tensor KrigingTnp::corrected(const KrigedPoints& kriged, const Tensor& raw) const {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(2 * config_.components), config_.dim_y);
  sizes.push_back(config_.components);
  std::vector<Tensor> parts = split(raw, -1, sizes);
  for (std::size_t k = 0; k + 1 < parts.size(); k += 2) {
    parts[k] = add(kriged.mean, mul(kriged.std, parts[k]));  // (B, n, Dy)
    parts[k + 1] = mul(kriged.std, exp(parts[k + 1]));       // (B, n, Dy)
  }
  parts.back() = log_softmax(parts.back());
  return concat(parts, -1);
}

/// (K, B, n, Dy)
Marginals KrigingTnp::marginals_of(const Tensor& corrected) const {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(2 * config_.components), config_.dim_y);
  sizes.push_back(config_.components);
  std::vector<Tensor> parts = split(corrected, -1, sizes), means, deviations;
  const Shape one{1, corrected.dim(0), corrected.dim(1), config_.dim_y};
  for (std::size_t k = 0; k + 1 < parts.size(); k += 2) {
    means.push_back(reshape(parts[k], one));
    deviations.push_back(reshape(parts[k + 1], one));
  }
  return {concat(means, 0), concat(deviations, 0), components_first(parts.back())};
}

Marginals KrigingTnp::given_context_alone(const ContextState& state, const Tensor& xt) const {
  const auto& context = state_as<KrigingTnpState>(state, "kriging-tnp");
  const PrefixMask mask = PrefixMask::lengths(context.context.lengths);
  return marginals_of(in_chunks(xt, [&](const Tensor& x) {
    const KrigedPoints kriged = kriged_at(context, x);
    const Tensor h = encoder.query(context.encoded, unknown_tokens(x, kriged), mask);  // (B, n, E)
    return corrected(kriged, predictor(h));                                            // (B, n, K (2 Dy + 1))
  }));
}

std::unique_ptr<Prediction> KrigingTnp::do_query(const ContextState& state, const Tensor& xt) const {
  return std::make_unique<Mixture>(given_context_alone(state, xt));  // (K, B, Nt, Dy)
}

Tensor KrigingTnp::loss(const Task& task, Draws& draws) const {
  const Context context{task.xc, task.yc, task.lengths};
  if (config_.buffer > 0) {
    const TargetsForLoss targets = predict_for_loss(*this, task, draws, [&] { return encoded(context, draws, 1); });
    return nll(tempered(targets.prediction->log_likelihood(targets.task.yt)), targets.task.target_weights,
               task.target_totals);
  }
  const auto state = condition(context, draws, 1);
  const Tensor likelihood = query(*state, task.xt)->log_likelihood(task.yt);  // (B, Nt)
  return nll(tempered(likelihood), task.target_weights, task.target_totals);
}

std::shared_ptr<const ContextState> KrigingTnp::with_empty_buffer(const ContextState& state) const {
  return std::make_shared<const KrigingTnpState>(state_as<KrigingTnpState>(state, "kriging-tnp"));
}

Tensor KrigingTnp::buffer_tokens(const ContextState& state, const Tensor& x, const Tensor& y,
                                 std::int64_t first) const {
  const KrigedPoints kriged = kriged_at(state_as<KrigingTnpState>(state, "kriging-tnp"), x);
  return add(observed_tokens(x, y, kriged), slice(positions.value, 0, first, first + x.dim(1)));  // (B·P, n, E)
}

Tensor KrigingTnp::target_tokens(const ContextState& state, const Tensor& x) const {
  return unknown_tokens(x, kriged_at(state_as<KrigingTnpState>(state, "kriging-tnp"), x));
}

Marginals KrigingTnp::predict(const ContextState& state, const BufferStream& stream, const ReadRow& read) const {
  const auto& context = state_as<KrigingTnpState>(state, "kriging-tnp");
  const PrefixMask real = PrefixMask::lengths(context.context.lengths);
  const Tensor h = through_buffer(encoder, context.encoded, real, stream, read);  // (B·P, Nt, E)
  return marginals_of(corrected(kriged_at(context, stream.xt), predictor(h)));
}

std::unique_ptr<ContextState> KrigingTnp::absorbed(const ContextState& state, const Context& points) const {
  const auto& from = state_as<KrigingTnpState>(state, "kriging-tnp");
  Draws draws = from.draws;
  return encoded(join(context_of_paths(from.context, points), points, draws), from.draws, from.samples);
}

void KrigingTnp::visit(ModuleVisitor& visitor) {
  visitor("embedder", embedder);
  visitor("encoder", encoder);
  visitor("positions", positions);
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
  c.buffer = read_buffer(reader);
  reader.finish();
  check(c.kernels <= kMostKrigingKernels, "[kriging-tnp] {} kernels found, expected at most {}", c.kernels,
        kMostKrigingKernels);
  Initializer init(Framework::torch, weights);
  return std::make_unique<KrigingTnp>(c, init);
}

constexpr const char* kSmall[] = {
    R"({"kernels": 2, "components": 2, "emb_depth": 2, "d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2})",
    R"({"kernels": 2, "components": 2, "emb_depth": 2, "d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "buffer": 3})",
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
