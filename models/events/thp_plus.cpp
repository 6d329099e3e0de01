#include "models/events/thp_plus.h"

#include <utility>

#include "datasets/model_config.h"
#include "models/events/thp_plus_authors.h"
#include "models/registry.h"
#include "ops/concat/concat.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gather/gather.h"

namespace npzoo {

namespace {

/// Keys and values of each layer: those of a row's events, then padding.
struct ThpPlusState final : EventState {
  using EventState::EventState;

  std::vector<KeysValues> layers;  // (B, N, H·D)
  Tensor lengths{};                // as in Task
};

/// How many events row b has of `points`.
std::int64_t events_of_row(const Tensor& lengths, std::int64_t points, std::int64_t b) {
  return lengths.defined() ? lengths.values<std::int64_t>()[static_cast<std::size_t>(b)] : points;
}

Linear hawkes_projection(std::int64_t in, std::int64_t out, Initializer& init) {
  return Linear(init.xavier_uniform(out, in, out, in), {});
}

/// Where more keys go: behind those of their row.
class KeyPlaces {
 public:
  KeyPlaces(const ThpPlusState& state, std::int64_t more, Draws& draws) {
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

HawkesLayer::HawkesLayer(const ThpPlusConfig& config, Initializer& init)
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

ThpPlus::ThpPlus(const ThpPlusConfig& config, Initializer& init)
    : EventModel(config, config.width, init),
      layers([&] {
        std::vector<HawkesLayer> all;
        for (std::int64_t i = 0; i < config.layers; ++i) all.emplace_back(config, init);
        return all;
      }()),
      config_(config) {}

std::unique_ptr<EventState> ThpPlus::begin(std::int64_t batch, const Draws& draws, std::int64_t samples) const {
  auto state = std::make_unique<ThpPlusState>(draws, samples);
  const Tensor& like = embedding.value;
  const auto zeros = [&](std::int64_t points, std::int64_t width) {
    return Tensor::zeros({batch, points, width}, like.dtype(), like.device());
  };
  state->history = zeros(1, config_.width);
  state->layers.assign(layers.size(),
                       {zeros(0, config_.heads * config_.key_width), zeros(0, config_.heads * config_.value_width)});
  return state;
}

Tensor ThpPlus::encode(const EventState& state, const EmbeddedEvents& events, Draws& draws,
                       std::vector<KeysValues>& layers_seen) const {
  const auto& before = state_as<ThpPlusState>(state, "thp-plus");
  const KeyPlaces places(before, events.marks.dim(1), draws);
  Tensor h = events.marks;  // (B, N, E)
  for (std::size_t i = 0; i < layers.size(); ++i) {
    h = add(h, events.times);
    const KeysValues own = layers[i].keys_values(h), &old = before.layers[i];
    layers_seen.push_back({places.join(old.keys, own.keys), places.join(old.values, own.values)});
    h = layers[i](h, layers_seen.back(), places.seen());
  }
  return h;
}

Tensor ThpPlus::histories(const EventState& state, const EmbeddedEvents& events, Draws& draws) const {
  std::vector<KeysValues> seen;
  return encode(state, events, draws, seen);
}

std::unique_ptr<EventState> ThpPlus::absorb(const EventState& state, const EmbeddedEvents& events, Draws& draws) const {
  const auto& before = state_as<ThpPlusState>(state, "thp-plus");
  auto after = std::make_unique<ThpPlusState>(state.draws, state.samples);
  const Tensor each = encode(state, events, draws, after->layers);
  after->history = last_of(state.history, each, events.lengths, draws);
  if (!before.lengths.defined() && !events.lengths.defined()) return after;
  const std::int64_t old = before.layers.front().keys.dim(1), more = each.dim(1);
  after->lengths = draws.derived({each.dim(0)}, [old, more, a = before.lengths, b = events.lengths](auto out) {
    for (std::int64_t row = 0; row < std::ssize(out); ++row)
      out[static_cast<std::size_t>(row)] = events_of_row(a, old, row) + events_of_row(b, more, row);
  });
  return after;
}

void ThpPlus::visit(ModuleVisitor& visitor) {
  EventModel::visit(visitor);
  visitor("layers", layers);
}

namespace {

std::unique_ptr<Model> make_thp_plus(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "thp-plus");
  ThpPlusConfig c{read_event_config(reader, "thp-plus")};
  c.hidden = reader.size("d_inner");
  c.layers = reader.size("n_layers");
  c.heads = reader.size("n_head");
  c.key_width = reader.size("d_k");
  c.value_width = reader.size("d_v");
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<ThpPlus>(c, init);
}

constexpr const char* kSmallThpPlus[] = {
    R"({"num_classes": 3, "d_model": 6, "d_inner": 10, "n_layers": 2, "n_head": 2, "d_k": 4, "d_v": 3, "components": 2})",
    R"({"num_classes": 1, "d_model": 6, "d_inner": 10, "n_layers": 1, "n_head": 1, "d_k": 4, "d_v": 4, "clock": "gaps"})",
};

}  // namespace

ModelInfo thp_plus_info() {
  return {
      .name = "thp-plus",
      .title = "Transformer Hawkes process with log-normal gaps",
      .paper = "Bae et al., Meta temporal point processes, ICLR 2023",
      .make = make_thp_plus,
      .small_forms = kSmallThpPlus,
      .authors = thp_plus_authors(),
      .density = Density::joint,
      .of_events = true,
  };
}

}  // namespace npzoo
