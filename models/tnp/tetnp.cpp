#include "npzoo/models/tnp/tetnp.h"

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/equal_layers.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/tnp/tetnp_authors.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

struct TeTnpState final : HeldContext {
  TeTnpState(HeldContext held, std::vector<PlacedKeys> keys) : HeldContext(std::move(held)), read(std::move(keys)) {}

  std::vector<PlacedKeys> read;  // of each layer
};

/// `in`, then `layers` times `width`, then `out`.
std::vector<std::int64_t> tetnp_widths(std::int64_t in, std::int64_t width, std::int64_t layers, std::int64_t out) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(layers) + 2, width);
  all.front() = in;
  all.back() = out;
  return all;
}

std::vector<TeLayer> te_layers(const TeTnpConfig& config, bool wanted, Initializer& init) {
  std::vector<TeLayer> layers;
  if (!wanted) return layers;
  for (std::int64_t i = 0; i < config.layers; ++i) layers.emplace_back(config.layer, init);
  make_equal(layers);
  return layers;
}

Parameter latent_parameter(const TeTnpConfig& config, std::int64_t width, Initializer& init) {
  return {config.latents > 0 ? init.standard_normal({config.latents, width}) : Tensor()};
}

/// a · b of how tokens read points; b undefined: they are the points.
Tensor through(const Tensor& a, const Tensor& b) { return b.defined() ? matmul(a, b) : a; }

}  // namespace

TeTnp::TeTnp(const TeTnpConfig& c, Initializer& init)
    : embedder(tetnp_widths(c.dim_y + 1, c.embedder_width, c.embedder_layers, c.layer.width), init),
      context_layers(te_layers(c, !c.shared_layers && c.latents == 0, init)),
      target_layers(te_layers(c, true, init)),
      latent_tokens(latent_parameter(c, c.layer.width, init)),
      latent_places(latent_parameter(c, c.layer.dim_x, init)),
      reading_layers(te_layers(c, c.latents > 0, init)),
      returning_layers(te_layers(c, c.latents > 0, init)),
      predictor(tetnp_widths(c.layer.width, c.predictor_width, c.predictor_layers, c.likelihood.outputs(c.dim_y)),
                init),
      config_(c) {}

std::vector<PlacedKeys> TeTnp::encode_points(PlacedTokens context, const Tensor& lengths, Trace* trace) const {
  std::vector<PlacedKeys> read;
  for (std::size_t i = 0; i < target_layers.size(); ++i) {
    const TeLayer& own = context_layers.empty() ? target_layers[i] : context_layers[i];
    context = own(context, own.keys(context, lengths));  // (B, Nc, E)
    read.push_back(target_layers[i].keys(context, lengths));
    read.back().origin.layer = i;
    if (trace) trace->context.push_back(context);
  }
  return read;
}

std::vector<PlacedKeys> TeTnp::encode_latents(PlacedTokens context, const Tensor& lengths, Trace* trace) const {
  const std::int64_t batch = context.tokens.dim(0), dx = config_.layer.dim_x;
  const Tensor centre = reshape(masked_mean(context.places, lengths), {batch, 1, dx});
  PlacedTokens latents{broadcast_to(latent_tokens.value, {batch, config_.latents, config_.layer.width}),  // (B, L, E)
                       add(centre, latent_places.value)};                                                 // (B, L, Dx)
  std::vector<PlacedKeys> read;
  Tensor points_read;  // (B, Nc, Nc): how tokens of the context have read its points, while attention is kept
  for (std::size_t i = 0; i < target_layers.size(); ++i) {
    const PlacedKeys of_context = reading_layers[i].keys(context, lengths);
    Tensor latents_read;  // (B, L, Nc)
    if (KeepAttention::on()) latents_read = through(reading_layers[i].mean_weights(latents, of_context), points_read);
    latents = reading_layers[i](latents, of_context);  // (B, L, E)
    read.push_back(target_layers[i].keys(latents));
    read.back().origin = {i, latents_read};
    const bool last = i + 1 == target_layers.size();  // what the context reads then, nothing reads
    if (last && !trace) break;
    const PlacedKeys of_latents = returning_layers[i].keys(latents);
    if (KeepAttention::on()) points_read = matmul(returning_layers[i].mean_weights(context, of_latents), latents_read);
    context = returning_layers[i](context, of_latents);  // (B, Nc, E)
    if (!trace) continue;
    trace->latents.push_back(latents);
    trace->context.push_back(context);
  }
  return read;
}

std::vector<PlacedKeys> TeTnp::encode(const Context& context, Trace* trace) const {
  const Context points = clear_padding(context);
  const Tensor observed = Tensor::zeros(points.xc.shape().with(-1, 1), points.xc.dtype(), points.xc.device());
  PlacedTokens tokens{embedder(concat({points.yc, observed}, -1)), points.xc};  // (B, Nc, E)
  return config_.latents > 0 ? encode_latents(std::move(tokens), points.lengths, trace)
                             : encode_points(std::move(tokens), points.lengths, trace);
}

Tensor TeTnp::encode_targets(const std::vector<PlacedKeys>& read, const Tensor& xt, Trace* trace) const {
  check(read.size() == target_layers.size(), "[tetnp] the state of the context has {} layers, expected {}", read.size(),
        target_layers.size());
  const Shape one = xt.shape().with(-1, 1);
  const Tensor token = concat({Tensor::zeros(xt.shape().with(-1, config_.dim_y), xt.dtype(), xt.device()),
                               Tensor::full(one, 1, xt.dtype(), xt.device())},
                              -1);
  PlacedTokens targets{embedder(token), xt};  // (B, Nt, E)
  for (std::size_t i = 0; i < target_layers.size(); ++i) {
    const bool last = i + 1 == target_layers.size();  // where targets are then, nothing reads
    targets = target_layers[i](targets, read[i], !last || trace != nullptr);
    if (trace) trace->targets.push_back(targets);
  }
  return targets.tokens;
}

