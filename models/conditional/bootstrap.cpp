#include "npzoo/models/conditional/bootstrap.h"

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/predictions/sampled_functions.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr double kLeastDeviation = 1e-30;

/// (k · B, N, C) as (k, B, N, C).
Tensor by_sample(const Tensor& x, std::int64_t batch) {
  return reshape(x, {x.dim(0) / batch, batch, x.dim(1), x.dim(2)});
}

Tensor joined_samples(const Tensor& x) { return reshape(x, {x.dim(0) * x.dim(1), x.dim(2), x.dim(3)}); }

/// 1 for tasks that have a context, 0 for others, (B, 1, 1); undefined if all have one.
Tensor have_context(const Context& context) {
  const std::int64_t batch = context.xc.dim(0), points = context.xc.dim(1);
  const Shape each{batch, 1, 1};
  if (points == 0) return Tensor::zeros(each, context.xc.dtype(), context.xc.device());
  if (!context.lengths.defined()) return {};
  const Tensor ones = Tensor::full({batch, points, 1}, 1, context.xc.dtype(), context.xc.device());
  return reshape(masked_mean(ones, context.lengths), each);
}

/// log p(y) of each target, (B, N), where each channel is a mixture of the functions by itself.
Tensor log_likelihood_by_channel(const Moments& functions, const Tensor& y) {
  const std::int64_t k = functions.mean.dim(0), batch = y.dim(0), values = y.dim(1) * y.dim(2);
  const auto as_points = [&](const Tensor& x) { return reshape(x, {k, batch, values, 1}); };
  const SampledFunctions channels({as_points(functions.mean), as_points(functions.std)});
  return sum(reshape(channels.log_likelihood(reshape(y, {batch, values, 1})), y.shape()), -1);
}

/// Joins the encodings of all samples, chunk by chunk.
std::vector<ContextEncoder::Encoded> joined(const std::vector<std::vector<ContextEncoder::Encoded>>& chunks,
                                            std::int64_t samples, const PrefixMask& mask) {
  if (chunks.size() == 1) return chunks.front();
  std::vector<ContextEncoder::Encoded> all = chunks.front();
  const auto join = [&](std::size_t encoder, const auto& part_of) {
    std::vector<Tensor> parts;
    for (const auto& chunk : chunks) parts.push_back(part_of(chunk[encoder]));
    return parts.front().defined() ? concat(parts, 0) : Tensor();
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].attended.values = join(i, [](const ContextEncoder::Encoded& e) { return e.attended.values; });
    all[i].pooled = join(i, [](const ContextEncoder::Encoded& e) { return e.pooled; });
    all[i].attended.samples = samples;
    all[i].mask = mask;
  }
  return all;
}

/// Samples or points that are worked through at a time, of which each stands for `each` points.
std::int64_t chunk_of(Device device, std::int64_t each) {
  return std::max<std::int64_t>(1, chunk_points(device) / std::max<std::int64_t>(1, each));
}

}  // namespace

Resampling::Resampling(const Context& context, Draws& draws, std::int64_t samples) : lengths_(context.lengths) {
  const std::int64_t batch = context.xc.dim(0), points = context.xc.dim(1);
  const Tensor below =
      lengths_.defined() ? lengths_ : Tensor::full({batch}, static_cast<double>(points), DType::int64, Device::cpu);
  points_ = draws.integers(samples, below, points);
  residuals_ = draws.integers(samples, below, points);
}

Resampling::Part Resampling::part(std::int64_t begin, std::int64_t end, Draws& draws) const {
  const std::int64_t batch = points_.dim(1), points = points_.dim(2), rows = (end - begin) * batch;
  const auto from = static_cast<std::size_t>(begin * batch * points);
  Part part{.samples = end - begin};
  part.points = draws.derived({1, rows * points}, [=, drawn = points_](std::span<std::int64_t> index) {
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t task = static_cast<std::int64_t>(i) / points % batch;
      index[i] = task * points + drawn.values<std::int64_t>()[from + i];
    }
  });
  part.residuals = draws.derived({rows, points}, [from, drawn = residuals_](std::span<std::int64_t> index) {
    std::ranges::copy(drawn.values<std::int64_t>().subspan(from, index.size()), index.begin());
  });
  part.lengths = lengths(end - begin, draws);
  return part;
}

Tensor Resampling::lengths(std::int64_t count, Draws& draws) const {
  if (!lengths_.defined()) return {};
  return draws.derived({count * lengths_.dim(0)}, [each = lengths_](std::span<std::int64_t> all) {
    const auto lengths = each.values<std::int64_t>();
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = lengths[i % lengths.size()];
  });
}

