#include "npzoo/models/events/cmhp.h"

#include <utility>

#include "npzoo/datasets/model_config.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

struct CmhpState final : EventState {
  using EventState::EventState;
  std::shared_ptr<const EventState> copy() const override { return std::make_shared<const CmhpState>(*this); }

  std::vector<AttentionState> gathered;  // of each block
  Tensor last;                           // embedded event (B, 1, E); 0 before any
};

/// x (B, R, E), the same for each of n events: (B, n·R, E).
Tensor for_events(const Tensor& x, std::int64_t n) {
  const std::int64_t batch = x.dim(0), rows = x.dim(1), width = x.dim(2);
  return reshape(broadcast_to(reshape(x, {batch, 1, rows, width}), {batch, n, rows, width}), {batch, n * rows, width});
}

/// The state for the queries of each of n events.
AttentionState for_events(const AttentionState& state, std::int64_t n) {
  const Tensor& sums = state.log_sum_exp;  // (B, H, Lb)
  const std::int64_t batch = sums.dim(0), heads = sums.dim(1), rows = sums.dim(2);
  return {
      for_events(state.mean, n),
      reshape(broadcast_to(reshape(sums, {batch, heads, 1, rows}), {batch, heads, n, rows}), {batch, heads, n * rows})};
}

}  // namespace

Cmhp::Cmhp(const CmhpConfig& config, Initializer& init)
    : LogNormalEventModel(config, config.components, config.latents * config.width, init),
      latents{init.standard_normal({config.latents, config.width})},
      blocks([&] {
        std::vector<ConstantMemoryBlock> all;
        for (std::int64_t i = 0; i < config.layers; ++i) all.emplace_back(config.layer, config.latents_per_block, init);
        return all;
      }()) {}

Tensor Cmhp::read(const std::vector<AttentionState>& gathered, const Tensor& last) const {
  Tensor h = add(latents.value, last);  // (n, L, E)
  for (std::size_t i = 0; i < blocks.size(); ++i) h = blocks[i](gathered[i], h).states;
  return reshape(h, {h.dim(0), h.dim(1) * h.dim(2)});
}

std::unique_ptr<EventState> Cmhp::begin(std::int64_t batch, const Draws& draws, std::int64_t samples) const {
  auto state = std::make_unique<CmhpState>(draws, samples);
  const auto zeros = [&](std::int64_t points) {
    return Tensor::zeros({batch, points, width()}, embedding.value.dtype(), embedding.value.device());
  };
  for (const ConstantMemoryBlock& block : blocks)
    state->gathered.push_back(block.gather({}, block.queries(batch), zeros(0), PrefixMask::all()));
  state->last = zeros(1);
  const Tensor history = read(state->gathered, state->last);  // (B, L·E)
  state->history = reshape(history, {batch, 1, history.dim(1)});
  return state;
}

Tensor Cmhp::histories(const EventState& state, const EmbeddedEvents& events, Draws& draws) const {
  const auto& before = state_as<CmhpState>(state, "cmhp");
  const Tensor tokens = add(events.marks, events.times);  // (B, N, E)
  const std::int64_t batch = tokens.dim(0), n = tokens.dim(1);
  std::vector<AttentionState> gathered;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Tensor queries = blocks[i].queries(batch);  // (B, Lb, E)
    const std::int64_t rows = queries.dim(1);
    const PrefixMask up_to_itself =
        PrefixMask::lengths(draws.derived({batch, n * rows}, [=](std::span<std::int64_t> seen) {
          for (std::int64_t k = 0; k < std::ssize(seen); ++k)
            seen[static_cast<std::size_t>(k)] = k % (n * rows) / rows + 1;
        }));
    const AttentionState each =
        merge(for_events(before.gathered[i], n), blocks[i].gather({}, for_events(queries, n), tokens, up_to_itself));
    gathered.push_back({reshape(each.mean, {batch * n, rows, width()}), {}});
  }
  const Tensor history = read(gathered, reshape(tokens, {batch * n, 1, width()}));
  return reshape(history, {batch, n, state.history.dim(2)});
}

std::unique_ptr<EventState> Cmhp::absorb(const EventState& state, const EmbeddedEvents& events, Draws& draws) const {
  const auto& before = state_as<CmhpState>(state, "cmhp");
  auto after = std::make_unique<CmhpState>(state.draws, state.samples);
  const Tensor tokens = add(events.marks, events.times);  // (B, N, E)
  const PrefixMask real = PrefixMask::lengths(events.lengths);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    after->gathered.push_back(blocks[i].gather(before.gathered[i], blocks[i].queries(tokens.dim(0)), tokens, real));
  after->last = last_of(before.last, tokens, events.lengths, draws);
  after->history = reshape(read(after->gathered, after->last), state.history.shape());
  return after;
}

void Cmhp::visit(ModuleVisitor& visitor) {
  LogNormalEventModel::visit(visitor);
  visitor("latents", latents);
  visitor("blocks", blocks);
}

namespace {

std::unique_ptr<Model> make_cmhp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "cmhp");
  CmhpConfig c{read_event_config(reader, "cmhp")};
  c.components = read_components(reader);
  c.layer = {.width = c.width,
             .hidden = reader.size("d_inner", "width of the feed-forward networks"),
             .heads = reader.size("n_head", "attention heads")};
  c.layers = reader.depth("n_layers", "layers");
  c.latents = reader.size("num_latents", "latent vectors");
  c.latents_per_block = reader.size("num_latents_per_layer", "latent vectors of a block");
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<Cmhp>(c, init);
}

constexpr const char* kSmallCmhps[] = {
    R"({"num_classes": 3, "d_model": 6, "d_inner": 8, "n_layers": 2, "n_head": 2, "num_latents": 2, "num_latents_per_layer": 3, "components": 2})",
};

}  // namespace

ModelInfo cmhp_info() {
  return {
      .name = "cmhp",
      .title = "Constant memory Hawkes process",
      .paper = "Feng et al., Memory efficient neural processes via constant memory attention block, ICML 2024",
      .make = make_cmhp,
      .small_forms = kSmallCmhps,
      .density = Density::joint,
      .takes = TaskForm::events,
  };
}

}  // namespace npzoo
