#include "npzoo/models/blocks/te_attention.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/tape.h"
#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/recomputed.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/mask_points/mask_points.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"
#include "npzoo/ops/softmax/softmax.h"

namespace npzoo {

namespace {

constexpr std::int64_t kPairNumbers = 1 << 22;  // of the widest array of a chunk of queries

/// Arguments of the function of pairs, in this order; then weights and biases of the two networks.
enum PairArgument : std::size_t { kQueries, kQueryPlaces, kKeys, kValues, kKeyPlaces, kNetworks };

Mlp network_of_pairs(std::int64_t in, const TeAttentionConfig& c, std::int64_t out, Initializer& init) {
  std::vector<std::int64_t> widths(static_cast<std::size_t>(c.kernel_layers) + 2, c.kernel_width);
  widths.front() = in;
  widths.back() = out;
  return Mlp(widths, init);
}

Linear outputs_of_heads(const TeAttentionConfig& c, Initializer& init) {
  const std::int64_t inner = c.heads * c.head_width;
  return c.heads == 1 && inner == c.width ? Linear({}, {}) : Linear(inner, c.width, init);
}

/// How a call looks at pairs besides the tensors.
struct PairForm {
  std::int64_t heads = 1;
  std::size_t kernel_layers = 1, move_layers = 0;  // linear ones
  Tensor lengths{};
};

/// A network applied to column j of each x (M, K, N): (M, out, N). `layers` are weights and biases in turn.
Tensor on_columns(std::span<const Tensor> layers, Tensor x) {
  for (std::size_t i = 0; i < layers.size(); i += 2) {
    x = add(matmul(layers[i], x), reshape(layers[i + 1], {layers[i + 1].numel(), 1}));
    if (i + 2 < layers.size()) x = relu(x);
  }
  return x;
}

/// Pairs of queries and keys, with the keys in the last axis.
struct Pairs {
  Tensor apart;    // (B, n, Dx, N): x_i − x_j
  Tensor weights;  // (B, n, H, N)
  Tensor real{};   // (B, 1, 1, N): 1 for real keys, else 0; undefined: all are real
};

Tensor real_keys(const PairForm& form, const Tensor& like) {
  if (!form.lengths.defined()) return {};
  const std::int64_t batch = like.dim(0), keys = like.dim(1);
  return reshape(mask_points(Tensor::full({batch, keys, 1}, 1, like.dtype(), like.device()), form.lengths),
                 {batch, 1, 1, keys});
}

Pairs look_at_pairs(std::span<const Tensor> in, const PairForm& form) {
  const Tensor &q = in[kQueries], &k = in[kKeys], &xq = in[kQueryPlaces], &xk = in[kKeyPlaces];
  const std::int64_t batch = q.dim(0), n = q.dim(1), keys = k.dim(1), width = q.dim(2) / form.heads, dx = xq.dim(2);
  std::vector<Tensor> places, rows;
  for (std::int64_t c = 0; c < dx; ++c) places.push_back(reshape(slice(xk, 2, c, c + 1), {batch, 1, 1, keys}));
  Pairs pairs{.apart = sub(reshape(xq, {batch, n, dx, 1}), concat(places, 2)), .weights = {}};  // (B, n, Dx, N)
  rows.push_back(pairs.apart);
  for (std::int64_t h = 0; h < form.heads; ++h) {
    const auto head = [&](const Tensor& x) { return slice(x, 2, h * width, (h + 1) * width); };
    rows.push_back(reshape(matmul(head(q), head(k), Transpose::no, Transpose::yes), {batch, n, 1, keys}));
  }
  const Tensor columns = reshape(concat(rows, 2), {batch * n, dx + form.heads, keys});  // (B·n, Dx + H, N)
  Tensor scores = reshape(on_columns(in.subspan(kNetworks, 2 * form.kernel_layers), columns),
                          {batch, n, form.heads, keys});  // (B, n, H, N)
  pairs.real = real_keys(form, k);
  if (pairs.real.defined()) scores = add(scores, log(pairs.real));
  pairs.weights = softmax(scores);
  return pairs;
}

/// What queries attended to and, if there is a network that moves them, their places: (B, n, H·D) or (B, n, H·D + Dx).
Tensor attend_by_pairs(std::span<const Tensor> in, const PairForm& form) {
  const Pairs pairs = look_at_pairs(in, form);
  const Tensor& v = in[kValues];
  const std::int64_t batch = v.dim(0), keys = v.dim(1), n = in[kQueries].dim(1), width = v.dim(2) / form.heads;
  std::vector<Tensor> heads;
  for (std::int64_t h = 0; h < form.heads; ++h)
    heads.push_back(
        matmul(reshape(slice(pairs.weights, 2, h, h + 1), {batch, n, keys}), slice(v, 2, h * width, (h + 1) * width)));
  if (form.move_layers == 0) return concat(heads, 2);  // (B, n, H·D)
  const Tensor &xq = in[kQueryPlaces], by = reshape(pairs.weights, {batch * n, form.heads, keys});
  const Tensor steps = on_columns(in.subspan(kNetworks + 2 * form.kernel_layers, 2 * form.move_layers), by);
  Tensor moves = mul(pairs.apart, reshape(steps, {batch, n, steps.dim(1), keys}));  // (B, n, Dx, N)
  Tensor shift;
  if (pairs.real.defined()) {
    const Tensor count = clamp(sum(pairs.real, 3), 1, static_cast<double>(std::max<std::int64_t>(keys, 1)));
    shift = div(sum(mul(moves, pairs.real), 3), count);
  } else {
    shift = affine(sum(moves, 3), 1 / static_cast<double>(std::max<std::int64_t>(keys, 1)), 0);
  }
  heads.push_back(add(xq, shift));
  return concat(heads, 2);  // (B, n, H·D + Dx)
}

/// Queries of a chunk, if each has arrays of so many numbers.
std::int64_t queries_at_a_time(std::int64_t of_query) {
  if (const std::int64_t wish = chunk_points_of_test.load(std::memory_order_relaxed); wish > 0) return wish;
  return std::max<std::int64_t>(kPairNumbers / std::max<std::int64_t>(of_query, 1), 1);
}

void append_layers(const Mlp& network, std::vector<Tensor>& to) {
  for (const Linear& layer : network.layers) {
    to.push_back(layer.weight.value);
    to.push_back(layer.bias.value);
  }
}

}  // namespace

TeAttention::TeAttention(const TeAttentionConfig& c, Initializer& init)
    : query(Linear::without_bias(c.width, c.heads * c.head_width, init)),
      key(Linear::without_bias(c.width, c.heads * c.head_width, init)),
      value(Linear::without_bias(c.width, c.heads * c.head_width, init)),
      out(outputs_of_heads(c, init)),
      kernel(network_of_pairs(c.dim_x + c.heads, c, c.heads, init)),
      heads_(c.heads) {
  if (c.move_width > 0) move = network_of_pairs(c.heads, c, c.move_width, init);
}

std::vector<Tensor> TeAttention::inputs(const PlacedTokens& queries, const PlacedKeys& read, bool moves) const {
  const Tensor q = query(queries.tokens);  // (B, Nq, H·D)
  const double scale = 1 / std::sqrt(static_cast<double>(q.dim(2) / heads_));
  std::vector<Tensor> all{affine(q, scale, 0), queries.places, read.keys, read.values, read.places};
  append_layers(kernel, all);
  if (moves) append_layers(*move, all);
  return all;
}

PlacedTokens TeAttention::operator()(const PlacedTokens& queries, const PlacedKeys& read, bool may_move) const {
  const bool moves = may_move && move;
  const PairForm form{heads_, kernel.layers.size(), moves ? move->layers.size() : 0, read.lengths};
  std::vector<Tensor> in = inputs(queries, read, moves);
  const std::int64_t count = queries.tokens.dim(1), inner = in[kValues].dim(2);
  const std::int64_t widest = std::max(in[kNetworks].dim(0), in[kNetworks].dim(1));
  const std::int64_t of_query = read.keys.dim(0) * read.keys.dim(1) * widest;
  const std::int64_t chunk = queries_at_a_time(of_query);
  const Tensor q = in[kQueries], xq = in[kQueryPlaces];
  std::vector<Tensor> parts;
  for (std::int64_t begin = 0; begin == 0 || begin < count; begin += chunk) {
    const std::int64_t end = std::min(begin + chunk, count);
    in[kQueries] = slice(q, 1, begin, end);
    in[kQueryPlaces] = slice(xq, 1, begin, end);
    parts.push_back(
        recomputed("te_attention", in, [form](std::span<const Tensor> x) { return attend_by_pairs(x, form); }));
  }
  const Tensor all = parts.size() == 1 ? parts.front() : concat(parts, 1);
  const Tensor attended = moves ? slice(all, 2, 0, inner) : all;  // (B, Nq, H·D)
  tell_listener(read.origin, read.values, attended, [&] { return weights(queries, read); });
  return {out.weight.value.defined() ? out(attended) : attended,
          moves ? slice(all, 2, inner, all.dim(2)) : queries.places};
}

Tensor TeAttention::weights(const PlacedTokens& queries, const PlacedKeys& read) const {
  const NoGrad off;
  const PairForm form{heads_, kernel.layers.size(), 0, read.lengths};
  const Tensor w = look_at_pairs(inputs(queries, read, false), form).weights.to(Device::cpu).to(DType::float64);
  const std::int64_t batch = w.dim(0), n = w.dim(1), keys = w.dim(3);  // (B, n, H, N)
  Tensor by_head = Tensor::empty({batch, heads_, n, keys}, DType::float64, Device::cpu);
  for (std::int64_t row = 0; row < batch * n * heads_; ++row) {
    const std::int64_t h = row % heads_, i = row / heads_ % n, b = row / heads_ / n;
    std::copy_n(w.data<double>() + row * keys, keys, by_head.data<double>() + ((b * heads_ + h) * n + i) * keys);
  }
  return by_head;
}

void TeAttention::visit(ModuleVisitor& visitor) {
  visitor("query", query);
  visitor("key", key);
  visitor("value", value);
  visitor("out", out);
  visitor("kernel", kernel);
  if (move) visitor("move", *move);
}

TeLayer::TeLayer(const TeAttentionConfig& config, Initializer& init)
    : attention(config, init),
      norm1(config.width, 1e-5),
      norm2(config.width, 1e-5),
      expand(config.width, config.hidden, init),
      contract(config.hidden, config.width, init),
      norm_(config.norm) {}

PlacedKeys TeLayer::keys(const PlacedTokens& points, const Tensor& lengths) const {
  return attention.project({entering(points.tokens), points.places}, lengths);
}

PlacedTokens TeLayer::operator()(const PlacedTokens& queries, const PlacedKeys& read, bool moves) const {
  const PlacedTokens attended = attention({entering(queries.tokens), queries.places}, read, moves);
  if (norm_ == NormPlacement::pre) {
    const auto [sum, normalised] = norm2(queries.tokens, attended.tokens);  // (B, Nq, E) each
    return {add(sum, contract(expand(normalised, Activation::relu))), attended.places};
  }
  const Tensor z = norm1(queries.tokens, attended.tokens).norm;  // (B, Nq, E)
  return {add(z, contract(expand(norm2(z), Activation::relu))), attended.places};
}

Tensor TeLayer::mean_weights(const PlacedTokens& queries, const PlacedKeys& read) const {
  return mean(attention.weights({entering(queries.tokens), queries.places}, read), 1);
}

void TeLayer::visit(ModuleVisitor& visitor) {
  visitor("attention", attention);
  visitor("norm1", norm1);
  visitor("norm2", norm2);
  visitor("expand", expand);
  visitor("contract", contract);
}

}  // namespace npzoo