Tensor resample_points(const Tensor& x, const Resampling::Part& part) {
  if (!x.defined()) return {};
  const Tensor all = reshape(x, {1, x.dim(0) * x.dim(1), x.dim(2)});
  return reshape(gather(all, part.points), {part.residuals.dim(0), x.dim(1), x.dim(2)});
}

Tensor resample_residuals(const Tensor& x, const Resampling::Part& part) {
  const Tensor drawn = gather(x, part.residuals);
  return sub(drawn, reshape(masked_mean(drawn, part.lengths), {x.dim(0), 1, x.dim(2)}));
}

struct BootstrappingProcess::State final : HeldContext {
  explicit State(HeldContext held) : HeldContext(std::move(held)) {}

  Encoded base, boots;  // the context, B sets, and its bootstraps, K · B
  Tensor have_context;  // (B, 1, 1)
};

/// A context, each point by itself, for each encoder.
struct BootstrappingProcess::Points {
  std::vector<Tensor> keys;  // undefined if there is no attention
  std::vector<ContextEncoder::Points> values;
};

BootstrappingProcess::BootstrappingProcess(const BootstrapConfig& config, std::vector<ContextEncoder> all,
                                           Initializer& init)
    : encoders(std::move(all)),
      context(config.lineage == Lineage::tnp ? Linear::without_bias(config.encoded, config.hidden, init)
                                             : Linear(config.encoded, config.hidden, init)),
      decoder(
          Mlp::of_depth(config.encoded + config.dim_x, config.hidden, 2 * config.dim_y, config.decoder_depth, init)),
      config_(config) {}

/// Reads R sets at targets x (B, N, Dx): (R, N, ·), or (R, 1, ·) if it is the same for all of them.
std::vector<Tensor> BootstrappingProcess::read(const Encoded& encoded, const Tensor& x) const {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < encoders.size(); ++i)
    for (Tensor& part : encoders[i].read(encoded[i], x)) parts.push_back(std::move(part));
  return parts;
}

/// The same of k · B sets: (k, B, N, ·) and (k, B, 1, ·).
std::vector<Tensor> BootstrappingProcess::read_by_sample(const Encoded& encoded, const Tensor& x) const {
  std::vector<Tensor> parts = read(encoded, x);
  for (Tensor& part : parts) part = by_sample(part, x.dim(0));
  return parts;
}

/// Applies the decoder's first layer: (B, N, hidden) or (k, B, N, hidden).
Tensor BootstrappingProcess::units(std::vector<Tensor> read, const Tensor& x) const {
  read.push_back(x);
  return of_parts(decoder.layers.front(), read);
}

Tensor BootstrappingProcess::outputs(const Tensor& units) const {
  return after_first(decoder, units, config_.lineage == Lineage::tnp ? Activation::relu : Activation::none);
}

/// Values (k · B, Nc, Dy) that a context gets in some samples.
Tensor BootstrappingProcess::new_values(const Context& c, const Points& points, const Resampling::Part& part) const {
  const bool tnp = config_.lineage == Lineage::tnp;
  std::optional<NoGrad> constants;
  if (tnp) constants.emplace();
  Encoded drawn;
  for (std::size_t i = 0; i < encoders.size(); ++i) {
    const ContextEncoder::Points& values = points.values[i];
    const Tensor keys = tnp ? resample_points(points.keys[i], part) : points.keys[i];
    drawn.push_back(encoders[i].encode(keys,
                                       {resample_points(values.attended, part), resample_points(values.pooled, part)},
                                       part.lengths, part.samples));
  }
  const std::int64_t batch = c.xc.dim(0);
  const Tensor raw =
      join_chunks(c.xc.dim(1), chunk_of(c.xc.device(), part.samples), [&](std::int64_t begin, std::int64_t end) {
        const Tensor x = points_between(c.xc, begin, end);
        return joined_samples(outputs(units(read_by_sample(drawn, x), x)));  // (k · B, n, 2 Dy)
      });
  const Moments predicted = gaussian_head(by_sample(raw, batch), config_.std);  // (k, B, Nc, Dy)
  // Without a floor of deviations the residuals may be large, but they are finite, and their share in y is 0.
  const Tensor units_of = clamp(predicted.std, kLeastDeviation, std::numeric_limits<double>::infinity());
  const Tensor residuals = joined_samples(div(sub(c.yc, predicted.mean), units_of));  // (k · B, Nc, Dy)
  return add(joined_samples(predicted.mean), mul(joined_samples(predicted.std), resample_residuals(residuals, part)));
}

