#include "npzoo/models/convcnp/convcnp.h"

#include <cmath>

#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/convcnp/authors.h"
#include "npzoo/models/convcnp/config.h"
#include "npzoo/models/convcnp/fourier_network.h"
#include "npzoo/models/convcnp/pixel_coders.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/elementwise/elementwise.h"

namespace npzoo {

namespace {

using Architecture = ConvCnpArchitecture;

bool is_convgnp(const ConvCnpConfig& c) {
  return c.architecture == Architecture::convgnp_conv || c.architecture == Architecture::convgnp_unet;
}

/// True for the code of ConvCNP itself.
bool is_original(const ConvCnpConfig& c) {
  return c.architecture == Architecture::simple || c.architecture == Architecture::unet;
}

/// True if encoder and decoder are those of ConvCNP's own code, between which SConvCNP has another network.
bool has_original_coders(const ConvCnpConfig& c) { return is_original(c) || c.architecture == Architecture::fourier; }

bool is_on_grid(const ConvCnpConfig& c) { return c.architecture == Architecture::on_grid; }

/// How far apart nodes are decides what the length scales are at first, except in dl4bi. What ConvCNP's code takes over
/// one input would make sums over a plane five times as large: there half of it does.
double initial_log_scale(const ConvCnpConfig& c) {
  if (c.architecture == Architecture::dl4bi) return -1;
  return std::log((has_original_coders(c) && c.dim_x == 1 ? 2 : 1) / c.points_per_unit);
}

std::unique_ptr<GridEncoder> make_encoder(const ConvCnpConfig& c, Initializer& init) {
  const std::int64_t in = 1 + c.dim_y;
  const double scale = initial_log_scale(c);
  if (is_on_grid(c)) return pixel_encoder(c.grid.dims(), c.dim_y, c.density_kernel, c.width, init);
  if (is_convgnp(c)) return set_convolution_encoder(1, scale, 1e-4, {});
  return set_convolution_encoder(
      in, scale, 1e-8, has_original_coders(c) ? xavier_linear(in, c.in_channels, init) : Linear(in, c.width, init));
}

std::unique_ptr<GridNetwork> make_network(const ConvCnpConfig& c, Initializer& init) {
  const int dims = c.grid.dims();
  const std::int64_t density_and_values = 1 + c.dim_y, outputs = c.likelihood.outputs(c.dim_y);
  switch (c.architecture) {
    case Architecture::simple: return simple_network(dims, c.in_channels, c.out_channels, init);
    case Architecture::unet: return u_network(dims, c.in_channels, c.halvings, init);
    case Architecture::dl4bi:
    case Architecture::on_grid: return residual_network(dims, c.width, c.blocks, c.kernel, init);
    case Architecture::convgnp_conv:
      return plain_network(dims, density_and_values, c.channels.front(), c.layers, c.kernel, outputs, init);
    case Architecture::convgnp_unet: return pooling_u_network(dims, density_and_values, c.channels, outputs, init);
    case Architecture::fourier: return fourier_network({c.in_channels, c.width, c.modes}, c.grid.columns(), init);
  }
  fail("[convcnp] unknown architecture");
}

std::unique_ptr<GridDecoder> make_decoder(const ConvCnpConfig& c, std::int64_t channels, Initializer& init) {
  const DecodedValues values{c.dim_y, c.likelihood};
  if (is_on_grid(c)) return pixel_decoder(channels, values, c.head_hidden, c.min_std, init);
  const double scale = initial_log_scale(c);
  if (is_convgnp(c)) return variance_decoder(values, scale);
  if (has_original_coders(c)) return separate_decoder(channels, values, scale, init);
  return dense_decoder(channels, values, scale, c.head_hidden, c.min_std, init);
}

}  // namespace

ConvCnp::ConvCnp(const ConvCnpConfig& config, Initializer& init)
    : config_(config),
      encoder_(make_encoder(config, init)),
      network_(make_network(config, init)),
      decoder_(make_decoder(config, network_->out_channels(), init)) {}

std::optional<RegularGrid> ConvCnp::places() const {
  return is_on_grid(config_) ? std::optional(config_.grid) : std::nullopt;
}

void ConvCnp::check_places(const Tensor& x, const Tensor& lengths) const {
  if (!is_on_grid(config_) || (x.device() == Device::cuda && gpu_runtime().capturing())) return;
  check_on_grid(x, lengths, config_.grid, "convcnp");
}

Tensor ConvCnp::sums_of(const Context& context) const {
  check_places(context.xc, context.lengths);
  return encoder_->sums(context.xc, context.yc, context.lengths, config_.grid);
}

std::unique_ptr<ContextState> ConvCnp::from_sums(Tensor sums) const {
  auto state = std::make_unique<GriddedContext>(config_.grid);
  state->sums = std::move(sums);                    // (B, G, 1 + Dy)
  state->encoding = encoder_->encode(state->sums);  // (B, G, C)
  const bool squashed = has_original_coders(config_);
  state->features = (*network_)(squashed ? sigmoid(state->encoding) : state->encoding);  // (B, G, C′)
  return state;
}

std::unique_ptr<ContextState> ConvCnp::do_condition(const Context& context, Draws& /*draws*/,
                                                    std::int64_t /*samples*/) const {
  return from_sums(sums_of(context));
}

std::unique_ptr<ContextState> ConvCnp::do_update(const ContextState& state, const Context& more) const {
  const auto& gridded = state_as<GriddedContext>(state, config_.name);
  check(more.xc.dim(0) == gridded.sums.dim(0), "[{}] {} batch elements found, expected {} as in the state",
        config_.name, more.xc.dim(0), gridded.sums.dim(0));
  return from_sums(add(gridded.sums, sums_of(more)));
}

std::unique_ptr<Prediction> ConvCnp::do_query(const ContextState& state, const Tensor& xt) const {
  check_places(xt, {});
  return predict(state_as<GriddedContext>(state, config_.name), xt);
}

std::unique_ptr<Prediction> ConvCnp::predict(const GriddedContext& state, const Tensor& xt) const {
  return (*decoder_)(state.features, xt, state.grid);  // (B, Nt, Dy)
}

Tensor ConvCnp::loss(const Task& task, Draws& draws) const {
  check_places(task.xt, task.target_lengths);
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, 1);
  const auto prediction = predict(state_as<GriddedContext>(*state, config_.name), task.xt);
  if (!is_original(config_))
    return mean_over_channels(nll(*prediction, task.yt, task.target_weights, task.target_totals), config_.dim_y);
  // Theirs is a sum over targets.
  const Tensor each = prediction->log_likelihood(task.yt);  // (B, Nt)
  if (!task.target_weights.defined()) return affine(nll(each), static_cast<double>(task.xt.dim(1)), 0);
  return nll(each, task.target_weights, Tensor::full({task.xt.dim(0)}, 1, each.dtype(), each.device()));
}

