#pragma once

#include "npzoo/models/predictions/event_density.h"

namespace npzoo {

/// K log-normal distributions: Gaussians of the logarithm. All are (B, Nt, K).
struct LogNormalMixture {
  Tensor log_weight;  // logarithms of what adds up to 1 over K, as log_softmax gives
  Tensor mean, std;   // of the logarithm
};

/// Gaps and marks that do not depend on each other (Shchur, Biloš and Günnemann, "Intensity-free learning of temporal
/// point processes", ICLR 2020, sections 3.1 and 3.2).
///
/// y is (B, Nt, 1), gaps since the event before, or with marks (B, Nt, 2): behind the gap a number in 0 … M − 1,
/// exactly.
/// Marginals are of the gap alone; the mark is a label. A gap of 0 has density 0; for what is recorded see
/// kLeastLogarithm. Where events have marks, mark −1 is an end (kNoEvent in npzoo/datasets/events/event_task.h): its
/// density is the probability that nothing happens for its gap.
class NextEvent final : public EventDensity {
 public:
  /// mark_log_probability (B, Nt, M), as log_softmax gives, where events have marks. Throws Error for other shapes.
  explicit NextEvent(LogNormalMixture gap, Tensor mark_log_probability = {});

  Marginals marginals() const override;
  /// log p(gap) + log P(mark), of an end log_survival. Throws Error for a gap below 0 and a mark that there is not. Of
  /// y on another device than the CPU, which nothing waits for, these are NaN and −∞ instead, and any mark below 0 an
  /// end.
  Tensor log_likelihood(const Tensor& y) const override;
  /// The sum over a task's events and its end.
  Tensor joint_log_likelihood(const Tensor& y) const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;
  EventScores score(const Tensor& y) const override;
  Tensor intensities(const Tensor& elapsed) const override;

  /// log P(nothing happens for `gap`), (B, Nt) → (B, Nt), nats. In the model's dtype, recorded where a recording is on.
  /// Throws Error for a gap below 0, as log_likelihood does.
  Tensor log_survival(const Tensor& gap) const;
  const LogNormalMixture& gap() const { return gap_; }
  /// (B, Nt, M); undefined if there are no marks.
  const Tensor& mark_log_probability() const { return mark_; }

 private:
  void check_events(const Tensor& y) const;
  Tensor mark_log_likelihood(const Tensor& mark, const Tensor& ends) const;

  LogNormalMixture gap_;
  Tensor mark_;
};

}  // namespace npzoo
