#include "npzoo/models/events/thp.h"

#include <utility>

#include "npzoo/datasets/model_config.h"
#include "npzoo/models/events/thp_authors.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"
#include "npzoo/ops/softmax/softmax.h"
#include "npzoo/ops/time_encoding/time_encoding.h"

namespace npzoo {

namespace {

constexpr double kErrorWeight = 0.01;  // of squared errors of gaps in the objective, as theirs

struct ThpState final : EventState {
  using EventState::EventState;
  std::shared_ptr<const EventState> copy() const override { return std::make_shared<const ThpState>(*this); }

  EncodedEvents encoded;
  LstmState recurrent;
};

const ThpState& thp_state(const EventState& state) { return state_as<ThpState>(state, "thp"); }

}  // namespace

Tensor mark_cross_entropy(const Tensor& log_probability, const Tensor& mark, double smoothing) {
  const std::int64_t marks = log_probability.dim(2);
  const double shared = smoothing / static_cast<double>(marks);
  const Tensor chosen = chosen_marks(mark, marks), real = sum(chosen, 2);  // (B, N)
  return affine(add(affine(sum(mul(chosen, log_probability), 2), 1 - smoothing - shared, 0),
                    affine(mul(real, sum(log_probability, 2)), shared, 0)),
                -1, 0);
}

Thp::Thp(const ThpConfig& config, Initializer& init)
    : EventModel(config, init),
      encoder(config.encoder, init),
      rnn(config.width, config.recurrent_width, init),
      projection(config.recurrent_width, config.width, init),
      intensity(config.width, config.marks, init),
      slope{Tensor::full({1}, -0.1, DType::float32)},
      sharpness{Tensor::full({1}, 1, DType::float32)},
      next_gap(Linear::without_bias(config.width, 1, init)),
      next_mark(Linear::without_bias(config.width, config.marks, init)),
      config_(config) {}

std::unique_ptr<EventState> Thp::begin(std::int64_t batch, const Draws& draws, std::int64_t samples) const {
  auto state = std::make_unique<ThpState>(draws, samples);
  state->encoded = encoder.begin(batch);
  state->recurrent = rnn.begin(batch);
  state->history = projection(state->recurrent.hidden);
  return state;
}

Tensor Thp::histories(const EventState& state, const EmbeddedEvents& events, Draws& draws) const {
  const ThpState& before = thp_state(state);
  EncodedEvents after;
  return projection(rnn(before.recurrent, encoder(before.encoded, events, draws, after)).hidden);
}

std::unique_ptr<EventState> Thp::absorb(const EventState& state, const EmbeddedEvents& events, Draws& draws) const {
  const ThpState& before = thp_state(state);
  auto after = std::make_unique<ThpState>(state.draws, state.samples);
  const LstmState each = rnn(before.recurrent, encoder(before.encoded, events, draws, after->encoded));
  after->recurrent = {last_of(before.recurrent.hidden, each.hidden, events.lengths, draws),
                      last_of(before.recurrent.cell, each.cell, events.lengths, draws)};
  after->history = projection(after->recurrent.hidden);
  return after;
}

Thp::Histories Thp::histories_of(const Tensor& y, Draws& draws) const {
  const Tensor start = Tensor::zeros({y.dim(0)}, DType::float64, y.device());
  const Tensor times = event_times(reshape(slice(y, 2, 0, 1), {y.dim(0), y.dim(1)}), start);
  EncodedEvents after;
  const Tensor encoded = encoder(encoder.begin(y.dim(0)), embed(y, times, {}), draws, after);
  return {encoded, projection(rnn(rnn.begin(y.dim(0)), encoded).hidden)};
}

std::unique_ptr<EventDensity> Thp::predict(const Tensor& history, const Tensor& times) const {
  const Tensor since = reshape(affine(times, 1, 1).to(history.dtype()), {times.dim(0), times.dim(1), 1});
  return std::make_unique<IntensityEvent>(MarkIntensities{intensity(history), div(slope.value, since), sharpness.value},
                                          reshape(next_gap(history), {times.dim(0), times.dim(1)}),
                                          log_softmax(next_mark(history)));
}

Tensor Thp::loss(const Task& task, Draws& draws) const {
  if (config_.objective == HawkesObjective::authors) return hawkes_authors_loss(*this, task, draws);
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, 1);
  const auto next = given_those_before(state_as<EventState>(*state, "events"), task.yt, draws);
  const auto& each = dynamic_cast<const IntensityEvent&>(*next);
  const Tensor gap = slice(task.yt, 2, 0, 1), mark = slice(task.yt, 2, 1, 2);
  const Tensor event = reshape(affine(clamp(affine(mark, -1, 0), 0, 1), -1, 1), each.expected_gap().shape());
  const Tensor error = square(sub(each.expected_gap(), reshape(gap, each.expected_gap().shape())));
  const Tensor forecasts = add(mark_cross_entropy(each.mark_log_probability(), mark, config_.smoothing),
                               affine(mul(event, error), kErrorWeight, 0));
  return nll(sub(each.log_likelihood(task.yt), forecasts), task.target_weights, task.target_totals);
}

void Thp::visit(ModuleVisitor& visitor) {
  EventModel::visit(visitor);
  encoder.visit(visitor);
  visitor("rnn", rnn);
  visitor("projection", projection);
  visitor("intensity", intensity);
  visitor("slope", slope);
  visitor("sharpness", sharpness);
  visitor("next_gap", next_gap);
  visitor("next_mark", next_mark);
}

namespace {

std::unique_ptr<Model> make_thp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "thp");
  ThpConfig c{read_event_config(reader, "thp")};
  c.encoder = read_hawkes_encoder(reader, c.width);
  c.recurrent_width = reader.size("d_rnn", "width of the recurrent network");
  c.smoothing = reader.number("smooth", "label smoothing of the marks", kBelowOne, 0);
  constexpr KeyLine kObjective = "loss: the negative log-likelihood, or that of the authors' code";
  if (reader.choice("objective", kObjective, {"corrected", "authors"}, "corrected") == "authors")
    c.objective = HawkesObjective::authors;
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<Thp>(c, init);
}

constexpr PublishedSize kThpSizes[] = {
    {"events/hawkes", 1'524,
     R"({"d_model": 8, "d_rnn": 6, "d_inner": 12, "n_layers": 2, "n_head": 2, "d_k": 4, "d_v": 4})"},
};

constexpr const char* kSmallThps[] = {
    R"({"num_classes": 3, "d_model": 6, "d_inner": 10, "n_layers": 2, "n_head": 2, "d_k": 4, "d_v": 3, "d_rnn": 5, "smooth": 0.1})",
};

}  // namespace

ModelInfo thp_info() {
  return {
      .name = "thp",
      .title = "Transformer Hawkes process",
      .paper = "Zuo et al., Transformer Hawkes process, ICML 2020",
      .make = make_thp,
      .small_forms = kSmallThps,
      .sizes = kThpSizes,
      .authors = thp_authors(),
      .density = Density::joint,
      .takes = TaskForm::events,
  };
}

}  // namespace npzoo