std::unique_ptr<ContextState> TeTnp::do_condition(const Context& context, Draws& draws, std::int64_t samples) const {
  return std::make_unique<TeTnpState>(HeldContext(context, draws, samples), encode(context));
}

std::unique_ptr<Prediction> TeTnp::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& context = state_as<TeTnpState>(state, "tetnp");
  const Tensor raw =
      in_chunks(xt, [&](const Tensor& x) { return predictor(encode_targets(context.read, x)); });  // (B, Nt, 2 Dy)
  return output_head(raw, config_.std, config_.likelihood);                                        // (B, Nt, Dy)
}

void TeTnp::visit(ModuleVisitor& visitor) {
  visitor("embedder", embedder);
  visitor("context_layers", context_layers);
  // Two names, since the authors' code has two.
  visitor(config_.latents > 0 ? "answering_layers" : "target_layers", target_layers);
  visitor("latent_tokens", latent_tokens);
  visitor("latent_places", latent_places);
  visitor("reading_layers", reading_layers);
  visitor("returning_layers", returning_layers);
  visitor("predictor", predictor);
}

std::unique_ptr<Model> make_tetnp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "tetnp");
  TeTnpConfig c;
  TeAttentionConfig& layer = c.layer;
  layer.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  layer.width = reader.size("embed_dim", "width of tokens");
  layer.heads = reader.size("num_heads", "attention heads");
  layer.head_width = reader.size("head_dim", "width of a head's queries, keys and values");
  layer.hidden = reader.size("feedforward_dim", "width of the feed-forward networks");
  c.layers = reader.depth("num_layers", "layers");
  layer.kernel_width = reader.size("kernel_width", "width of the hidden layers of the networks of pairs");
  layer.kernel_layers = reader.depth("kernel_layers", "hidden layers of the networks of pairs");
  c.embedder_width = reader.size("y_width", "width of the hidden layers of the embedding of values");
  c.embedder_layers = reader.depth("y_layers", "hidden layers of the embedding of values");
  c.predictor_width = reader.size("dec_width", "width of the hidden layers of the predicting network");
  c.predictor_layers = reader.depth("dec_layers", "hidden layers of the predicting network");
  if (!reader.get<bool>("norm_first", "whether layers normalise their input, instead of their result", true))
    layer.norm = NormPlacement::post;
  c.shared_layers = reader.get<bool>("shared_layers", "whether one layer serves the context and the targets", true);
  layer.move_width =
      reader.integer("phi_out", "numbers that move a point, 1 or one for each input; 0: none moves", 0, layer.dim_x, 0);
  check(layer.move_width <= 1 || layer.move_width == layer.dim_x,
        "[tetnp] phi_out {} found, expected 0, 1 or the number of inputs, {}", layer.move_width, layer.dim_x);
  c.latents = reader.integer("num_latents", "pseudo-tokens that the context is read through; 0: none", 0, 65'536, 0);
  c.std.floor = reader.number("min_noise", "what is added to standard deviations", kNonNegative, 0);
  c.likelihood = read_likelihood(reader);
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<TeTnp>(c, init);
}

namespace {

constexpr AuthorsCode kTeTnpAuthors[] = {{.recorded_as = "tetnp", .place = authors_tetnp, .others = recorded_tetnp}};

constexpr PublishedSize kTeTnpSizes[] = {
    {"tnp/gp-rbf", 656'810},
    {"tnp/gp-rbf", 1'246'930, R"({"shared_layers": false})"},
    {"tnp/gp-rbf", 745'775, R"({"phi_out": 1})"},
    {"tnp/gp-rbf", 1'841'178, R"({"num_latents": 32})"},
};

constexpr const char* kSmallTeTnps[] = {
    R"({"embed_dim": 8, "num_heads": 2, "head_dim": 3, "feedforward_dim": 12, "num_layers": 2, "kernel_width": 7, "kernel_layers": 1, "y_width": 9, "y_layers": 1, "dec_width": 10, "dec_layers": 1})",
    R"({"embed_dim": 8, "num_heads": 1, "head_dim": 8, "feedforward_dim": 12, "num_layers": 2, "kernel_width": 7, "kernel_layers": 2, "y_width": 9, "y_layers": 1, "dec_width": 10, "dec_layers": 1, "norm_first": false, "shared_layers": false, "phi_out": 1, "min_noise": 0.05})",
    R"({"embed_dim": 8, "num_heads": 2, "head_dim": 4, "feedforward_dim": 12, "num_layers": 2, "kernel_width": 7, "kernel_layers": 1, "y_width": 9, "y_layers": 1, "dec_width": 10, "dec_layers": 1, "phi_out": 1, "num_latents": 3})",
    R"({"embed_dim": 8, "num_heads": 2, "head_dim": 3, "feedforward_dim": 12, "num_layers": 2, "kernel_width": 7, "kernel_layers": 1, "y_width": 9, "y_layers": 1, "dec_width": 10, "dec_layers": 1, "likelihood": "log-normal"})",
};

}  // namespace

ModelInfo tetnp_info() {
  return {
      .name = "tetnp",
      .title = "Translation-equivariant transformer neural process",
      .paper = "Ashman et al., Translation equivariant transformer neural processes, ICML 2024",
      .make = make_tetnp,
      .small_forms = kSmallTeTnps,
      .sizes = kTeTnpSizes,
      .authors = kTeTnpAuthors,
      .traits = {.counts_points = true},  // where layers move points: the move is no linear function of the weights
      .likelihoods = true,
  };
}

}  // namespace npzoo
