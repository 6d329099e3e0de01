#include "npzoo/models/events/hawkes_encoder.h"

#include <utility>

#include "npzoo/datasets/model_config.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gather/gather.h"

namespace npzoo {

namespace {

/// How many events row b has of `points`.
std::int64_t events_of_row(const Tensor& lengths, std::int64_t points, std::int64_t b) {
  return lengths.defined() ? lengths.values<std::int64_t>()[static_cast<std::size_t>(b)] : points;
}

Linear hawkes_projection(std::int64_t in, std::int64_t out, Initializer& init) {
  return Linear(init.xavier_uniform(out, in, out, in), {});
}

/// Places of further keys: behind those of their row.
class KeyPlaces {
 public:
  KeyPlaces(const EncodedEvents& state, std::int64_t more, Draws& draws) {
    const KeysValues& first = state.layers.front();
    const std::int64_t batch = first.keys.dim(0), before = first.keys.dim(1), all = before + more;
    if (!state.lengths.defined()) {
      seen_ = PrefixMask::growing(before + 1);
      return;
    }
    const Tensor lengths = state.lengths;
    index_ = draws.derived({batch, all}, [=](std::span<std::int64_t> out) {
      for (std::int64_t i = 0; i < batch * all; ++i) {
        const std::int64_t own = events_of_row(lengths, before, i / all), at = i % all;
        out[static_cast<std::size_t>(i)] = at < own ? at : at < own + more ? before + at - own : 0;
      }
    });
    seen_ = PrefixMask::lengths(draws.derived({batch, more}, [=](std::span<std::int64_t> out) {
      for (std::int64_t i = 0; i < batch * more; ++i)
        out[static_cast<std::size_t>(i)] = events_of_row(lengths, before, i / more) + i % more + 1;
    }));
  }

  const PrefixMask& seen() const { return seen_; }
  Tensor join(const Tensor& before, const Tensor& more) const {
    const Tensor both = concat({before, more}, 1);
    return index_.defined() ? gather(both, index_) : both;
  }

 private:
  Tensor index_;
  PrefixMask seen_;
};

}  // namespace

HawkesLayer::HawkesLayer(const HawkesEncoderConfig& config, Initializer& init)
    : query(hawkes_projection(config.width, config.heads * config.key_width, init)),
      key(hawkes_projection(config.width, config.heads * config.key_width, init)),
      value(hawkes_projection(config.width, config.heads * config.value_width, init)),
      out(config.heads * config.value_width, config.width, init),
      norm1(config.width, 1e-6),
      expand(config.width, config.hidden, init),
      contract(config.hidden, config.width, init),
      norm2(config.width, 1e-6),
      heads_(static_cast<int>(config.heads)) {}

Tensor HawkesLayer::operator()(const Tensor& x, const KeysValues& seen, const PrefixMask& mask) const {
  const Tensor attended = out(masked_attention(query(x), seen.keys, seen.values, mask, {.heads = heads_}));
  const Tensor h = norm1(add(x, attended));
  return norm2(add(h, contract(gelu(expand(h)))));
}

void HawkesLayer::visit(ModuleVisitor& visitor) {
  visitor("query", query);
  visitor("key", key);
  visitor("value", value);
  visitor("out", out);
  visitor("norm1", norm1);
  visitor("expand", expand);
  visitor("contract", contract);
  visitor("norm2", norm2);
}

HawkesEncoder::HawkesEncoder(const HawkesEncoderConfig& config, Initializer& init)
    : layers([&] {
        std::vector<HawkesLayer> all;
        for (std::int64_t i = 0; i < config.layers; ++i) all.emplace_back(config, init);
        return all;
      }()),
      config_(config) {}

EncodedEvents HawkesEncoder::begin(std::int64_t batch) const {
  const Tensor& like = layers.front().query.weight.value;
  const auto nothing = [&](std::int64_t width) {
    return Tensor::zeros({batch, 0, width}, like.dtype(), like.device());
  };
  EncodedEvents state;
  state.layers.assign(layers.size(),
                      {nothing(config_.heads * config_.key_width), nothing(config_.heads * config_.value_width)});
  return state;
}

Tensor HawkesEncoder::operator()(const EncodedEvents& before, const EmbeddedEvents& events, Draws& draws,
                                 EncodedEvents& after) const {
  const std::int64_t old = before.layers.front().keys.dim(1), more = events.marks.dim(1);
  const KeyPlaces places(before, more, draws);
  EncodedEvents all;
  Tensor h = events.marks;  // (B, N, E)
  for (std::size_t i = 0; i < layers.size(); ++i) {
    h = add(h, events.times);
    const KeysValues own = layers[i].keys_values(h), &seen = before.layers[i];
    all.layers.push_back({places.join(seen.keys, own.keys), places.join(seen.values, own.values)});
    h = layers[i](h, all.layers.back(), places.seen());
  }
  if (before.lengths.defined() || events.lengths.defined())
    all.lengths = draws.derived({h.dim(0)}, [old, more, a = before.lengths, b = events.lengths](auto out) {
      for (std::int64_t row = 0; row < std::ssize(out); ++row)
        out[static_cast<std::size_t>(row)] = events_of_row(a, old, row) + events_of_row(b, more, row);
    });
  after = std::move(all);
  return h;
}

HawkesEncoderConfig read_hawkes_encoder(ConfigReader& reader, std::int64_t width) {
  HawkesEncoderConfig c{.width = width};
  c.hidden = reader.size("d_inner", "width of the feed-forward networks");
  c.layers = reader.depth("n_layers", "layers");
  c.heads = reader.size("n_head", "attention heads");
  c.key_width = reader.size("d_k", "width of keys");
  c.value_width = reader.size("d_v", "width of values");
  return c;
}

}  // namespace npzoo
