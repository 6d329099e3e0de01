#include "npzoo/models/conditional/latent_np.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/min_std.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/predictions/sampled_functions.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gaussian_log_density/gaussian_log_density.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// raw (B, 2 L) → mean and standard deviation of z, (B, L).
Moments latent_gaussian(const Tensor& raw) {
  const std::int64_t size = raw.dim(-1) / 2;
  const auto parts = split(raw, -1, {size, size});
  return {parts[0], affine(sigmoid(parts[1]), 0.9, 0.1)};
}

/// noise (K, B, L)
Tensor draw(const Moments& gaussian, const Tensor& noise) { return add(gaussian.mean, mul(gaussian.std, noise)); }

/// KL(q ‖ p) of each task, (B).
Tensor divergence(const Moments& q, const Moments& p) {
  const Tensor ratio = div(q.std, p.std), shift = div(sub(q.mean, p.mean), p.std);  // (B, L)
  return sum(affine(sub(add(square(ratio), square(shift)), affine(log(ratio), 2, 1)), 0.5, 0), -1);
}

/// log p(z) of each function and task, (K, B).
Tensor log_density(const Tensor& z, const Moments& gaussian) {
  return gaussian_log_density(z, broadcast_to(gaussian.mean, z.shape()), broadcast_to(gaussian.std, z.shape()));
}

/// x (B) divided by how many points of each task count: the sums of `weights` (B, N), or all `points`.
Tensor per_point(const Tensor& x, const Tensor& weights, std::int64_t points) {
  return weights.defined() ? div(x, sum(weights, -1)) : affine(x, 1 / static_cast<double>(points), 0);
}

Tensor tokens_of(const Context& context) { return concat({context.xc, context.yc}, -1); }

/// Points of each task.
std::vector<double> counts_of(const Context& context) {
  std::vector<double> counts(static_cast<std::size_t>(context.xc.dim(0)), static_cast<double>(context.xc.dim(1)));
  if (context.lengths.defined()) std::ranges::copy(context.lengths.values<std::int64_t>(), counts.begin());
  return counts;
}

/// Those given, or all `points`, anew for each repetition of a captured step.
Tensor lengths_or_all(const Tensor& lengths, std::int64_t batch, std::int64_t points, Draws& draws) {
  if (lengths.defined()) return lengths;
  return draws.derived({batch}, [points](std::span<std::int64_t> out) { std::ranges::fill(out, points); });
}

}  // namespace

LatentNp::LatentNp(const LatentNpConfig& config, ContextEncoder of_context, PoolingEncoder of_latents, Mlp to_targets)
    : deterministic(std::move(of_context)),
      latent(std::move(of_latents)),
      decoder(std::move(to_targets)),
      config_(config) {}

void LatentNp::absorb_points(LatentContext& state, const Context& more) const {
  const PoolingEncoder& pooling = *deterministic.pooling;
  const std::array<const PoolingEncoder*, 2> encoders{&pooling, &latent};
  absorb(state.points, encoders, more, config_.model);
  state.encoded.pooled = pooling.finish(state.points.means[0]);  // (B, E)
  tell_of_mean(state.encoded, state.points.counts);
  state.prior = latent_gaussian(latent.finish(state.points.means[1]));  // (B, L)
  state.z = draw(state.prior, state.noise);                             // (K, B, L)
}

std::unique_ptr<ContextState> LatentNp::do_condition(const Context& context, Draws& draws, std::int64_t samples) const {
  auto state = std::make_unique<LatentContext>(HeldContext(streams() ? Context() : context, draws, samples));
  const std::int64_t count = config_.lineage == Lineage::dl4bi ? config_.averaged : samples;
  state->noise =
      draws.normal(count, context.xc.dim(0), {config_.latent}, context.xc.dtype(), context.xc.device());  // (K, B, L)
  if (streams()) {
    absorb_points(*state, context);
    return state;
  }
  const Context points = clear_padding(context);
  state->encoded = deterministic.encode(points);
  tell_of_mean(state->encoded, counts_of(points));
  const Tensor mean = latent.pool(latent.embed(tokens_of(points)), points.lengths);  // (B, E)
  state->prior = latent_gaussian(latent.finish(mean));                               // (B, L)
  state->z = draw(state->prior, state->noise);                                       // (K, B, L)
  return state;
}

