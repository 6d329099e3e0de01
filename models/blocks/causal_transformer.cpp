#include "npzoo/models/blocks/causal_transformer.h"

#include <algorithm>
#include <optional>

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/equal_layers.h"
#include "npzoo/ops/gather/gather.h"

namespace npzoo {

namespace {

constexpr std::size_t kArraysOfLayer = 4;  // of a layer

std::vector<TransformerLayer> copied_layers(const TransformerConfig& config, Initializer& init) {
  std::vector<TransformerLayer> layers;
  for (std::int64_t i = 0; i < config.layers; ++i) layers.emplace_back(config, init);
  make_equal(layers);
  return layers;
}

/// The number of real points of each row.
std::vector<std::int64_t> real_counts(const Tensor& lengths, std::int64_t batch, std::int64_t points) {
  if (!lengths.defined()) return std::vector<std::int64_t>(static_cast<std::size_t>(batch), points);
  return {lengths.values<std::int64_t>().begin(), lengths.values<std::int64_t>().end()};
}

/// Where points are added to contexts of different lengths: behind the real points of each row, padding at the end.
struct RaggedGrowth {
  RaggedGrowth(const CausalTransformer::Cache& before, std::int64_t batch, std::int64_t more, const Tensor& lengths)
      : index(Tensor::zeros({batch, before.rows.count() + more}, DType::int64, Device::cpu)),
        seen(Tensor::zeros({batch, more}, DType::int64, Device::cpu)),
        total(Tensor::zeros({batch}, DType::int64, Device::cpu)) {
    const std::int64_t old = before.rows.count(), all = old + more;
    const auto first = real_counts(before.lengths, batch, old), added = real_counts(lengths, batch, more);
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t n = first[static_cast<std::size_t>(b)], k = added[static_cast<std::size_t>(b)];
      for (std::int64_t i = 0; i < n + k; ++i) index.data<std::int64_t>()[b * all + i] = i < n ? i : old + i - n;
      for (std::int64_t i = 0; i < more; ++i) seen.data<std::int64_t>()[b * more + i] = n + std::min(i + 1, k);
      total.data<std::int64_t>()[b] = n + k;
    }
  }

  Tensor index;  // (B, n + k): which of the old and the new points, side by side, come one after the other
  Tensor seen;   // (B, k): how many of them each new point sees
  Tensor total;  // (B): real points
};

}  // namespace

CausalTransformer::CausalTransformer(const TransformerConfig& config, Initializer& init)
    : context_layers(copied_layers(config, init)), target_layers(copied_layers(config, init)) {}

void CausalTransformer::check_fits(const Cache& cache, std::int64_t batch) const {
  check(cache.rows.arrays() == kArraysOfLayer * context_layers.size(),
        "[causal_transformer] the state of the context has {} layers, expected {}",
        cache.rows.arrays() / kArraysOfLayer, context_layers.size());
  if (!cache.rows[0].defined()) return;
  check(cache.rows[0].dim(0) == batch, "[causal_transformer] {} batch elements found, expected {} as in the state",
        batch, cache.rows[0].dim(0));
}

CausalTransformer::Cache CausalTransformer::extend(const Cache& before, const Tensor& tokens, const Tensor& lengths,
                                                   std::vector<Tensor>* leaving) const {
  const std::int64_t batch = tokens.dim(0), more = tokens.dim(1), old = before.rows.count();
  Cache cache{before.rows.arrays() == 0 ? GrowingRows(kArraysOfLayer * context_layers.size()) : before.rows, {}};
  check_fits(cache, batch);
  // Padding behind the points of an empty cache comes last anyway: the causal mask hides it from all real points.
  const bool ragged = before.lengths.defined() || (lengths.defined() && old > 0);
  std::optional<RaggedGrowth> growth;
  if (ragged) growth.emplace(before, batch, more, lengths);
  cache.lengths = ragged ? growth->total : lengths;
  const PrefixMask mask = ragged ? PrefixMask::lengths(growth->seen) : PrefixMask::growing(old + 1);
  const GrowingRows former = cache.rows;
  cache.rows = ragged ? former.joined(more) : former.grown(more);
  const auto append = [&](std::size_t i, const Tensor& part) -> const Tensor& {
    const Tensor& whole = cache.rows.append(i, part);
    if (ragged && whole.dim(1) > 0) cache.rows.replace(i, gather(whole, growth->index));
    return cache.rows[i];
  };
  Tensor h = tokens;  // (B, n, E)
  for (std::size_t i = 0; i < context_layers.size(); ++i) {
    const TransformerLayer &own = context_layers[i], &targets = target_layers[i];
    const KeysValues added = own.keys_values(h);  // (B, n, H·D) each
    const KeysValues seen{append(kArraysOfLayer * i, added.keys), append(kArraysOfLayer * i + 1, added.values)};
    h = own(h, seen, mask);                                 // (B, n, E)
    const KeysValues for_targets = targets.keys_values(h);  // (B, n, H·D) each
    append(kArraysOfLayer * i + 2, for_targets.keys);
    append(kArraysOfLayer * i + 3, for_targets.values);
    if (leaving) leaving->push_back(h);
  }
  return cache;
}

KeysValues CausalTransformer::read_by_context(const Cache& cache, std::size_t i) const {
  return {.keys = cache.rows[kArraysOfLayer * i], .values = cache.rows[kArraysOfLayer * i + 1]};
}

KeysValues CausalTransformer::read_by_targets(const Cache& cache, std::size_t i) const {
  const std::size_t at = kArraysOfLayer * i + 2;
  const bool exact = KeepAttention::on();  // who looks at the weights expects those of the points alone
  return {.keys = exact ? cache.rows.points(at) : cache.rows[at],
          .values = exact ? cache.rows.points(at + 1) : cache.rows[at + 1],
          .origin = {.layer = i}};
}

Tensor CausalTransformer::query(const Cache& cache, const Tensor& tokens, const PrefixMask& mask) const {
  check_fits(cache, tokens.dim(0));
  Tensor h = tokens;  // (B, Nt, E)
  for (std::size_t i = 0; i < target_layers.size(); ++i) h = target_layers[i](h, read_by_targets(cache, i), mask);
  return h;
}

void CausalTransformer::visit(ModuleVisitor& visitor) {
  visitor("context_layers", context_layers);
  visitor("target_layers", target_layers);
}

}  // namespace npzoo
