#pragma once

#include "npzoo/models/blocks/lstm.h"
#include "npzoo/models/events/hawkes_encoder.h"
#include "npzoo/models/predictions/intensity_event.h"

namespace npzoo {

/// Training objective of THP.
enum class HawkesObjective : std::uint8_t {
  corrected,  // of each event and end −log p, of events also the cross entropy and error of the forecasts
  authors     // see hawkes_authors_loss
};

struct ThpConfig : EventModelConfig {
  HawkesEncoderConfig encoder{};
  std::int64_t recurrent_width = 64;
  double smoothing = 0;  // of marks in their cross entropy: so much less for the true one, as much shared by all others
  HawkesObjective objective = HawkesObjective::corrected;
};

/// THP, the transformer Hawkes process (Zuo, Jiang, Li, Zhao and Zha, ICML 2020),
/// github.com/SimiaoZuo/Transformer-Hawkes-Process @9f2e563: the encoder, a recurrent layer, intensities that change
/// with the time since the last event over one more than its own, and forecasts of the next gap and mark by layers of
/// their own, since gaps may have no mean.
///
/// Corrected where their code is not what the paper says: an event's intensity is that before it, given the events
/// before it alone, where theirs is given the event itself; what integrates to its survival are the intensities of all
/// marks, not that of the mark that came; integrals are by quadrature instead of 100 random points; the gap that a
/// sequence is observed for after its last event counts. `objective = "authors"` trains by their objective all the
/// same.
///
/// An event is absorbed by extending cached keys and values and one recurrent step.
class Thp final : public EventModel {
 public:
  Thp(const ThpConfig& config, Initializer& init);

  Tensor loss(const Task& task, Draws& draws) const override;
  std::unique_ptr<EventDensity> predict(const Tensor& history, const Tensor& times) const override;
  std::shared_ptr<const EventModel> copy() const override { return std::make_shared<const Thp>(*this); }
  void visit(ModuleVisitor& visitor) override;
  double smoothing() const { return config_.smoothing; }

  /// Encodings after each event of sequences (B, N, 2) from their start, (B, N, E): by the encoder, and by the
  /// recurrent layer after it, which predictions are made from.
  struct Histories {
    Tensor encoded, recurrent;
  };
  Histories histories_of(const Tensor& y, Draws& draws) const;

  HawkesEncoder encoder;
  Lstm rnn;
  Linear projection;
  Linear intensity;            // (M, E)
  Parameter slope, sharpness;  // (): α and β
  Linear next_gap, next_mark;  // without biases

 protected:
  std::unique_ptr<EventState> begin(std::int64_t batch, const Draws& draws, std::int64_t samples) const override;
  Tensor histories(const EventState& state, const EmbeddedEvents& events, Draws& draws) const override;
  std::unique_ptr<EventState> absorb(const EventState& state, const EmbeddedEvents& events,
                                     Draws& draws) const override;

 private:
  ThpConfig config_;
};

/// (B, N): cross entropies of marks (B, N, 1) with some of their weight on all others; of no mark 0. log_probability
/// (B, N, M).
Tensor mark_cross_entropy(const Tensor& log_probability, const Tensor& mark, double smoothing);

}  // namespace npzoo