void ConvCnp::visit(ModuleVisitor& visitor) {
  visitor("encoder", *encoder_);
  // The layer that gives deviations comes last.
  if (is_convgnp(config_)) visitor("decoder", *decoder_);
  visitor("network", *network_);
  if (!is_convgnp(config_)) visitor("decoder", *decoder_);
}

namespace {

std::unique_ptr<Model> make_convcnp(const ModelConfig& config, const InitialWeights& weights) {
  const ConvCnpConfig c = read_convcnp_config(config);
  Initializer init(c.architecture == Architecture::dl4bi ? Framework::flax : Framework::torch, weights);
  return std::make_unique<ConvCnp>(c, init);
}

constexpr PublishedSize kConvCnpSizes[] = {
    {"tnp-kr/gp1d-rbf", 276'741}, {"tnp-kr/gp1d-matern", 276'741}, {"tnp-kr/gp1d-periodic", 276'741},
    {"convcnp/eq", 6'532},        {"convcnp/matern52", 6'532},     {"convcnp/eq-xl", 50'612},
};

constexpr const char* kSmallConvCnps[] = {
    R"({"architecture": "simple", "in_channels": 3, "out_channels": 4, "grid_low": -3.0, "grid_high": 3.0, "points_per_unit": 1.5})",
    R"({"architecture": "unet", "in_channels": 2, "halvings": 2, "grid_low": -3.0, "grid_high": 3.0, "points_per_unit": 2.0})",
    R"({"architecture": "dl4bi", "width": 4, "kernel": 3, "blocks": 2, "head_hidden": 6, "min_std": 0.05, "grid_low": -3.0, "grid_high": 3.0, "points_per_unit": 2.0})",
    R"({"architecture": "convgnp-conv", "conv_channels": 4, "conv_layers": 2, "conv_receptive_field": 3.0, "margin": 0.1, "grid_low": -3.5, "grid_high": 3.3, "points_per_unit": 2.0})",
    R"({"architecture": "convgnp-unet", "unet_channels": "3 4 3", "margin": 0.1, "grid_low": -3.5, "grid_high": 3.3, "points_per_unit": 2.0})",
    R"({"architecture": "on-grid", "width": 4, "kernel": 3, "density_kernel": 5, "blocks": 1, "head_hidden": 6, "min_std": 0.05, "grid_low": -2.5, "grid_high": 2.0, "grid_size": 19})",
    R"({"architecture": "convgnp-conv", "conv_channels": 4, "conv_layers": 2, "conv_receptive_field": 3.0, "margin": 0.1, "grid_low": -3.5, "grid_high": 3.3, "points_per_unit": 2.0, "likelihood": "student-t"})",
};

}  // namespace

ModelInfo convcnp_info() {
  return {
      .name = "convcnp",
      .title = "Convolutional conditional neural process",
      .paper = "Gordon et al., Convolutional conditional neural processes, ICLR 2020",
      .make = make_convcnp,
      .small_forms = kSmallConvCnps,
      .sizes = kConvCnpSizes,
      .authors = convcnp_authors(),
      .traits = {.counts_points = true},
      .likelihoods = true,
  };
}

}  // namespace npzoo