std::unique_ptr<BootstrappingProcess::State> BootstrappingProcess::encode(const Context& observed, Draws& draws,
                                                                          std::int64_t samples) const {
  auto state = std::make_unique<State>(HeldContext(observed, draws, samples));
  const Context c = clear_padding(observed);
  const std::int64_t each = c.xc.dim(0) * c.xc.dim(1);
  const Tensor xy = concat({c.xc, c.yc}, -1);
  Points points;
  for (const ContextEncoder& encoder : encoders) {
    points.keys.push_back(encoder.inputs(c.xc));
    points.values.push_back(encoder.points(xy));
    state->base.push_back(encoder.encode(points.keys.back(), points.values.back(), c.lengths));
  }
  state->have_context = have_context(c);
  const Resampling resampling(c, draws, samples);
  std::vector<Encoded> chunks;
  for_chunks(samples, chunk_of(c.xc.device(), each), [&](std::int64_t begin, std::int64_t end) {
    const Resampling::Part part = resampling.part(begin, end, draws);
    const Tensor values = new_values(c, points, part);
    const Tensor repeated = concat({for_samples(c.xc, part.samples), values}, -1);
    Encoded& encoded = chunks.emplace_back();
    for (std::size_t i = 0; i < encoders.size(); ++i)
      encoded.push_back(encoders[i].encode(points.keys[i], encoders[i].points(repeated), part.lengths, part.samples));
  });
  state->boots = joined(chunks, samples, PrefixMask::lengths(resampling.lengths(samples, draws)));
  return state;
}

std::unique_ptr<ContextState> BootstrappingProcess::do_condition(const Context& observed, Draws& draws,
                                                                 std::int64_t samples) const {
  return encode(observed, draws, config_.lineage == Lineage::dl4bi ? config_.train_samples : samples);
}

/// From the units of the base, (B, Nt, hidden): (K, B, Nt, 2 Dy).
Tensor BootstrappingProcess::functions(const State& state, const Tensor& units, const Tensor& xt) const {
  Tensor shift = of_parts(context, read_by_sample(state.boots, xt));
  if (state.have_context.defined()) shift = mul(shift, state.have_context);
  return outputs(add(units, shift));
}

std::unique_ptr<Prediction> BootstrappingProcess::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& own = state_as<State>(state, "bootstrap");
  const std::int64_t batch = own.context.xc.dim(0);
  const std::int64_t chunk = chunk_of(xt.device(), own.samples);
  const Tensor raw = join_chunks(xt.dim(1), chunk, [&](std::int64_t begin, std::int64_t end) {
    const Tensor x = points_between(xt, begin, end);
    return joined_samples(functions(own, units(read(own.base, x), x), x));  // (K · B, n, 2 Dy)
  });
  return std::make_unique<SampledFunctions>(gaussian_head(by_sample(raw, batch), config_.std));
}

Moments BootstrappingProcess::base(const ContextState& state, const Tensor& xt) const {
  const auto& own = state_as<State>(state, "bootstrap");
  return gaussian_head(outputs(units(read(own.base, xt), xt)), config_.std);
}

Tensor BootstrappingProcess::loss(const Task& task, Draws& draws) const {
  const bool tnp = config_.lineage == Lineage::tnp;
  const ScoredPoints scored = tnp ? context_and_targets(task) : ScoredPoints{task.xt, task.yt, task.target_weights};
  const auto state = encode({task.xc, task.yc, task.lengths}, draws, config_.train_samples);
  const Tensor base_units = units(read(state->base, scored.x), scored.x);
  const Independent base(gaussian_head(outputs(base_units), config_.std));
  const Moments drawn = gaussian_head(functions(*state, base_units, scored.x), config_.std);
  const Tensor ll = base.log_likelihood(scored.y);  // (B, N)
  if (tnp) return nll(add(ll, SampledFunctions(drawn).log_likelihood(scored.y)), scored.weights);
  const Tensor both = add(ll, log_likelihood_by_channel(drawn, scored.y));
  return mean_over_channels(affine(nll(both, scored.weights, task.target_totals), 0.5, 0), dim_y());
}

std::int64_t read_train_samples(ConfigReader& reader) {
  return reader.size("train_samples", "functions sampled in training", BootstrapConfig().train_samples);
}

void BootstrappingProcess::visit(ModuleVisitor& visitor) {
  visitor("encoders", encoders);
  visitor("context", context);
  visitor("decoder", decoder);
}

}  // namespace npzoo