std::unique_ptr<ContextState> LatentNp::do_update(const ContextState& state, const Context& more) const {
  if (!streams()) return Model::do_update(state, more);
  auto next = std::make_unique<LatentContext>(state_as<LatentContext>(state, config_.model));
  absorb_points(*next, more);
  return next;
}

void LatentNp::tell_of_mean(ContextEncoder::Encoded& encoded, std::span<const double> counts) const {
  if (!config_.uniform_attention || !KeepAttention::on()) return;
  const std::int64_t batch = std::ssize(counts), points = static_cast<std::int64_t>(std::ranges::max(counts));
  Tensor reading = Tensor::zeros({batch, 1, points}, DType::float64, Device::cpu);
  for (std::size_t b = 0; b < counts.size(); ++b)
    std::fill_n(reading.data<double>() + static_cast<std::int64_t>(b) * points, static_cast<std::int64_t>(counts[b]),
                1 / counts[b]);
  encoded.attended.values = reshape(encoded.pooled, {batch, 1, encoded.pooled.dim(1)});
  encoded.attended.origin = {0, reading};
}

Moments LatentNp::decode(const ContextEncoder::Encoded& context, const Tensor& z, const Tensor& xt) const {
  const std::int64_t count = z.dim(0), batch = z.dim(1), width = 2 * config_.dim_y;
  const Tensor drawn = reshape(z, {count, batch, 1, config_.latent});
  const std::int64_t chunk = std::max<std::int64_t>(chunk_points(xt.device()) / count, 1);
  const Tensor raw = join_chunks(xt.dim(1), chunk, [&](std::int64_t begin, std::int64_t end) {
    const Tensor x = points_between(xt, begin, end);
    std::vector<Tensor> parts = deterministic.read(context, x);  // (B, n, E) or (B, 1, E)
    if (const auto& mean = context.attended; config_.uniform_attention && mean.origin.layer) {
      const Shape each{xt.dim(0), 1, end - begin, 1};
      tell_listener(mean.origin, mean.values, broadcast_to(mean.values, mean.values.shape().with(1, end - begin)),
                    [&] { return Tensor::full(each, 1, DType::float64, Device::cpu); });
    }
    parts.push_back(drawn);                                               // (K, B, 1, L)
    parts.insert(config_.inputs_first ? parts.begin() : parts.end(), x);  // (B, n, Dx)
    return reshape(of_parts(decoder, parts), {count * batch, end - begin, width});
  });
  return gaussian_head(reshape(raw, {count, batch, xt.dim(1), width}), config_.std);  // (K, B, Nt, Dy)
}

std::unique_ptr<Prediction> LatentNp::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& context = state_as<LatentContext>(state, config_.model);
  Moments functions = decode(context.encoded, context.z, xt);
  if (config_.lineage != Lineage::dl4bi) return std::make_unique<SampledFunctions>(std::move(functions));
  const std::string drawn = config_.averaged == 1 ? "1 sample" : fmt::format("mean of {} samples", config_.averaged);
  return std::make_unique<Independent>(Moments{mean(functions.mean, 0), mean(functions.std, 0)},
                                       DensityForms{drawn, drawn});  // (B, Nt, Dy)
}

Tensor LatentNp::loss(const Task& task, Draws& draws) const {
  return config_.lineage == Lineage::dl4bi ? loss_of_targets(task, draws) : loss_of_all_points(task, draws);
}

LatentNp::Latents LatentNp::latents_of_all_points(const Task& task, const Context& context, Draws& draws) const {
  const std::int64_t batch = task.xc.dim(0), nc = task.xc.dim(1);
  const Context all = join(context, clear_padding({task.xt, task.yt, task.target_lengths}), draws);
  // The context's points come first among all: each is embedded once for both distributions.
  const Tensor embedded = latent.embed(tokens_of(all));  // (B, N, E)
  const Tensor of_context = latent.streams() ? embedded : slice(embedded, 1, 0, nc);
  const Tensor lengths = lengths_or_all(task.lengths, batch, nc, draws);
  return {.prior = latent_gaussian(latent.finish(latent.pool(of_context, lengths))),
          .posterior = latent_gaussian(latent.finish(latent.pool(embedded, all.lengths)))};
}

