#pragma once

#include "npzoo/models/blocks/linear.h"
#include "npzoo/models/model.h"
#include "npzoo/models/predictions/event_prediction.h"
#include "npzoo/models/predictions/next_event.h"

namespace npzoo {

class ConfigReader;

/// The time of an event that is encoded: since the sequence began, or since the event before; or, in half of the
/// channels each, since the sequence began and the logarithm of the time since the event before.
enum class EventClock : std::uint8_t { since_start, gaps, both };

struct EventModelConfig {
  std::int64_t marks = 1;
  std::int64_t width = 64;  // E, of embeddings
  EventClock clock = EventClock::since_start;
};

/// Events that were absorbed. Models derive their own.
struct EventState : ContextState {
  EventState(const Draws& from, std::int64_t count) : draws(from), samples(count) {}
  /// The copy shares its tensors.
  virtual std::shared_ptr<const EventState> copy() const = 0;

  Tensor time;     // (B) float64, of the last one; 0 before any
  Tensor history;  // (B, 1, H), what the next one is predicted from
  Draws draws;     // of paths
  std::int64_t samples;
};

/// Embedded events: their marks and when they happened, (B, N, E) each.
struct EmbeddedEvents {
  Tensor marks, times;
  Tensor lengths{};  // as in Task
};

/// Base of models of event sequences. An event is embedded as in the transformer Hawkes process (Zuo, Jiang, Li, Zhao
/// and Zha, ICML 2020, section 3.2), and predicted from a history (B, N, H) of all events before it. Each model has its
/// own history and its own prediction.
///
/// x is ignored; y (B, N, 2) is gaps and marks as in npzoo/datasets/events/event_task.h. The order of a context has a
/// meaning. Training is the likelihood of each target and end, all given the events before them, in one pass.
class EventModel : public Model {
 public:
  EventModel(const EventModelConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const final;
  std::unique_ptr<ContextState> do_update(const ContextState& state, const Context& more) const final;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const final;
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;

  std::int64_t dim_x() const final { return 1; }
  std::int64_t dim_y() const final { return 2; }
  std::int64_t marks() const { return config_.marks; }
  std::int64_t width() const { return config_.width; }

  /// The copy shares its tensors: weights that change later leave it as it is.
  virtual std::shared_ptr<const EventModel> copy() const = 0;
  /// From histories (B, N, H), the last events of which were at times (B, N), float64.
  virtual std::unique_ptr<EventDensity> predict(const Tensor& history, const Tensor& times) const = 0;
  /// Returns the density of each of y (B, Nt, 2) given the events before it, in one pass.
  std::unique_ptr<EventDensity> given_those_before(const EventState& state, const Tensor& y, Draws& draws) const;

  Parameter embedding;  // (M + 1, E), of no event, which is 0, then of each mark

 protected:
  /// Before any event.
  virtual std::unique_ptr<EventState> begin(std::int64_t batch, const Draws& draws, std::int64_t samples) const = 0;
  /// Histories after each of more events, (B, N, H).
  virtual Tensor histories(const EventState& state, const EmbeddedEvents& events, Draws& draws) const = 0;
  /// Gaps and marks (B, N, 2) that happened at `times` (B, N), float64.
  EmbeddedEvents embed(const Tensor& y, const Tensor& times, const Tensor& lengths) const;
  /// The state after all of them, except its time.
  virtual std::unique_ptr<EventState> absorb(const EventState& state, const EmbeddedEvents& events,
                                             Draws& draws) const = 0;

  /// Returns the row of `each` (B, N, D) for each last event; for rows without events that of `before` (B, 1, D).
  static Tensor last_of(const Tensor& before, const Tensor& each, const Tensor& lengths, Draws& draws);

 private:
  class Sequence;

  /// gaps and times (B, N), float64 → (B, N, E)
  Tensor encoded(const Tensor& gaps, const Tensor& times, DType dtype) const;
  std::unique_ptr<EventState> extended(const EventState& state, const Context& more, Draws& draws) const;

  EventModelConfig config_;
};

/// A mixture of log-normal distributions is the gap, a softmax the mark (Shchur, Biloš and Günnemann, ICLR 2020), by
/// the layers of Bae, Ahmed, Tung and Oliveira, "Meta temporal point processes", ICLR 2023.
class LogNormalEventModel : public EventModel {
 public:
  /// K components; histories have `history_width` channels.
  LogNormalEventModel(const EventModelConfig& config, std::int64_t components, std::int64_t history_width,
                      Initializer& init);

  std::unique_ptr<EventDensity> predict(const Tensor& history, const Tensor& times) const final;
  void visit(ModuleVisitor& visitor) override;

  Linear decode, gap, mark;

 private:
  std::int64_t components_;
};

/// Reads dim_x and dim_y, which must be 1 and 2, num_classes (marks), d_model and, if it is given, clock ("since
/// start", "gaps" or "both").
EventModelConfig read_event_config(ConfigReader& reader, const std::string& model);
/// K, 8 unless it is given.
std::int64_t read_components(ConfigReader& reader);

}  // namespace npzoo
