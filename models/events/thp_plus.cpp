#include "npzoo/models/events/thp_plus.h"

#include <utility>

#include "npzoo/datasets/model_config.h"
#include "npzoo/models/events/thp_plus_authors.h"
#include "npzoo/models/registry.h"

namespace npzoo {

namespace {

struct ThpPlusState final : EventState {
  using EventState::EventState;
  std::shared_ptr<const EventState> copy() const override { return std::make_shared<const ThpPlusState>(*this); }

  EncodedEvents encoded;
};

}  // namespace

ThpPlus::ThpPlus(const EventModelConfig& config, std::int64_t components, const HawkesEncoderConfig& encoder_config,
                 Initializer& init)
    : LogNormalEventModel(config, components, config.width, init), encoder(encoder_config, init) {}

std::unique_ptr<EventState> ThpPlus::begin(std::int64_t batch, const Draws& draws, std::int64_t samples) const {
  auto state = std::make_unique<ThpPlusState>(draws, samples);
  state->encoded = encoder.begin(batch);
  state->history = Tensor::zeros({batch, 1, width()}, embedding.value.dtype(), embedding.value.device());
  return state;
}

Tensor ThpPlus::histories(const EventState& state, const EmbeddedEvents& events, Draws& draws) const {
  EncodedEvents after;
  return encoder(state_as<ThpPlusState>(state, "thp-plus").encoded, events, draws, after);
}

std::unique_ptr<EventState> ThpPlus::absorb(const EventState& state, const EmbeddedEvents& events, Draws& draws) const {
  auto after = std::make_unique<ThpPlusState>(state.draws, state.samples);
  const Tensor each = encoder(state_as<ThpPlusState>(state, "thp-plus").encoded, events, draws, after->encoded);
  after->history = last_of(state.history, each, events.lengths, draws);
  return after;
}

void ThpPlus::visit(ModuleVisitor& visitor) {
  LogNormalEventModel::visit(visitor);
  encoder.visit(visitor);
}

namespace {

std::unique_ptr<Model> make_thp_plus(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "thp-plus");
  const EventModelConfig events = read_event_config(reader, "thp-plus");
  const std::int64_t components = read_components(reader);
  const HawkesEncoderConfig encoder = read_hawkes_encoder(reader, events.width);
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<ThpPlus>(events, components, encoder, init);
}

constexpr const char* kSmallThpPlus[] = {
    R"({"num_classes": 3, "d_model": 6, "d_inner": 10, "n_layers": 2, "n_head": 2, "d_k": 4, "d_v": 3, "components": 2})",
    R"({"num_classes": 1, "d_model": 6, "d_inner": 10, "n_layers": 1, "n_head": 1, "d_k": 4, "d_v": 4, "clock": "gaps"})",
    R"({"num_classes": 2, "d_model": 5, "d_inner": 4, "n_layers": 1, "n_head": 1, "d_k": 3, "d_v": 3, "clock": "both"})",
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
      .takes = TaskForm::events,
  };
}

}  // namespace npzoo
