#include "npzoo/models/tnp/inctnp.h"

#include <algorithm>
#include <limits>

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/tnp/inctnp_authors.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/mask_points/mask_points.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// `in`, then `layers` times `width`, then `out`.
std::vector<std::int64_t> inctnp_widths(std::int64_t in, std::int64_t width, std::int64_t layers, std::int64_t out) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(layers) + 2, width);
  all.front() = in;
  all.back() = out;
  return all;
}

/// (B, N, 1), how much points count in a loss.
Tensor as_channel(const Tensor& weights, const Tensor& x) {
  const Shape shape = x.shape().with(-1, 1);
  return weights.defined() ? reshape(weights, shape) : Tensor::full(shape, 1, x.dtype(), x.device());
}

}  // namespace

IncTnp::IncTnp(const IncTnpConfig& config, Initializer& init)
    : embedder(inctnp_widths(config.dim_x + config.dim_y + 1, config.embedder_width, config.embedder_layers,
                             config.transformer.width),
               init),
      encoder(config.transformer, init),
      predictor(inctnp_widths(config.transformer.width, config.predictor_width, config.predictor_layers,
                              config.likelihood.outputs(config.dim_y)),
                init),
      positions{config.buffer > 0 ? learned_token_rows(config.buffer, config.transformer.width, init) : Tensor()},
      config_(config) {}

Tensor IncTnp::context_tokens(const Tensor& x, const Tensor& y) const {
  const Tensor observed = Tensor::zeros(x.shape().with(-1, 1), x.dtype(), x.device());
  return embedder(concat({x, y, observed}, -1));  // (B, N, E)
}

Tensor IncTnp::tokens_of_targets(const Tensor& x) const {
  const Tensor unknown = Tensor::zeros(x.shape().with(-1, config_.dim_y), x.dtype(), x.device());
  return embedder(
      concat({x, unknown, Tensor::full(x.shape().with(-1, 1), 1, x.dtype(), x.device())}, -1));  // (B, N, E)
}

std::unique_ptr<IncTnpState> IncTnp::extended(const IncTnpState& state, const Context& more,
                                              std::vector<Tensor>* leaving) const {
  const Context points = clear_padding(more);
  auto next = std::make_unique<IncTnpState>(state);
  // In one piece where padding may be in the middle of the points.
  const bool whole =
      leaving != nullptr || state.cache.lengths.defined() || (more.lengths.defined() && state.cache.rows.count() > 0);
  const std::int64_t all = points.xc.dim(1), chunk = whole ? all : chunk_points(points.xc.device());
  for_chunks(all, chunk, [&](std::int64_t begin, std::int64_t end) {
    const Tensor tokens = context_tokens(points_between(points.xc, begin, end), points_between(points.yc, begin, end));
    next->cache = encoder.extend(next->cache, tokens, whole ? points.lengths : Tensor(), leaving);
  });
  if (!whole) next->cache.lengths = points.lengths;
  return next;
}

std::unique_ptr<ContextState> IncTnp::do_condition(const Context& context, Draws& /*draws*/,
                                                   std::int64_t /*samples*/) const {
  return extended({}, context);
}

std::unique_ptr<ContextState> IncTnp::do_update(const ContextState& state, const Context& more) const {
  return extended(state_as<IncTnpState>(state, "inctnp"), more);
}

std::unique_ptr<Prediction> IncTnp::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& context = state_as<IncTnpState>(state, "inctnp");
  const Tensor raw =
      in_chunks(xt, [&](const Tensor& x) { return predictor(encoder.query(context.cache, tokens_of_targets(x))); });
  return output_head(raw, config_.std, config_.likelihood);  // (B, Nt, Dy)
}

IncTnp::Sequence IncTnp::predict_sequence(const Task& task, Draws& draws) const {
  const std::int64_t points = task.xc.dim(1) + task.xt.dim(1), queries = std::max<std::int64_t>(points - 1, 0);
  // Weights travel with the values, so that both come in one order.
  const Context all = clear_padding(join(
      clear_padding({task.xc, concat({task.yc, as_channel(task.context_weights, task.xc)}, -1), task.lengths}),
      clear_padding({task.xt, concat({task.yt, as_channel(task.target_weights, task.xt)}, -1), task.target_lengths}),
      draws));
  const auto values = split(all.yc, -1, {config_.dim_y, 1});  // (B, N, Dy), (B, N, 1)
  const auto later = [&](const Tensor& x) { return slice(x, 1, points - queries, points); };
  const auto earlier = [&](const Tensor& x) { return slice(x, 1, 0, queries); };
  const Tensor tokens = context_tokens(earlier(all.xc), earlier(values[0]));  // (B, N − 1, E)
  const CausalTransformer::Cache cache = encoder.extend({}, tokens, {});
  const Tensor h = encoder.query(cache, tokens_of_targets(later(all.xc)), PrefixMask::growing(1));  // (B, N − 1, E)
  Sequence sequence{gaussian_head(predictor(h), config_.std), later(values[0])};                    // (B, N − 1, Dy)
  if (all.lengths.defined() || task.context_weights.defined() || task.target_weights.defined())
    sequence.weights = reshape(later(values[1]), {task.xc.dim(0), queries});
  return sequence;
}

Tensor IncTnp::loss(const Task& task, Draws& draws) const {
  if (config_.buffer > 0) return loss_through_buffer(task, draws);
  if (!config_.sequence_loss) return Model::loss(task, draws);
  const Sequence sequence = predict_sequence(task, draws);
  const Tensor each = Independent(sequence.moments).log_likelihood(sequence.y);  // (B, N − 1)
  if (each.dim(1) == 0) return sum(each);                                        // nothing to predict
  // A task of one point has no queries: it counts, with a loss of 0.
  const Tensor totals = sequence.weights.defined()
                            ? clamp(sum(sequence.weights, -1), 1e-30, std::numeric_limits<double>::infinity())
                            : Tensor();
  return mean_over_channels(nll(each, sequence.weights, totals), dim_y());
}

