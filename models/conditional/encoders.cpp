#include "npzoo/models/conditional/encoders.h"

#include <algorithm>

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// How many of the points [begin, end) of each batch element are real. Of all points they are the lengths themselves,
/// which a captured step reads anew each time.
Tensor counts_between(const Context& context, std::int64_t begin, std::int64_t end) {
  if (begin == 0 && end == context.xc.dim(1) && context.lengths.defined()) return context.lengths;
  Tensor counts = Tensor::full({context.xc.dim(0)}, static_cast<double>(end), DType::int64);
  if (context.lengths.defined()) counts = context.lengths.clone();
  for (std::int64_t& count : counts.values<std::int64_t>())
    count = std::clamp<std::int64_t>(count - begin, 0, end - begin);
  return counts;
}

/// Adds `counts` to `sums`; returns their shares in the new sums, (B, 1), of the dtype and on the device of `like`, or
/// nothing for the first counts: theirs are all there is.
Tensor add_counts(const Tensor& counts, std::vector<double>& sums, const Tensor& like) {
  const auto given = counts.values<std::int64_t>();
  if (sums.empty()) {
    sums.assign(given.begin(), given.end());
    return {};
  }
  Tensor shares = Tensor::zeros({counts.numel(), 1}, DType::float64, Device::cpu);
  for (std::size_t b = 0; b < sums.size(); ++b) {
    const auto count = static_cast<double>(given[b]);
    sums[b] += count;
    if (count > 0) shares.values<double>()[b] = count / sums[b];
  }
  return shares.to(like.dtype()).to(like.device());
}

}  // namespace

PoolingEncoder::PoolingEncoder(std::int64_t in, std::int64_t hidden, std::int64_t pre_depth, std::int64_t post_depth,
                               Initializer& init)
    : pre(Mlp::of_depth(in, hidden, hidden, pre_depth, init)) {
  if (post_depth > 0) post = Mlp::of_depth(hidden, hidden, hidden, post_depth, init);
}

PoolingEncoder::PoolingEncoder(Mlp before, std::vector<PointAttention> attention, std::optional<Mlp> after)
    : pre(std::move(before)), self_attention(std::move(attention)), post(std::move(after)) {}

Tensor PoolingEncoder::embed(const Tensor& points) const {
  return in_chunks(points, [&](const Tensor& some) { return relu_between ? relu(pre(some)) : pre(some); });
}

Tensor PoolingEncoder::pool(const Tensor& embedded, const Tensor& lengths) const {
  Tensor h = embedded;  // (B, N, hidden)
  for (const PointAttention& layer : self_attention) h = layer.among(h, PrefixMask::lengths(lengths));
  return masked_mean(h, lengths);
}

void PoolingEncoder::visit(ModuleVisitor& visitor) {
  visitor("pre", pre);
  visitor("self_attention", self_attention);
  if (post) visitor("post", *post);
}

void absorb(PooledPoints& pooled, std::span<const PoolingEncoder* const> encoders, const Context& more,
            const char* model) {
  const auto batch = static_cast<std::size_t>(more.xc.dim(0));
  check(pooled.counts.empty() || pooled.counts.size() == batch,
        "[{}] {} batch elements found, expected {} as in the state", model, batch, pooled.counts.size());
  const Context points = clear_padding(more);
  for_chunks(more.xc.dim(1), chunk_points(more.xc.device()), [&](std::int64_t begin, std::int64_t end) {
    const Tensor counts = counts_between(more, begin, end);
    const Tensor x = points_between(points.xc, begin, end), y = points_between(points.yc, begin, end);
    const Tensor shares = add_counts(counts, pooled.counts, x), tokens = concat({x, y}, -1);  // (B, 1), (B, n, D)
    for (std::size_t i = 0; i < encoders.size(); ++i) {
      const PoolingEncoder& encoder = *encoders[i];
      const Tensor mean = encoder.pool(encoder.embed(tokens), more.lengths.defined() ? counts : Tensor());
      if (pooled.means.size() == i)
        pooled.means.push_back(mean);  // (B, hidden)
      else
        pooled.means[i] = add(pooled.means[i], mul(shares, sub(mean, pooled.means[i])));
    }
  });
}

AttendingEncoder::AttendingEncoder(std::optional<Mlp> of_inputs, Mlp of_points,
                                   std::vector<PointAttention> among_points, PointAttention cross)
    : embedder(std::move(of_inputs)),
      values(std::move(of_points)),
      self_attention(std::move(among_points)),
      cross_attention(std::move(cross)) {}

