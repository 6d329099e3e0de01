#include "npzoo/models/events/event_model.h"

#include <algorithm>
#include <utility>

#include "npzoo/datasets/model_config.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reshape/reshape.h"
#include "npzoo/ops/softmax/softmax.h"
#include "npzoo/ops/time_encoding/time_encoding.h"

namespace npzoo {

namespace {

const EventState& event_state(const ContextState& state) { return state_as<EventState>(state, "events"); }

/// Channel c of y (B, N, 2) as (B, N).
Tensor event_channel(const Tensor& y, std::int64_t c) { return reshape(slice(y, 2, c, c + 1), {y.dim(0), y.dim(1)}); }

/// (B) → (B, 1)
Tensor in_a_column(const Tensor& time) { return reshape(time, {time.dim(0), 1}); }

}  // namespace

/// Shares the weights that the model and the state have now, so it may outlive both.
class EventModel::Sequence final : public EventPrediction {
 public:
  Sequence(std::shared_ptr<const EventModel> model, const std::shared_ptr<const EventState>& state, Tensor xt)
      : EventPrediction(state, xt, state->draws, state->samples, 1),
        model_(std::move(model)),
        state_(state),
        xt_(std::move(xt)) {}

  Tensor joint_log_likelihood(const Tensor& y) const override { return each(y)->joint_log_likelihood(y); }
  EventScores score(const Tensor& y) const override { return each(y)->score(y); }
  Tensor intensities(const Tensor& y, const Tensor& elapsed) const override { return each(y)->intensities(elapsed); }

 protected:
  std::unique_ptr<Prediction> next(const ContextState& state, const Tensor& xt) const override {
    const EventState& before = event_state(state);
    const std::int64_t targets = xt.dim(1);
    return model_->predict(slice(before.history, 1, 0, targets), slice(in_a_column(before.time), 1, 0, targets));
  }
  std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const override {
    return model_->update(state, observed);
  }

 private:
  std::unique_ptr<EventDensity> each(const Tensor& y) const {
    check(y.rank() == 3 && y.dim(1) == xt_.dim(1), "[prediction] y {} found, expected values of {} targets", y.shape(),
          xt_.dim(1));
    Draws draws = state_->draws;
    return model_->given_those_before(*state_, y.to(xt_.dtype()).to(xt_.device()), draws);
  }

  const std::shared_ptr<const EventModel> model_;
  const std::shared_ptr<const EventState> state_;
  Tensor xt_;
};

EventModel::EventModel(const EventModelConfig& config, Initializer& init)
    : embedding{concat({Tensor::zeros({1, config.width}), init.standard_normal({config.marks, config.width})}, 0)},
      config_(config) {}

Tensor EventModel::encoded(const Tensor& gaps, const Tensor& times, DType dtype) const {
  constexpr double kLeastGap = 1e-6;  // of padding the gap is 0
  switch (config_.clock) {
    case EventClock::since_start: return time_encoding(times, config_.width, dtype);
    case EventClock::gaps: return time_encoding(gaps, config_.width, dtype);
    case EventClock::both: break;
  }
  const std::int64_t half = config_.width / 2;
  return concat(
      {time_encoding(times, config_.width - half, dtype), time_encoding(log(affine(gaps, 1, kLeastGap)), half, dtype)},
      2);
}

EmbeddedEvents EventModel::embed(const Tensor& y, const Tensor& times, const Tensor& lengths) const {
  const Tensor numbers = affine(slice(y, 2, 1, 2), 1, 1);
  return {matmul(chosen_marks(numbers, config_.marks + 1), embedding.value),  // (B, N, E)
          encoded(event_channel(y, 0).detach().to(DType::float64), times, y.dtype()), lengths};
}

std::unique_ptr<EventDensity> EventModel::given_those_before(const EventState& state, const Tensor& y,
                                                             Draws& draws) const {
  const Tensor start = in_a_column(state.time);
  if (y.dim(1) == 0) return predict(slice(state.history, 1, 0, 0), slice(start, 1, 0, 0));
  const Tensor before = slice(y, 1, 0, y.dim(1) - 1);
  const Tensor times = event_times(event_channel(before, 0), state.time);
  return predict(concat({state.history, histories(state, embed(before, times, {}), draws)}, 1),  // (B, Nt, H)
                 concat({start, times}, 1));
}

std::unique_ptr<EventState> EventModel::extended(const EventState& state, const Context& more, Draws& draws) const {
  const Context events = clear_padding(more);
  check(events.yc.dim(0) == state.time.dim(0), "[events] {} batch elements found, expected {} as in the state",
        events.yc.dim(0), state.time.dim(0));
  const Tensor times = event_times(event_channel(events.yc, 0), state.time);  // padding has gaps of 0
  auto after = absorb(state, embed(events.yc, times, events.lengths), draws);
  const std::int64_t n = times.dim(1);
  after->time = n == 0 ? state.time : reshape(slice(times, 1, n - 1, n), {times.dim(0)});
  return after;
}

std::unique_ptr<ContextState> EventModel::do_condition(const Context& context, Draws& draws,
                                                       std::int64_t samples) const {
  const auto state = begin(context.xc.dim(0), draws, samples);
  state->time = Tensor::zeros({context.xc.dim(0)}, DType::float64, context.xc.device());
  return extended(*state, context, draws);
}

std::unique_ptr<ContextState> EventModel::do_update(const ContextState& state, const Context& more) const {
  Draws draws = event_state(state).draws;
  return extended(event_state(state), more, draws);
}

std::unique_ptr<Prediction> EventModel::do_query(const ContextState& state, const Tensor& xt) const {
  return std::make_unique<Sequence>(copy(), event_state(state).copy(), xt);
}

Tensor EventModel::loss(const Task& task, Draws& draws) const {
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, 1);
  return nll(*given_those_before(event_state(*state), task.yt, draws), task.yt, task.target_weights,
             task.target_totals);
}