Moments LatentNp::posterior_of_targets(const Task& task) const {
  const Context targets = clear_padding({task.xt, task.yt, task.target_lengths});
  return latent_gaussian(latent.finish(latent.pool(latent.embed(tokens_of(targets)), targets.lengths)));
}

Tensor LatentNp::loss_of_all_points(const Task& task, Draws& draws) const {
  const ScoredPoints scored = context_and_targets(task);
  const std::int64_t batch = task.xc.dim(0), n = scored.x.dim(1), count = config_.train_samples;
  const Context context = clear_padding({task.xc, task.yc, task.lengths});
  const auto [prior, posterior] = latents_of_all_points(task, context, draws);
  const Tensor noise = draws.normal(count, batch, {config_.latent}, task.xc.dtype(), task.xc.device());
  const Tensor z = draw(posterior, noise);  // (K, B, L)

  const Moments functions = decode(deterministic.encode(context), z, scored.x);  // (K, B, N, Dy)
  const Tensor y = broadcast_to(scored.y, functions.mean.shape());
  const Tensor each = gaussian_log_density(y, functions.mean, functions.std);                    // (K, B, N)
  const Tensor together = sum(scored.weights.defined() ? mul(each, scored.weights) : each, -1);  // (K, B)
  if (count == 1)
    return mean(per_point(sub(divergence(posterior, prior), reshape(together, {batch})), scored.weights, n));
  const Tensor weighted = add(together, sub(log_density(z, prior), log_density(z, posterior)));   // (K, B)
  const Tensor bound = affine(logsumexp(weighted, 0), 1, -std::log(static_cast<double>(count)));  // (B)
  return affine(mean(per_point(bound, scored.weights, n)), -1, 0);
}

Tensor LatentNp::loss_of_targets(const Task& task, Draws& draws) const {
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, config_.averaged);
  const Moments posterior = posterior_of_targets(task);
  const Moments& prior = state_as<LatentContext>(*state, config_.model).prior;
  const Tensor fit = nll(*query(*state, task.xt), task.yt, task.target_weights, task.target_totals);
  const Tensor apart = per_point(divergence(posterior, prior), task.target_weights, task.xt.dim(1));  // (B)
  return add(mean_over_channels(fit, config_.dim_y), mean(apart));
}

std::vector<LossTerm> LatentNp::loss_terms(const Task& task, Draws& draws) const {
  const auto term = [](const Moments& posterior, const Moments& prior) {
    return std::vector<LossTerm>{{"kl_divergence", mean(divergence(posterior, prior)).item()}};
  };
  const Context context = clear_padding({task.xc, task.yc, task.lengths});
  if (config_.lineage == Lineage::dl4bi) {
    const auto state = condition(context, draws, config_.averaged);
    return term(posterior_of_targets(task), state_as<LatentContext>(*state, config_.model).prior);
  }
  const Latents latents = latents_of_all_points(task, context, draws);
  return term(latents.posterior, latents.prior);
}

void LatentNp::visit(ModuleVisitor& visitor) {
  visitor("deterministic", deterministic);
  visitor("latent", latent);
  visitor("decoder", decoder);
}

Mlp anp_latent_head(std::int64_t hidden, std::int64_t latent, Initializer& init) {
  return Mlp({hidden, (hidden + latent) / 2, 2 * latent}, init);
}

Mlp latent_decoder(const LatentNpConfig& config, std::int64_t hidden, std::int64_t depth, Initializer& init) {
  return Mlp::of_depth(hidden + config.latent + config.dim_x, hidden, 2 * config.dim_y, depth, init);
}

LatentNpConfig read_latent_config(ConfigReader& reader, const char* model) {
  LatentNpConfig c{.model = model, .lineage = read_lineage(reader, true)};
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  c.latent = reader.size("dim_lat", "latent variables");
  if (c.lineage == Lineage::dl4bi) {
    c.std.floor = read_min_std(reader);
    if (reader.has("n_z")) c.averaged = reader.size("n_z", "functions that a prediction averages");
    return c;
  }
  c.train_samples = c.lineage == Lineage::anp ? 1 : 4;  // of their authors
  if (reader.has("train_samples")) c.train_samples = reader.size("train_samples", "functions sampled in training");
  return c;
}

}  // namespace npzoo