Tensor AttendingEncoder::inputs(const Tensor& x) const { return embedder ? in_chunks(x, *embedder) : x; }

Tensor AttendingEncoder::embed(const Tensor& points) const { return in_chunks(points, values); }

KeysValues AttendingEncoder::encode(const Tensor& inputs, const Tensor& embedded, const PrefixMask& mask) const {
  Tensor h = embedded;  // (B, N, E)
  for (const PointAttention& layer : self_attention) h = layer.among(h, mask);
  KeysValues context = cross_attention.project(inputs, h);
  context.origin.layer = 0;
  return context;
}

void AttendingEncoder::visit(ModuleVisitor& visitor) {
  if (embedder) visitor("embedder", *embedder);
  visitor("values", values);
  visitor("self_attention", self_attention);
  visitor("cross_attention", cross_attention);
}

ContextEncoder::Points ContextEncoder::points(const Tensor& xy) const {
  return {attending ? attending->embed(xy) : Tensor(), pooling ? pooling->embed(xy) : Tensor()};
}

ContextEncoder::Encoded ContextEncoder::encode(const Tensor& inputs, const Points& points, const Tensor& lengths,
                                               std::int64_t samples) const {
  Encoded encoded{.mask = PrefixMask::lengths(lengths)};
  if (attending) encoded.attended = attending->encode(inputs, points.attended, encoded.mask);
  encoded.attended.samples = samples;
  if (pooling) encoded.pooled = pooling->finish(pooling->pool(points.pooled, lengths));  // (B, hidden)
  return encoded;
}

std::vector<Tensor> ContextEncoder::read(const Encoded& encoded, const Tensor& x) const {
  std::vector<Tensor> parts;
  if (attending) parts.push_back(attending->query(x, encoded.attended, encoded.mask));
  if (pooling) parts.push_back(reshape(encoded.pooled, {encoded.pooled.dim(0), 1, encoded.pooled.dim(1)}));
  return parts;
}

void ContextEncoder::visit(ModuleVisitor& visitor) {
  if (attending) visitor("attending", *attending);
  if (pooling) visitor("pooling", *pooling);
}

Tensor of_parts(const Linear& layer, std::span<const Tensor> parts) {
  std::vector<Tensor> terms;
  std::int64_t column = 0;
  for (const Tensor& part : parts) {
    const std::int64_t end = column + part.dim(-1);
    terms.push_back(linear(part, slice(layer.weight.value, 1, column, end), column == 0 ? layer.bias.value : Tensor()));
    column = end;
  }
  check(column == layer.weight.value.dim(1), "[mlp] parts of {} channels found, expected {}", column,
        layer.weight.value.dim(1));
  std::ranges::stable_sort(terms, {}, [](const Tensor& term) { return term.rank(); });
  Tensor all = terms.front();
  for (std::size_t i = 1; i < terms.size(); ++i) all = add(all, terms[i]);
  return all;
}

Tensor after_first(const Mlp& mlp, const Tensor& first, Activation activation) {
  Tensor h = first;
  for (std::size_t i = 1; i < mlp.layers.size(); ++i) {
    if (i == 1 && activation == Activation::relu) h = relu(h);
    h = mlp.layers[i](h, i + 1 < mlp.layers.size() ? Activation::relu : Activation::none);
  }
  return h;
}

namespace {

Tensor point_counts(const Tensor& weights, const Tensor& lengths, const Tensor& x) {
  if (weights.defined()) return weights;
  return lengths.defined() ? real_points(lengths, x.dim(1), x.dtype()).to(x.device())
                           : Tensor::full({x.dim(0), x.dim(1)}, 1, x.dtype(), x.device());
}

}  // namespace

Tensor context_weights(const Task& task) {
  if (!task.context_weights.defined() && !task.lengths.defined()) return {};
  return point_counts(task.context_weights, task.lengths, task.xc);
}

ScoredPoints context_and_targets(const Task& task) {
  Tensor weights;
  if (task.lengths.defined() || task.target_lengths.defined() || task.context_weights.defined() ||
      task.target_weights.defined())
    weights = concat({point_counts(task.context_weights, task.lengths, task.xc),
                      point_counts(task.target_weights, task.target_lengths, task.xt)},
                     1);
  return {concat({task.xc, task.xt}, 1), concat({task.yc, task.yt}, 1), weights};
}

}  // namespace npzoo
