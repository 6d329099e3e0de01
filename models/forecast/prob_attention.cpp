#include "npzoo/models/forecast/prob_attention.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/error.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"
#include "npzoo/ops/softmax/softmax.h"
#include "npzoo/ops/top_softmax/top_softmax.h"

namespace npzoo {

namespace {

constexpr double kHidden = -1e30;  // added to logits that do not count

/// (B, L, E) → (B, H, L, E / H)
Tensor by_heads(const Tensor& x, std::int64_t heads) {
  const std::int64_t each = x.dim(2) / heads;
  std::vector<Tensor> parts;
  for (std::int64_t h = 0; h < heads; ++h)
    parts.push_back(reshape(slice(x, 2, h * each, (h + 1) * each), {x.dim(0), 1, x.dim(1), each}));
  return concat(parts, 1);
}

/// (B, H, L, d) → (B, L, H d)
Tensor side_by_side(const Tensor& x) {
  std::vector<Tensor> heads;
  for (std::int64_t h = 0; h < x.dim(1); ++h)
    heads.push_back(reshape(slice(x, 1, h, h + 1), {x.dim(0), x.dim(2), x.dim(3)}));
  return concat(heads, 2);
}

/// (rows, columns): `behind` in column j > row i, `up_to` elsewhere.
Tensor triangle(std::int64_t rows, std::int64_t columns, double behind, double up_to, const Tensor& like) {
  Tensor out = Tensor::full({rows, columns}, up_to, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = i + 1; j < columns; ++j) out.data<double>()[i * columns + j] = behind;
  return out.to(like.dtype()).to(like.device());
}

/// 1 where x > 0 is at least 1 / `least`, 0 if it is 0.
Tensor indicator(const Tensor& x, double least) {
  return affine(relu(affine(x, -2 * least, 1)), -1, 1);  // 1 − max(0, 1 − 2 least x)
}

}  // namespace

ProbAttention::ProbAttention(const ProbAttentionConfig& config, Initializer& init)
    : projections(config.width, init), config_(config) {
  check(config.width % config.heads == 0, "[informer] d_model {} found, expected a multiple of {} heads", config.width,
        config.heads);
}

std::int64_t ProbAttention::count(std::int64_t points) const {
  const auto logarithm = static_cast<std::int64_t>(std::ceil(std::log(static_cast<double>(points))));
  return std::clamp<std::int64_t>(config_.factor * logarithm, 1, points);
}

Tensor ProbAttention::chosen(const Tensor& logits, Draws& draws) const {
  const NoGrad off;
  const std::int64_t batch = logits.dim(0), heads = logits.dim(1), queries = logits.dim(2), keys = logits.dim(3);
  const std::int64_t drawn = count(keys);
  const Tensor keys_of_queries =
      draws.integers(queries, Tensor::full({batch}, static_cast<double>(keys), DType::int64, Device::cpu), drawn);
  const Tensor index = draws.derived({batch, queries * drawn}, [=](std::span<std::int64_t> out) {
    for (std::int64_t i = 0; i < std::ssize(out); ++i) {
      const std::int64_t b = i / (queries * drawn), query = i / drawn % queries;
      out[static_cast<std::size_t>(i)] = keys_of_queries.data<std::int64_t>()[(query * batch + b) * drawn + i % drawn];
    }
  });
  Tensor unit = Tensor::zeros({1, keys, keys}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < keys; ++i) unit.data<double>()[i * (keys + 1)] = 1;
  const Tensor rows = broadcast_to(unit.to(logits.dtype()).to(logits.device()), {batch, keys, keys});
  // How often each key was drawn for each query.
  const Tensor times =
      reshape(sum(reshape(gather(rows, index), {batch, queries, drawn, keys}), 2), {batch, 1, queries, keys});
  const Tensor of_drawn = add(logits, affine(indicator(times, 1), -kHidden, kHidden));
  const Tensor largest = sum(mul(top_softmax(of_drawn, of_drawn, 1), logits), -1);             // (B, H, L)
  const Tensor share = affine(sum(mul(times, logits), -1), 1 / static_cast<double>(keys), 0);  // (B, H, L)
  const Tensor sparsity = sub(largest, share);
  const std::int64_t kept = count(queries);
  const Tensor weights = top_softmax(Tensor::zeros_like(sparsity), sparsity, kept);
  return reshape(indicator(weights, static_cast<double>(kept)), {batch, heads, queries, 1});
}

Tensor ProbAttention::operator()(const Tensor& x, const Tensor& memory, const SeriesPass& pass) const {
  const std::int64_t batch = x.dim(0), queries = x.dim(1), keys = memory.dim(1), heads = config_.heads,
                     each = config_.width / heads;
  const Tensor q = by_heads(projections.query(x), heads);             // (B, H, L, d)
  const Tensor k = by_heads(projections.key(memory), heads);          // (B, H, S, d)
  const Tensor v = by_heads(projections.value(memory), heads);        // (B, H, S, d)
  const Tensor logits = matmul(q, k, Transpose::no, Transpose::yes);  // (B, H, L, S)
  const Tensor attends = chosen(logits, pass.draws);                  // (B, H, L, 1)
  if (pass.trace != nullptr) pass.trace->chosen.push_back(reshape(attends, {batch, heads, queries}));
  Tensor scaled = affine(logits, 1 / std::sqrt(static_cast<double>(each)), 0);
  Tensor idle;  // what the others get
  if (config_.causal) {
    scaled = add(scaled, triangle(queries, keys, kHidden, 0, x));
    const Tensor up_to = broadcast_to(triangle(queries, keys, 0, 1, x), {batch, heads, queries, keys});
    idle = matmul(up_to, v);  // (B, H, L, d)
  } else {
    idle = reshape(mean(v, 2), {batch, heads, 1, each});
  }
  const Tensor attended = matmul(softmax(scaled), v);                                   // (B, H, L, d)
  const Tensor found = add(mul(attends, attended), mul(affine(attends, -1, 1), idle));  // (B, H, L, d)
  return projections.out(config_.scrambled ? reshape(found, {batch, queries, config_.width}) : side_by_side(found));
}

}  // namespace npzoo