Tensor EventModel::last_of(const Tensor& before, const Tensor& each, const Tensor& lengths, Draws& draws) {
  const std::int64_t n = each.dim(1);
  if (n == 0) return before;
  if (!lengths.defined()) return slice(each, 1, n - 1, n);
  const Tensor last = draws.derived({each.dim(0), 1}, [lengths](std::span<std::int64_t> out) {
    std::ranges::copy(lengths.values<std::int64_t>(), out.begin());
  });
  return gather(concat({before, each}, 1), last);
}

void EventModel::visit(ModuleVisitor& visitor) { visitor("embedding", embedding); }

LogNormalEventModel::LogNormalEventModel(const EventModelConfig& config, std::int64_t components,
                                         std::int64_t history_width, Initializer& init)
    : EventModel(config, init),
      decode(history_width, config.width, init),
      gap(config.width, 3 * components, init),
      mark(history_width, config.marks, init),
      components_(components) {}

std::unique_ptr<EventDensity> LogNormalEventModel::predict(const Tensor& history, const Tensor&) const {
  const Tensor raw = gap(tanh(decode(history)));  // (B, N, 3 K)
  const std::int64_t k = components_;
  return std::make_unique<NextEvent>(LogNormalMixture{log_softmax(slice(raw, 2, 0, k)), slice(raw, 2, k, 2 * k),
                                                      softplus(slice(raw, 2, 2 * k, 3 * k))},
                                     log_softmax(mark(history)));
}

void LogNormalEventModel::visit(ModuleVisitor& visitor) {
  EventModel::visit(visitor);
  visitor("decode", decode);
  visitor("gap", gap);
  visitor("mark", mark);
}

EventModelConfig read_event_config(ConfigReader& reader, const std::string& model) {
  const std::int64_t dim_x = reader.size("dim_x", kGivenByData), dim_y = reader.size("dim_y", kGivenByData);
  check(dim_x == 1 && dim_y == 2, "[{}] dim_x {} and dim_y {} found, expected events, which have 1 and 2", model, dim_x,
        dim_y);
  EventModelConfig c;
  c.marks = reader.size("num_classes", kGivenByData);
  c.width = reader.size("d_model", "width of tokens");
  const std::string clock =
      reader.choice("clock", "time that an event is encoded by: since the start, since the event before, or both",
                    {"since start", "gaps", "both"}, "since start");
  c.clock = clock == "gaps" ? EventClock::gaps : clock == "both" ? EventClock::both : EventClock::since_start;
  return c;
}

std::int64_t read_components(ConfigReader& reader) { return reader.size("components", "components of the mixture", 8); }

}  // namespace npzoo