void IncTnp::visit(ModuleVisitor& visitor) {
  visitor("embedder", embedder);
  visitor("encoder", encoder);
  visitor("positions", positions);
  visitor("predictor", predictor);
}

namespace {

std::unique_ptr<Model> make_form_of_inctnp(const ModelConfig& config, const InitialWeights& weights, const char* name,
                                           bool sequence) {
  ConfigReader reader(config, name);
  IncTnpConfig c;
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  c.transformer.width = reader.size("embed_dim", "width of tokens");
  c.transformer.heads = reader.size("num_heads", "attention heads");
  c.transformer.head_width = reader.size("head_dim", "width of a head's queries, keys and values");
  c.transformer.hidden = reader.size("feedforward_dim", "width of the feed-forward networks");
  c.transformer.layers = reader.depth("num_layers", "layers of the context, and as many of the targets");
  c.embedder_width = reader.size("xy_width", "width of the hidden layers of the embedding of points");
  c.embedder_layers = reader.depth("xy_layers", "hidden layers of the embedding of points");
  c.predictor_width = reader.size("dec_width", "width of the hidden layers of the predicting network");
  c.predictor_layers = reader.depth("dec_layers", "hidden layers of the predicting network");
  if (!reader.get<bool>("norm_first", "whether layers normalise their input, instead of their result", true))
    c.transformer.norm = NormPlacement::post;
  c.std.floor = reader.number("min_noise", "what is added to standard deviations", kNonNegative, 0);
  c.sequence_loss = sequence;
  if (!sequence) {
    c.likelihood = read_likelihood(reader);
    c.buffer = read_buffer(reader);
    reader.expect(c.buffer == 0 || c.likelihood.gaussian(),
                  "[inctnp] buffer is {} with another likelihood, expected 0 or the Gaussian likelihood", c.buffer);
  }
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<IncTnp>(c, init);
}

constexpr AuthorsCode kIncTnpAuthors[] = {
    {.recorded_as = "inctnp", .place = authors_inctnp, .others = recorded_inctnp}};
constexpr AuthorsCode kIncTnpSeqAuthors[] = {
    {.recorded_as = "inctnp-seq", .place = authors_inctnp, .others = recorded_inctnp}};

constexpr PublishedSize kIncTnpSizes[] = {{"inctnp/gp1d-rbf", 1'058'818}};

constexpr const char* kSmallIncTnps[] = {
    R"({"embed_dim": 8, "num_heads": 2, "head_dim": 3, "feedforward_dim": 12, "num_layers": 2, "xy_width": 9, "xy_layers": 1, "dec_width": 10, "dec_layers": 1})",
    R"({"embed_dim": 8, "num_heads": 1, "head_dim": 8, "feedforward_dim": 12, "num_layers": 2, "xy_width": 9, "xy_layers": 2, "dec_width": 10, "dec_layers": 2, "norm_first": false, "min_noise": 0.05})",
    R"({"embed_dim": 8, "num_heads": 2, "head_dim": 3, "feedforward_dim": 12, "num_layers": 2, "xy_width": 9, "xy_layers": 1, "dec_width": 10, "dec_layers": 1, "likelihood": "negative-binomial"})",
    R"({"embed_dim": 8, "num_heads": 2, "head_dim": 3, "feedforward_dim": 12, "num_layers": 2, "xy_width": 9, "xy_layers": 1, "dec_width": 10, "dec_layers": 1, "buffer": 3})",
};
constexpr const char* kSmallIncTnpSeqs[] = {
    R"({"embed_dim": 8, "num_heads": 2, "head_dim": 3, "feedforward_dim": 12, "num_layers": 2, "xy_width": 9, "xy_layers": 1, "dec_width": 10, "dec_layers": 1})",
    R"({"embed_dim": 8, "num_heads": 1, "head_dim": 8, "feedforward_dim": 12, "num_layers": 2, "xy_width": 9, "xy_layers": 2, "dec_width": 10, "dec_layers": 2, "norm_first": false, "min_noise": 0.05})",
};

}  // namespace

std::unique_ptr<Model> make_inctnp(const ModelConfig& config, const InitialWeights& weights) {
  return make_form_of_inctnp(config, weights, "inctnp", false);
}

std::unique_ptr<Model> make_inctnp_seq(const ModelConfig& config, const InitialWeights& weights) {
  return make_form_of_inctnp(config, weights, "inctnp-seq", true);
}

ModelInfo inctnp_info() {
  return {
      .name = "inctnp",
      .title = "Incremental transformer neural process",
      .paper = "Mortimer et al., Incremental transformer neural processes, ICML 2026",
      .make = make_inctnp,
      .small_forms = kSmallIncTnps,
      .sizes = kIncTnpSizes,
      .authors = kIncTnpAuthors,
      .traits = {.ordered = true},
      .likelihoods = true,
  };
}

ModelInfo inctnp_seq_info() {
  return {
      .name = "inctnp-seq",
      .title = "Incremental transformer neural process, trained on sequences",
      .paper = "Mortimer et al., Incremental transformer neural processes, ICML 2026",
      .make = make_inctnp_seq,
      .small_forms = kSmallIncTnpSeqs,
      .sizes = kIncTnpSizes,
      .authors = kIncTnpSeqAuthors,
      .traits = {.ordered = true},
  };
}

}  // namespace npzoo
